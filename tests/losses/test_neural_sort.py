"""NeuralNDCG against a literal loop, autograd of PyTorch, differences and limits."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from plackett import metrics
from plackett.losses import NeuralNDCG
from plackett.testing import check_loss
from tests.losses import literal

LOSSES = [
    NeuralNDCG(),
    NeuralNDCG(0.3, k=3, transposed=True),
    NeuralNDCG(3.0, gain="linear", max_iter=4),
    NeuralNDCG(k=2, gain="linear", normalize=False, max_iter=1, transposed=True),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
LISTS = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [0, 3, 3, 0])
SCORES = np.round(np.random.default_rng(0).normal(size=LISTS.n_docs), 1)

judged = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-8, 8)), min_size=0, max_size=12), min_size=1, max_size=3
)


def loop(loss, scores, labels):
    """The loss of one list from its equations."""
    n = len(scores)
    gains = [label if loss.gain == "linear" else 2**label - 1 for label in labels]
    k = loss.k or n
    ideal = sum(g / math.log2(2 + i) for i, g in enumerate(sorted(gains, reverse=True)[:k])) if loss.normalize else 1
    if n == 0 or not ideal:
        return 0.0
    P = [
        literal.softmax(
            [((n + 1 - 2 * i) * s - sum(abs(s - other) for other in scores)) / loss.temperature for s in scores]
        )
        for i in range(1, n + 1)
    ]
    P = np.array(P).T if loss.transposed else np.array(P)
    for _ in range(loss.max_iter):
        for j in range(n):
            P[:, j] /= P[:, j].sum()
        for i in range(n):
            P[i] /= P[i].sum()
        if max(abs(P.sum(axis) - 1).max() for axis in (0, 1)) < loss.tol:
            break
    P = P.T if loss.transposed else P
    return -sum(P[i, j] * gains[j] / ideal / math.log2(2 + i) for i in range(min(k, n)) for j in range(n))


def autograd(loss, scores, labels):
    """Value and slope of one list by allRank's formulas and PyTorch."""
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    s = torch.tensor(scores, requires_grad=True)
    y = torch.tensor(labels)
    n, k = len(scores), loss.k or len(scores)
    gains = y if loss.gain == "linear" else 2**y - 1
    discounts = 1 / torch.log2(torch.arange(n).double() + 2)
    discounts[k:] = 0
    ideal = (gains.sort(descending=True).values * discounts).sum() if loss.normalize else 1.0
    distances = (s[:, None] - s[None]).abs().sum(1)
    places = n + 1 - 2 * (torch.arange(n).double() + 1)
    P = torch.softmax((places[:, None] * s[None] - distances[None]) / loss.temperature, -1)
    P = P.T if loss.transposed else P
    for _ in range(loss.max_iter):
        P = P / P.sum(0, keepdim=True)
        P = P / P.sum(1, keepdim=True)
        if (P.sum(1) - 1).abs().max() < loss.tol and (P.sum(0) - 1).abs().max() < loss.tol:
            break
    P = P.T if loss.transposed else P
    value = -(discounts * (P @ (gains / ideal))).sum()
    value.backward()
    return value.item(), s.grad.numpy()


@every_loss
@pytest.mark.parametrize("spread", [0.0, 1e-6, 1.0, 30.0, 1e6])
def test_values_are_those_of_the_literal_loop(loss, spread):
    bounds = zip(LISTS.indptr[:-1], LISTS.indptr[1:], strict=True)
    expected = [loop(loss, (spread * SCORES)[a:b].tolist(), LISTS.labels[a:b].tolist()) for a, b in bounds]
    np.testing.assert_allclose(literal.values_of(loss, spread * SCORES, LISTS), expected, rtol=1e-10, atol=1e-14)


@every_loss
@pytest.mark.parametrize("n", [1, 2, 7, 40, 150])
@pytest.mark.parametrize("spread", [0.0, 1e-6, 0.3, 1.0, 10.0])
def test_slopes_are_those_of_autograd_through_the_iterations(loss, n, spread):
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n).astype(float), spread * rng.normal(size=n)
    labels[0], scores = 1.0, np.round(scores) if spread == 1.0 else scores  # with ties
    value, slope = loss.value_and_slope(scores, literal.lists_of(labels))
    expected, pull = autograd(loss, scores, labels)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(slope, pull, rtol=1e-8, atol=1e-10 * max(1.0, abs(pull).max()))


@every_loss
@settings(max_examples=15, deadline=None)
@given(queries=judged, spread=st.sampled_from([1e-6, 0.1, 1.0, 1e6]), random=st.randoms(use_true_random=False))
def test_slopes_match_differences_and_follow_the_rows(loss, queries, spread, random):
    loss = NeuralNDCG(**{**loss.get_params(), "tol": 0.0, "max_iter": min(loss.max_iter, 12)})  # no jumps
    lists, scores = literal.split(queries)
    rng = np.random.default_rng(1)
    scores = spread * (scores + 0.1 * rng.normal(size=scores.size))  # sums of distances have kinks at ties
    value, slope = loss.value_and_slope(scores, lists)
    step = 1e-5 * min(spread, 1.0)
    if spread <= 1.0:
        found = literal.difference_slope(loss, scores, lists, step)
        np.testing.assert_allclose(slope, found, atol=1e-14 * max(1.0, abs(value)) / step + 1e-7)
    assert np.isfinite(slope).all()
    order = [list(zip([y for y, _ in query], [0] * len(query), strict=True)) for query in queries]
    rows = iter(scores)
    other, before = literal.shuffled([[(y, next(rows)) for y, _ in query] for query in order], random)
    lists, scores = literal.split(other)
    again, moved = loss.value_and_slope(scores, lists)
    assert again == pytest.approx(value, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(moved, slope[before], rtol=1e-9, atol=1e-11 * max(1.0, abs(slope).max(initial=0.0)))


@pytest.mark.parametrize("loss", [NeuralNDCG(), NeuralNDCG(0.5, k=3), LOSSES[3]], ids=repr)
def test_the_checks_for_any_loss_pass(loss):
    check_loss(loss)


def test_far_apart_the_metric_is_what_remains():
    labels, scores = np.array([2.0, 0, 1, 1, 4]), np.array([0.2, 0.9, 0.3, -1, 0.5])
    for k in (None, 2):
        for size in (1e4, 1e200, 1e307):
            value, slope = NeuralNDCG(k=k).value_and_slope(size * scores, literal.lists_of(labels))
            assert value == pytest.approx(-metrics.ndcg(labels, scores, k=k)[0], rel=1e-12)
            assert np.isfinite(slope).all()


def test_the_transposed_form_agrees_when_it_has_converged():
    rng = np.random.default_rng(3)
    lists, scores = literal.lists_of(rng.integers(0, 4, 20)), rng.normal(size=20)
    one, other = (NeuralNDCG(max_iter=5000, tol=1e-13, transposed=is_so) for is_so in (False, True))
    assert one.value_and_slope(scores, lists)[0] == pytest.approx(other.value_and_slope(scores, lists)[0], rel=1e-10)
    short = [NeuralNDCG(max_iter=1, transposed=is_so).value_and_slope(scores, lists)[0] for is_so in (False, True)]
    assert abs(short[0] - short[1]) > 1e-6


def test_matrices_that_are_too_large_to_be_kept_give_the_same():
    """4,200 tied documents have 17.6 million entries, above the limit; two blocks of ties, the same by hand."""
    labels, scores = np.zeros(4200), np.zeros(4200)
    labels[0] = 1.0
    value, slope = NeuralNDCG(max_iter=2).value_and_slope(scores, literal.lists_of(labels))
    mean = (1 / np.log2(np.arange(4200) + 2)).mean()
    assert value == pytest.approx(-mean, rel=1e-10)
    assert slope[0] < 0.0
    np.testing.assert_allclose(slope[1:], -slope[0] / 4199, rtol=1e-8)


def test_parameters_without_a_meaning_are_refused():
    for loss, text in (
        (NeuralNDCG(temperature=0), "temperature=0; it must be a finite number above 0"),
        (NeuralNDCG(k=0), "k=0"),
        (NeuralNDCG(max_iter=0), "max_iter=0"),
        (NeuralNDCG(tol=-1), "tol=-1; it must be a finite number of at least 0"),
    ):
        with pytest.raises(ValueError, match=text):
            loss.value_and_slope([0.0, 1.0], literal.lists_of([1, 0]))


def test_the_slope_jumps_at_equal_scores_by_less_the_more_the_sums_have_converged():
    lists, jumps = literal.lists_of([2, 1, 0]), []
    for max_iter, tol in ((1, 1e-6), (50, 1e-6), (500, 1e-14)):
        loss = NeuralNDCG(max_iter=max_iter, tol=tol)
        assert loss.is_smooth
        below, above = (loss.value_and_slope([0.5, 0.5 + side, 0.1], lists)[1] for side in (-1e-10, 1e-10))
        jumps.append(np.abs(above - below).max())
    assert jumps[0] > 1e-3
    assert 1e-7 < jumps[1] < 1e-5
    assert jumps[2] < 1e-9
