"""The pairwise losses against loops over pairs, differences, invariances and hand sums.

Long lists are there because pairs are met in another way in them: sorted halves cross each other.
"""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.queries import QueryLists
from plackett.losses import Pairwise, get_loss
from plackett.losses.pair_plans import pair_counts, pair_plan
from tests.losses import literal
from tests.losses import literal_pairwise as loops

DIRECT = 96  # pairs per document that a plan lets be met one by one


def kind_of(name):
    """Return a function of the other parameters that returns this pairwise loss."""

    def make(**options):
        return Pairwise(name, **options)

    make.__name__ = name
    return make


LOOPS = {
    "hinge": loops.hinge,
    "squared-hinge": loops.squared_hinge,
    "logistic": loops.logistic,
    "exponential": loops.exponential,
    "psi": loops.psi,
    "smoothed-hinge": loops.smoothed_hinge(1.0),
}
KINDS = {name: kind_of(name) for name in LOOPS}
LOSSES = [(KINDS[name], loop) for name, loop in LOOPS.items()]
CURVED = [KINDS[name] for name in ("squared-hinge", "logistic", "exponential", "smoothed-hinge")]
each_loss = pytest.mark.parametrize(("kind", "loop"), LOSSES, ids=lambda part: part.__name__)
each_curved = pytest.mark.parametrize("kind", CURVED, ids=lambda kind: kind.__name__)

# labels and scores that make many ties, and margins that are exactly 0 and 1
documents = st.lists(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-12, 12).map(lambda k: k / 4)), max_size=9),
    min_size=1,
    max_size=4,
)


def long_lists(seed=0):
    """A strict order, grades, one relevant document among many, two classes, and a short list between them."""
    rng = np.random.default_rng(seed)
    return literal.lists_of(
        rng.permutation(240), rng.integers(0, 5, 270), np.arange(5) == 2, np.arange(250) == 77, rng.integers(0, 2, 410)
    )


def matrix_of(product, n):
    return np.array([product(unit) for unit in np.eye(n)])


@each_loss
@pytest.mark.parametrize("normalize", ["pairs", "all", "none"])
def test_values_and_slopes_are_those_of_a_loop_over_pairs(kind, loop, normalize):
    lists = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [-1, 3, 3, 0], [7000, 6999])
    scores = np.random.default_rng(0).normal(size=lists.n_docs)
    values, slope = loops.query_sums(loop, scores, lists, normalize)
    np.testing.assert_allclose(literal.values_of(kind(normalize=normalize), scores, lists), values, rtol=1e-12)
    np.testing.assert_allclose(kind(normalize=normalize).value_and_slope(scores, lists)[1], slope, atol=1e-13)


@each_loss
@settings(max_examples=60, deadline=None)
@given(queries=documents)
def test_ties_and_margins_at_the_kinks_are_those_of_a_loop_over_pairs(kind, loop, queries):
    lists, scores = literal.split(queries)
    values, slope = loops.query_sums(loop, scores, lists)
    np.testing.assert_allclose(literal.values_of(kind(), scores, lists), values, rtol=1e-12)
    np.testing.assert_allclose(kind().value_and_slope(scores, lists)[1], slope, atol=1e-13)


@each_loss
@pytest.mark.parametrize("grid", [None, 4])
def test_long_lists_are_those_of_a_loop_over_pairs(kind, loop, grid):
    lists = long_lists()
    scores = np.random.default_rng(1).normal(size=lists.n_docs)
    scores = scores if grid is None else np.round(scores * grid) / grid
    assert pair_plan(lists).n_stored > lists.n_docs / 2  # halves do cross
    values, slope = loops.query_sums(loop, scores, lists)
    found = np.empty(lists.n_docs)
    np.testing.assert_allclose(kind().query_values(scores, lists, found), values, rtol=1e-12)
    np.testing.assert_allclose(found, slope, atol=1e-13)


@each_loss
def test_a_hand_sum(kind, loop):
    # labels 2, 1, 0 at 3, 1, 0.25: margins 2, 2.75 and 0.75
    value, _ = kind(normalize="none").value_and_slope([3.0, 1.0, 0.25], literal.lists_of([2, 1, 0]))
    by_hand = {
        "hinge": 0.25,
        "squared-hinge": 0.0625,
        "logistic": np.log1p(np.exp([-2, -2.75, -0.75])).sum(),
        "exponential": np.exp([-2, -2.75, -0.75]).sum(),
        "psi": 0.25,
        "smoothed-hinge": 0.03125,
    }
    assert value == pytest.approx(by_hand[kind.__name__], rel=1e-14)


@pytest.mark.parametrize("kind", [kind for kind, _ in LOSSES])
@pytest.mark.parametrize("is_long", [False, True])
def test_slopes_match_differences_of_values(kind, is_long):
    rng = np.random.default_rng(3)
    lists = literal.lists_of(rng.permutation(400)) if is_long else literal.lists_of([2, 0, 1, 1, 4], [-1, 3, 3, 0])
    scores, direction = rng.normal(size=(2, lists.n_docs))
    _, slope = kind().value_and_slope(scores, lists)
    ahead, behind = (kind().value_and_slope(scores + step * direction, lists)[0] for step in (1e-7, -1e-7))
    assert slope @ direction == pytest.approx((ahead - behind) / 2e-7, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("kind", "spread"), [*((kind, 1.0) for kind in CURVED), (KINDS["squared-hinge"], 300.0), (KINDS["logistic"], 300.0)]
)
def test_products_match_differences_of_slopes(kind, spread):
    lists = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [-1, 3, 3, 0])
    scores = np.random.default_rng(4).normal(size=lists.n_docs) * spread
    found = matrix_of(kind().curvature_at(scores, lists), lists.n_docs)
    np.testing.assert_allclose(found, literal.difference_hessian(kind(), scores, lists, 1e-6), atol=1e-8 * spread)
    np.testing.assert_allclose(kind().curvature_diagonal(scores, lists), found.diagonal(), atol=1e-14)


@each_curved
def test_products_on_long_lists_match_differences_of_slopes(kind):
    lists = long_lists(5)
    rng = np.random.default_rng(6)
    scores, direction = rng.normal(size=(2, lists.n_docs))
    found = kind(normalize="none").curvature_product(scores, lists, direction)
    ahead, behind = (
        kind(normalize="none").value_and_slope(scores + step * direction, lists)[1] for step in (1e-6, -1e-6)
    )
    wrong = np.abs(found - (ahead - behind) / 2e-6)
    assert np.median(wrong) < 1e-4  # a pair that passes a kink between the two costs its document about 1
    assert np.mean(wrong > 1e-2) < 0.02
    diagonal = kind(normalize="none").curvature_diagonal(scores, lists)
    for doc in (0, 17, 239, 240, 512, 600, 1000):
        unit = np.eye(1, lists.n_docs, doc)[0]
        row = kind(normalize="none").curvature_product(scores, lists, unit)
        assert row[doc] == pytest.approx(diagonal[doc], rel=1e-10)
        assert row.sum() == pytest.approx(0, abs=1e-9 * max(1, diagonal[doc]))


@each_curved
@settings(max_examples=25, deadline=None)
@given(queries=documents)
def test_the_bound_is_a_bound_and_the_curvature_never_negative(kind, queries):
    lists, scores = literal.split(queries)
    if lists.n_docs == 0:
        return
    found = matrix_of(kind().curvature_at(scores, lists), lists.n_docs)
    bound = kind().curvature_bound(scores, lists)
    largest = max(1.0, bound.max())
    assert np.linalg.eigvalsh(found).min() > -1e-10 * largest
    assert np.linalg.eigvalsh(np.diag(bound) - found).min() > -1e-10 * largest


def test_products_stay_with_the_scores_they_were_asked_at():
    lists = literal.lists_of([2, 0, 1, 1, 4])
    direction = np.arange(5.0)
    for kind in CURVED:
        scores = np.linspace(0, 1, 5)
        product = kind().curvature_at(scores, lists)
        before = product(direction)
        scores[:] = 9.0
        np.testing.assert_array_equal(product(direction), before)


@each_loss
@settings(max_examples=20, deadline=None)
@given(queries=documents, random=st.randoms(use_true_random=False))
def test_shuffled_rows_and_queries_change_only_the_order(kind, loop, queries, random):
    lists, scores = literal.split(queries)
    moved, before = literal.shuffled(queries, random)
    other_lists, other_scores = literal.split(moved)
    value, slope = kind().value_and_slope(scores, lists)
    other_value, other_slope = kind().value_and_slope(other_scores, other_lists)
    assert other_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_slope, slope[before], atol=1e-13)


@each_loss
@pytest.mark.parametrize("shift", [1024.0, -(2.0**40)])
def test_a_constant_added_to_all_scores_changes_nothing(kind, loop, shift):
    lists = long_lists(7)
    scores = np.round(np.random.default_rng(8).normal(size=lists.n_docs) * 64) / 64
    value, slope = kind().value_and_slope(scores, lists)
    other_value, other_slope = kind().value_and_slope(scores + shift, lists)
    assert other_value == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(other_slope, slope, atol=1e-14)


@each_loss
def test_lists_without_pairs_contribute_nothing(kind, loop):
    for normalize in ("pairs", "all", "none"):
        loss = kind(normalize=normalize)
        lists = literal.lists_of([3], [], [1, 1, 1], [2])
        value, slope = loss.value_and_slope(np.arange(5.0), lists)
        assert value == 0
        assert not slope.any()
        if loss.has_curvature_product:
            assert not loss.curvature_bound(np.arange(5.0), lists).any()
            assert not loss.curvature_product(np.arange(5.0), lists, np.ones(5)).any()


@each_loss
def test_scores_far_apart_keep_value_and_slope_finite(kind, loop):
    lists = long_lists(9)
    rng = np.random.default_rng(10)
    for spread in (1e4, 1e100, 1.7e308):
        value, slope = kind().value_and_slope(rng.uniform(-1, 1, lists.n_docs) * spread, lists)
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


@pytest.mark.parametrize(
    ("kind", "loop"), [pair for pair in LOSSES if pair[0].__name__ != "exponential"], ids=lambda part: part.__name__
)
def test_scores_far_apart_cost_no_accuracy(kind, loop):
    lists = literal.lists_of(np.random.default_rng(11).permutation(400))
    scores = np.random.default_rng(12).normal(size=400) * 300
    values, slope = loops.query_sums(loop, scores, lists)
    found = np.empty(400)
    np.testing.assert_allclose(kind().query_values(scores, lists, found), values, rtol=1e-11)
    np.testing.assert_allclose(found, slope, rtol=1e-11, atol=1e-13)


def test_exponential_of_far_but_well_ordered_scores_is_exact():
    # clusters 3,000 apart, in the right order but for neighbours within a cluster
    labels = np.arange(12)[::-1]
    scores = np.repeat([6000.0, 3000.0, 0.0, -3000.0], 3) + np.tile([0.0, 1.0, 0.5], 4)
    lists = literal.lists_of(labels)
    values, slope = loops.query_sums(loops.exponential, scores, lists)
    value, found = Pairwise("exponential").value_and_slope(scores, lists)
    assert value == pytest.approx(values[0], rel=1e-13)
    np.testing.assert_allclose(found, slope, rtol=1e-12)
    unit = np.eye(12)[4]
    row = Pairwise("exponential").curvature_product(scores, lists, unit)
    assert row[4] == pytest.approx(Pairwise("exponential").curvature_diagonal(scores, lists)[4], rel=1e-13)
    assert row[3] == pytest.approx(-np.exp(1.0) / 66, rel=1e-12)


def test_small_logistic_losses_keep_their_digits():
    # margins of 40 and more: 1 + e^-40 is 1
    value, slope = Pairwise(normalize="none").value_and_slope([80.0, 40.0, 0.0], literal.lists_of([2, 1, 0]))
    assert value == pytest.approx(2 * np.exp(-40.0) + np.exp(-80.0), rel=1e-13)
    np.testing.assert_allclose(slope[0], -np.exp(-40.0), rtol=1e-13)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.3, 2.5])
@pytest.mark.parametrize("grid", [None, 2])
def test_the_smoothed_hinge_is_its_definition_at_every_width(width, grid):
    lists = long_lists(13)
    scores = np.random.default_rng(14).normal(size=lists.n_docs) * 3
    scores = scores if grid is None else np.round(scores * grid) / grid
    values, slope = loops.query_sums(loops.smoothed_hinge(width), scores, lists)
    found = np.empty(lists.n_docs)
    np.testing.assert_allclose(
        Pairwise("smoothed-hinge", width=width).query_values(scores, lists, found), values, rtol=1e-11
    )
    np.testing.assert_allclose(found, slope, atol=1e-10)


def test_many_pairs_within_a_small_width_are_summed_as_exactly():
    rng = np.random.default_rng(15)
    lists, width = literal.lists_of(np.arange(600) < 300), 1e-6
    scores = np.where(np.arange(600) < 300, 1.0, 0.0) + rng.uniform(-0.4, 0.4, 600) * width
    values, slope = loops.query_sums(loops.smoothed_hinge(width), scores, lists)
    found = np.empty(600)
    np.testing.assert_allclose(
        Pairwise("smoothed-hinge", width=width).query_values(scores, lists, found), values, rtol=1e-7
    )
    np.testing.assert_allclose(found, slope, rtol=1e-7)


@settings(max_examples=40, deadline=None)
@given(queries=documents, width=st.sampled_from([1e-6, 0.01, 0.25, 1.0, 3.0]))
def test_smoothing_costs_at_most_half_the_width_a_pair(queries, width):
    lists, scores = literal.split(queries)
    hinge = Pairwise("hinge", normalize="none")
    below = literal.values_of(hinge, scores, lists) - literal.values_of(hinge.smoothed(width), scores, lists)
    assert (below >= -1e-12).all()
    assert (below <= width / 2 * pair_counts(lists) + 1e-12).all()


@pytest.mark.parametrize(("width", "normalize"), [(1e-6, "pairs"), (0.1, "all"), (1.0, "none")])
def test_dual_sums_are_those_of_a_loop_over_pairs(width, normalize):
    lists = long_lists(16)
    scores = np.random.default_rng(17).normal(size=lists.n_docs)
    expected, _ = loops.query_sums(lambda m: (min(1.0, max(0.0, 1 - m) / width), 0.0), scores, lists, normalize)
    np.testing.assert_allclose(
        Pairwise("hinge", normalize=normalize).dual_sums(scores, lists, width), expected, rtol=1e-10
    )


def test_the_dual_variables_give_a_lower_bound_that_closes():
    # min over s of hinge(s) + s²/2, one pair with margin s: s = 1 costs 1/2, and the dual value is alpha - alpha²/2
    lists, hinge = literal.lists_of([1, 0]), Pairwise("hinge")
    for width in (0.1, 1e-3, 1e-6):
        margin = 1 / (1 + width)  # the minimum with the smoothed hinge
        alpha = hinge.dual_sums(np.array([margin, 0.0]), lists, width)[0]
        primal = 1 - margin + margin**2 / 2
        assert 0 <= primal - (alpha - alpha**2 / 2) < width


def test_a_hundred_thousand_documents_take_no_list_of_pairs():
    kinds = [kind for name, kind in KINDS.items() if name != "logistic"]
    rng = np.random.default_rng(18)
    for n in (4, 100_000):  # the short list loads what is loaded once
        lists, scores = QueryLists(rng.permutation(n).astype(float), np.array([0, n])), rng.normal(size=n)
        start = time.process_time()
        for kind in kinds:
            value, slope = kind().value_and_slope(scores, lists)
            assert value > 0
            assert slope.sum() == pytest.approx(0, abs=1e-9)
        assert Pairwise("squared-hinge").curvature_product(scores, lists, scores) @ scores >= 0
    assert time.process_time() - start < 10  # pairs would take 5e9 steps for each


def test_the_plan_meets_every_pair_once():
    lists = long_lists(19)
    plan = pair_plan(lists)
    for q in range(lists.n_queries):
        docs = slice(lists.indptr[q], lists.indptr[q + 1])
        labels = lists.labels[lists.order[docs]]
        met = np.zeros((labels.size, labels.size), dtype=int)
        for start, middle, stop, _ in plan.steps[plan.indptr[q] : plan.indptr[q + 1]]:
            if middle == start:
                inside = labels[start:stop]
                met[start:stop, start:stop] += inside[:, None] > inside[None, :]
                assert (inside[:, None] > inside[None, :]).sum() <= DIRECT * (stop - start)
            else:
                met[start:middle, middle:stop] += 1
        np.testing.assert_array_equal(met, labels[:, None] > labels[None, :])


@pytest.mark.parametrize("sigma", [1e-6, 0.3, 2.0, 1e6])
def test_sigma_multiplies_the_margins(sigma):
    lists = long_lists(20)
    scores, direction = np.random.default_rng(21).normal(size=(2, lists.n_docs)) / 40
    loss, plain = Pairwise(sigma=sigma), Pairwise()
    value, slope = loss.value_and_slope(scores, lists)
    expected, expected_slope = plain.value_and_slope(sigma * scores, lists)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, sigma * expected_slope, rtol=1e-9, atol=1e-13 * sigma)
    for found, wanted in (
        (loss.curvature_product(scores, lists, direction), plain.curvature_product(sigma * scores, lists, direction)),
        (loss.curvature_diagonal(scores, lists), plain.curvature_diagonal(sigma * scores, lists)),
        (loss.curvature_bound(scores, lists), plain.curvature_bound(sigma * scores, lists)),
    ):
        np.testing.assert_allclose(found, sigma**2 * wanted, rtol=1e-7, atol=1e-13 * sigma**2)


@pytest.mark.parametrize("normalize", ["pairs", "all", "none"])
def test_squared_differences_are_those_of_a_loop_over_all_pairs(normalize):
    lists = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0.5, 0.5, 0.5], [-1, 3, 3, 0])
    loss, rng = Pairwise("squared", normalize=normalize), np.random.default_rng(22)
    scores = rng.normal(size=lists.n_docs)
    value, slope, hessian = 0.0, np.zeros(lists.n_docs), np.zeros((lists.n_docs, lists.n_docs))
    for start, stop in itertools.pairwise(lists.indptr):
        n = stop - start
        for i, j in itertools.combinations(range(start, stop), 2):
            error = (scores[i] - scores[j]) - (lists.labels[i] - lists.labels[j])
            unit = (np.eye(lists.n_docs)[i] - np.eye(lists.n_docs)[j]) / (1 if normalize == "none" else n * (n - 1) / 2)
            value += error**2 * unit[i]
            slope += 2 * error * unit
            hessian += 2 * np.outer(unit, unit) / unit[i]
    found, found_slope = loss.value_and_slope(scores, lists)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found_slope, slope, atol=1e-12)
    np.testing.assert_allclose(matrix_of(loss.curvature_at(scores, lists), lists.n_docs), hessian, atol=1e-12)
    np.testing.assert_allclose(loss.curvature_diagonal(scores, lists), hessian.diagonal(), atol=1e-12)
    assert np.linalg.eigvalsh(np.diag(loss.curvature_bound(scores, lists)) - hessian).min() > -1e-12
    assert np.isfinite(loss.value_and_slope(1e300 * scores, lists)[0])


def test_names_and_errors():
    names = ["hinge", "squared-hinge", "logistic", "exponential", "psi"]
    assert [get_loss(name).name for name in names] == names
    lists = literal.lists_of([1, 0])
    with pytest.raises(ValueError, match="normalize='mean' is not known; choose one of 'pairs', 'all', 'none'"):
        Pairwise("hinge", normalize="mean").value_and_slope([0.0, 0.0], lists)
    with pytest.raises(ValueError, match="width=0; it must be a finite number above 0"):
        Pairwise("hinge").smoothed(0).value_and_slope([0.0, 0.0], lists)
    with pytest.raises(ValueError, match="loss='log' is not known; choose one of 'hinge'"):
        Pairwise("log").value_and_slope([0.0, 0.0], lists)
    with pytest.raises(ValueError, match="weight='even' is not known; choose one of 'uniform'"):
        Pairwise("hinge", "even").value_and_slope([0.0, 0.0], lists)
    with pytest.raises(ValueError, match=r"sigma=2\.0 has no meaning with loss='hinge', only with"):
        Pairwise("hinge", sigma=2.0).value_and_slope([0.0, 0.0], lists)
    with pytest.raises(
        NotImplementedError, match=r"Pairwise\(loss='psi'\) has no curvature_product \(it is not convex\)"
    ):
        Pairwise("psi").curvature_product([0.0, 0.0], lists, [1.0, 0.0])
    with pytest.raises(NotImplementedError, match=r"Pairwise\(loss='hinge'\) has no curvature_bound"):
        Pairwise("hinge").curvature_bound([0.0, 0.0], lists)
    assert not Pairwise("hinge").has_curvature_bound
    assert Pairwise("hinge", normalize="all").smoothed(0.5) == Pairwise("smoothed-hinge", width=0.5, normalize="all")


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "psi"])
def test_minus_zero_is_zero(loss):
    rng = np.random.default_rng(0)
    lists = QueryLists(rng.integers(0, 5, 2000).astype(float), np.array([0, 2000]))
    mixed = np.where(rng.random(2000) < 0.5, -0.0, 0.0)
    for got, wanted in zip(
        Pairwise(loss).value_and_slope(mixed, lists), Pairwise(loss).value_and_slope(np.zeros(2000), lists), strict=True
    ):
        np.testing.assert_array_equal(got, wanted)
