"""Softmax cross-entropies and the binary one against literal loops, differences, invariances and hand sums."""

import math
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses import BinaryCrossEntropy, ListNet, Softmax
from plackett.testing import check_loss
from tests.losses import literal

LOSSES = [
    (Softmax(), literal.softmax_loss),
    (BinaryCrossEntropy(), literal.binary_cross_entropy),
]
IDS = [repr(loss) for loss, _ in LOSSES]
every_loss = pytest.mark.parametrize("loss", [loss for loss, _ in LOSSES], ids=IDS)
LINEAR = [loss for loss, _ in LOSSES if loss.is_linear_in_labels]
every_linear_loss = pytest.mark.parametrize("loss", LINEAR, ids=repr)

graded = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-3, 3, width=16)), min_size=0, max_size=12), min_size=1, max_size=3
)


def real_lists(seed=0, sizes=(5, 0, 1, 8, 3)):
    """Labels of both signs."""
    rng = np.random.default_rng(seed)
    indptr = np.append(0, np.cumsum(sizes))
    return QueryLists(rng.normal(size=indptr[-1]), indptr), rng.normal(size=indptr[-1])


@pytest.mark.parametrize(("loss", "loop"), LOSSES, ids=IDS)
@given(queries=graded)
@settings(max_examples=25, deadline=None)
def test_values_are_those_of_the_literal_loop(loss, loop, queries):
    lists, scores = literal.split(queries)
    expected = [loop(scores[a:b], lists.labels[a:b]) if b > a else 0.0 for a, b in pairwise(lists.indptr)]
    np.testing.assert_allclose(literal.values_of(loss, scores, lists), expected, rtol=1e-10, atol=1e-12)


@every_loss
@given(queries=graded, spread=st.sampled_from([1e-6, 1.0, 20.0]))
@settings(max_examples=25, deadline=None)
def test_slope_matches_differences(loss, queries, spread):
    lists, scores = literal.split(queries)
    scores *= spread
    _, slope = loss.value_and_slope(scores, lists)
    size = 1 + np.abs(lists.labels).sum() ** 2
    np.testing.assert_allclose(slope, literal.difference_slope(loss, scores, lists), rtol=1e-6, atol=1e-8 * size)


@every_loss
@pytest.mark.parametrize("spread", [1e6, 1e150])
def test_scores_that_lie_far_apart_give_finite_numbers(loss, spread):
    lists = literal.lists_of([2, 0, 1, 4, 1], [1], [0, 3])
    scores = spread * np.array([0.3, 1.0, -1.0, -0.5, -0.5, 1.0, 0.2, 0.1])
    value, slope = loss.value_and_slope(scores, lists)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()
    diagonal = loss.curvature_diagonal(scores, lists)
    assert np.isfinite(diagonal).all()
    assert (diagonal >= 0.0).all()
    if loss.ignores_shifts:
        np.testing.assert_allclose(np.add.reduceat(slope, lists.indptr[:-1]), 0.0, atol=1e-9)


@every_loss
def test_it_keeps_what_every_loss_must_keep(loss):
    check_loss(loss)


@every_linear_loss
def test_real_labels_give_the_slope_of_the_literal_loop(loss):
    lists, scores = real_lists()
    loop = dict(zip(IDS, LOSSES, strict=True))[repr(loss)][1]
    expected = [loop(scores[a:b], lists.labels[a:b]) if b > a else 0.0 for a, b in pairwise(lists.indptr)]
    np.testing.assert_allclose(literal.values_of(loss, scores, lists), expected, rtol=1e-12, atol=1e-14)
    _, slope = loss.value_and_slope(scores, lists)
    np.testing.assert_allclose(slope, literal.difference_slope(loss, scores, lists), atol=1e-8)
    np.testing.assert_allclose(
        literal.hessian(loss, scores, lists), literal.difference_hessian(loss, scores, lists), atol=1e-8
    )
    assert (loss.curvature_diagonal(scores, lists) >= 0.0).all()
    bound = np.diag(loss.curvature_bound(scores, lists))
    assert np.linalg.eigvalsh(bound - literal.hessian(loss, scores, lists)).min() > -1e-12


def test_softmax_of_probabilities_is_listnet():
    lists, scores = literal.lists_of([2, 0, 1], [1, 1]), np.array([0.3, -1.0, 2.0, 0.5, 0.1])
    shares = [*literal.softmax([2, 0, 1]), 0.5, 0.5]
    value, slope = Softmax().value_and_slope(scores, QueryLists(np.array(shares), lists.indptr))
    expected, expected_slope = ListNet().value_and_slope(scores, lists)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(slope, expected_slope, atol=1e-15)


def test_softmax_is_convex_iff_the_labels_of_each_query_sum_to_nought_or_more():
    assert Softmax().is_convex_on(literal.lists_of([2, -1, -1], [], [0]))
    assert not Softmax().is_convex_on(literal.lists_of([5, 3], [1, -1.5]))
    lists, scores = literal.lists_of([1.0, -1.5, 0.2]), np.array([0.1, 0.4, -1.0])
    assert np.linalg.eigvalsh(literal.hessian(Softmax(), scores, lists)).max() < 1e-15


def test_a_negative_label_leaves_softmax_without_a_bound():
    assert Softmax().is_bounded_on(literal.lists_of([2, 0], [-3], []))  # a document alone has softmax 1
    lists = literal.lists_of([3, -0.5])
    assert not Softmax().is_bounded_on(lists)
    assert Softmax().value_and_slope([0.0, -1e9], lists)[0] < -1e8


def test_binary_cross_entropy_has_a_bound_for_labels_from_0_to_1():
    assert BinaryCrossEntropy().is_bounded_on(literal.lists_of([0, 1, 0.5]))
    for labels in ([0, 1.5], [-0.5, 0]):
        lists = literal.lists_of(labels)
        assert not BinaryCrossEntropy().is_bounded_on(lists)
        assert BinaryCrossEntropy(threshold=1).is_bounded_on(lists)
    assert not BinaryCrossEntropy(threshold=1).is_linear_in_labels


def test_binary_cross_entropy_with_a_threshold_is_that_of_the_relevant_documents():
    scores = np.array([0.3, -1.0, 2.0])
    value, slope = BinaryCrossEntropy(threshold=2).value_and_slope(scores, literal.lists_of([3, 1, 2]))
    expected, expected_slope = BinaryCrossEntropy().value_and_slope(scores, literal.lists_of([1, 0, 1]))
    assert value == expected
    np.testing.assert_array_equal(slope, expected_slope)
    with pytest.raises(ValueError, match="threshold"):
        BinaryCrossEntropy(threshold="high").value_and_slope(scores, literal.lists_of([3, 1, 2]))


def test_binary_cross_entropy_of_a_certain_document_is_exact():
    lists = literal.lists_of([1, 0])
    value, slope = BinaryCrossEntropy().value_and_slope([700.0, -700.0], lists)
    assert value == 0.0
    assert np.abs(slope).max() < 1e-300
    assert BinaryCrossEntropy().value_and_slope([-30.0, 0.0], lists)[0] == pytest.approx(30.0 + math.log(2), rel=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "binary-cross-entropy"])
def test_linear_rankers_learn_an_order(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    qid = np.repeat(np.arange(20), 6)
    y = (X @ [1.0, -2.0, 0.5] + rng.normal(size=120) > 0.5).astype(int)
    ranker = pk.LinearRanker(loss=loss, l2=1e-2).fit(X, y, qid=qid)
    assert pk.metrics.ndcg(y, ranker.predict(X), qid=qid).mean() > 0.85
