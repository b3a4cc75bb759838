"""ListMLE and p-ListMLE against loops written from the equations, and the worked example of the p-ListMLE paper."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses import ListMLE, PListMLE

RNG = np.random.default_rng(0)
BOUNDS = np.array([0, 1, 1, 5, 20, 40, 41, 60])
LISTS = QueryLists(RNG.integers(0, 4, 60).astype(float), BOUNDS)
STRICT = QueryLists(RNG.permutation(60).astype(float), BOUNDS)
SCORES = RNG.normal(size=60) * 2


def each_query(lists, scores):
    for start, stop in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
        yield lists.labels[start:stop].tolist(), scores[start:stop].tolist()


def strict_listmle(labels, scores, alpha=lambda i, n: 1.0):
    """Equation 2 (and 9, with alpha) of the paper: documents in true order, each against itself and those after it."""
    order = sorted(range(len(labels)), key=lambda i: -labels[i])
    f = [scores[i] for i in order]
    n = len(f)
    return sum(alpha(i + 1, n) * (-f[i] + math.log(sum(math.exp(v) for v in f[i:]))) for i in range(n))


def breslow(labels, scores, weight=lambda level: 1.0):
    total = 0.0
    for level in set(labels):
        if level == min(labels):
            continue
        below = sum(math.exp(f) for y, f in zip(labels, scores, strict=True) if y <= level)
        total += sum(weight(level) * (-f + math.log(below)) for y, f in zip(labels, scores, strict=True) if y == level)
    return total


def efron(labels, scores):
    total = 0.0
    for level in set(labels):
        if level == min(labels):
            continue
        own = [f for y, f in zip(labels, scores, strict=True) if y == level]
        below = sum(math.exp(f) for y, f in zip(labels, scores, strict=True) if y <= level)
        within = sum(math.exp(f) for f in own)
        total += -sum(own) + sum(math.log(below - r / len(own) * within) for r in range(len(own)))
    return total


@pytest.mark.parametrize(("ties", "literal"), [("breslow", breslow), ("efron", efron)])
def test_tied_labels_follow_the_formula(ties, literal):
    value, _ = ListMLE(ties=ties).value_and_slope(SCORES, LISTS)
    assert value == pytest.approx(sum(literal(y, f) for y, f in each_query(LISTS, SCORES)), rel=1e-12)


@pytest.mark.parametrize("ties", ["breslow", "efron", "random"])
def test_a_strict_order_gives_the_paper_s_loss_whatever_the_ties(ties):
    value, _ = ListMLE(ties=ties).value_and_slope(SCORES, STRICT)
    assert value == pytest.approx(sum(strict_listmle(y, f) for y, f in each_query(STRICT, SCORES)), rel=1e-12)


WEIGHTS = {
    "exp2": lambda i, n: (2 ** (n - i) - 1) / (2 ** (n - 1) - 1) if n > 1 else 0.0,
    "dcg": lambda i, n: 1 / math.log2(1 + i),
    "linear": lambda i, n: n - i,
}


@pytest.mark.parametrize("rule", WEIGHTS)
def test_p_listmle_weighs_each_place(rule):
    value, _ = PListMLE(rule).value_and_slope(SCORES, STRICT)
    expected = sum(strict_listmle(y, f, WEIGHTS[rule]) for y, f in each_query(STRICT, SCORES))
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", WEIGHTS)
def test_p_listmle_gives_a_level_the_mean_weight_of_its_places(rule):
    def one(labels, scores):
        ranked = sorted(labels, reverse=True)
        places = {level: [i + 1 for i, y in enumerate(ranked) if y == level] for level in set(labels)}
        n = len(labels)
        return breslow(
            labels, scores, lambda level: sum(WEIGHTS[rule](i, n) for i in places[level]) / len(places[level])
        )

    value, _ = PListMLE(rule).value_and_slope(SCORES, LISTS)
    assert value == pytest.approx(sum(one(y, f) for y, f in each_query(LISTS, SCORES)), rel=1e-12)


def test_position_weights_may_be_a_function():
    value, _ = PListMLE(lambda positions, n: 1.0 / positions).value_and_slope(SCORES, STRICT)
    expected = sum(strict_listmle(y, f, lambda i, n: 1 / i) for y, f in each_query(STRICT, SCORES))
    assert value == pytest.approx(expected, rel=1e-12)


def test_rising_or_negative_position_weights_are_refused():
    with pytest.raises(ValueError, match="position_weights returned a negative weight"):
        PListMLE(lambda positions, n: 2.0 - positions).value_and_slope(SCORES, LISTS)
    with pytest.raises(ValueError, match=r"base=0.5; it must be above 1"):
        PListMLE("exp", base=0.5).value_and_slope(SCORES, LISTS)


FIRST, SECOND = np.log([4, 5, 3, 2, 1]), np.log([5, 4, 1, 2, 3])
PAPER = QueryLists(np.array([5.0, 4, 3, 2, 1]), np.array([0, 5]))


def test_the_paper_s_example_has_its_true_values():
    assert ListMLE().value_and_slope(FIRST, PAPER)[0] == pytest.approx(3.2088, abs=5e-5)
    assert ListMLE().value_and_slope(SECOND, PAPER)[0] == pytest.approx(4.7230, abs=5e-5)
    assert PListMLE().value_and_slope(FIRST, PAPER)[0] == pytest.approx(1.8554, abs=5e-5)
    assert PListMLE().value_and_slope(SECOND, PAPER)[0] == pytest.approx(1.9457, abs=5e-5)


@pytest.mark.parametrize(("base", "prefers_second"), [(2, False), (3, True), (4, True)])
def test_only_steep_weights_prefer_the_ranking_with_the_better_top(base, prefers_second):
    loss = PListMLE("exp", base=base)
    first, second = (loss.value_and_slope(scores, PAPER)[0] for scores in (FIRST, SECOND))
    assert (second < first) == prefers_second
    assert pk.metrics.ndcg(PAPER.labels, SECOND)[0] > pk.metrics.ndcg(PAPER.labels, FIRST)[0]


def test_theorem_3_weighted_disagreement_is_one_minus_sharp_ndcg():
    labels, scores = np.array([3.0, 1, 2, 0, 5]), np.array([0.3, 0.9, -1.0, 2.0, 0.5])
    wpd = pk.metrics.wpd(labels, scores, normalize=True)
    assert wpd == pytest.approx(1 - pk.metrics.sharp_ndcg(labels, scores))


def test_random_ties_draw_anew_and_average_to_the_mean_over_orders():
    lists = QueryLists(np.array([1.0, 1.0, 0.0]), np.array([0, 3]))
    scores = np.array([0.5, -0.5, 0.1])
    loss = ListMLE(ties="random", random_state=0)
    values = [loss.value_and_slope(scores, lists)[0] for _ in range(300)]
    one, other = strict_listmle([2, 1, 0], scores.tolist()), strict_listmle([1, 2, 0], scores.tolist())
    assert {round(value, 9) for value in values} == {round(one, 9), round(other, 9)}
    assert np.mean(values) == pytest.approx((one + other) / 2, abs=0.05)


def test_random_ties_repeat_with_a_seed():
    def draw(seed):
        lists = QueryLists(LISTS.labels, LISTS.indptr)
        loss = ListMLE(ties="random", random_state=seed)
        return [loss.value_and_slope(SCORES, lists)[0] for _ in range(3)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@settings(max_examples=30, deadline=None)
@given(st.floats(1.0, 2000.0), st.integers(0, 1000))
def test_scores_of_any_spread_give_what_exact_arithmetic_gives(spread, seed):
    scores = np.random.default_rng(seed).normal(size=60) * spread

    def log_sum(values):
        top = max(values)
        return top + math.log(math.fsum(math.exp(value - top) for value in values))

    expected = 0.0
    for labels, own in each_query(LISTS, scores):
        for y, f in zip(labels, own, strict=True):
            if y > min(labels):
                expected += log_sum([g for z, g in zip(labels, own, strict=True) if z <= y]) - f
    value, slope = ListMLE().value_and_slope(scores, LISTS)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("transform", ["linear", "sigmoid", "probit"])
def test_a_transform_takes_the_place_of_exp(transform):
    phi = {
        "linear": lambda f: f,
        "sigmoid": lambda f: 1 / (1 + math.exp(-f)),
        "probit": lambda f: 0.5 * math.erfc(-f / math.sqrt(2)),
    }[transform]
    scores = np.abs(SCORES) + 0.1
    expected = 0.0
    for labels, own in each_query(LISTS, scores):
        for y, f in zip(labels, own, strict=True):
            if y > min(labels):
                below = sum(phi(g) for z, g in zip(labels, own, strict=True) if z <= y)
                expected += -math.log(phi(f)) + math.log(below)
    assert ListMLE(transform=transform).value_and_slope(scores, LISTS)[0] == pytest.approx(expected, rel=1e-9)


def test_a_linear_transform_refuses_scores_below_zero():
    with pytest.raises(ValueError, match="positive"):
        ListMLE(transform="linear").value_and_slope(SCORES, LISTS)


def test_curvature_is_refused_by_name_where_there_is_none():
    with pytest.raises(NotImplementedError, match=r"ListMLE\(transform='sigmoid'\) has no curvature_product"):
        ListMLE(transform="sigmoid").curvature_product(SCORES, LISTS, SCORES)
    with pytest.raises(NotImplementedError, match=r"ListMLE\(ties='random'\) has no curvature_bound"):
        ListMLE(ties="random").curvature_bound(SCORES, LISTS)


def test_unknown_ties_are_refused():
    with pytest.raises(ValueError, match="ties='none' is not known; choose one of 'breslow', 'efron', 'random'"):
        ListMLE(ties="none").value_and_slope(SCORES, LISTS)


def test_a_query_of_a_hundred_thousand_documents():
    n = 100_000
    rng = np.random.default_rng(0)
    strict = QueryLists(rng.permutation(n).astype(float), np.array([0, n]))
    for loss in (ListMLE(), PListMLE()):
        value, slope = loss.value_and_slope(rng.normal(size=n), strict)
        assert np.isfinite(value)
        assert slope.sum() == pytest.approx(0.0, abs=1e-6)
