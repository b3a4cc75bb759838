"""Trees as plain arrays: scores of rows, and parts of a sum of trees."""

import numpy as np
from scipy import sparse

from plackett.scorers.trees import LEAF, FlatTrees, ZeroTrees


def test_splits_say_where_a_zero_goes():
    """By a literal loop, with thresholds on either side of 0 and zeros sent either way."""
    tree = {
        "features": np.array([0, 1, 1, LEAF, LEAF, LEAF, LEAF]),
        "thresholds": np.array([0.5, -0.5, 0.5, 0, 0, 0, 0]),
        "left": np.array([1, 3, 5, 0, 0, 0, 0]),
        "right": np.array([2, 4, 6, 0, 0, 0, 0]),
        "values": np.array([0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 8.0]),
        "counts": np.array([4, 2, 2, 1, 1, 1, 1]),
        "gains": np.zeros(7),
        "zeros_left": np.array([False, True, False, False, False, False, False]),
    }
    trees = ZeroTrees.of([tree], 2)
    values = np.array([-1.0, -0.5, -0.2, -0.0, 0.0, 1e-46, 0.3, 0.5, 0.7])
    X = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)

    def leaf(row):
        node = 0
        while tree["features"][node] != LEAF:
            value = row[tree["features"][node]]
            is_zero = np.float32(value) == 0.0
            goes_left = tree["zeros_left"][node] if is_zero else value <= tree["thresholds"][node]
            node = tree["left" if goes_left else "right"][node]
        return tree["values"][node]

    expected, start = [leaf(row) for row in X], np.ones(len(X), dtype=np.float32)
    np.testing.assert_array_equal(trees.predict(X, start), np.add(expected, 1.0))
    np.testing.assert_array_equal(trees.first(1).predict(sparse.csr_array(X), start), np.add(expected, 1.0))


def test_trees_score_read_only_rows():
    X = np.random.default_rng(0).random((60, 4))
    X.flags.writeable = False
    packed = sparse.csr_matrix(X)
    for array in (packed.data, packed.indices, packed.indptr):
        array.flags.writeable = False
    stump = {"features": [1, -1, -1], "thresholds": [0.5, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
    others = {"values": [0.0, -1.0, 1.0], "counts": [60, 30, 30], "gains": [1.0, 0.0, 0.0]}
    trees = FlatTrees.of([{key: np.array(value) for key, value in (stump | others).items()}], 4)
    for rows in (X, packed):
        np.testing.assert_array_equal(trees.predict(rows), np.where(X[:, 1] <= 0.5, -1.0, 1.0))
