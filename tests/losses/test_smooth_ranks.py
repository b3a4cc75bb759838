"""ApproxNDCG, ApproxMRR and ApproxMAP against literal loops, differences, metrics, PyTorch and rax."""

import functools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import plackett as pk
from plackett import metrics
from plackett.exceptions import NothingToLearnWarning
from plackett.losses import ApproxMAP, ApproxMRR, ApproxNDCG
from plackett.testing import check_loss
from tests.losses import literal

LOSSES = [
    ApproxNDCG(),
    ApproxNDCG(1.0, gain="linear"),
    ApproxNDCG(0.1, gain=[0, 1, 5, 6, 9]),
    ApproxNDCG(normalize=False),
    ApproxNDCG(2.0, gain="linear", normalize=False),
    ApproxMRR(),
    ApproxMRR(1.0, relevant_from=3),
    ApproxMAP(),
    ApproxMAP(1.0, beta=0.5, relevant_from=2),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
LISTS = literal.lists_of([2, 0, 1, 1, 4], [], [1], [0, 0, 0], [0, 3, 3, 0])
SCORES = np.round(np.random.default_rng(0).normal(size=LISTS.n_docs), 1)

judged = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-8, 8)), min_size=0, max_size=12), min_size=1, max_size=3
)


def ranks_of(scores, alpha):
    def share(gap):
        return 1 / (1 + math.exp(gap)) if gap < 700 else 0.0

    n = len(scores)
    return [1 + sum(share(alpha * (scores[i] - scores[j])) for j in range(n) if j != i) for i in range(n)]


def loop(loss, scores, labels):
    """The loss of one list from its equations."""
    ranks = ranks_of(scores, loss.alpha)
    if isinstance(loss, ApproxNDCG):
        if not isinstance(loss.gain, str):
            gains = [loss.gain[int(label)] for label in labels]
        else:
            gains = [label if loss.gain == "linear" else 2**label - 1 for label in labels]
        ideal = sum(g / math.log2(2 + i) for i, g in enumerate(sorted(gains, reverse=True))) if loss.normalize else 1
        return -sum(g / ideal / math.log2(1 + r) for g, r in zip(gains, ranks, strict=True)) if ideal else 0.0
    relevant = [i for i, label in enumerate(labels) if label >= loss.relevant_from]
    if not relevant:
        return 0.0
    if isinstance(loss, ApproxMRR):
        return -max(1 / ranks[i] for i in relevant)
    steps = [
        [1 / (1 + math.exp(min(loss.beta * (ranks[j] - ranks[i]), 700))) for j in relevant if j != i] for i in relevant
    ]
    return -sum((1 + sum(step)) / ranks[i] for i, step in zip(relevant, steps, strict=True)) / len(relevant)


def parts(lists):
    return [slice(a, b) for a, b in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]


@every_loss
@pytest.mark.parametrize("spread", [0.0, 1e-6, 1.0, 100.0, 1e6])
def test_values_are_those_of_the_literal_loop(loss, spread):
    expected = [loop(loss, spread * SCORES[rows], LISTS.labels[rows]) for rows in parts(LISTS)]
    np.testing.assert_allclose(literal.values_of(loss, spread * SCORES, LISTS), expected, rtol=1e-11, atol=1e-14)


@every_loss
@settings(max_examples=25, deadline=None)
@given(queries=judged, spread=st.sampled_from([1e-6, 0.01, 1.0, 1e6]), random=st.randoms(use_true_random=False))
def test_slopes_match_differences_and_follow_the_rows(loss, queries, spread, random):
    lists, scores = literal.split(queries)
    scores = scores * spread
    value, slope = loss.value_and_slope(scores, lists)
    assert np.isfinite(slope).all()
    if loss.is_smooth or (spread > 1e-3 and all(len({s for _, s in query}) == len(query) for query in queries)):
        step = 1e-5 / loss.alpha
        found = literal.difference_slope(loss, scores, lists, step) if spread < 100 else 0.0 * slope
        if spread < 100 or len(scores) == len(set(scores.tolist())):  # far apart: flat
            np.testing.assert_allclose(slope, found, atol=2e-9 * max(1.0, abs(value)) / step * 1e-4, rtol=1e-5)
    other, before = literal.shuffled(queries, random)
    lists, scores = literal.split(other)
    again, moved = loss.value_and_slope(scores * spread, lists)
    assert again == pytest.approx(value, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(moved, slope[before], rtol=1e-11, atol=1e-12 * loss.alpha * max(1.0, abs(value)))


@every_loss
def test_the_checks_for_any_loss_pass(loss):
    check_loss(loss)


@every_loss
def test_the_curvature_is_a_positive_estimate_from_the_pairs(loss):
    """Half of alpha² Σ_j |c_j − c_i| w_ij: at equal scores, alpha / 2 times the slopes of single pairs."""
    for spread in (0.0, 1.0, 1e3):
        assert (loss.curvature_diagonal(spread * SCORES, LISTS) >= 0.0).all()
    lists = literal.lists_of([4, 0, 0])  # one relevant document: no pair's slope cancels another's
    _, slope = loss.value_and_slope([0.3, 0.1, 0.2], lists)
    found = loss.curvature_diagonal([0.3, 0.1, 0.2], lists)
    np.testing.assert_allclose(found, 0.5 * loss.alpha * np.abs(slope), rtol=1e-12)


def test_trees_do_not_depend_on_alpha_but_for_their_scale():
    pytest.importorskip("lightgbm", reason="needs LightGBM")
    data = pk.datasets.make_web_like(20, 10, 4, random_state=1)
    one, other = (
        pk.TreeRanker(ApproxNDCG(alpha), n_rounds=5, min_data_in_leaf=5, min_sum_hessian_in_leaf=0, lambda_l2=0).fit(
            data
        )
        for alpha in (1.0, 4.0)
    )
    np.testing.assert_allclose(one.predict(data), 4.0 * other.predict(data), rtol=1e-5, atol=1e-9)


def test_far_apart_or_steep_the_metric_is_what_remains():
    labels, scores = np.array([2.0, 0, 1, 1, 4]), np.array([0.2, 0.9, 0.3, -1, 0.5])
    lists = literal.lists_of(labels)
    for loss, measure in (
        (ApproxNDCG(1e4), metrics.ndcg),
        (ApproxMRR(1e4), metrics.reciprocal_rank),
        (ApproxMAP(1e4, 1e4), metrics.average_precision),
    ):
        assert loss.value_and_slope(scores, lists)[0] == pytest.approx(-measure(labels, scores)[0], rel=1e-12)
        assert loss.value_and_slope(1e200 * scores, lists)[0] == pytest.approx(-measure(labels, scores)[0], rel=1e-12)


def test_the_two_ways_to_compute_shares_agree_where_one_takes_over():
    rng = np.random.default_rng(2)
    lists = literal.lists_of(rng.integers(0, 4, 60))
    scores = np.append(rng.uniform(0.0, 2.0, size=59), 0.0)
    near, far = (ApproxNDCG(10.0).value_and_slope(np.append(scores[1:], by), lists) for by in (59.9999, 60.0001))
    assert near[0] == pytest.approx(far[0], rel=1e-12)
    np.testing.assert_allclose(near[1], far[1], atol=1e-11)


@pytest.mark.parametrize("size", [1e10, 1e150, 1e308])
@every_loss
def test_huge_scores_give_finite_numbers(loss, size):
    value, slope = loss.value_and_slope(size * np.array([1.0, -1.0, 0.5, 0.5, 0.0]), literal.lists_of([2, 0, 1, 3, 4]))
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


def test_lists_without_relevant_documents_and_single_documents_are_flat():
    for loss in LOSSES:
        value, slope = loss.value_and_slope([0.3, 0.1, -2.0], literal.lists_of([0, 0], [], [4]))
        assert not slope.any()
        gain = -15.0 if loss == LOSSES[3] else -4.0 if loss == LOSSES[4] else -1.0
        assert value == pytest.approx(gain)


def test_labels_of_any_sign_are_taken_where_the_loss_is_linear_in_them():
    lists = literal.lists_of([-1.5, 0.25, 2.0])
    scores = [0.3, 0.1, -0.2]
    value, _ = ApproxNDCG(1.0, gain="linear", normalize=False).value_and_slope(scores, lists)
    expected = -sum(y / math.log2(1 + r) for y, r in zip([-1.5, 0.25, 2.0], ranks_of(scores, 1.0), strict=True))
    assert value == pytest.approx(expected)
    assert not ApproxNDCG(gain="linear").is_linear_in_labels


def test_parameters_without_a_meaning_are_refused():
    lists = literal.lists_of([1, 0])
    for loss, text in (
        (ApproxNDCG(alpha=0), "alpha=0; it must be a finite number above 0"),
        (ApproxMAP(beta=-1), "beta=-1; it must be a finite number above 0"),
        (ApproxMRR(relevant_from=None), "relevant_from=None; it must be a finite number"),
        (ApproxNDCG(gain="log"), "gain='log'"),
    ):
        with pytest.raises(ValueError, match=text):
            loss.value_and_slope([0.0, 1.0], lists)


def test_trees_and_linear_rankers_learn_with_it():
    data = pk.datasets.make_web_like(60, 20, 5, random_state=3)
    for loss in ("approx-ndcg", "approx-map"):
        ranker = pk.LinearRanker(loss=loss).fit(data)
        assert metrics.ndcg(data.y, ranker.predict(data), qid=data.qid).mean() > 0.6


def test_allrank_finds_the_same():
    """Its formula on one list, differentiated by PyTorch."""
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    labels, numbers = np.array([2.0, 0, 1, 1, 4, 0]), np.random.default_rng(1).normal(size=6)
    scores, y = torch.tensor(numbers, requires_grad=True), torch.tensor(labels)
    places = torch.log2(1.0 + torch.arange(1, 7).double())
    ideal = ((2 ** y.sort(descending=True).values - 1) / places).sum()
    apart = torch.sigmoid(-1.5 * (scores[:, None] - scores[None, :])) * (1 - torch.eye(6))
    value = -((2**y - 1) / ideal / torch.log2(1.0 + 1.0 + apart.sum(1))).sum()
    value.backward()
    found, slope = ApproxNDCG(1.5).value_and_slope(numbers, literal.lists_of(labels))
    assert found == pytest.approx(value.item(), rel=1e-12)
    np.testing.assert_allclose(slope, scores.grad.numpy(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("loss", "name"),
    [(ApproxNDCG(4.0), "ndcg_metric"), (ApproxMRR(4.0), "mrr_metric"), (ApproxMAP(4.0, beta=1e9), "ap_metric")],
)
def test_rax_finds_the_same(loss, name):
    """Its average precision compares ranks by a step, which ``beta`` approaches."""
    rax = pytest.importorskip("rax", reason="needs rax")
    jax = pytest.importorskip("jax", reason="needs rax")
    labels, scores = np.array([2.0, 0, 1, 1, 4, 0, 0]), np.random.default_rng(4).normal(size=7)
    # approx_t12n of some versions fails with current versions of jax; it does no more than this
    ranks = functools.partial(rax.utils.approx_ranks, step_fn=lambda gap: jax.nn.sigmoid(4.0 * gap))

    def approximate(scores):
        return -getattr(rax, name)(scores, jax.numpy.asarray(labels), rank_fn=ranks)

    value, slope = jax.value_and_grad(approximate)(jax.numpy.asarray(scores))
    found, pull = loss.value_and_slope(scores, literal.lists_of(labels))
    assert found == pytest.approx(float(value), rel=1e-5)
    np.testing.assert_allclose(pull, np.asarray(slope), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", [ApproxMRR, ApproxMAP])
def test_warns_if_no_label_is_relevant(loss):
    lists = literal.lists_of([0.5, 0.0], [0.2])
    with pytest.warns(NothingToLearnWarning, match=r"relevant_from=1; the largest is 0\.5"):
        loss().check_fit(lists)
    loss(relevant_from=0.5).check_fit(lists)
