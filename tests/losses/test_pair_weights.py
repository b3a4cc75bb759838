"""Weights of pairs: loops over all orders of ties, held weights, normalisation, gains, and what has no meaning."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.losses import Pairwise, get_loss
from plackett.losses.pair_plans import NORMALIZERS
from plackett.losses.pairwise import KINDS, WEIGHTS
from tests.losses import literal
from tests.losses import literal_weights as loops

CURVED = [name for name, kind in KINDS.items() if kind.is_curved]
GAINS = {"exponential": lambda y: 2.0**y - 1, "linear": lambda y: y, (0, 1, 5, 2): lambda y: np.array([0, 1, 5, 2])[y]}

documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3).map(lambda s: s / 2)), max_size=5)
compositions = st.builds(
    lambda loss, weight, k, **options: Pairwise(
        loss, weight, 2 if weight == "precision" and k is None else k, **options
    ),
    st.sampled_from(list(KINDS)),
    st.sampled_from(list(WEIGHTS)),
    st.none() | st.integers(1, 6),
    score_norm=st.booleans(),
)
spreads = st.sampled_from([1e-6, 0.1, 1.0, 30.0, 1e6])


def literal_sums(loss, scores, labels):
    """Value and slope of one list of at most a few documents, by the definition."""
    n, weight = len(labels), WEIGHTS[loss.weight]
    gains = GAINS[loss.gain](labels.astype(int)).astype(float)
    divisor = loss.normalize or ("ideal" if weight.has_gains else "pairs")
    if divisor == "ideal":
        ideal = np.sort(gains)[::-1][: loss.k] @ (1 / np.log2(np.arange(len(gains[: loss.k])) + 2))
        gains = gains / ideal if ideal else gains
    has_equal_labels = loss.loss == "squared" and loss.weight == "uniform"
    weights = loops.pair_weights(
        loss.weight, scores, labels, gains, k=loss.k, mu=loss.mu, score_norm=loss.score_norm,
        has_equal_labels=has_equal_labels,
    )  # fmt: skip
    count = n * (n - 1) if weight.is_one_sided else np.greater.outer(labels, labels).sum()
    count = n * (n - 1) / 2 if has_equal_labels else count
    value, slope = loops.weighted_sums(
        loss.loss, weights, scores, labels, sigma=loss.sigma, score_norm=loss.score_norm, held=scores
    )
    factor = {"pairs": count, "all": n * (n - 1) / 2}.get(divisor, 1) if count else 1
    return value / factor, slope / factor


def compared(loss, lists, scores):
    values, slope = literal.values_of(loss, scores, lists), loss.value_and_slope(scores, lists)[1]
    for query, (start, stop) in enumerate(itertools.pairwise(lists.indptr)):
        value, expected = literal_sums(loss, scores[start:stop], lists.labels[start:stop])
        scale = abs(value) + np.abs(expected).max(initial=0.0)
        assert values[query] == pytest.approx(value, rel=1e-11, abs=1e-13 * scale)
        np.testing.assert_allclose(slope[start:stop], expected, rtol=1e-10, atol=1e-12 * scale)


def some_lists(seed=0):
    rng = np.random.default_rng(seed)
    lists = literal.lists_of([2, 0, 1, 1], [], [3], [0, 0, 0], rng.integers(0, 4, 12), [1, 0])
    return lists, np.round(rng.normal(size=lists.n_docs) * 4) / 4


@settings(max_examples=150, deadline=None)
@given(queries=st.lists(documents, min_size=1, max_size=3), loss=compositions)
def test_every_composition_is_a_loop_over_pairs_and_the_orders_of_ties(queries, loss):
    if loss.loss == "smoothed-hinge":
        loss.width = 0.5  # that of the loop
    compared(loss, *literal.split(queries))


@pytest.mark.parametrize("k", [None, 4, 9])
@pytest.mark.parametrize(("normalize", "expected"), [("none", 21.71), (None, 21.71 / 6), ("all", 21.71 / 6)])
def test_squared_pairs_with_equal_labels_count_with_a_cut(normalize, expected, k):
    # of f - y = -.5, 1.2, -1.3, -1.9: 1.7² + .8² + 1.4² + 2.5² + 3.1² + .6²
    loss, lists = Pairwise("squared", k=k, normalize=normalize), literal.lists_of([1, 0, 1, 2])
    assert loss.value_and_slope([0.5, 1.2, -0.3, 0.1], lists)[0] == pytest.approx(expected, rel=1e-14)


def test_squared_pairs_with_equal_labels_count_if_one_of_the_two_is_inside_the_cut():
    loss, lists = Pairwise("squared", k=1, normalize="none"), literal.lists_of([0, 0, 0])
    value, slope = loss.value_and_slope([3.0, 1.0, 0.0], lists)
    assert value == 2**2 + 3**2  # not 1²: both are outside
    np.testing.assert_array_equal(slope, [2 * 2 + 2 * 3, -2 * 2, -2 * 3])


@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("score_norm", [False, True])
def test_a_cut_of_all_documents_is_no_cut(loss, weight, score_norm):
    lists, scores = some_lists()
    longest = int(np.diff(lists.indptr).max())
    for normalize in (None, *NORMALIZERS, *(["ideal"] if WEIGHTS[weight].has_gains else [])):
        options = {"normalize": normalize, "score_norm": score_norm, "width": 0.5 if loss == "smoothed-hinge" else 1.0}
        plain = None if weight == "precision" else Pairwise(loss, weight, **options)
        for k in (longest, longest + 1, 1000):
            cut = Pairwise(loss, weight, k, **options)
            compared(cut, lists, scores)
            for found, expected in zip(parts(cut, lists, scores), parts(plain, lists, scores), strict=False):
                np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12 * np.abs(expected).max())


def parts(loss, lists, scores):
    """Values, slope and second derivatives; nothing without a loss."""
    if loss is None:
        return []
    slope = np.empty(lists.n_docs)
    diagonal = [loss.diagonal_at(scores, lists)] if loss.has_positive_diagonal else []
    product = [loss.curvature_at(scores, lists)(np.cos(scores))] if loss.has_curvature_product else []
    return [loss.query_values(scores, lists, slope), slope, *diagonal, *product]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("normalize", [None, "pairs", "all", "none"])
def test_sums_are_divided_as_asked(weight, normalize):
    lists = literal.lists_of([2, 0, 1, 1], [], [3], [0, 0, 0], [0, 3, 0, 1, 2])
    scores = np.random.default_rng(1).integers(-2, 3, lists.n_docs) / 2
    for k in (2, None):
        if weight != "precision" or k:
            compared(Pairwise("logistic", weight, k, sigma=1.5, normalize=normalize), lists, scores)


@pytest.mark.parametrize("weight", [name for name, weight in WEIGHTS.items() if weight.has_gains])
@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("normalize", ["ideal", "none"])
def test_gains_are_those_of_the_metrics_or_of_a_table(weight, gain, normalize):
    lists = literal.lists_of([2, 0, 1, 1], [3], [0, 3, 0, 1, 2])
    scores = np.random.default_rng(2).integers(-2, 3, lists.n_docs) / 2
    compared(Pairwise("logistic", weight, 3, gain=gain, normalize=normalize), lists, scores)


@settings(max_examples=120, deadline=None)
@given(
    queries=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(-6, 6)), max_size=12), min_size=1, max_size=3),
    loss=compositions,
    spread=spreads,
    seed=st.integers(0, 99),
)
def test_slopes_are_differences_of_values_with_held_weights(queries, loss, spread, seed):
    lists, scores = literal.split(queries)
    scores = scores * spread / 6
    if not loss.is_smooth or (loss.loss == "exponential" and spread > 10):
        return
    held = loss.held_at(scores, lists)
    assert not held.has_moving_weights
    value, slope = loss.value_and_slope(scores, lists)
    held_value, held_slope = held.value_and_slope(scores, lists)
    assert held_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(held_slope, slope, rtol=1e-10, atol=1e-13 * np.abs(slope).max(initial=0.0))
    direction = np.random.default_rng(seed).normal(size=lists.n_docs)
    step = 1e-6 * max(1.0, spread)
    ahead, behind = (held.value_and_slope(scores + side * step * direction, lists)[0] for side in (1, -1))
    size = np.abs(slope) @ np.abs(direction)
    noise = 1e-14 * abs(value) / step
    kinks = step * max(1.0, held.curvature_bound(scores, lists).sum() if held.has_curvature_bound else size)
    assert slope @ direction == pytest.approx(
        (ahead - behind) / (2 * step), rel=1e-5, abs=1e-6 * size + noise + 10 * kinks
    )


@pytest.mark.parametrize("loss", CURVED)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("score_norm", [False, True])
def test_curvature_is_that_of_held_weights(loss, weight, score_norm):
    lists, scores = some_lists()
    for k in (3, None):
        if weight == "precision" and k is None:
            continue
        moving = Pairwise(loss, weight, k, score_norm=score_norm)
        scores = scores + 0.01  # no margin is exactly at a kink
        held = moving.held_at(scores, lists)
        expected = literal.difference_hessian(held, scores + np.arange(scores.size) * 1e-3, lists, 1e-6)
        for one in (held,) if moving.has_moving_weights else (held, moving):
            product = one.curvature_at(scores + np.arange(scores.size) * 1e-3, lists)
            found = np.array([product(unit) for unit in np.eye(lists.n_docs)])
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
        at_ties = np.array([moving.curvature_at(scores, lists)(unit) for unit in np.eye(lists.n_docs)])
        np.testing.assert_allclose(moving.curvature_diagonal(scores, lists), at_ties.diagonal(), rtol=1e-12, atol=1e-15)
        bound = moving.curvature_bound(scores, lists)
        assert np.linalg.eigvalsh(np.diag(bound) - at_ties).min() > -1e-10 * bound.max()
        assert np.linalg.eigvalsh(at_ties).min() > -1e-10 * bound.max()


@pytest.mark.parametrize("loss", [name for name, kind in KINDS.items() if kind.has_diagonal])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("score_norm", [False, True])
def test_one_pass_gives_the_bits_of_a_slope_and_of_a_diagonal(loss, weight, score_norm):
    rng = np.random.default_rng(0)
    lists = literal.lists_of([], [1], [2, 2], *(rng.integers(0, 4, size) for size in (2, 3, 4, 7, 16, 33, 150)))
    spread = rng.normal(size=lists.n_docs)
    for k in (None, 1, 10, 400):
        if weight == "precision" and k is None:
            continue
        moving = Pairwise(
            loss, weight, k, sigma=0.7 if loss in ("logistic", "soft-zero-one") else 1.0, score_norm=score_norm
        )
        for scores in (spread, np.round(2 * spread), 500 * spread, np.zeros(lists.n_docs)):
            for one in (moving, moving.held_at(spread, lists)):
                slope, expected = np.empty(lists.n_docs), np.empty(lists.n_docs)
                values, diagonal = one.values_and_diagonal_at(scores, lists, slope)
                np.testing.assert_array_equal(values, one.query_values(scores, lists, expected))
                np.testing.assert_array_equal(slope, expected)
                np.testing.assert_array_equal(diagonal, one.diagonal_at(scores, lists))


@settings(max_examples=60, deadline=None)
@given(queries=st.lists(documents, min_size=1, max_size=3), loss=compositions, random=st.randoms(use_true_random=False))
def test_shuffled_rows_and_queries_change_only_the_order(queries, loss, random):
    lists, scores = literal.split(queries)
    moved, before = literal.shuffled(queries, random)
    other_lists, other_scores = literal.split(moved)
    value, slope = loss.value_and_slope(scores, lists)
    other_value, other_slope = loss.value_and_slope(other_scores, other_lists)
    assert other_value == pytest.approx(value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(other_slope, slope[before], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("k", [None, 3])
def test_lists_without_pairs_and_scores_far_apart_are_finite(loss, weight, k):
    if weight == "precision" and k is None:
        return
    chosen = Pairwise(loss, weight, k)
    value, slope = chosen.value_and_slope([1.0, 2.0], literal.lists_of([3], [], [1]))
    assert value == 0
    assert not slope.any()
    lists, rng = literal.lists_of(np.arange(60) % 4), np.random.default_rng(3)
    for spread in (1e6, 1e100, 1.7e308):
        value, slope = chosen.value_and_slope(rng.uniform(-1, 1, 60) * spread, lists)
        assert np.isfinite(value)
        assert np.isfinite(slope).all()


@pytest.mark.parametrize("loss", [name for name in KINDS if name != "squared"])
@pytest.mark.parametrize(
    "options",
    [{"weight": "label"}, {"weight": "label", "k": 3}, {"weight": "ndcg-loss1", "gain": "linear", "normalize": "none"}],
    ids=str,
)
def test_losses_linear_in_the_labels_take_any_real_labels(loss, options):
    rng = np.random.default_rng(4)
    linear, scores = Pairwise(loss, **options), np.round(rng.normal(size=30) * 3) / 3
    assert linear.is_linear_in_labels
    one, other = rng.normal(size=(2, 30))
    labels = literal.lists_of(one)
    assert not linear.is_convex_on(labels)
    assert linear.is_bounded_on(labels) == (loss in ("psi", "soft-zero-one"))
    assert linear.is_convex_on(literal.lists_of(np.abs(one))) == linear.is_convex
    parts = [linear.value_and_slope(scores, literal.lists_of(labels)) for labels in (one, other, one - 2.5 * other)]
    assert parts[2][0] == pytest.approx(parts[0][0] - 2.5 * parts[1][0], rel=1e-10)
    np.testing.assert_allclose(parts[2][1], parts[0][1] - 2.5 * parts[1][1], atol=1e-10)


@pytest.mark.parametrize(("labels", "is_convex"), [([2, -0.5, 0.5], True), ([2, -0.5, 0.4], False), ([-3], True)])
def test_logistic_pairs_are_convex_if_no_two_labels_sum_to_less_than_0(labels, is_convex):
    loss, lists, rng = Pairwise("logistic", "label"), literal.lists_of(labels), np.random.default_rng(0)
    assert loss.is_convex_on(lists) == is_convex
    assert Pairwise("hinge", "label").is_convex_on(lists) == (len(labels) == 1)  # its kinks are not symmetric
    assert loss.is_bounded_on(lists) == (len(labels) == 1)  # a document alone has no pairs
    middles = []
    for _ in range(2000):
        ends = rng.normal(size=(2, len(labels))) * 3
        values = [loss.value_and_slope(scores, lists)[0] for scores in (*ends, ends.mean(axis=0))]
        middles.append(values[2] <= (values[0] + values[1]) / 2 + 1e-12)
    assert all(middles) == is_convex


@pytest.mark.parametrize("grid", [None, 4])
def test_the_hinge_weighted_by_labels_is_a_loop_over_ordered_pairs(grid):
    rng = np.random.default_rng(5)
    labels = [rng.normal(size=n) for n in (1, 0, 7, 200)]
    lists = literal.lists_of(*labels)
    scores = rng.normal(size=lists.n_docs) * 2
    scores = scores if grid is None else np.round(scores * grid) / grid
    value, slope = Pairwise("hinge", "label", normalize="none").value_and_slope(scores, lists)
    expected, expected_slope = 0.0, np.zeros(lists.n_docs)
    for start, stop in itertools.pairwise(lists.indptr):
        for i, j in itertools.permutations(range(start, stop), 2):
            gap = 1 - (scores[i] - scores[j])
            expected += lists.labels[i] * max(0.0, gap)
            expected_slope[i] -= lists.labels[i] * (gap > 0)
            expected_slope[j] += lists.labels[i] * (gap > 0)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(slope, expected_slope, atol=1e-10)


def test_a_hundred_thousand_documents_weighted_by_labels_take_no_pairs():
    rng = np.random.default_rng(6)
    lists, scores = literal.lists_of(rng.integers(0, 5, 100_000)), rng.normal(size=100_000)
    value, slope = Pairwise("hinge", "label").value_and_slope(scores, lists)
    assert value > 0
    assert slope.sum() == pytest.approx(0, abs=1e-9)
    value, slope = Pairwise(weight="lambdarank", k=10).value_and_slope(scores, lists)
    assert value > 0
    assert np.isfinite(slope).all()


def test_names_are_settings():
    for name in ("lambdarank", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2++"):
        assert get_loss(name) == Pairwise("logistic", name)
        assert get_loss(name).name == name
        assert get_loss(name).has_moving_weights
    assert get_loss("soft-zero-one") == Pairwise("soft-zero-one")
    assert Pairwise("hinge", "lambdarank").name == "pairwise"
    assert Pairwise(k=5).has_moving_weights
    assert not Pairwise(weight="gain-difference").has_moving_weights
    Pairwise("hinge", sigma=1, mu=10).check_labels(literal.lists_of([1, 0]))  # defaults, as integers
    plain = Pairwise(weight="gain-difference")
    assert plain.held_at(np.zeros(2), literal.lists_of([1, 0])) is plain


@pytest.mark.parametrize(
    ("loss", "match"),
    [
        (Pairwise(mu=3), "mu=3 has no meaning with weight='uniform', only with weight='ndcg-loss2\\+\\+'"),
        (Pairwise(gain="linear"), "gain='linear' has no meaning with weight='uniform', only with weight='gain-diff"),
        (Pairwise(weight="label", gain=[0, 1]), "gain=.* has no meaning with weight='label'"),
        (Pairwise(normalize="ideal"), "normalize='ideal' has no meaning with weight='uniform', only with"),
        (Pairwise(weight="precision"), 'weight="precision" needs a cut'),
        (Pairwise(k=0), "k=0; it must be a whole number of at least 1"),
        (Pairwise(weight="lambdarank", score_norm=2), "score_norm=2 is not known"),
        (Pairwise("hinge", "lambdarank", sigma=2), "sigma=2 has no meaning with loss='hinge', only with loss='log"),
        (Pairwise(weight="lambdarank", gain=[0.0]), "gain has the gains of the labels 0 to 0, but the label"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_has_no_meaning_is_refused(loss, match):
    with pytest.raises(ValueError, match=match):
        loss.value_and_slope([0.0, 0.0], literal.lists_of([1, 0]))
