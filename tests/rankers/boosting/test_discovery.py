"""The ranking in a single feature: against literal loops, the paper's examples, and degenerate lists."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plackett.data.queries import QueryLists
from plackett.metrics.whole_order import kendall
from plackett.rankers.boosting.discovery import CENTRES, count_label_pairs, find_centres, find_signs
from plackett.scorers.ranks import Discovery
from tests.rankers.boosting.feature_lists import slow_centres, slow_keys, slow_pairs, slow_ranks


def random_lists(seed, *, is_tied, lengths=(7, 1, 2, 12, 3, 30)):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    X = rng.normal(size=(indptr[-1], 4))
    X[:, 1] = rng.integers(0, 3, indptr[-1])
    X[:, 2] = 5.0
    labels = rng.integers(0, 3, indptr[-1]).astype(float) if is_tied else rng.permutation(indptr[-1]).astype(float)
    return X, QueryLists(labels, indptr)


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("n_intervals", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("is_tied", [False, True])
def test_centres_match_a_literal_loop(centre, n_intervals, is_tied):
    X, lists = random_lists(n_intervals, is_tied=is_tied)
    centres = find_centres(X, lists, n_intervals, centre=centre)
    for feature in range(X.shape[1]):
        slow = slow_centres(X[:, feature], lists.labels, lists.indptr, n_intervals, centre)
        np.testing.assert_allclose(centres[feature], slow, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.booleans())
def test_parts_keys_and_ranks_match_literal_loops(seed, n_intervals, is_tied):
    X, lists = random_lists(seed, is_tied=is_tied, lengths=(9, 1, 2, 40))
    X = np.round(X, 1)
    centres = find_centres(X, lists, n_intervals)
    discovery = Discovery(centres)
    ranks = discovery.ranks(X, lists.indptr)
    counted = discovery.twice_ranks(X, lists.indptr, lists, is_counted=True)
    for feature in range(X.shape[1]):
        keys = slow_keys(X[:, feature], centres[feature])
        for q in range(lists.n_queries):
            rows = slice(lists.indptr[q], lists.indptr[q + 1])
            slow = slow_ranks(keys[rows])
            np.testing.assert_array_equal(ranks[feature, rows], slow)
            np.testing.assert_array_equal(counted.twice[feature, rows], 2 * slow[lists.order[rows] - rows.start])
            expected = slow_pairs(slow, lists.labels[rows])
            assert (counted.right[q, feature], counted.wrong[q, feature]) == expected


@pytest.mark.parametrize("n", [63, 64, 65, 512, 513, 1500])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_pairs_and_ranks_of_long_lists_match_numpy(n, levels):
    rng = np.random.default_rng(n)
    far = np.r_[1e300, rng.integers(0, n, n - 1)]
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 20, n), np.exp(4 * rng.normal(size=n)), far])
    lists = QueryLists(rng.integers(0, levels, n).astype(float), np.array([0, n]))
    counted = Discovery.linear(np.ones(4, int)).twice_ranks(X, lists.indptr, lists, is_counted=True)
    better = lists.labels[:, None] > lists.labels
    assert count_label_pairs(lists) == better.sum()
    for feature in range(4):
        column = X[:, feature]
        is_tied = column[:, None] == column
        is_above = column[:, None] > column
        twice = 2 * is_above.sum(1) + is_tied.sum(1) + 1
        np.testing.assert_array_equal(counted.twice[feature], twice[lists.order])
        assert counted.right[0, feature] == (better & is_above).sum()
        assert counted.wrong[0, feature] == (better & is_above.T).sum()


def test_in_a_falling_part_the_smaller_value_ranks_higher():
    # the paper's example: I_3 = 0.3, I_2 = 0.6, and 0.4 is ranked above 0.5 (0.45 is the border to part 2)
    discovery = Discovery(np.array([[0.95, 2.0, 0.3, np.nan]]))
    assert discovery.ranks(np.array([[0.4], [0.5]]), np.array([0, 2])).tolist() == [[2.0, 1.0]]
    paper = Discovery(np.array([[0.9, 0.6, 0.3]]))
    assert paper.ranks(np.array([[0.4], [0.44]]), np.array([0, 2])).tolist() == [[2.0, 1.0]]


def test_ranks_of_the_papers_rank_addition_example():
    up = Discovery.linear(np.array([1, 1]))
    X = np.array([[0.9, 0.7, 0.8, 0.5, 0.6], [0.8, 0.5, 0.7, 0.3, 0.4]]).T
    assert up.ranks(X, np.array([0, 5])).tolist() == [[5, 3, 4, 1, 2]] * 2


def test_the_kendall_example_of_the_paper_is_a_third():
    assert kendall([1, 2, 3], [1, 3, 2], qid=[0] * 3) == pytest.approx(1 / 3)
    # its properties 1 and 2: only the order counts, and the inverse of an order has the rest of the distance
    assert kendall([0.3, 0.1], [1, 0], qid=[0] * 2) == 0
    inverse = kendall([1, 2, 3], [3, 1, 2], qid=[0] * 3)
    assert kendall([1, 2, 3], [2, 1, 3], qid=[0] * 3) == pytest.approx(1 - inverse)


def test_the_five_document_matrix_is_ranked_column_by_column():
    X = np.array(
        [
            [0.8, 0.7, 0.3, 0.4, 0.4],
            [0.6, 0.6, 0.4, 0.6, 0.7],
            [0.4, 0.2, 0.6, 0.8, 0.5],
            [0.5, 0.3, 0.5, 0.5, 0.8],
            [0.2, 0.4, 0.8, 0.9, 0.9],
        ]
    )
    ranks = Discovery.linear(np.ones(5, int)).ranks(X, np.array([0, 5]))
    assert ranks[0].tolist() == [5, 4, 2, 3, 1]
    assert ranks[4].tolist() == [1, 3, 2, 4, 5]


def curve(n=9000):
    """Equation 19, with x spread evenly."""
    x = -5 + 9 * (np.arange(n) + 0.5) / n
    return x[:, None], np.where(x < 0, 3 - x**2, 3 - 0.25 * x**2), np.array([0, n])


def test_centres_on_the_curve_of_equation_19():
    # the parts are cut at y = -1 and y = 2: x in (-5, -2), in (-2, -1) or (2, 4), in (-1, 2)
    X, labels, indptr = curve()
    centres = find_centres(X, QueryLists(labels, indptr), 3)
    np.testing.assert_allclose(centres, [[-3.5, (1 * -1.5 + 2 * 3) / 3, 0.5]], atol=1e-3)


@pytest.mark.parametrize(("n_intervals", "distance", "published"), [(3, 0.2006, 0.198), (8, 0.1476, 0.141)])
def test_quasi_knn_beats_the_linear_way_on_the_curve_of_equation_19(n_intervals, distance, published):
    # .198, .141 and .289 hold for some hundred x; the more there are, the nearer it comes to .2006, .1476 and 8/27
    X, labels, indptr = curve()
    lists = QueryLists(labels, indptr)
    by_parts = kendall(labels, Discovery(find_centres(X, lists, n_intervals)).ranks(X, indptr)[0])[0]
    by_value = kendall(labels, Discovery.linear(find_signs(X, lists)).ranks(X, indptr)[0])[0]
    assert by_parts < by_value
    assert by_parts == pytest.approx(distance, abs=2e-4)
    assert by_parts == pytest.approx(published, abs=8e-3)
    assert by_value == pytest.approx(8 / 27, abs=2e-4)
    assert by_value == pytest.approx(0.289, abs=8e-3)


def test_signs_point_the_way_that_fits_the_labels():
    X = np.array([[1.0, 1, 7], [2, 0, 7], [3, -1, 7]])
    assert find_signs(X, QueryLists(np.array([0.0, 1, 2]), np.array([0, 3]))).tolist() == [1, -1, 1]
    assert find_signs(X, QueryLists(np.zeros(3), np.array([0, 3]))).tolist() == [1, 1, 1]


def test_a_tie_between_two_centres_goes_to_the_lower_part():
    # 0.5 belongs to part 1, below all of part 2
    assert Discovery(np.array([[1.0, 0.0]])).ranks(np.array([[0.5], [0.4]]), np.array([0, 2])).tolist() == [[1, 2]]


def test_equal_centres_and_constant_features_give_ties():
    assert Discovery(np.array([[2.0, 2.0]])).ranks(np.array([[1.0], [2], [3]]), np.array([0, 3])).tolist() == [[2] * 3]


def test_centres_that_differ_by_rounding_alone_are_equal():
    # 13/30 twice, the sums one unit in the last place apart; far values belonged to either part
    column = np.array([0.1, 0.2, 1.0, -0.2, -0.2, -0.2, 0.7, 0.3, 0.3])
    assert math.fsum(column[:3]) != math.fsum(column[6:])
    centres = find_centres(column[:, None], QueryLists(np.arange(9.0), np.array([0, 9])), 3)
    discovery = Discovery(centres)
    assert discovery.ranks(np.array([[0.4], [1.5], [-1]]), np.array([0, 3])).tolist() == [[2, 1, 3]]


def test_values_far_from_all_centres_belong_to_the_outer_ones():
    discovery = Discovery(np.array([[1e-3, 0.0]]))  # from 1e17 the two look equally far
    assert discovery.ranks(np.array([[-1e17], [1e17]]), np.array([0, 2])).tolist() == [[2, 1]]


def test_a_single_centre_ranks_by_value():
    centres = np.array([[np.nan, 4.0, np.nan]])
    assert Discovery(centres).ranks(np.array([[9.0], [-1]]), np.array([0, 2])).tolist() == [[2, 1]]


@pytest.mark.parametrize("scale", [1.0, 1e-11, 1e-300, 1e11])
def test_values_tie_only_where_they_are_equal(scale):
    X = scale * np.array([[1.0], [1.0], [2.0], [np.nextafter(2.0, 3.0)]])
    assert Discovery.linear(np.array([1])).ranks(X, np.array([0, 4])).tolist() == [[1.5, 1.5, 3, 4]]


@pytest.mark.parametrize("is_tied", [False, True])
def test_the_order_of_rows_and_queries_does_not_change_the_centres(is_tied):
    X, lists = random_lists(5, is_tied=is_tied, lengths=(50, 50, 50, 50))
    X = np.concatenate([X, 1e6 * X], axis=1)
    rng = np.random.default_rng(0)
    expected = find_centres(X, lists, 8)
    for _ in range(5):
        rows = np.concatenate([50 * q + rng.permutation(50) for q in rng.permutation(4)])
        shuffled = find_centres(X[rows], QueryLists(lists.labels[rows], lists.indptr), 8)
        np.testing.assert_array_equal(shuffled, expected)


def test_sparse_and_single_precision_features_give_the_same():
    X, lists = random_lists(3, is_tied=True)
    X = np.round(X * 4) / 4
    expected = find_centres(X, lists, 5)
    for form in (sparse.csr_matrix(X), X.astype(np.float32)):
        np.testing.assert_array_equal(find_centres(form, lists, 5), expected)
        discovery = Discovery(expected)
        np.testing.assert_array_equal(discovery.ranks(form, lists.indptr), discovery.ranks(X, lists.indptr))


def test_a_weight_of_two_counts_as_two_lists():
    X, lists = random_lists(3, is_tied=True, lengths=(9, 5))
    twice = QueryLists(np.r_[lists.labels, lists.labels[:9]], np.array([0, 9, 14, 23]))
    expected = find_centres(np.concatenate([X, X[:9]]), twice, 4)
    np.testing.assert_allclose(find_centres(X, lists, 4, weights=np.array([1.0, 0.5])), expected, rtol=1e-14)


def test_features_too_large_to_average_are_refused():
    X, lists = np.full((4, 1), 1.7e308), QueryLists(np.arange(4.0), np.array([0, 4]))
    with pytest.raises(ValueError, match="column 0 of X has values that are too large to be averaged"):
        find_centres(X, lists, 1)
