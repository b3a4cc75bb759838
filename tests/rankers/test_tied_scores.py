"""Equal scores in the order of others, and rows recognised by their values."""

import numpy as np
import pytest

from plackett.scorers.tied_scores import break_ties, places_of, row_keys


def test_ties_are_settled_within_a_millionth():
    scores, base = np.array([1.0, 2.0, 1.0, 1.0, 1.0]), np.array([3.0, 0.0, 1.0, 3.0, 2.0])
    settled = break_ties(scores, base, np.array([0, 4, 5]))
    assert settled[2] < settled[0] == settled[3] < settled[1] == 2.0
    assert settled[4] == 1.0  # of another query
    assert np.abs(settled - scores).max() < 1e-6


def test_many_ties_in_a_narrow_gap_stay_below_the_next_score():
    n = 5000
    scores = np.append(np.full(n, 100.0), 100.0 + 1e-9)
    settled = break_ties(scores, np.append(np.arange(n), 0.0), np.array([0, n + 1]))
    assert (np.diff(settled) > 0).all()
    assert settled[-1] - 100.0 < 2e-9


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e-14])
def test_small_scores_are_told_apart_in_proportion(size):
    """Long lists by unit columns have small scores, close to each other, which are no ties for that."""
    draws = np.random.default_rng(0)
    scores, base = draws.permutation(1000) * size, draws.normal(size=1000)
    scores[1:5] = scores[0] = 999 * size
    settled = break_ties(scores, base, np.array([0, 1000]))
    np.testing.assert_array_equal(np.argsort(settled), np.lexsort((base, scores)))
    assert np.abs(settled - scores).max() <= 1e-6 * max(size * 999, 1e-300)


def test_scores_that_only_rounding_tells_apart_are_ties():
    scores = np.array([0.1 + 0.2, 0.3])
    assert scores[0] > scores[1]
    settled = break_ties(scores, np.array([0.0, 1.0]), np.array([0, 2]))
    assert settled[0] < settled[1]


def test_rows_are_recognised_by_their_values():
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [1.0, 2.0]])
    keys = row_keys(rows)
    assert keys[0] == keys[3]
    assert np.unique(keys).size == 3
    np.testing.assert_array_equal(row_keys(rows.astype(np.float32)), keys)
    np.testing.assert_array_equal(row_keys(np.array([[-0.0, 3.0]])), keys[2])
    np.testing.assert_array_equal(places_of(keys[[3, 1, 0]], keys), [0, 1, 3])  # equal rows in their order
    assert places_of(keys[[0, 3, 0]], keys) is None
    assert places_of(row_keys(rows + 1.0), keys) is None
