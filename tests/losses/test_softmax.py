"""Softmax cross-entropies and the binary one against literal loops, differences, invariances and hand sums."""

import math
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import plackett as pk
from plackett.data.queries import QueryLists
from plackett.losses import XENDCG, BinaryCrossEntropy, ListNet, Poly1Softmax, Softmax, UniqueSoftmax
from plackett.testing import check_loss
from tests.losses import literal

LOSSES = [
    (Softmax(), literal.softmax_loss),
    (BinaryCrossEntropy(), literal.binary_cross_entropy),
    (UniqueSoftmax(), literal.unique_softmax),
    (Poly1Softmax(), literal.poly1_softmax),
    (Poly1Softmax(epsilon=0.25), lambda scores, labels: literal.poly1_softmax(scores, labels, 0.25)),
    (XENDCG(), literal.xe_ndcg),
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


@pytest.mark.parametrize("loss", [UniqueSoftmax(), UniqueSoftmax("linear"), XENDCG()], ids=repr)
@given(queries=graded, spread=st.sampled_from([1e-6, 1.0, 300.0]))
@settings(max_examples=15, deadline=None)
def test_curvature_matches_differences_and_is_below_its_bound(loss, queries, spread):
    lists, scores = literal.split(queries)
    scores *= spread
    bend = literal.hessian(loss, scores, lists).reshape(lists.n_docs, lists.n_docs)
    size = 1 + loss.value_and_slope(scores, lists)[1].max(initial=0.0)
    differences = literal.difference_hessian(loss, scores, lists).reshape(bend.shape)
    np.testing.assert_allclose(bend, differences, atol=1e-6 * size)
    np.testing.assert_allclose(loss.curvature_diagonal(scores, lists), bend.diagonal(), atol=1e-12 * size)
    if lists.n_docs:
        bound = np.diag(loss.curvature_bound(scores, lists))
        assert np.linalg.eigvalsh(bend).min() > -1e-9 * size
        assert np.linalg.eigvalsh(bound - bend).min() > -1e-9 * size


def test_the_diagonal_of_poly1_is_at_least_the_second_derivative():
    lists, scores = literal.lists_of([2, 0, 1, 1], [0, 0], [], [3]), np.array([0.3, 1.0, -1.0, 2.0, 0.5, 0.1, 4.0])
    loss = Poly1Softmax(epsilon=7.0)
    bend = literal.difference_hessian(loss, scores, lists).diagonal()
    assert (loss.curvature_diagonal(scores, lists) >= np.abs(bend) - 1e-8).all()
    with pytest.raises(ValueError, match="epsilon"):
        Poly1Softmax(epsilon=-1.0).value_and_slope(scores, lists)


def test_poly1_with_epsilon_0_is_softmax():
    lists, scores = literal.lists_of([2, 0, 1], [0, 0]), np.array([0.3, -1.0, 2.0, 0.5, 0.1])
    value, slope = Poly1Softmax(epsilon=0).value_and_slope(scores, lists)
    expected, expected_slope = Softmax().value_and_slope(scores, lists)
    assert value == expected
    np.testing.assert_array_equal(slope, expected_slope)


def test_xe_ndcg_has_the_mean_target_of_drawn_gammas():
    labels = np.array([2.0, 0.0, 1.0, 1.0])
    drawn = 2**labels - np.random.default_rng(0).uniform(size=(200_000, 4))
    drawn /= drawn.sum(axis=1, keepdims=True)
    _, slope = XENDCG().value_and_slope(np.zeros(4), literal.lists_of(labels))
    np.testing.assert_allclose(0.25 - slope, drawn.mean(axis=0), atol=5 * drawn.std() / math.sqrt(len(drawn)))


@pytest.mark.parametrize(("labels", "target"), [([0, 0, 0], [1 / 3] * 3), ([5000, 4999], [2 / 3, 1 / 3]), ([7], [1.0])])
def test_xe_ndcg_of_equal_and_huge_labels(labels, target):
    shares = np.full(len(labels), 1 / len(labels))
    _, slope = XENDCG().value_and_slope(np.zeros(len(labels)), literal.lists_of(labels))
    np.testing.assert_allclose(shares - slope, target, rtol=1e-12)


def test_unique_softmax_refuses_negative_and_infinite_gains():
    lists = literal.lists_of([2, -1])
    assert UniqueSoftmax("linear").value_and_slope([0.0, 0.0], lists)[0] == pytest.approx(2 * math.log(2))
    with pytest.raises(ValueError, match="gain of the label -1 in row 1 is -1, but UniqueSoftmax needs"):
        UniqueSoftmax(gain=lambda labels: labels).value_and_slope([0.0, 0.0], lists)
    with pytest.raises(ValueError, match="overflows above 1023"):
        UniqueSoftmax().value_and_slope([0.0, 0.0], literal.lists_of([2000, 0]))
    value, _ = UniqueSoftmax(normalize=True).value_and_slope([0.0, 0.0], literal.lists_of([2000, 0]))
    assert value == pytest.approx(math.log(2))


@pytest.mark.parametrize("loss", ["softmax", "binary-cross-entropy", "unique-softmax", "poly1-softmax", "xe-ndcg"])
def test_linear_rankers_learn_an_order(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    qid = np.repeat(np.arange(20), 6)
    y = (X @ [1.0, -2.0, 0.5] + rng.normal(size=120) > 0.5).astype(int)
    ranker = pk.LinearRanker(loss=loss, l2=1e-2).fit(X, y, qid=qid)
    assert pk.metrics.ndcg(y, ranker.predict(X), qid=qid).mean() > 0.85


@pytest.mark.parametrize(
    ("loss", "name", "options"),
    [
        (Softmax(), "softmax_loss", {}),
        (Poly1Softmax(0.5), "poly1_softmax_loss", {"epsilon": 0.5}),
        (UniqueSoftmax(), "unique_softmax_loss", {}),
        (BinaryCrossEntropy(), "pointwise_sigmoid_loss", {}),
    ],
    ids=repr,
)
def test_values_and_slopes_are_those_of_rax(loss, name, options):
    rax = pytest.importorskip("rax", reason="compares with rax: pip install rax")
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    scores = rng.normal(size=9).astype(np.float32)
    labels = rng.integers(0, 2 if loss.is_pointwise else 4, 9).astype(np.float32)
    function = lambda s: getattr(rax, name)(s, labels, reduce_fn=jax.numpy.sum, **options)  # noqa: E731
    expected, expected_slope = jax.value_and_grad(function)(scores)
    value, slope = loss.value_and_slope(scores, literal.lists_of(labels))
    assert value == pytest.approx(float(expected), rel=1e-4)
    np.testing.assert_allclose(slope, np.asarray(expected_slope), rtol=1e-4, atol=1e-4)
