"""DiffRank: every step against a loop over pairs, the lemmas, scores far apart."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plackett as pk
from plackett import _native
from plackett.rankers.boosting.diff_rank import DiffRank
from tests.rankers.boosting.feature_lists import make_data, slow_h, training_of


def slow_diffrank(lists, cycles, top_k):
    """α, Z, H and the share of wrong pairs of every step, pair by pair."""
    pairs = []
    for q, (_, y) in enumerate(lists):
        top = [i for i in range(len(y)) if top_k is None or sum(other > y[i] for other in y) < top_k]
        pairs += [(q, i, j) for i in top for j in range(len(y)) if y[i] > y[j]]
    D = np.full(len(pairs), 1 / max(len(pairs), 1))
    H = [np.zeros(len(y)) for _, y in lists]
    steps = []
    for _ in range(cycles):
        for m in range(lists[0][0].shape[0]):
            gaps = np.array([(lists[q][0][m, i] - lists[q][0][m, j]) / (len(lists[q][1]) - 1) for q, i, j in pairs])
            r = float(D @ gaps)
            alpha = 0.5 * math.log(max(1 + r, 1e-12) / max(1 - r, 1e-12))
            D = D * np.exp(-alpha * gaps)
            Z = D.sum()
            D = D / Z
            H = [scores + alpha * h[m] for scores, (h, _) in zip(H, lists, strict=True)]
            wrong = sum(H[q][i] < H[q][j] - 1e-10 for q, i, j in pairs)
            steps.append((alpha, Z, np.concatenate(H), wrong / len(pairs)))
    return steps


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("top_k", [None, 1, 3])
@pytest.mark.parametrize(("discovery", "centre"), [("quasi-knn", "mean"), ("quasi-knn", "prior"), ("linear", "mean")])
def test_every_step_of_diffrank_matches_a_loop_over_pairs(is_tied, top_k, discovery, centre):
    X, y, qid = make_data(1, is_tied=is_tied)
    ranker = DiffRank(n_intervals=3, discovery=discovery, centre=centre, cycles=2, top_k=top_k).fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    bound = 1.0
    for t, (alpha, Z, H, error) in enumerate(slow_diffrank(slow_h(X, y, qid, ranker), 2, top_k)):
        training.step(t % 4)
        bound *= Z
        assert ranker.steps_["weight"][t] == pytest.approx(alpha, abs=1e-9)
        assert ranker.history_["bound"][t] == pytest.approx(bound, abs=1e-9)
        assert ranker.history_["error"][t] == pytest.approx(error, abs=1e-12)
        np.testing.assert_allclose(training.scores, H[order], atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), H, atol=1e-9)
    np.testing.assert_array_equal(ranker.predict(X, qid=qid)[order], training.scores)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.booleans(), st.integers(1, 6), st.sampled_from([None, 2]),
    st.sampled_from([None, [1, 1, 1, 1, 0], [3, 1, 0.5, 2, 1]]),
)  # fmt: skip
def test_lemmas_3_and_4_hold_at_every_step(seed, is_tied, n_intervals, top_k, weights):
    X, y, qid = make_data(seed, is_tied=is_tied)
    ranker = DiffRank(n_intervals=n_intervals, cycles=3, top_k=top_k).fit(X, y, qid=qid, sample_weight=weights)
    bound, error = np.array(ranker.history_["bound"]), np.array(ranker.history_["error"])
    assert (error <= bound + 1e-12).all()
    assert (np.diff(np.r_[1.0, bound]) <= 1e-12).all()
    # Lemma 4's own bound on Z, with r = tanh α
    Z = bound / np.r_[1.0, bound[:-1]]
    assert (Z * np.cosh(ranker.steps_["weight"]) <= 1 + 1e-9).all()


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_lemmas_3_and_4_hold_for_a_loop_over_pairs_with_the_fitted_weights(seed, is_tied):
    """(17), (29) and (31) of the paper from D, Δh and U of every pair; only α is taken from the ranker."""
    X, y, qid = make_data(seed, is_tied=is_tied)
    ranker = DiffRank(n_intervals=4, cycles=2).fit(X, y, qid=qid)
    lists = slow_h(X, y, qid, ranker)
    pairs = [
        (q, i, j)
        for q, (_, own) in enumerate(lists)
        for i in range(len(own))
        for j in range(len(own))
        if own[i] > own[j]
    ]
    D, H, product = [1 / len(pairs)] * len(pairs), [0.0] * len(pairs), 1.0
    for t, alpha in enumerate(ranker.steps_["weight"].tolist()):
        gaps = [(lists[q][0][t % 4][i] - lists[q][0][t % 4][j]) / (len(lists[q][1]) - 1) for q, i, j in pairs]
        assert sum(D) == pytest.approx(1)
        phi = (1 + sum(d * gap for d, gap in zip(D, gaps, strict=True))) / 2

        def bound(a, phi=phi):
            return phi * math.exp(-a) + (1 - phi) * math.exp(a)

        assert 0 <= phi <= 1
        assert bound(alpha) <= min(bound(alpha - 1e-3), bound(alpha + 1e-3))  # α of (31) is the least
        D = [d * math.exp(-alpha * gap) for d, gap in zip(D, gaps, strict=True)]
        Z = sum(D)
        assert bound(alpha) + 1e-12 >= Z
        assert bound(alpha) == pytest.approx(math.sqrt(4 * phi * (1 - phi)))
        assert bound(alpha) <= 1 + 1e-12  # Lemma 4: the bound of the error never rises
        D = [d / Z for d in D]
        product *= Z
        H = [own + alpha * gap for own, gap in zip(H, gaps, strict=True)]
        mean = sum(math.exp(-own) for own in H) / len(pairs)
        assert mean == pytest.approx(product)  # (29)
        assert sum(own < 0 for own in H) / len(pairs) <= product + 1e-12  # Lemma 3


def test_scores_far_apart_do_not_overflow():
    X, y, qid = np.array([[1.0, 1], [0, 0], [1, 1], [0, 0]]), [1, 0, 1, 0], [0, 0, 1, 1]
    ranker = DiffRank(n_intervals=2, cycles=200).fit(X, y, qid=qid)
    assert np.isfinite(ranker.feature_weights_).all()
    assert ranker.history_["bound"][-1] < 1e-200
    assert ranker.history_["error"][-1] == 0


def test_a_list_without_weight_does_not_overflow():
    # its only pair stands the wrong way round, and its weight would grow at every step
    X, y, qid = np.array([[0.0], [1], [2], [0], [1]]), [0, 1, 2, 1, 0], [0, 0, 0, 1, 1]
    ranker = DiffRank(discovery="linear", cycles=1500).fit(X, y, qid=qid, sample_weight=[1, 0])
    alone = DiffRank(discovery="linear", cycles=1500).fit(X[:3], y[:3])
    assert ranker.feature_weights_.sum() > 750  # exp(750) overflows
    np.testing.assert_array_equal(ranker.feature_weights_, alone.feature_weights_)
    assert ranker.history_ == alone.history_


def test_the_papers_example_of_weights_that_change_scores_but_not_ranks():
    # α = (1, 0.8) and (0.7, 0.2) with <3, 2, 1> and <3, 1, 2> give the same order: rank addition cannot tell them apart
    X = np.array([[3.0, 3], [2, 1], [1, 2]])
    ranker = DiffRank(discovery="linear").fit(X, [3, 2, 1])
    scores = []
    for weights in ([1.0, 0.8], [0.7, 0.2]):
        ranker.steps_ = np.array([(0, weights[0]), (1, weights[1])], dtype=ranker.STEP_FIELDS)
        scores.append(ranker.predict(X))
    np.testing.assert_allclose(scores, [[5.4, 2.8, 2.6], [2.7, 1.6, 1.1]])


@pytest.mark.parametrize("width", [0.0, 20.0, 4199.0, 4201.0, 4600.0])  # above 4200 sums are scaled
@pytest.mark.parametrize("top", [1, 2, 8])
def test_pair_weights_of_narrow_and_wide_scores_match_a_loop_over_pairs(width, top):
    rng = np.random.default_rng(0)
    scores, level_start = rng.normal(size=8), np.array([0, 1, 1, 3, 3, 3, 6, 7])
    scores *= width / np.ptp(scores)
    total, expected = 0.0, np.zeros(8)
    for i, j in itertools.product(range(8), range(8)):
        if level_start[i] < level_start[j] and level_start[i] < top:
            weight = math.exp((scores[j] - scores[i]) / 7)
            total += weight
            expected[i] += weight
            expected[j] -= weight
    totals, net, pairs = np.empty(1), np.empty(8), np.ones(1, dtype=np.int64)
    _native.rankers.weigh_pairs(scores, level_start, top, pairs, np.array([0, 8]), 0, 1, totals, net)
    assert totals[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(net, expected, rtol=1e-11, atol=1e-12 * total)


def test_top_k_is_checked_by_fit():
    with pytest.raises(ValueError, match="top_k=0; it must be a whole number"):
        DiffRank(top_k=0).fit([[1.0], [2]], [0, 1])


def test_defaults_pass_over_the_features_ten_times():
    rng = np.random.default_rng(1)
    queries = pk.Queries(rng.normal(size=(60, 5)), rng.integers(0, 3, 60), np.repeat(np.arange(10), 6))
    assert pk.DiffRank().fit(queries).n_iter_ == 10 * queries.n_features
