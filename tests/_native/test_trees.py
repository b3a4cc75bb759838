"""Sums over trees equal a traversal node by node: few rows and many, dense and CSR, missing values, float32 sums."""

import numpy as np
import pytest
from scipy import sparse

from plackett import _native

N_FEATURES = 5


def grown(seed, n_trees=7):
    """Return random trees of 1 to 9 leaves: starts, features, thresholds, left, right, values, zeros_left."""
    rng = np.random.default_rng(seed)
    starts, nodes = [0], []
    for tree in range(n_trees):
        leaves = [len(nodes)]
        nodes.append([-1, 0, 0])
        for _ in range(rng.integers(0, 9) if tree else 0):  # the first is a single leaf
            node = leaves.pop(rng.integers(len(leaves)))
            nodes[node] = [rng.integers(N_FEATURES), len(nodes), len(nodes) + 1]
            leaves += [len(nodes), len(nodes) + 1]
            nodes += [[-1, 0, 0], [-1, 0, 0]]
        starts.append(len(nodes))
    features, left, right = np.array(nodes, dtype=np.int64).T.copy()
    thresholds, values = rng.integers(-2, 3, len(nodes)) / 2, rng.normal(size=len(nodes)).astype(np.float32)
    zeros_left = rng.random(len(nodes)) < 0.5
    return np.array(starts), features, thresholds, left, right, values.astype(np.float64), zeros_left


def rows(seed, n, dtype=np.float64):
    X = np.random.default_rng(seed).integers(-3, 4, size=(n, N_FEATURES)) / 2  # many equal a threshold, or 0
    return X.astype(dtype)


def walked(X, trees, goes_left, dtype=np.float64):
    starts, features, thresholds, left, right, values, zeros_left = trees
    scores = np.zeros(X.shape[0], dtype)
    for i, row in enumerate(X):
        for start in starts[:-1]:
            node = start
            while features[node] >= 0:
                is_left = goes_left(row[features[node]], thresholds[node], zeros_left[node])
                node = left[node] if is_left else right[node]
            scores[i] += dtype(values[node])
    return scores


def at_most(value, threshold, zeros_left):
    return value <= threshold


def below(value, threshold, zeros_left):
    return value < threshold


def zeros_apart(value, threshold, zeros_left):
    return zeros_left if np.float32(value) == 0 else value <= threshold


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 8, 9, 16, 257, 600])
def test_rows_find_their_leaves(n, dtype, score):
    trees, X = grown(n), rows(n, n, dtype)
    X[::3, 0] = np.nan
    scores = np.zeros(n, score)
    _native.rankers.tree_scores(X, *trees[:-1], scores)
    np.testing.assert_array_equal(scores, walked(X, trees, at_most, score))
    scores = np.zeros(n, score)
    _native.rankers.zero_tree_scores(X, *trees, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, zeros_apart, score))


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("places", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "n_columns"), [(1, 5), (300, 5), (700, 5), (40, 3000), (6, 50_000)])
def test_sparse_rows_find_the_leaves_of_dense_ones(n, n_columns, places, score):
    trees, X = grown(n), np.zeros((n, n_columns), np.float32)
    X[:, :N_FEATURES] = rows(n, n)
    csr = sparse.csr_matrix(X)
    given = csr.data, csr.indices.astype(places), csr.indptr.astype(places), n_columns
    scores = np.zeros(n, score)
    _native.rankers.tree_scores_sparse(*given, *trees[:-1], scores)
    np.testing.assert_array_equal(scores, walked(X, trees, at_most, score))
    scores = np.zeros(n, score)
    _native.rankers.zero_tree_scores_sparse(*given, *trees, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, zeros_apart, score))


def test_what_single_precision_rounds_to_zero_is_a_zero():
    trees = grown(3)
    X = np.array([[value] * N_FEATURES for value in (0.0, -0.0, 2.0**-150, -(2.0**-150), 2.0**-149, 1e-300)] * 3)
    scores = np.zeros(X.shape[0])
    _native.rankers.zero_tree_scores(X, *trees, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, zeros_apart))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("n", [3, 40])
def test_exported_trees_compare_and_add_in_their_own_precision(n, is_strict, dtype):
    starts, features, thresholds, left, right, values, _ = trees = grown(n)
    X, scores = rows(n, n, dtype), np.zeros(n, dtype)
    numbers = thresholds.astype(dtype), left, right, values.astype(dtype)
    _native.rankers.exported_tree_scores(X, starts, features, *numbers, is_strict, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, below if is_strict else at_most, dtype))
