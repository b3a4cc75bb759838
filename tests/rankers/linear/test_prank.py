"""PRank: the perceptron step by step, its thresholds, and everything around the fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett import _native
from plackett.rankers.linear import prank
from plackett.rankers.linear.prank import PRank
from plackett.storage import models

DATA = pk.datasets.make_web_like(40, n_features=6, random_state=0)
RAW = DATA.X.astype(float)
X = (RAW - RAW.mean(0)) / RAW.std(0)
Y, QID = DATA.y, DATA.qid


def fitted(rows=X, labels=Y, **parameters):
    return PRank(**{"n_epochs": 3, "random_state": 0, **parameters}).fit(rows, labels, qid=0)


def pranked(rows, labels, n_epochs, seed, weights=None):
    """The algorithm as its paper states it: every state after a step, and of every pass its end and its mean error."""
    levels = sorted(set(labels))
    coef, bounds = np.zeros(rows.shape[1]), np.append(np.zeros(len(levels) - 1), np.inf)
    draws, states, ends, errors = np.random.RandomState(seed), [], [], []
    for _ in range(n_epochs):
        missed, n_turns = 0, 0
        order = draws.permutation(len(rows))
        luck = np.zeros(len(rows)) if weights is None else draws.random_sample(len(rows))
        for i, drawn in zip(order, luck, strict=True):
            if weights is not None and drawn >= weights[i]:
                continue
            n_turns += 1
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
        ends.append(len(states))
        errors.append(missed / n_turns)
    return np.array(states), ends, errors


@pytest.mark.parametrize("average", [False, True])
def test_every_step_is_that_of_the_paper(average):
    ranker = fitted(average=average)
    states, _, errors = pranked(X, Y.tolist(), 3, 0)
    expected = states.mean(0) if average else states[-1]
    assert np.append(ranker.coef_, ranker.thresholds_) == pytest.approx(expected, abs=1e-9)
    assert ranker.history_["mean_error"] == pytest.approx(errors)
    assert ranker.n_iter_ == 3
    assert ranker.stop_reason_ == "n_epochs reached"


@pytest.mark.parametrize("average", [False, True])
def test_a_weight_is_the_probability_of_a_turn(average):
    of_queries = np.random.default_rng(1).uniform(0.2, 3.0, DATA.n_queries)
    weights = np.repeat(of_queries, np.diff(DATA.indptr))
    ranker = PRank(n_epochs=3, average=average, random_state=0).fit(X, Y, qid=QID, sample_weight=of_queries)
    states, _, errors = pranked(X, Y.tolist(), 3, 0, weights / weights.max())
    expected = states.mean(0) if average else states[-1]
    assert np.append(ranker.coef_, ranker.thresholds_) == pytest.approx(expected, abs=1e-9)
    assert ranker.history_["mean_error"] == pytest.approx(errors)
    assert (np.diff(ranker.thresholds_) >= 0).all()


def test_queries_of_weight_zero_are_left_out_and_equal_weights_change_nothing():
    weights = np.where(np.arange(DATA.n_queries) < 30, 0.7, 0.0)
    taken = DATA.indptr[30]
    some = PRank(n_epochs=3, random_state=0).fit(X, Y, qid=QID, sample_weight=weights)
    alone = PRank(n_epochs=3, random_state=0).fit(X[:taken], Y[:taken], qid=QID[:taken])
    assert some.coef_.tolist() == alone.coef_.tolist()
    assert some.thresholds_.tolist() == alone.thresholds_.tolist()


def test_a_pass_in_which_not_all_had_their_turn_proves_nothing():
    rows, labels, qid = np.array([[-1.0], [1.0], [-2.0], [2.0]]), [0, 1, 0, 1], [0, 0, 1, 1]
    one = PRank(n_epochs=50, random_state=0).fit(rows, labels, qid=qid)
    assert one.stop_reason_ == "an epoch without mistakes"
    lazy = PRank(n_epochs=50, random_state=0).fit(rows, labels, qid=qid, sample_weight=[1.0, 1e-9])
    assert lazy.stop_reason_ == "n_epochs reached"


# ---- validation ----------------------------------------------------------------------------------------------------

HELD = pk.datasets.make_web_like(15, n_features=6, random_state=1)
HELD_OUT = ((HELD.X - RAW.mean(0)) / RAW.std(0), HELD.y, HELD.qid)


def by_pass(average, n_epochs, metric):
    """Coefficients and thresholds after every pass, and the measure of the held-out queries."""
    states, ends, _ = pranked(X, Y.tolist(), n_epochs, 0)
    kept = [states[:end].mean(0) if average else states[end - 1] for end in ends]
    measure = pk.metrics.Measure.parse(metric)
    return kept, [measure(HELD.y, HELD_OUT[0] @ state[:6], qid=HELD.qid).mean() for state in kept]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("metric", ["ndcg@10", "mre"])
def test_the_pass_that_is_best_on_the_validation_set_is_kept(average, metric):
    kept, means = by_pass(average, 12, metric)
    is_higher = pk.metrics.Measure.parse(metric).higher_is_better
    best, n_passes = 0, 12
    for place in range(12):
        if (means[place] > means[best]) if is_higher else (means[place] < means[best]):
            best = place
        if place - best == 2:
            n_passes = place + 1
            break
    ranker = PRank(n_epochs=12, average=average, patience=2, random_state=0).fit(
        X, Y, qid=QID, eval_set=HELD_OUT, eval_metric=metric
    )
    assert ranker.history_[metric] == pytest.approx(means[:n_passes])
    assert len(ranker.history_["mean_error"]) == ranker.n_iter_ == n_passes
    assert ranker.best_iteration_ == best + 1
    assert ranker.best_score_ == pytest.approx(means[best])
    assert np.append(ranker.coef_, ranker.thresholds_) == pytest.approx(kept[best], abs=1e-9)
    assert n_passes < 12  # or nothing was tested
    assert ranker.stop_reason_ == "no improvement on the validation set"


def test_without_patience_all_passes_are_made_and_the_best_is_kept():
    ranker = PRank(n_epochs=4, patience=None, random_state=0).fit(X, Y, qid=QID, eval_set=HELD_OUT)
    kept, means = by_pass(True, 4, "ndcg@10")
    assert ranker.history_["ndcg@10"] == pytest.approx(means)
    assert ranker.best_score_ == max(ranker.history_["ndcg@10"])
    assert np.append(ranker.coef_, ranker.thresholds_) == pytest.approx(kept[ranker.best_iteration_ - 1], abs=1e-9)
    alone = PRank(n_epochs=4, random_state=0).fit(X, Y, qid=QID)
    assert (alone.best_iteration_, alone.best_score_) == (None, None)


def test_validation_rows_are_scaled_as_the_model_scales():
    ranker = PRank(n_epochs=6, normalize="query-zscore", random_state=0).fit(DATA.X, Y, qid=QID, eval_set=HELD)
    assert ranker.score(HELD.X, HELD.y, qid=HELD.qid) == pytest.approx(ranker.best_score_)


def test_ctrl_c_leaves_the_passes_so_far(monkeypatch):
    learn, n_passes = prank._Perceptron.learn, iter(range(99))

    def learn_four(self, order):
        if next(n_passes) == 4:
            raise KeyboardInterrupt
        return learn(self, order)

    monkeypatch.setattr(prank._Perceptron, "learn", learn_four)
    ranker = PRank(random_state=0)
    with pytest.raises(KeyboardInterrupt, match="its result so far was kept"):
        ranker.fit(X, Y, qid=QID)
    monkeypatch.undo()
    assert ranker.stop_reason_ == "interrupted"
    assert ranker.n_iter_ == len(ranker.history_["mean_error"]) == 4
    assert ranker.coef_.tolist() == fitted(n_epochs=4).coef_.tolist()


def test_a_progress_bar_goes_to_standard_error(capsys):
    fitted(verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


# ---- thresholds, levels, edges -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), n_levels=st.integers(1, 6), scale=st.sampled_from([0.01, 1.0, 100.0]))
def test_thresholds_stay_in_order_after_every_document(seed, n_levels, scale):
    rng = np.random.default_rng(seed)
    rows, levels = rng.normal(size=(60, 3)) * scale, rng.integers(0, n_levels, 60)
    coef, thresholds = np.zeros(3), np.zeros(n_levels - 1)
    for i in range(60):
        _native.rankers.prank_pass_dense(
            rows, levels, np.array([i]), 0.0, coef, np.zeros(3), thresholds, np.zeros(n_levels - 1)
        )
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
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_degenerate_data_give_finite_scores(rows, n_levels):
    labels = np.arange(len(rows)) % n_levels
    ranker = fitted(rows, labels)
    assert np.isfinite(ranker.predict(rows)).all()
    assert set(ranker.predict_level(rows)) <= set(labels)
    if len(set(labels)) == 1:
        assert ranker.coef_.tolist() == [0.0, 0.0]
        assert ranker.thresholds_.size == 0


def test_columns_beyond_all_scale_are_refused():
    with pytest.raises(ValueError, match=r"Scale the columns"):
        fitted(np.array([[1e308], [-1e308], [1e308]]), [2, 1, 0], n_epochs=50)


def test_wrong_parameters_and_a_failed_fit_leave_the_ranker_alone():
    ranker = fitted()
    before = ranker.coef_
    with pytest.raises(ValueError, match=r"n_epochs=0; it must be a whole number"):
        ranker.set_params(n_epochs=0).fit(X, Y)
    with pytest.raises(ValueError, match=r"patience=0; it must be a whole number"):
        PRank(patience=0).fit(X, Y)
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
    models.register(PRank)
    ranker = fitted()
    models.save(ranker, tmp_path / "prank.plackett")
    loaded = models.load(tmp_path / "prank.plackett")
    assert loaded.predict_level(X).tolist() == ranker.predict_level(X).tolist()
    for name, value in [("thresholds_", ranker.thresholds_[::-1].copy()), ("levels_", ranker.levels_[1:])]:
        broken = fitted()
        setattr(broken, name, value)
        with pytest.raises(ValueError, match=r"thresholds"):
            broken.check_loaded()


@pytest.mark.filterwarnings("error")
def test_a_model_of_the_largest_labels_is_no_damaged_one():
    PRank(random_state=0).fit([[-1.0], [1.0]], [-1.7e308, 1.7e308]).check_loaded()


def test_real_queries_are_ranked_far_above_chance(shared_data):
    fold = pk.datasets.load_fold("mq2008", 1, shared_data / "letor4-mq2008")
    ranker = PRank(normalize="query-zscore", random_state=0).fit(fold.train)
    means = pk.evaluate(fold.test, ranker.predict(fold.test), metrics=["map"], convention="letor4").mean()
    assert means["map"] > 0.40


def test_labels_that_are_numbers_rather_than_levels_are_an_error():
    rows = np.arange(2002.0).reshape(-1, 2)
    with pytest.raises(ValueError, match=r'y has 1,001 different labels.*pk\.ranker\("regression"\)'):
        pk.PRank().fit(rows, np.arange(1001.0), qid=0)
