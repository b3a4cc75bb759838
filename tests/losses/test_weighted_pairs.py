"""Pair losses times rank weights against loops over all orders of tied documents, and differences with held weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett import _native
from plackett.losses.pair_plans import native_plan
from tests.losses import literal
from tests.losses import literal_weights as loops

SIGMA, WIDTH = 1.5, 0.5
CURVED = [name for name in loops.LOSSES if name not in ("hinge", "psi")]

documents = st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4)), max_size=6)
settings_of_pairs = st.tuples(
    st.sampled_from(list(loops.LOSSES)), st.sampled_from(loops.WEIGHTS), st.integers(1, 7) | st.none(), st.booleans()
).map(lambda drawn: (*drawn[:2], 2 if drawn[1] == "precision" and drawn[2] is None else drawn[2], drawn[3]))
spreads = st.sampled_from([1e-6, 0.3, 5.0, 1e3, 1e6])


class Compiled:
    """A compiled loss with the methods that tests need."""

    def __init__(self, lists, kind, weight, k=None, score_norm=False, query_weights=None, gains=None):
        labels = lists.labels[lists.order]
        gains = 2.0**labels - 1 if gains is None else gains[lists.order]
        longest = int(np.diff(lists.indptr).max(initial=1))
        self.lists, self.kind = lists, kind
        self.loss = _native.losses.weighted_pairs(
            native_plan(lists), np.ones(lists.n_queries) if query_weights is None else query_weights, labels, gains,
            1 / np.log2(2 + np.arange(longest)), list(loops.LOSSES).index(kind),
            WIDTH if kind == "smoothed-hinge" else sigma_of(kind), loops.WEIGHTS.index(weight), k or 0, 10.0,
            score_norm,
        )  # fmt: skip

    def held_at(self, scores):
        held = object.__new__(Compiled)
        held.lists, held.kind = self.lists, self.kind
        held.loss = _native.losses.held_at(self.loss, scores)
        return held

    def evaluate(self, scores):
        values, slope = np.empty(self.lists.n_queries), np.empty(self.lists.n_docs)
        _native.losses.evaluate(self.loss, scores, slope, values)
        return values, slope

    def of_kernel(self, name, *arrays):
        out = np.empty(self.lists.n_docs)
        getattr(_native.losses, name)(self.loss, *arrays, out)
        return out


def sigma_of(kind):
    return SIGMA if kind in ("logistic", "soft-zero-one") else 1.0


def spread_out(queries, spread, kind):
    lists, scores = literal.split(queries)
    scores = scores * spread
    return lists, np.clip(scores, -40, 40) if kind == "exponential" else scores


@given(st.lists(documents, min_size=1, max_size=3), settings_of_pairs, spreads, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_value_and_slope_are_sums_over_pairs_and_orders_of_ties(queries, drawn, spread, random):
    kind, weight, k, score_norm = drawn
    lists, scores = spread_out(queries, spread, kind)
    others = scores * random.uniform(0.1, 1.0) + np.array([random.uniform(-1, 1) for _ in scores])
    loss = Compiled(lists, kind, weight, k, score_norm)
    for compiled, at in ((loss, scores), (loss.held_at(scores), scores), (loss.held_at(scores), others)):
        values, slope = compiled.evaluate(at)
        for query, (start, stop) in enumerate(zip(lists.indptr[:-1], lists.indptr[1:], strict=True)):
            labels, own = lists.labels[start:stop], scores[start:stop]
            weights = loops.pair_weights(
                weight, own, labels, 2**labels - 1, k=k, score_norm=score_norm,
                has_equal_labels=(kind, weight) == ("squared", "uniform"),
            )  # fmt: skip
            value, expected = loops.weighted_sums(
                kind, weights, at[start:stop], labels, sigma=sigma_of(kind), score_norm=score_norm, held=own
            )
            assert values[query] == pytest.approx(value, rel=1e-11)
            scale = abs(value) + np.abs(expected).max(initial=0)
            np.testing.assert_allclose(slope[start:stop], expected, rtol=1e-10, atol=1e-13 * scale + 1e-300)


@pytest.mark.parametrize("weight", loops.WEIGHTS)
@pytest.mark.parametrize("k", [10, 500])
def test_long_lists_without_ties_are_sums_over_pairs(weight, k):
    rng = np.random.default_rng(0)
    lists = literal.lists_of(rng.integers(0, 5, 73), rng.integers(0, 2, 50))
    scores = rng.permutation(lists.n_docs) / 10
    for score_norm in (False, True):
        values, slope = Compiled(lists, "logistic", weight, k, score_norm).evaluate(scores)
        for query, (start, stop) in enumerate(zip(lists.indptr[:-1], lists.indptr[1:], strict=True)):
            labels, own = lists.labels[start:stop], scores[start:stop]
            weights = loops.pair_weights(weight, own, labels, 2**labels - 1, k=k, score_norm=score_norm)
            value, expected = loops.weighted_sums("logistic", weights, own, labels, sigma=SIGMA, score_norm=score_norm)
            assert values[query] == pytest.approx(value, rel=1e-12)
            np.testing.assert_allclose(slope[start:stop], expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@given(st.lists(documents, min_size=1, max_size=2), settings_of_pairs)
@settings(max_examples=60, deadline=None)
def test_curvature_is_the_derivative_of_the_slope_with_weights_held(queries, drawn):
    kind, weight, k, score_norm = drawn
    lists, scores = literal.split(queries)
    scores = scores * 0.37 + 0.01  # no margin is at a kink
    loss = Compiled(lists, kind, weight, k, score_norm)
    if kind not in CURVED:
        with pytest.raises(RuntimeError, match="no curvature"):
            loss.of_kernel("diagonal", scores)
        return
    held, step, units = loss.held_at(scores), 1e-6, np.eye(lists.n_docs)
    product = np.array([loss.of_kernel("multiply", scores, unit) for unit in units]).reshape(units.shape)
    diagonal, bound = loss.of_kernel("diagonal", scores), loss.of_kernel("bound", scores)
    np.testing.assert_allclose(product.diagonal(), diagonal, rtol=1e-12)
    np.testing.assert_allclose(bound, 2 * diagonal, rtol=1e-12)
    scale = np.abs(product).max(initial=1e-300)
    np.testing.assert_allclose(product, product.T, atol=1e-12 * scale)
    np.testing.assert_allclose(product.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(
        held.of_kernel("multiply", scores, np.ones(lists.n_docs) * np.arange(lists.n_docs)),
        product @ np.arange(lists.n_docs), atol=1e-11 * scale * lists.n_docs,
    )  # fmt: skip
    if kind == "soft-zero-one":  # an estimate
        assert (diagonal >= 0).all()
        return
    moved = np.array([held.evaluate(scores + step * u)[1] - held.evaluate(scores - step * u)[1] for u in units])
    np.testing.assert_allclose(product, moved.reshape(units.shape) / (2 * step), rtol=1e-4, atol=1e-6 * scale)


def test_negative_labels_have_a_positive_diagonal_and_a_linear_loss():
    lists = literal.lists_of([-1.5, 0.25, 2.0, 0.25])
    scores = np.array([0.3, -0.2, 0.3, 1.0])
    labels = lists.labels
    values, slope = Compiled(lists, "logistic", "label").evaluate(scores)
    weights = loops.pair_weights("label", scores, labels, labels)
    value, expected = loops.weighted_sums("logistic", weights, scores, labels, sigma=SIGMA)
    assert values[0] == pytest.approx(value)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)
    assert (Compiled(lists, "logistic", "label").of_kernel("diagonal", scores) > 0).all()


@pytest.mark.parametrize("kind", loops.LOSSES)
def test_huge_scores_stay_finite(kind):
    lists = literal.lists_of([2, 0, 1, 0, 1], [1, 0])
    scores = np.array([-1e308, 1e308, 0.0, 1e300, -5.0, 3.0, 3.0])
    for weight in loops.WEIGHTS:
        loss = Compiled(lists, kind, weight, k=2)
        for part in (*loss.evaluate(scores), loss.of_kernel("diagonal", scores) if kind in CURVED else np.zeros(1)):
            assert np.isfinite(part).all()


def test_a_query_with_weight_0_and_one_with_equal_labels_count_nothing():
    lists = literal.lists_of([2, 0, 1], [1, 1, 1], [1, 0], [], [3])
    scores = np.arange(lists.n_docs) / 7
    loss = Compiled(lists, "logistic", "lambdarank", query_weights=np.array([0.0, 1.0, 2.0, 1.0, 1.0]))
    values, slope = loss.evaluate(scores)
    np.testing.assert_array_equal(values > 0, [False, False, True, False, False])
    np.testing.assert_array_equal(np.flatnonzero(slope), [6, 7])
