"""Trees as plain arrays: scores of rows, and parts of a sum of trees."""

import numpy as np
import pytest
from scipy import sparse

from plackett.scorers.trees import CATEGORY, LEAF, ZERO_IS_MISSING, FlatTrees, code_words


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
        "missing_left": np.array([False, True, False, False, False, False, False]),
        "kinds": np.array([ZERO_IS_MISSING] * 3 + [0] * 4),
    }
    trees = FlatTrees.of([tree], 2, zero_width=2.0**-150)
    trees.check_loaded()
    values = np.array([-1.0, -0.5, -0.2, -0.0, 0.0, 1e-46, 0.3, 0.5, 0.7, np.nan])
    X = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)

    def leaf(row):
        node = 0
        while tree["features"][node] != LEAF:
            value = row[tree["features"][node]]
            is_missing = np.float32(value) == 0.0 or np.isnan(value)
            goes_left = tree["missing_left"][node] if is_missing else value <= tree["thresholds"][node]
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


def stump(**arrays):
    empty = {"values": [0.0, -1.0, 1.0], "counts": [3, 1, 2], "gains": [1.0, 0.0, 0.0]}
    shape = {"features": [0, -1, -1], "left": [1, 0, 0], "right": [2, 0, 0], "thresholds": [0.5, 0, 0]}
    given = {key: np.array(value) for key, value in {**shape, **empty, **arrays}.items() if key != "sets"}
    return {**given, **({"sets": arrays["sets"]} if "sets" in arrays else {})}


def test_without_a_direction_missing_values_go_where_a_zero_goes():
    trees = FlatTrees.of([stump(), stump(thresholds=[-0.5, 0, 0])], 1)
    assert trees.missing_left_.tolist()[::3] == [True, False]
    np.testing.assert_array_equal(trees.predict(np.array([[np.nan], [0.0]])), [0.0, 0.0])


def test_sets_of_codes_belong_to_their_trees():
    kinds = [CATEGORY, 0, 0]
    one = stump(kinds=kinds, thresholds=[0, 0, 0], missing_left=[False] * 3, sets=[code_words(np.array([1, 40]))])
    other = stump(kinds=kinds, thresholds=[0, 0, 0], missing_left=[True] * 3, sets=[code_words(np.array([2]))])
    trees = FlatTrees.of([one, stump(), other], 1)
    trees.check_loaded()
    assert trees.has_categories
    assert [trees.codes(node).tolist() for node in (0, 6)] == [[1, 40], [2]]
    rows = np.array([[0.0], [1.0], [2.0], [40.0], [41.0], [-1.0], [1e9], [np.nan]])
    numbers = np.where(np.isnan(rows.ravel()) | (rows.ravel() <= 0.5), -1.0, 1.0)
    expected = np.array([2, 0, 0, 0, 2, 2, 2, 0]) + numbers
    np.testing.assert_array_equal(trees.predict(rows), expected)
    np.testing.assert_array_equal(trees.first(1).predict(rows), [1, -1, 1, -1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("kinds_", np.array([3, 0, 0], dtype=np.uint8), "the kind of each split"),
        ("kinds_", np.array([2, 0], dtype=np.uint8), "the kind of each split"),
        ("set_starts_", np.array([0, 2]), "set_starts_ must increase"),
        ("set_starts_", np.array([1, 1]), "set_starts_ must increase"),
        ("thresholds_", np.array([1.0, 0, 0]), "the number of a set"),
        ("thresholds_", np.array([-1.0, 0, 0]), "the number of a set"),
        ("thresholds_", np.array([0.5, 0, 0]), "the number of a set"),
        ("zero_width_", np.inf, "zero_width_ must be"),
        ("missing_left_", np.zeros(3), "missing_left_ must be a vector"),
    ],
)
def test_damaged_sets_are_refused(name, value, match):
    sets = [code_words(np.array([1]))]
    trees = FlatTrees.of([stump(kinds=[2, 0, 0], thresholds=[0, 0, 0], missing_left=[False] * 3, sets=sets)], 1)
    trees.check_loaded()
    setattr(trees, name, value)
    with pytest.raises(ValueError, match=match):
        trees.check_loaded()
