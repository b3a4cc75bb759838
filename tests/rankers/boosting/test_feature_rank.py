"""FeatureRank and BL-FeatureRank: every step against a literal loop, and balance control."""

import itertools
import math

import numpy as np
import pytest

from plackett.rankers.boosting.feature_rank import BLFeatureRank, FeatureRank
from tests.rankers.boosting.feature_lists import (
    damage,
    make_data,
    slow_h,
    slow_keys,
    slow_pairs,
    slow_ranks,
    training_of,
)


def slow_E(ranking, y):
    n_pairs = sum(a > b for a in y for b in y)
    right, wrong = slow_pairs(slow_ranks(list(ranking)), y)
    return (right - wrong) / n_pairs


def slow_feature_rank(lists, cycles, balance=None):
    """λ, H, E of every list, what enters and β, of every step; lists without pairs keep a ranking but do not count."""
    counted = [q for q, (_, y) in enumerate(lists) if len(set(y)) > 1]
    H = [np.zeros(len(y)) for _, y in lists]
    w = dict.fromkeys(counted, 1.0)
    E = dict.fromkeys(counted, 0.0)
    steps = []
    for _ in range(cycles):
        for m in range(lists[0][0].shape[0]):
            hats = [h[m] for h, _ in lists]
            choice, mean_beta = 0, 0.0
            if balance is not None:
                chosen, betas = {}, {}
                for q in counted:
                    y, of_h = lists[q][1], slow_E(hats[q], lists[q][1])
                    betas[q] = E[q] / (of_h + E[q]) if of_h + E[q] > 0 else 0.5
                    mixture = betas[q] * H[q] + (1 - betas[q]) * hats[q]
                    candidates = [of_h, slow_E(mixture, y), E[q]]
                    chosen[q] = candidates.index(max(candidates))
                votes = [sum(w[q] for q in counted if chosen[q] == c) for c in range(3)]
                choice = votes.index(max(votes))
                if choice == 1:
                    mean_beta = sum(w[q] * betas[q] for q in counted if chosen[q] == 1) / votes[1]
                for q in range(len(lists)):
                    c, beta = choice, mean_beta
                    if balance == "query":
                        c, beta = chosen.get(q, 0), betas.get(q, 0.0)
                    hats[q] = [hats[q], beta * H[q] + (1 - beta) * hats[q], H[q]][c]
            of_hats = {q: slow_E(hats[q], lists[q][1]) for q in counted}
            up = max(sum(w[q] * (1 + of_hats[q]) for q in counted), 1e-12)
            down = max(sum(w[q] * (1 - of_hats[q]) for q in counted), 1e-12)
            weight = 0.5 * math.log(up / down)
            H = [slow_ranks(list(H[q] + weight * hats[q])) for q in range(len(lists))]
            E = {q: slow_E(H[q], lists[q][1]) for q in counted}
            w = {q: math.exp(-E[q]) for q in counted}
            steps.append((weight, np.concatenate(H), E, w, choice, mean_beta))
    return steps


@pytest.mark.parametrize("balance", [None, "global", "query"])
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("discovery", ["quasi-knn", "linear"])
@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_featurerank_matches_a_literal_loop(balance, is_tied, discovery, seed):
    X, y, qid = make_data(seed, is_tied=is_tied, lengths=(9, 1, 2, 3, 14, 6))
    parameters = {"n_intervals": 3, "discovery": discovery, "cycles": 3}
    ranker = BLFeatureRank(balance=balance, **parameters) if balance else FeatureRank(**parameters)
    ranker.fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    lists = slow_h(X, y, qid, ranker)
    n_pairs = sum(a > b for _, own in lists for a in own for b in own)
    is_counted = np.array([len(set(own)) > 1 for _, own in lists])
    is_counted_doc = np.repeat(is_counted, [len(own) for _, own in lists])
    for t, (weight, H, E, w, choice, beta) in enumerate(slow_feature_rank(lists, 3, balance)):
        training.step(t % 4)
        assert ranker.steps_["weight"][t] == pytest.approx(weight, abs=1e-9)
        np.testing.assert_allclose((0.5 * training.twice)[is_counted_doc], H[order][is_counted_doc], atol=1e-9)
        np.testing.assert_allclose(training.E[is_counted], list(E.values()), atol=1e-9)
        np.testing.assert_allclose(training._w[is_counted], list(w.values()), atol=1e-9)
        assert ranker.history_["E"][t] == pytest.approx(np.mean(list(E.values())), abs=1e-9)
        bounds = np.searchsorted(qid, np.arange(len(lists) + 1))
        ranks = [H[a:b] for a, b in itertools.pairwise(bounds)]
        wrong = sum(slow_pairs(own, labels)[1] for own, (_, labels) in zip(ranks, lists, strict=True))
        assert ranker.history_["error"][t] == pytest.approx(wrong / n_pairs, abs=1e-12)
        if balance is not None:
            assert ranker.steps_["enters"][t] == choice
            assert ranker.steps_["beta"][t] == pytest.approx(beta, abs=1e-9)
    if balance != "query":
        np.testing.assert_array_equal(ranker.predict(X, qid=qid)[order], 0.5 * training.twice)
        np.testing.assert_array_equal(ranker.predict(X, qid=qid), H)


@pytest.mark.parametrize("ranker", [FeatureRank, BLFeatureRank])
def test_new_lists_are_ranked_by_the_same_recursion(ranker):
    X, y, qid = make_data(11, lengths=(12, 9, 15))
    new, _, new_qid = make_data(12, lengths=(7, 1, 2, 30))
    fitted = ranker(n_intervals=4, cycles=2).fit(X, y, qid=qid)
    has_balance = ranker is BLFeatureRank
    choices, betas = (fitted.steps_[name] if has_balance else np.zeros(8, int) for name in ("enters", "beta"))
    scores = fitted.predict(new, qid=new_qid)
    for q in range(4):
        rows, H = new_qid == q, np.zeros((new_qid == q).sum())
        h = [slow_ranks(slow_keys(new[rows, m], fitted.centres_[m])) for m in range(4)]
        for t in range(8):
            entering = [h[t % 4], betas[t] * H + (1 - betas[t]) * h[t % 4], H][choices[t]]
            H = slow_ranks(list(H + fitted.steps_["weight"][t] * entering))
        np.testing.assert_array_equal(scores[rows], H)


def test_the_first_feature_enters_in_full_however_small_its_weight():
    X, y, qid = make_data(13, lengths=(20, 20, 20))
    fitted = FeatureRank(discovery="linear").fit(X, y, qid=qid)
    for weight, sign in [(1e-6, 1), (-5.0, -1)]:
        fitted.steps_ = np.array([(0, weight)], dtype=fitted.STEP_FIELDS)
        for q in range(3):
            expected = slow_ranks(list(sign * fitted.signs_[0] * X[qid == q, 0]))
            np.testing.assert_array_equal(fitted.predict(X[qid == q], qid=0), expected)


def test_the_mixture_is_chosen_and_replayed():
    X, y, qid = make_data(0, lengths=(30, 30, 30), n_features=8)
    ranker = BLFeatureRank(cycles=2).fit(X, y, qid=qid)
    assert set(ranker.steps_["enters"]) == {0, 1, 2}
    assert ((ranker.steps_["beta"] != 0) <= (ranker.steps_["enters"] == 1)).all()
    plain = FeatureRank(cycles=2).fit(X, y, qid=qid)
    assert ranker.history_["E"] != plain.history_["E"]


def test_balance_per_query_ranks_the_training_lists_by_their_own_labels():
    X, y, qid = make_data(1, lengths=(30, 30, 30), n_features=8)
    ranker = BLFeatureRank(balance="query").fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    for feature in range(8):
        training.step(feature)
    assert (ranker.predict(X, qid=qid)[order] != 0.5 * training.twice).any()


def test_balance_is_checked_by_fit():
    with pytest.raises(ValueError, match="balance='all' is not known"):
        BLFeatureRank(balance="all").fit([[1.0], [2]], [0, 1])


def test_damaged_choices_are_refused():
    X, y, qid = make_data(3)
    ranker = BLFeatureRank().fit(X, y, qid=qid)
    for name, value in [
        ("enters", 3),
        ("beta", np.inf),
        ("beta", 1e305),  # mixtures would be ∞ − ∞
        ("steps_", ranker.steps_[["feature", "weight"]].copy()),
    ]:
        ranker = BLFeatureRank().fit(X, y, qid=qid)
        damage(ranker, name, value)
        with pytest.raises(ValueError, match="must"):
            ranker.check_loaded()
