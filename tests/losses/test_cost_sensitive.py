"""Cost-sensitive ListMLE against literal loops, its theorem, differences and invariances."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import plackett as pk
from plackett.losses import CSListMLE, get_loss
from tests.losses import literal

LOSSES = [CSListMLE(), CSListMLE(k=1), CSListMLE(k=3), CSListMLE(k=None), CSListMLE(weights="label")]
IDS = [repr(loss) for loss in LOSSES]
LISTS = literal.lists_of([2, 0, 1, 1, 4, 0, 2], [], [1], [3, 3, 3], [-1, 3, 3, 0, -2, 1], [0, -1, 0])
SCORES = np.random.default_rng(0).normal(size=LISTS.n_docs)

graded = st.lists(
    st.lists(st.tuples(st.integers(-1, 4), st.floats(-3, 3, width=16)), min_size=0, max_size=7), min_size=1, max_size=4
)


def loop(loss, scores, labels):
    if loss.weights == "label":
        return literal.cslistmle_by_label(scores, np.maximum(labels, 0.0))
    return literal.cslistmle(scores, labels, loss.k)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_values_are_those_of_the_literal_loop(loss):
    bounds = zip(LISTS.indptr, LISTS.indptr[1:], strict=False)
    expected = [loop(loss, SCORES[a:b], LISTS.labels[a:b]) for a, b in bounds]
    np.testing.assert_allclose(literal.values_of(loss, SCORES, LISTS), expected, rtol=1e-11)
    assert [value > 0 for value in expected] == [True, False, False, False, True, False]


@given(graded)
@settings(max_examples=50, deadline=None)
def test_any_graded_list_costs_what_the_literal_loop_says(queries):
    lists, scores = literal.split(queries)
    for loss in LOSSES:
        bounds = zip(lists.indptr, lists.indptr[1:], strict=False)
        expected = [loop(loss, scores[a:b], lists.labels[a:b]) for a, b in bounds]
        np.testing.assert_allclose(literal.values_of(loss, scores, lists), expected, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("spread", [1.0, 150.0, 5000.0])
@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_derivatives_match_differences_at_any_spread(loss, spread):
    scores = spread * SCORES
    value, slope = loss.value_and_slope(scores, LISTS)
    bend = literal.hessian(loss, scores, LISTS)
    np.testing.assert_allclose(slope, literal.difference_slope(loss, scores, LISTS, 1e-4), atol=1e-8 + 1e-11 * value)
    np.testing.assert_allclose(bend, literal.difference_hessian(loss, scores, LISTS), atol=1e-7)
    np.testing.assert_allclose(loss.curvature_diagonal(scores, LISTS), bend.diagonal(), rtol=1e-9, atol=1e-13)
    assert np.linalg.eigvalsh(bend).min() > -1e-12
    bound = loss.curvature_bound(scores, LISTS)
    assert bound.min() >= 0
    assert np.linalg.eigvalsh(np.diag(bound) - bend).min() > -1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_scores_just_within_and_just_beyond_the_narrow_way_agree(loss):
    lists = literal.lists_of([0, 1, 2, 3, 0, 1])
    scores = np.array([300.0, 299.0, 1.0, 0.5, 0.2, 0.0])
    narrow, wide = (
        loss.value_and_slope(scores + move, lists) for move in ([-1e-9, 0, 0, 0, 0, 0], [1e-9, 0, 0, 0, 0, 0])
    )
    assert narrow[0] == pytest.approx(wide[0], rel=1e-10)
    np.testing.assert_allclose(narrow[1], wide[1], rtol=1e-7, atol=1e-15)


def test_two_documents_by_hand():
    # A = ln 2 / (2 ln² 2) = 1/(2 ln 2) for the better one, 0 for the other; DCG = 1; β = A, α = 1
    value, slope = CSListMLE().value_and_slope([0.0, math.log(3)], literal.lists_of([1, 0]))
    assert value == pytest.approx(math.log2(4) / (2 * math.log(2)), rel=1e-14)
    pull = 0.75 / (2 * math.log(2) ** 2)
    np.testing.assert_allclose(slope, [-pull, pull], rtol=1e-14)


def test_label_weights_by_hand():
    # labels 2, 1: DCG = 3 + 1/log2(3), β = (2/3, 1/3), α = 1/2
    value, _ = CSListMLE(weights="label").value_and_slope([0.0, math.log(6)], literal.lists_of([2, 1]))
    assert value == pytest.approx(2 / 3 * math.log2(1 + 3) / (3 + 1 / math.log2(3)), rel=1e-14)


def test_the_small_loss_of_a_separated_list_keeps_its_digits():
    # log(1 + x) is x for x = exp(−50): Σ_j w_jt exp(−50) over neighbours, (A_1 + A_2) + (A_2 + A_3), over DCG ln 2
    first, second, third = literal.drops([2, 1, 0], 10)
    expected = (first + 2 * second + third) * math.exp(-50) / (literal.ideal_dcg([2, 1, 0], 10) * math.log(2))
    value, _ = CSListMLE().value_and_slope([100.0, 50.0, 0.0], literal.lists_of([2, 1, 0]))
    assert value == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5, width=16)), min_size=2, max_size=12).filter(
        lambda docs: any(label for label, _ in docs)
    ),
    st.integers(1, 12),
)
@settings(max_examples=100, deadline=None)
def test_loss_and_constant_are_at_least_one_minus_ndcg(docs, k):
    labels, scores = (np.array(column, dtype=float) for column in zip(*docs, strict=True))
    value, _ = CSListMLE(k=k).value_and_slope(scores, literal.lists_of(labels))
    ndcg = pk.metrics.ndcg(labels, scores, qid=np.zeros(labels.size), k=k, ties="worst")[0]
    assert value + literal.cslistmle_constant(labels, k) >= 1 - ndcg - 1e-12


@given(graded, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_shuffled_rows_and_queries_change_only_the_order(queries, random):
    moved_queries, before = literal.shuffled(queries, random)
    (lists, scores), (moved, moved_scores) = literal.split(queries), literal.split(moved_queries)
    for loss in LOSSES:
        value, slope = loss.value_and_slope(scores, lists)
        value_moved, slope_moved = loss.value_and_slope(moved_scores, moved)
        assert value_moved == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slope_moved, slope[before], rtol=1e-10, atol=1e-13)


@given(graded, st.floats(-500, 500))
@settings(max_examples=25, deadline=None)
def test_a_constant_added_to_a_query_changes_nothing(queries, shift):
    lists, scores = literal.split(queries)
    shifts = np.repeat(shift * np.arange(1, lists.n_queries + 1), np.diff(lists.indptr))
    for loss in LOSSES:
        value, slope = loss.value_and_slope(scores, lists)
        value_moved, slope_moved = loss.value_and_slope(scores + shifts, lists)
        assert value_moved == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(slope_moved, slope, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("labels", [[], [3], [2, 2, 2], [0, 0], [0, -1, -2], [-3, -5000], [-1]])
def test_lists_without_weight_contribute_nothing(loss, labels):
    lists = literal.lists_of(labels)
    scores = np.arange(float(lists.n_docs))
    value, slope = loss.value_and_slope(scores, lists)
    assert value == 0.0
    for zeros in (slope, loss.curvature_diagonal(scores, lists), loss.curvature_bound(scores, lists)):
        assert zeros.tolist() == [0.0] * lists.n_docs
    assert loss.curvature_product(scores, lists, scores).tolist() == [0.0] * lists.n_docs


def test_documents_behind_the_cut_are_only_rivals():
    # k = 1: the best document against all others; pairs among the others do not count
    lists = literal.lists_of([3, 2, 1])
    (value, slope), (moved, _) = (CSListMLE(k=1).value_and_slope([1.0, *rest], lists) for rest in ([0.5, 0], [0, 0.5]))
    assert value == pytest.approx(moved, rel=1e-14)
    assert slope[0] < 0 < min(slope[1], slope[2])


def test_labels_below_nought_count_as_nought_but_stay_apart_from_the_rest():
    scores = np.array([0.3, 0.1, -0.4, 0.8])
    for loss in LOSSES:
        below = loss.value_and_slope(scores, literal.lists_of([2, 1, 0, -1]))
        nought = loss.value_and_slope(scores, literal.lists_of([2, 1, 0, 0]))
        assert below[0] == pytest.approx(nought[0], rel=1e-14)
        np.testing.assert_allclose(below[1], nought[1], rtol=1e-12)


def test_labels_in_the_thousands_are_taken_relative_to_the_largest():
    # 2**y − 1 is 2**y to double precision from y = 60 on, so that a common shift of the labels cancels
    scores = np.array([0.3, 0.1, -0.4, 0.8])
    low, high = (
        CSListMLE().value_and_slope(scores, literal.lists_of(np.array([9, 4, 7, 0]) + base)) for base in (60, 5e3)
    )
    assert low[0] == pytest.approx(high[0], rel=1e-12)
    np.testing.assert_allclose(low[1], high[1], rtol=1e-12)


@pytest.mark.parametrize("k", [10, None])
def test_a_strict_order_of_thousands_of_documents_gives_finite_numbers(k):
    rng = np.random.default_rng(0)
    labels, scores = rng.permutation(3000), rng.normal(size=3000)
    lists, loss = literal.lists_of(labels), CSListMLE(k=k)
    value, slope = loss.value_and_slope(scores, lists)
    assert 0 < value < np.inf
    assert slope.sum() == pytest.approx(0.0, abs=1e-10)
    assert slope[labels.argmax()] < 0
    assert np.isfinite(loss.curvature_product(1e4 * scores, lists, scores)).all()
    diagonal, bound = loss.curvature_diagonal(scores, lists), loss.curvature_bound(scores, lists)
    assert diagonal.min() >= 0
    assert (diagonal <= bound * (1 + 1e-9)).all()


def test_fractional_labels_near_nought_keep_their_digits():
    scores = np.array([0.3, 0.1, -0.4])
    labels = [2e-9, 1e-9, 0.0]
    # 2**y − 1 is y ln 2, so that the gains are as 2 : 1 : 0
    drops = [gain * math.log(2) / ((1 + g) * math.log(1 + g) ** 2) for g, gain in ((1, 2), (2, 1), (3, 0))]
    loss = 0.0
    for j in range(2):
        pairs = {t: drops[j] + drops[t] for t in range(j + 1, 3)}
        beta = sum(pairs.values())
        loss += beta * math.log2(1 + sum(w / beta * math.exp(scores[t] - scores[j]) for t, w in pairs.items()))
    value, _ = CSListMLE().value_and_slope(scores, literal.lists_of(labels))
    assert value == pytest.approx(loss / (2 + 1 / math.log2(3)), rel=1e-8)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (CSListMLE(k=0), "k=0; it must be a whole number of at least 1"),
        (CSListMLE(k=2.5), "k=2.5; it must be a whole number"),
        (CSListMLE(weights="gain"), "weights='gain' is not known; choose one of 'ndcg', 'label'"),
    ],
    ids=repr,
)
def test_wrong_parameters_are_refused(loss, message):
    with pytest.raises(ValueError, match=message):
        loss.value_and_slope(SCORES, LISTS)


def test_label_weights_refuse_labels_above_a_thousand():
    with pytest.raises(ValueError, match=r'labels go up to 1692, but weights="label" divides by 2\*\*label.*"ndcg"'):
        CSListMLE(weights="label").value_and_slope([0.0, 1.0], literal.lists_of([1692, 0]))
    assert CSListMLE(weights="label").value_and_slope([0.0, 1.0], literal.lists_of([1000, 0]))[0] > 0


def test_cs_listmle_has_its_name_and_all_curvatures():
    loss = get_loss("cs-listmle")
    assert loss == CSListMLE(10, "ndcg")
    assert loss.is_convex
    assert loss.ignores_shifts
    assert loss.has_curvature_product
    assert loss.has_curvature_bound
