"""PL-Rank against the exact expectation by enumeration, and what its noise may depend on."""

import math
from itertools import permutations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import plackett as pk
from plackett.losses import PLRank
from tests.losses import literal


def expected_dcg(scores, gains, k):
    """Σ over all rankings of their Plackett-Luce probability times DCG@k."""
    n = len(scores)
    total = 0.0
    for ranking in permutations(range(n)):
        log_chance = 0.0
        for place, doc in enumerate(ranking):
            rest = [scores[other] for other in ranking[place:]]
            top = max(rest)
            log_chance += scores[doc] - top - math.log(sum(math.exp(score - top) for score in rest))
        dcg = sum(gains[doc] / math.log2(2 + place) for place, doc in enumerate(ranking) if k is None or place < k)
        total += math.exp(log_chance) * dcg
    return total


def exact(scores, gains, k, step=1e-4):
    """Minus the expected DCG and its gradient."""
    scores = np.array(scores, dtype=float)
    moves = step * np.eye(scores.size)
    gradient = [(expected_dcg(scores + m, gains, k) - expected_dcg(scores - m, gains, k)) / (2 * step) for m in moves]
    return -expected_dcg(scores, gains, k), -np.array(gradient)


CASES = [
    ([0.3, -0.5, 1.0, 0.0], [2, 0, 1, 0], None),
    ([0.3, -0.5, 1.0, 0.0], [2, 0, 1, 0], 2),
    ([0.3, -0.5, 1.0, 0.0], [2, 0, 1, 0], 1),
    ([0.0, 0.0, 0.0, 0.0, 0.0], [0, 3, 1, 0, 1], 2),
    ([0.5, 0.5, -1.0, 0.5, 1.0], [1, 0, 0, 1, 0], 3),
    ([0.2, 0.1, -0.4, 0.9, 0.0, 0.9], [-1.5, 0.7, 2.0, 0.0, -0.2, 0.7], 3),
    ([800.5, 800.0, 0.0, 0.4, -3.0], [0, 2, 1, 0, 2], 3),  # beyond what exponentials of one scale can hold
    ([800.5, 800.0, 0.0, 0.4, -3.0], [0, 2, 1, 0, 2], None),
]


@pytest.mark.parametrize(("scores", "labels", "k"), CASES)
def test_the_mean_over_samples_is_the_exact_value_and_gradient(scores, labels, k):
    n_samples = 100_000
    loss = PLRank(k, n_samples, gain="linear", normalize=False)
    value, slope = loss.value_and_slope(scores, literal.lists_of(labels))
    expected, gradient = exact(scores, labels, k)
    size = np.ptp(labels)
    assert value == pytest.approx(expected, abs=5 * size / math.sqrt(n_samples))
    np.testing.assert_allclose(slope, gradient, atol=5 * size / math.sqrt(n_samples))
    assert np.abs(gradient).max() > 25 * size / math.sqrt(n_samples)  # a tolerance that tells 0 from the gradient
    assert slope.sum() == pytest.approx(0.0, abs=1e-9)


def test_more_samples_come_closer():
    scores, labels = [0.3, -0.5, 1.0, 0.0, 0.7], [2, 0, 1, 0, 0]
    _, gradient = exact(scores, labels, 2)

    def error(n_samples):
        losses = [PLRank(2, n_samples, "linear", normalize=False, seed=seed) for seed in range(200)]
        slopes = np.array([loss.value_and_slope(scores, literal.lists_of(labels))[1] for loss in losses])
        return np.sqrt(np.mean((slopes - gradient) ** 2))

    assert error(1000) == pytest.approx(error(10) / 10, rel=0.15)


def test_gains_are_shares_of_the_ideal_dcg():
    scores, labels = [0.3, -0.5, 1.0], [2, 0, 1]
    ideal = 3 + 1 / math.log2(3)
    loss = PLRank(k=2, n_samples=50)
    value, slope = loss.value_and_slope(scores, literal.lists_of(labels))
    other = PLRank(k=2, n_samples=50, gain=lambda of: np.array([0.0, 1.0, 3.0])[of.astype(int)], normalize=False)
    expected, expected_slope = other.value_and_slope(scores, literal.lists_of(labels))
    assert value == pytest.approx(expected / ideal, rel=1e-12)
    np.testing.assert_allclose(slope, expected_slope / ideal, rtol=1e-12)
    sure = loss.value_and_slope([2000.0, 0.0, 1000.0], literal.lists_of(labels))[0]
    assert sure == pytest.approx(-1.0, rel=1e-12)


documents = st.lists(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-4, 4)), min_size=0, max_size=9), min_size=1, max_size=4
)


@given(documents, st.randoms(use_true_random=False), st.sampled_from([None, 1, 3]), st.sampled_from([0.5, 1e6]))
@settings(max_examples=30, deadline=None)
def test_the_order_of_rows_and_queries_changes_nothing(queries, random, k, spread):
    moved_queries, before = literal.shuffled(queries, random)
    (lists, scores), (moved, moved_scores) = literal.split(queries), literal.split(moved_queries)
    loss = PLRank(k, n_samples=7)
    slope, moved_slope = np.empty(lists.n_docs), np.empty(lists.n_docs)
    values = loss.query_values(spread * scores, lists, slope)
    moved_values = loss.query_values(spread * moved_scores, moved, moved_slope)
    assert sorted(values) == sorted(moved_values)
    np.testing.assert_array_equal(moved_slope, slope[before])
    assert np.isfinite(slope).all()


def test_blocks_of_queries_and_repeated_calls_agree():
    lists = literal.lists_of([2, 0, 1], [], [1, 0, 0, 1], [0, 0], [3])
    scores = np.random.default_rng(0).normal(size=lists.n_docs)
    loss = PLRank(n_samples=20)
    slope = np.empty(lists.n_docs)
    values = loss.query_values(scores, lists, slope)
    for first, last in ((0, 2), (2, 5)):
        rows = slice(lists.indptr[first], lists.indptr[last])
        part_slope = np.empty(rows.stop - rows.start)
        np.testing.assert_array_equal(
            loss.query_values(scores[rows], lists.part(first, last), part_slope), values[first:last]
        )
        np.testing.assert_array_equal(part_slope, slope[rows])
    assert not np.array_equal(PLRank(n_samples=20, seed=1).value_and_slope(scores, lists)[1], slope)


def test_equal_labels_and_single_documents_have_no_slope():
    lists = literal.lists_of([1, 1, 1], [2], [0, 0])
    value, slope = PLRank().value_and_slope([0.5, -1.0, 2.0, 0.0, 3.0, 1.0], lists)
    assert value == -2.0  # NDCG of 1, 1 and 0
    assert not slope.any()


def test_it_says_what_it_is():
    assert not PLRank().is_smooth
    assert not PLRank().is_convex
    assert not PLRank().is_linear_in_labels
    assert PLRank(gain="linear", normalize=False).is_linear_in_labels
    assert pk.losses.get_loss("pl-rank") == PLRank()
    for bad, message in ((PLRank(k=0), "k"), (PLRank(n_samples=0), "n_samples"), (PLRank(seed=-1), "seed")):
        with pytest.raises(ValueError, match=message):
            bad.value_and_slope([0.0], literal.lists_of([1]))


def test_linear_rankers_learn_an_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    qid = np.repeat(np.arange(20), 10)
    y = (X @ [1.0, -2.0, 0.5] + rng.normal(size=200) > 0.5).astype(int)
    ranker = pk.LinearRanker(loss=PLRank(n_samples=30), random_state=0).fit(X, y, qid=qid)
    assert ranker.solver_ == "sgd"
    assert pk.metrics.ndcg(y, ranker.predict(X), qid=qid).mean() > 0.85
