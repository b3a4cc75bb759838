"""Scaling with transformers of scikit-learn: what they return is checked, and sparse rows stay sparse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

import plackett as pk

RNG = np.random.default_rng(0)
N, WIDTH = 24, 4
X = np.where(RNG.random((N, WIDTH)) < 0.4, 0.0, RNG.integers(1, 9, size=(N, WIDTH)) / 4.0)
Y = RNG.integers(0, 3, size=N)
QID = np.repeat([1, 2, 3], 8)


def damaged():
    matrix = sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 0]]))
    matrix.indices = np.array([0, 2**30, 1], dtype=np.int32)
    return matrix


class Returns(TransformerMixin, BaseEstimator):
    """A user's transformer that changes the rows by a function."""

    def __init__(self, change=None):
        self.change = change

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.change(X)


RETURNED = {
    "fewer rows": (lambda X: X[1:], "24 rows became 23; rankers need one per document"),
    "a NaN": (lambda X: X * np.nan, "X has a NaN in row 0, column 0"),
    "infinite values": (lambda X: X + np.inf, "X has an infinite value in row 0, column 0"),
    "a vector": (lambda X: X[:, 0], r"X has shape \(24,\)"),
    "text": (lambda X: np.full(X.shape, "x"), "number"),
    "a damaged matrix": (lambda X: damaged(), "damaged sparse matrix"),
}


@pytest.mark.parametrize(("change", "message"), RETURNED.values(), ids=RETURNED.keys())
def test_a_transformer_that_returns_what_no_ranker_can_use_is_refused(change, message):
    with pytest.raises(ValueError, match=f"normalize=Returns returned rows that cannot be used: .*{message}"):
        pk.ranker("listmle", normalize=Returns(change)).fit(X, Y, qid=QID)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
def test_what_a_transformer_returns_in_another_form_is_converted():
    pandas = pytest.importorskip("pandas")
    plain = pk.ranker("listmle", max_iter=3).fit(X, Y, qid=QID).predict(X)
    twice = sparse.csr_matrix((np.r_[1.0, 1.0], ([0, 0], [1, 1])), shape=X.shape)
    forms = [
        lambda X: (4 * X).astype(np.int8),  # X is in quarters
        np.asfortranarray,
        sparse.csc_matrix,
        lambda X: pandas.DataFrame(X),
        lambda X: sparse.coo_matrix(X) + 0 * twice,
    ]
    for change in forms:
        ranker = pk.ranker("listmle", max_iter=3, normalize=Returns(change))
        found = ranker.fit(X, Y, qid=QID).predict(X)
        assert found.shape == plain.shape
        if change is not forms[0]:
            np.testing.assert_allclose(found, plain, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
def test_a_transformer_that_works_in_place_leaves_the_rows_of_the_caller_alone():
    rows = X.copy()
    for normalize in (StandardScaler(copy=False), make_pipeline(StandardScaler(copy=False))):
        pk.ranker("listmle", max_iter=2, normalize=normalize).fit(rows, Y, qid=QID).predict(rows)
        np.testing.assert_array_equal(rows, X)


def test_transformers_that_would_fill_sparse_rows_are_refused_with_the_way_out():
    for normalize, shown in (("minmax", "MinMaxScaler"), (StandardScaler(), "StandardScaler")):
        with pytest.raises(
            ValueError, match=rf'X is sparse, and normalize=.*\({shown}\) would make it dense.*"maxabs"'
        ):
            pk.ranker("listmle", normalize=normalize).fit(sparse.csr_matrix(X), Y, qid=QID)
    with pytest.raises(ValueError, match=r'X is sparse and has negative values.*"maxabs"'):
        pk.ranker("listmle", normalize=QuantileTransformer()).fit(sparse.csr_matrix(-X), Y, qid=QID)
