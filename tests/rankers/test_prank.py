"""PRank: the perceptron step by step, its thresholds, and everything around the fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett import persistence
from plackett.rankers import _prank
from plackett.rankers.prank import PRank

DATA = pk.datasets.make_web_like(40, n_features=6, random_state=0)
RAW = DATA.X.astype(float)
X = (RAW - RAW.mean(0)) / RAW.std(0)
Y, QID = DATA.y, DATA.qid


def fitted(rows=X, labels=Y, **parameters):
    return PRank(**{"n_epochs": 3, "random_state": 0, **parameters}).fit(rows, labels)


def pranked(rows, labels, n_epochs, seed):
    """The algorithm as its paper states it: every state after a step, and the errors of every pass."""
    levels = sorted(set(labels))
    coef, bounds = np.zeros(rows.shape[1]), np.append(np.zeros(len(levels) - 1), np.inf)
    draws, states, errors = np.random.RandomState(seed), [], []
    for _ in range(n_epochs):
        missed = 0
        for i in draws.permutation(len(rows)):
            score = rows[i] @ coef
            guess = next(r for r in range(len(levels)) if score - bounds[r] < 0)
            rank = levels.index(labels[i])
            if guess != rank:
                missed += abs(guess - rank)
                sides = [-1 if rank <= r else 1 for r in range(len(levels) - 1)]
                moves = [side if (score - bound) * side <= 0 else 0 for side, bound in zip(sides, bounds, strict=False)]
                coef = coef + sum(moves) * rows[i]
                bounds = np.append(bounds[:-1] - moves, np.inf)
            states.append(np.append(coef, bounds[:-1]))
        errors.append(missed / len(rows))
    return np.array(states), errors


@pytest.mark.parametrize("average", [False, True])
def test_every_step_is_that_of_the_paper(average):
    ranker = fitted(average=average)
    states, errors = pranked(X, Y.tolist(), 3, 0)
    expected = states.mean(0) if average else states[-1]
    assert np.append(ranker.coef_, ranker.thresholds_) == pytest.approx(expected, abs=1e-9)
    assert ranker.history_["mean_error"] == pytest.approx(errors)
    assert ranker.n_iter_ == 3
    assert ranker.stop_reason_ == "n_epochs reached"


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), n_levels=st.integers(1, 6), scale=st.sampled_from([0.01, 1.0, 100.0]))
def test_thresholds_stay_in_order_after_every_document(seed, n_levels, scale):
    rng = np.random.default_rng(seed)
    rows, levels = rng.normal(size=(60, 3)) * scale, rng.integers(0, n_levels, 60)
    coef, thresholds = np.zeros(3), np.zeros(n_levels - 1)
    for i in range(60):
        _prank.pass_dense(rows, levels, np.array([i]), 0.0, coef, np.zeros(3), thresholds, np.zeros(n_levels - 1))
        assert (np.diff(thresholds) >= 0).all()
    for average in (False, True):
        assert (np.diff(fitted(rows, levels, average=average).thresholds_) >= 0).all()


@pytest.mark.parametrize("average", [False, True])
def test_levels_follow_from_scores_and_thresholds(average):
    ranker = fitted(average=average)
    scores = ranker.predict(X)
    assert scores == pytest.approx(X @ ranker.coef_)
    expected = [ranker.levels_[sum(score >= bound for bound in ranker.thresholds_)] for score in scores]
    assert ranker.predict_level(X).tolist() == expected
    assert set(expected) <= set(Y)


def test_separable_levels_are_learned_without_mistakes():
    rows = np.arange(-6.0, 6.0)[:, None] / 6
    labels = np.repeat([-3.0, 0.5, 7.0], 4)
    ranker = fitted(rows, labels, n_epochs=1000, average=False)
    assert ranker.stop_reason_ == "an epoch without mistakes"
    assert ranker.n_iter_ < 1000
    assert ranker.history_["mean_error"][-1] == 0
    assert ranker.predict_level(rows).tolist() == labels.tolist()


def test_a_seed_fixes_the_result():
    first, second, other = fitted(random_state=3), fitted(random_state=3), fitted(random_state=4)
    assert first.coef_.tolist() == second.coef_.tolist()
    assert first.thresholds_.tolist() == second.thresholds_.tolist()
    assert first.coef_.tolist() != other.coef_.tolist()


def test_dense_and_sparse_rows_agree():
    for form in (sparse.csr_matrix(X), np.asfortranarray(X)):
        assert fitted(form).coef_ == pytest.approx(fitted().coef_)
        assert fitted(form).predict_level(form).tolist() == fitted().predict_level(X).tolist()


def test_averaging_ranks_better_than_chance():
    ranker = PRank(normalize="query-zscore", random_state=0).fit(DATA.X, Y, qid=QID)
    chance = pk.metrics.ndcg(Y, np.random.default_rng(0).normal(size=Y.size), qid=QID, k=10).mean()
    assert ranker.score(DATA.X, Y, qid=QID) > chance + 0.1


@pytest.mark.parametrize("rows", [np.zeros((5, 2)), np.ones((5, 2)), [[1.0, 2.0]]], ids=["zeros", "ones", "one row"])
@pytest.mark.parametrize("n_levels", [1, 3])
def test_degenerate_data_give_finite_scores(rows, n_levels):
    labels = np.arange(len(rows)) % n_levels
    ranker = fitted(rows, labels)
    assert np.isfinite(ranker.predict(rows)).all()
    assert set(ranker.predict_level(rows)) <= set(labels)
    if len(set(labels)) == 1:
        assert ranker.coef_.tolist() == [0.0, 0.0]
        assert ranker.thresholds_.size == 0


def test_columns_beyond_all_scale_are_refused():
    with pytest.raises(ValueError, match=r"scale the columns"):
        fitted(np.array([[1e308], [-1e308], [1e308]]), [2, 1, 0], n_epochs=50)


def test_wrong_parameters_and_a_failed_fit_leave_the_ranker_alone():
    ranker = fitted()
    before = ranker.coef_
    with pytest.raises(ValueError, match=r"n_epochs=0; it must be a whole number"):
        ranker.set_params(n_epochs=0).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        ranker.set_params(n_epochs=1).fit(np.full((2, 6), np.nan), [0, 1])
    assert ranker.coef_ is before


def test_contributions_sum_to_the_score_above_the_mean():
    ranker = fitted()
    explained = ranker.explain(X, qid=QID)
    scores = ranker.predict(X)
    means = {query: scores[query == QID].mean() for query in set(QID.tolist())}
    sums = np.asarray(explained.contributions).sum(1)
    assert sums == pytest.approx(scores - [means[query] for query in QID.tolist()], abs=1e-9)


def test_a_model_survives_a_file_and_a_damaged_one_is_refused(tmp_path):
    persistence.register(PRank)
    ranker = fitted()
    persistence.save(ranker, tmp_path / "prank.plackett")
    loaded = persistence.load(tmp_path / "prank.plackett")
    assert loaded.predict_level(X).tolist() == ranker.predict_level(X).tolist()
    for name, value in [("thresholds_", ranker.thresholds_[::-1].copy()), ("levels_", ranker.levels_[1:])]:
        broken = fitted()
        setattr(broken, name, value)
        with pytest.raises(ValueError, match=r"thresholds"):
            broken._check_loaded()


def test_real_queries_are_ranked_far_above_chance(shared_data):
    fold = pk.datasets.load_fold("mq2008", 1, shared_data / "letor4-mq2008")
    ranker = PRank(normalize="query-zscore", random_state=0).fit(fold.train)
    means = pk.evaluate(fold.test, ranker.predict(fold.test), metrics=["map"], convention="letor4").mean()
    assert means["map"] > 0.40
