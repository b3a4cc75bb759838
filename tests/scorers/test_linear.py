"""The linear scorer against plain matrix products."""

import numpy as np
import pytest
from scipy import sparse

from plackett.scorers.linear import LinearScorer

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(37, 5)) * (RNG.random((37, 5)) < 0.5)
KINDS = {
    "float64": lambda: DENSE.copy(),
    "float32": lambda: DENSE.astype(np.float32),
    "columns first": lambda: np.asfortranarray(DENSE),
    "read-only": lambda: _read_only(DENSE),
    "sparse": lambda: sparse.csr_matrix(DENSE),
    "sparse array, float32": lambda: sparse.csr_array(DENSE.astype(np.float32)),
    "sparse, long indices": lambda: _long_indices(sparse.csr_matrix(DENSE)),
}


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_intercept", [False, True])
def test_blocks_of_rows_give_the_matrix_products(kind, has_intercept):
    X = KINDS[kind]()
    full = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=float)
    if has_intercept:
        full = np.hstack([full, np.ones((37, 1))])
    scorer = LinearScorer(X, has_intercept=has_intercept)
    coef, slope = RNG.normal(size=scorer.size), RNG.normal(size=37)
    scores = np.full(37, np.nan)
    gradient, squares = np.zeros(scorer.size), np.zeros(scorer.size)
    for start, stop in ((0, 3), (3, 30), (30, 37)):
        part = scorer.part(start, stop)
        part.score(coef, scores[start:stop])
        part.pull_back(slope[start:stop], gradient)
        part.add_squares(slope[start:stop], squares)
        np.testing.assert_array_equal(part.rows(), full[start:stop])
    np.testing.assert_allclose(scores, full @ coef, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scorer.scores(coef), scores)
    np.testing.assert_allclose(gradient, full.T @ slope, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, (full**2).T @ slope, rtol=1e-12, atol=1e-12)


def test_x_is_used_where_it_is_even_when_read_only():
    for X in (DENSE, _read_only(DENSE)):
        assert np.shares_memory(LinearScorer(X).X, X)


def test_no_columns_score_zero():
    scores = np.full(3, np.nan)
    LinearScorer(np.empty((3, 0))).score(np.empty(0), scores)
    assert scores.tolist() == [0, 0, 0]


@pytest.mark.parametrize("n_columns", [1, 4, 7, 15, 16, 33, 136])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_scores_the_same_whatever_stands_beside_it(n_columns, dtype):
    X, coef = RNG.normal(size=(21, n_columns)).astype(dtype), RNG.normal(size=n_columns)
    scores = LinearScorer(X).scores(coef)
    np.testing.assert_allclose(scores, X.astype(float) @ coef, rtol=1e-12, atol=1e-12)
    for start in (0, 1, 5):
        np.testing.assert_array_equal(LinearScorer(X[start : start + 9].copy()).scores(coef), scores[start : start + 9])
    slope, gradient = RNG.normal(size=21), np.zeros(n_columns)
    LinearScorer(X).pull_back(slope, gradient)
    np.testing.assert_allclose(gradient, X.astype(float).T @ slope, rtol=1e-12, atol=1e-12)
