"""ListNet and RankCosine against literal loops, differences, invariances and hand sums."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from plackett.losses import Linear, ListNet, RankCosine, get_loss
from tests.losses import literal

LOSSES = [
    (ListNet(), literal.listnet, "exp"),
    (ListNet("sigmoid"), literal.listnet, "sigmoid"),
    (ListNet("probit"), literal.listnet, "probit"),
    (ListNet(Linear(1, 9)), literal.listnet, lambda x: x + 9),
    (RankCosine(), literal.rankcosine, "linear"),
    (RankCosine(Linear(2, -0.5)), literal.rankcosine, lambda x: 2 * x - 0.5),
    (RankCosine("exp"), literal.rankcosine, "exp"),
    (RankCosine("sigmoid"), literal.rankcosine, "sigmoid"),
    (RankCosine("probit"), literal.rankcosine, "probit"),
]
IDS = [repr(loss) for loss, _, _ in LOSSES]
LISTS = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [-1, 3, 3, 0])
SCORES = np.random.default_rng(0).normal(size=LISTS.n_docs)

graded = st.lists(
    st.lists(st.tuples(st.integers(-1, 4), st.floats(-3, 3, width=16)), min_size=0, max_size=6), min_size=1, max_size=4
)


@pytest.mark.parametrize(("loss", "loop", "phi"), LOSSES, ids=IDS)
def test_values_are_those_of_the_literal_loop(loss, loop, phi):
    bounds = zip(LISTS.indptr, LISTS.indptr[1:], strict=False)
    expected = [loop(SCORES[a:b], LISTS.labels[a:b], phi) if b > a else 0.0 for a, b in bounds]
    np.testing.assert_allclose(literal.values_of(loss, SCORES, LISTS), expected, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("loss", [loss for loss, _, _ in LOSSES], ids=IDS)
def test_slope_and_diagonal_match_differences(loss):
    _, slope = loss.value_and_slope(SCORES, LISTS)
    np.testing.assert_allclose(slope, literal.difference_slope(loss, SCORES, LISTS), atol=1e-9)
    bend = literal.difference_hessian(loss, SCORES, LISTS)
    np.testing.assert_allclose(loss.curvature_diagonal(SCORES, LISTS), bend.diagonal(), atol=1e-9)


def test_listnet_by_hand():
    # labels log 3 and 0: P = (3/4, 1/4); scores 0 and log 4: shares (1/5, 4/5)
    lists = literal.lists_of([math.log(3), 0.0])
    value, slope = ListNet().value_and_slope([0.0, math.log(4)], lists)
    assert value == pytest.approx(-0.75 * math.log(0.2) - 0.25 * math.log(0.8), rel=1e-14)
    np.testing.assert_allclose(slope, [0.2 - 0.75, 0.8 - 0.25], rtol=1e-14)


def test_rankcosine_by_hand():
    # cos((1, 0), (3, 4)) = 3/5
    value, slope = RankCosine().value_and_slope([3.0, 4.0], literal.lists_of([1, 0]))
    assert value == pytest.approx(0.2, rel=1e-14)
    np.testing.assert_allclose(slope, [-0.5 * (1 - 0.36) / 5, 0.5 * 0.48 / 5], rtol=1e-13)


def test_rankcosine_is_zero_for_proportional_and_one_for_opposite_scores():
    lists = literal.lists_of([1, 2, 3], [1, 2, 3])
    values = literal.values_of(RankCosine(), [2.0, 4.0, 6.0, -1.0, -2.0, -3.0], lists)
    np.testing.assert_allclose(values, [0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize(
    ("labels", "scores"), [([1, 2], [0.0, 0.0]), ([0, 0], [1.0, 2.0]), ([0, 0], [0.0, 0.0]), ([1, 2], [1e-310, 0.0])]
)
def test_zero_vectors_cost_one_half_and_have_no_slope(labels, scores):
    lists = literal.lists_of(labels)
    value, slope = RankCosine().value_and_slope(scores, lists)
    assert value == 0.5
    assert slope.tolist() == [0.0, 0.0]
    assert RankCosine().curvature_diagonal(scores, lists).tolist() == [0.0, 0.0]


def test_listnet_is_least_where_the_shares_agree():
    value, slope = ListNet().value_and_slope(LISTS.labels + 7.0, LISTS)
    np.testing.assert_allclose(slope, 0.0, atol=1e-15)
    shares = [literal.softmax(LISTS.labels[a:b]) for a, b in zip(LISTS.indptr, LISTS.indptr[1:], strict=False) if b > a]
    assert value == pytest.approx(-sum(p * math.log(p) for share in shares for p in share), rel=1e-12)


def test_equal_labels_pull_scores_together():
    lists = literal.lists_of([2, 2])
    for loss in (ListNet(), RankCosine()):
        _, slope = loss.value_and_slope([2.0, 1.0], lists)
        assert slope[0] > 0 > slope[1]


@pytest.mark.parametrize("loss", [loss for loss, _, _ in LOSSES], ids=IDS)
def test_a_single_document_contributes_nothing(loss):
    lists = literal.lists_of([3], [], [0])
    value, slope = loss.value_and_slope([2.5, -0.5], lists)
    assert value == 0.0
    assert slope.tolist() == [0.0, 0.0]
    assert loss.curvature_diagonal([2.5, -0.5], lists).tolist() == [0.0, 0.0]


def test_the_bound_of_a_single_document_is_nought():
    assert ListNet().curvature_bound([2.5, 1.0, 1.0], literal.lists_of([3], [1, 1])).tolist() == [0.0, 0.5, 0.5]


def test_listnet_curvature_is_diag_less_square_and_below_its_bound():
    bend = literal.hessian(ListNet(), SCORES, LISTS)
    np.testing.assert_allclose(bend, literal.difference_hessian(ListNet(), SCORES, LISTS), atol=1e-9)
    np.testing.assert_allclose(bend.diagonal(), ListNet().curvature_diagonal(SCORES, LISTS), rtol=1e-12, atol=1e-16)
    assert np.linalg.eigvalsh(bend).min() > -1e-12
    assert np.linalg.eigvalsh(np.diag(ListNet().curvature_bound(SCORES, LISTS)) - bend).min() > -1e-12


@pytest.mark.parametrize("spread", [1e3, 1e4, 1e200])
def test_listnet_bears_scores_that_lie_far_apart(spread):
    # softmax of the scores is (1, 0); −P·log of it is P₂ · spread
    lists = literal.lists_of([0.0, math.log(3)])
    value, slope = ListNet().value_and_slope([spread, 0.0], lists)
    assert value == pytest.approx(0.75 * spread, rel=1e-12)
    np.testing.assert_allclose(slope, [0.75, -0.75], atol=1e-12)
    assert np.isfinite(ListNet().curvature_product([spread, 0.0], lists, [1.0, 2.0])).all()


@pytest.mark.parametrize("loss", [loss for loss, _, _ in LOSSES if "Linear" not in repr(loss)], ids=repr)
@pytest.mark.parametrize("size", [1e4, 1e150])
def test_large_scores_and_labels_give_finite_numbers(loss, size):
    lists = literal.lists_of([5000, 0, -1, 4999, 1], [1e4, 1e4])
    scores = size * np.array([1.0, -1.0, 0.5, -0.5, 0.0, 1.0, 1.0])
    value, slope = loss.value_and_slope(scores, lists)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


def test_listnet_of_labels_in_the_thousands_depends_on_their_differences():
    low, high = literal.lists_of([2, 0, 1]), literal.lists_of([5002, 5000, 5001])
    scores = [0.3, -0.2, 0.9]
    assert ListNet().value_and_slope(scores, high)[0] == pytest.approx(ListNet().value_and_slope(scores, low)[0])


@given(graded, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_shuffled_rows_and_queries_change_only_the_order(queries, random):
    moved_queries, before = literal.shuffled(queries, random)
    (lists, scores), (moved, moved_scores) = literal.split(queries), literal.split(moved_queries)
    for loss, _, _ in LOSSES:
        value, slope = loss.value_and_slope(scores, lists)
        value_moved, slope_moved = loss.value_and_slope(moved_scores, moved)
        assert value_moved == pytest.approx(value, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(slope_moved, slope[before], rtol=1e-9, atol=1e-11)


@given(graded, st.floats(-50, 50))
@settings(max_examples=25, deadline=None)
def test_listnet_ignores_shifts_of_a_query_under_exp_alone(queries, shift):
    lists, scores = literal.split(queries)
    shifts = np.repeat(shift * np.arange(1, lists.n_queries + 1), np.diff(lists.indptr))
    value, slope = ListNet().value_and_slope(scores, lists)
    value_moved, slope_moved = ListNet().value_and_slope(scores + shifts, lists)
    assert value_moved == pytest.approx(value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(slope_moved, slope, atol=1e-9)


def test_what_each_loss_says_of_itself():
    assert ListNet().ignores_shifts
    assert ListNet().is_convex
    assert ListNet().has_curvature_product
    assert ListNet().has_curvature_bound
    for loss in (ListNet("sigmoid"), ListNet(Linear(1, 5)), RankCosine(), RankCosine("exp")):
        assert not loss.ignores_shifts
        assert not loss.is_convex
        assert not loss.has_curvature_product
        assert not loss.has_curvature_bound


@pytest.mark.parametrize("loss", [ListNet("sigmoid"), RankCosine()], ids=repr)
@pytest.mark.parametrize("method", ["curvature_product", "curvature_bound"])
def test_a_missing_curvature_is_named(loss, method):
    more = [np.ones(LISTS.n_docs)] if method == "curvature_product" else []
    with pytest.raises(NotImplementedError, match=rf"has no {method} \(it is not convex\)"):
        getattr(loss, method)(SCORES, LISTS, *more)


def test_linear_listnet_takes_labels_of_nought_but_none_below():
    lists = literal.lists_of([2, 0, 2], [0, 0])
    scores = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    # P = (1/2, 0, 1/2) against (1/4, 1/2, 1/4), and labels that are all 0 count as equal: (1/2, 1/2) against (1/4, 3/4)
    expected = [-math.log(0.25), -0.5 * math.log(0.25) - 0.5 * math.log(0.75)]
    np.testing.assert_allclose(literal.values_of(ListNet("linear"), scores, lists), expected, rtol=1e-14)
    with pytest.raises(ValueError, match=r"Linear\(\) is -1 for the label -1 in row 1, but ListNet needs prob"):
        ListNet("linear").value_and_slope([1.0, 2.0], literal.lists_of([2, -1]))


def test_linear_listnet_refuses_scores_that_phi_makes_negative():
    with pytest.raises(ValueError, match="is -1 for the score -1 in row 1"):
        ListNet("linear").value_and_slope([1.0, -1.0], literal.lists_of([2, 1]))


@pytest.mark.parametrize("loss", [ListNet("tanh"), RankCosine("tanh")], ids=repr)
def test_an_unknown_transform_is_refused(loss):
    with pytest.raises(ValueError, match="transform='tanh' is not known; choose one of 'exp', 'linear'"):
        loss.value_and_slope(SCORES, LISTS)


def test_names_stand_for_the_defaults():
    assert get_loss("listnet") == ListNet("exp")
    assert get_loss("rankcosine") == RankCosine("linear")
    assert repr(ListNet(Linear(1, 2))) == "ListNet(transform=Linear(b=2))"


def test_labels_are_worked_through_once_per_lists():
    lists = literal.lists_of([1, 0])
    loss = ListNet()
    assert loss._target(lists) is loss._target(lists)
    assert loss._target(lists) is not ListNet("sigmoid")._target(lists)
