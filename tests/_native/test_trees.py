"""Sums over trees equal a traversal node by node: rows few and many, dense and CSR, missing values, sets, float32."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from plackett import _native
from plackett.scorers.tree_bitmaps import TreeBitmaps

N_FEATURES = 5


def grown(seed, n_trees=7):
    """Return random trees of 1 to 9 leaves: starts, features, thresholds, left, right, values, missing_left."""
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
    missing_left = rng.random(len(nodes)) < 0.5
    return np.array(starts), features, thresholds, left, right, values.astype(np.float64), missing_left


def rows(seed, n, dtype=np.float64):
    X = np.random.default_rng(seed).integers(-3, 4, size=(n, N_FEATURES)) / 2  # many equal a threshold, or 0
    return X.astype(dtype)


def walked(X, trees, goes_left, dtype=np.float64, kinds=None):
    starts, features, thresholds, left, right, values, missing_left = trees
    scores = np.zeros(X.shape[0], dtype)
    for i, row in enumerate(X):
        for start in starts[:-1]:
            node = start
            while features[node] >= 0:
                own = () if kinds is None else (kinds[node],)
                is_left = goes_left(row[features[node]], thresholds[node], missing_left[node], *own)
                node = left[node] if is_left else right[node]
            scores[i] += dtype(values[node])
    return scores


def at_most(value, threshold, missing_left):
    return missing_left if np.isnan(value) else value <= threshold


def below(value, threshold, missing_left):
    return missing_left if np.isnan(value) else value < threshold


SETS = [{0, 3, 31}, {1, 32, 63}, set()]
WORDS = np.array([2**31 + 2**3 + 1, 2, 2**31 + 1], dtype=np.uint32)


def of_any_kind(value, threshold, missing_left, kind):
    if np.isnan(value) or (kind == 1 and np.float32(value) == 0):
        return missing_left
    return int(value) in SETS[int(threshold)] and value >= 0 if kind == 2 else value <= threshold


def kinds_of(trees, seed, kinds):
    """Return random kinds of splits, the trees with their thresholds, and the kernel's arguments about them."""
    rng, is_split = np.random.default_rng(seed), trees[1] >= 0
    chosen = np.where(is_split, rng.choice(kinds, is_split.size), 0).astype(np.uint8)
    thresholds = np.where(chosen == 2, rng.integers(0, 3, is_split.size), trees[2])
    starts = np.array([0, 1, 3, 3]) if 2 in kinds else np.zeros(1, np.int64)
    about = chosen, starts, WORDS if 2 in kinds else WORDS[:0], 2.0**-150
    return (*trees[:2], thresholds, *trees[3:]), about


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 8, 9, 16, 257, 600])
def test_rows_find_their_leaves(n, dtype, score):
    trees, X = grown(n), rows(n, n, dtype)
    for _ in ("complete", "missing values"):
        scores = np.zeros(n, score)
        _native.rankers.tree_scores(X, *trees, scores)
        np.testing.assert_array_equal(scores, walked(X, trees, at_most, score))
        X[::3, 0] = np.nan
    X[::4, 1] = np.random.default_rng(0).choice([-5.0, 1.0, 3.5, 31.0, 32.0, 63.0, 64.0, 1e18], X[::4, 1].size)
    for kinds in ([0, 1], [0, 1, 2]):
        changed, about = kinds_of(trees, n, kinds)
        scores = np.zeros(n, score)
        _native.rankers.any_tree_scores(X, *changed, *about, scores)
        np.testing.assert_array_equal(scores, walked(X, changed, of_any_kind, score, about[0]))


def bitmaps(trees, about):
    names = ["starts", "features", "thresholds", "left", "right", "values", "missing_left"]
    names += ["kinds", "set_starts", "sets", "zero_width"]
    arrays = {f"{name}_": array for name, array in zip(names, (*trees, *about), strict=True)}
    return TreeBitmaps.of(SimpleNamespace(**arrays, n_trees=trees[0].size - 1))


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 7, 63, 64, 65, 128, 129, 256, 257, 600])
def test_bitmaps_find_the_leaves_of_all_rows(n, dtype, score):
    """Blocks of one, two and four words of bits, with ties at thresholds, missing values, zeros and sets of codes."""
    trees, X = grown(n, n_trees=20), rows(n, n, dtype)
    X[::4, 1] = np.random.default_rng(0).choice([-5.0, 1.0, 3.5, 31.0, 32.0, 63.0, 64.0, 1e18], X[::4, 1].size)
    for kinds in ([0], [0, 1], [0, 1, 2]):
        changed, about = kinds_of(trees, n, kinds)
        for kept in (X, np.where(np.random.default_rng(n).random(X.shape) < 0.2, dtype(np.nan), X)):
            scores = np.zeros(n, score)
            bitmaps(changed, about).add(np.ascontiguousarray(kept), scores)
            np.testing.assert_array_equal(scores, walked(kept, changed, of_any_kind, score, about[0]))


def test_bitmaps_number_more_leaves_than_a_byte_holds():
    n_leaves = 700
    nodes = np.arange(n_leaves - 1)
    features = np.concatenate([np.zeros(n_leaves - 1, np.int64), np.full(n_leaves, -1)])
    thresholds = np.concatenate([nodes + 0.5, np.zeros(n_leaves)])
    left = np.concatenate([n_leaves - 1 + nodes, np.zeros(n_leaves, np.int64)])  # a chain: each split cuts off a leaf
    right = np.concatenate([np.append(nodes[1:], 2 * n_leaves - 2), np.zeros(n_leaves, np.int64)])
    values, nothing = np.random.default_rng(0).normal(size=2 * n_leaves - 1), np.zeros(2 * n_leaves - 1, bool)
    trees = np.array([0, 2 * n_leaves - 1]), features, thresholds, left, right, values, nothing
    X, scores = np.random.default_rng(1).uniform(-1.0, n_leaves + 1.0, (300, 1)), np.zeros(300)
    bitmaps(trees, (nothing[:0].astype(np.uint8), np.zeros(1, np.int64), WORDS[:0], 0.0)).add(X, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, at_most))


@pytest.mark.parametrize("score", [np.float32, np.float64])
@pytest.mark.parametrize("places", [np.int32, np.int64])
@pytest.mark.parametrize(("n", "n_columns"), [(1, 5), (300, 5), (700, 5), (40, 3000), (6, 50_000)])
def test_sparse_rows_find_the_leaves_of_dense_ones(n, n_columns, places, score):
    trees, X = grown(n), np.zeros((n, n_columns), np.float32)
    X[:, :N_FEATURES] = rows(n, n)
    for kinds in ([0], [0, 1], [0, 1, 2]):
        csr = sparse.csr_matrix(X)
        given = csr.data, csr.indices.astype(places), csr.indptr.astype(places), n_columns
        changed, about = kinds_of(trees, n, kinds)
        scores = np.zeros(n, score)
        if max(kinds):
            _native.rankers.any_tree_scores_sparse(*given, *changed, *about, scores)
        else:
            _native.rankers.tree_scores_sparse(*given, *changed, scores)
        np.testing.assert_array_equal(scores, walked(X, changed, of_any_kind, score, about[0]))
        X[::5, 2] = np.nan


def test_what_single_precision_rounds_to_zero_is_a_zero():
    trees, about = kinds_of(grown(3), 3, [1])
    X = np.array([[value] * N_FEATURES for value in (0.0, -0.0, 2.0**-150, -(2.0**-150), 2.0**-149, 1e-300)] * 3)
    scores = np.zeros(X.shape[0])
    _native.rankers.any_tree_scores(X, *trees, *about, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, of_any_kind, kinds=about[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("n", [3, 40])
def test_exported_trees_compare_and_add_in_their_own_precision(n, is_strict, dtype):
    starts, features, thresholds, left, right, values, missing_left = trees = grown(n)
    X, scores = rows(n, n, dtype), np.zeros(n, dtype)
    X[::2, 1] = np.nan
    numbers = thresholds.astype(dtype), left, right, values.astype(dtype), missing_left
    _native.rankers.exported_tree_scores(X, starts, features, *numbers, is_strict, scores)
    np.testing.assert_array_equal(scores, walked(X, trees, below if is_strict else at_most, dtype))
