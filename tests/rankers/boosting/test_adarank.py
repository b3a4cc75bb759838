"""AdaRank against a slow literal loop and what its paper proves."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from plackett.metrics.measure import Measure
from plackett.rankers.boosting.adarank import AdaRank
from tests.rankers.boosting.feature_lists import damage
from tests.rankers.judged_lists import lists, shuffled


def adarank_by_loops(X, y, qid, metric, n_rounds):
    """Rounds of (feature, signed α, mean on the training set), one query and one feature at a time."""
    measure = Measure.parse(metric)
    judge = Measure(measure.name, measure.k, **{"ties": "average", "empty": "skip", **measure.parameters})

    def quality(scores):
        values = []
        for query in np.unique(qid):
            rows = qid == query
            value, best, worst = (judge(y[rows], s)[0] for s in (scores[rows], y[rows], -y[rows]))
            if not measure.higher_is_better:
                value = 1 - 2 * (value - best) / (worst - best) if worst > best else np.nan
            values.append(value)
        return np.array(values)

    counted = abs(np.nan_to_num(quality(y)) - np.nan_to_num(quality(-y))) > 1e-12
    P = counted / counted.sum()
    scores, last, rounds = np.zeros(y.size), None, []
    for _ in range(n_rounds):
        best = None
        for feature in range(X.shape[1]):
            for sign in (1.0, -1.0):
                E = np.nan_to_num(quality(sign * X[:, feature]))
                if feature != last and (best is None or (P * E).sum() > best[0] + 1e-12):
                    best = (P * E).sum(), feature, sign, E
        if best is None or best[0] <= 0:
            break
        _, last, sign, E = best
        alpha = sign * 0.5 * np.log((P * (1 + E)).sum() / (P * (1 - E)).sum())
        scores = scores + alpha * X[:, last]
        E = quality(scores)
        P = counted * np.exp(-np.nan_to_num(E))
        P /= P.sum()
        mean = np.nan_to_num(judge(y, scores, qid=qid)).mean()
        rounds.append((last, alpha, mean))
    return rounds


@pytest.mark.parametrize("metric", ["map", "ndcg@3", "mrr(relevant_from=2)", "p@2", "kendall", "p@3(ties=worst)"])
@pytest.mark.parametrize("values", [None, 2])
def test_adarank_does_what_a_literal_loop_does(metric, values):
    X, y, qid = lists(values=values)
    ranker = AdaRank(metric, n_rounds=8, tol=None).fit(X, y, qid=qid)
    expected = adarank_by_loops(X, y, qid, metric, 8)
    assert ranker.history_["feature"] == [feature for feature, _, _ in expected]
    np.testing.assert_allclose(ranker.history_["alpha"], [alpha for _, alpha, _ in expected], atol=1e-9)
    np.testing.assert_allclose(ranker.history_["train"], [mean for _, _, mean in expected], atol=1e-9)
    coef = np.zeros(X.shape[1])
    np.add.at(coef, ranker.steps_["feature"], ranker.steps_["weight"])
    np.testing.assert_allclose(ranker.coef_, coef, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), X @ coef, atol=1e-9)
    steps = list(zip(ranker.history_["feature"], ranker.history_["alpha"], strict=True))
    assert ranker.steps_.tolist() == steps[: ranker.steps_.size]
    np.testing.assert_array_equal(ranker.feature_weights_, ranker.coef_)


def test_adarank_chooses_no_feature_twice_in_a_row():
    X, y, qid = lists(30)
    chosen = AdaRank(n_rounds=40, tol=None).fit(X, y, qid=qid).history_["feature"]
    assert len(chosen) == 40
    assert all(one != other for one, other in itertools.pairwise(chosen))


@pytest.mark.parametrize(("cooldown", "n_columns", "expected"), [(None, 4, 1), (None, 9, 2), (None, 60, 10), (3, 5, 3)])
def test_adarank_lets_a_feature_rest(cooldown, n_columns, expected):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 120), np.repeat(np.arange(12), 10)
    X = y[:, None] + rng.normal(0.0, 2.0, (120, n_columns))
    chosen = np.array(AdaRank(n_rounds=40, tol=None, cooldown=cooldown).fit(X, y, qid=qid).history_["feature"])
    again = [np.flatnonzero(chosen[place + 1 :] == feature) for place, feature in enumerate(chosen)]
    assert min(places[0] for places in again if places.size) == expected


def test_adarank_ends_when_all_features_rest():
    X, y, qid = lists(n_features=3)
    ranker = AdaRank(cooldown=7).fit(X, y, qid=qid)
    assert ranker.n_iter_ <= 3
    assert "no other feature" in ranker.stop_reason_


def test_adarank_keeps_the_best_round_and_stops_when_the_training_measure_no_longer_rises():
    X, y, qid = lists(30)
    ranker = AdaRank("ndcg", tol=0.0).fit(X, y, qid=qid)
    train = ranker.history_["train"]
    assert ranker.stop_reason_ == "the training measure no longer rises"
    assert len(train) == ranker.steps_.size + 10
    assert train[ranker.steps_.size - 1] == max(train)
    assert ranker.score(X, y, qid=qid, metric="ndcg(ties=average)") == pytest.approx(max(train), abs=1e-12)


def test_adarank_keeps_the_round_that_is_best_on_the_validation_set():
    X, y, qid = lists(30)
    other = lists(20, seed=5)
    ranker = AdaRank(n_rounds=30, tol=None).fit(X, y, qid=qid, eval_set=other, eval_metric="mre")
    values = ranker.history_["mre"]
    assert ranker.steps_.size == ranker.best_iteration_ == 1 + int(np.argmin(values))
    assert ranker.best_score_ == min(values)
    assert -ranker.score(*other[:2], qid=other[2], metric="mre") == pytest.approx(min(values), abs=1e-12)


def test_adarank_stops_early_by_the_validation_set_alone():
    X, y, qid = lists(30)
    ranker = AdaRank(n_rounds=40, tol=None, patience=3).fit(X, y, qid=qid, eval_set=lists(20, seed=5))
    assert ranker.stop_reason_ == "no improvement on the validation set"
    assert ranker.n_iter_ == ranker.best_iteration_ + 3 < 40
    with pytest.raises(ValueError, match="patience=3 needs an eval_set"):
        AdaRank(patience=3).fit(X, y, qid=qid)


@pytest.mark.parametrize("values", [None, 1])
def test_adarank_does_not_see_the_order_of_the_rows(values):
    X, y, qid = lists(25, values=values)
    one, other = AdaRank().fit(X, y, qid=qid), AdaRank()
    rows = shuffled(X, y, qid)
    other.fit(*rows[:2], qid=rows[2])
    assert one.history_["feature"] == other.history_["feature"]
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-9)


def test_adarank_gives_a_perfect_feature_a_finite_weight():
    X, y, qid = lists()
    X[:, 2] = y
    ranker = AdaRank("ndcg").fit(X, y, qid=qid)
    assert ranker.steps_["feature"].tolist() == [2]
    assert 5 < ranker.steps_["weight"][0] < 10


def test_adarank_turns_a_feature_that_is_perfect_the_other_way_round():
    X, y, qid = lists()
    X[:, 2] = -y
    assert AdaRank("ndcg").fit(X, y, qid=qid).coef_[2] < -5
    assert AdaRank("ndcg", directions="descending").fit(X, y, qid=qid).coef_.min() >= 0


def test_adarank_takes_the_first_of_equal_features():
    X, y, qid = lists()
    X[:, 4] = X[:, 1] = y
    assert AdaRank("ndcg").fit(X, y, qid=qid).steps_["feature"][0] == 1


def test_adarank_works_with_a_single_feature():
    X, y, qid = lists(n_features=1)
    ranker = AdaRank().fit(X, y, qid=qid)
    assert ranker.steps_.size == 1
    assert ranker.stop_reason_ == "no other feature has a positive mean of the measure"


def test_adarank_of_constant_features_under_a_distance_is_empty():
    _, y, qid = lists()
    ranker = AdaRank("kendall").fit(np.ones((y.size, 3)), y, qid=qid)
    assert ranker.steps_.size == 0
    assert not ranker.predict(np.ones((4, 3))).any()


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_adarank_without_a_relevant_document_learns_nothing():
    X, y, qid = lists()
    ranker = AdaRank().fit(X, np.zeros_like(y), qid=qid)
    assert ranker.stop_reason_ == "all orders of every query have the same value"
    assert not ranker.coef_.any()


def test_adarank_counts_a_query_of_weight_two_like_two_queries():
    X, y, qid = lists()
    weights = np.ones(np.unique(qid).size)
    weights[4] = 2.0
    again = qid == 4
    twice = np.vstack([X, X[again]]), np.append(y, y[again]), np.append(qid, np.full(again.sum(), 99))
    one = AdaRank(n_rounds=5, tol=None).fit(X, y, qid=qid, sample_weight=weights)
    other = AdaRank(n_rounds=5, tol=None).fit(*twice[:2], qid=twice[2])
    np.testing.assert_allclose(one.history_["alpha"], other.history_["alpha"], atol=1e-9)


@pytest.mark.parametrize(
    "metric", ["dcg", "wpd", "sharp-ndcg", "err", "persistence@2", "exact", "mean-ndcg", "recall@2"]
)
def test_adarank_takes_any_measure(metric):
    X, y, qid = lists(20)
    ranker = AdaRank(metric).fit(X, y, qid=qid)
    edges = np.array(ranker.history_["edge"])
    assert ranker.steps_.size >= 1
    assert (edges > 0).all()
    assert (edges <= 1).all()


def test_adarank_is_the_same_for_sparse_rows():
    X, y, qid = lists(values=1)
    dense, thin = AdaRank().fit(X, y, qid=qid), AdaRank().fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-12)
    np.testing.assert_allclose(dense.predict(X), thin.predict(sparse.csr_array(X)), atol=1e-12)


def test_adarank_explains_its_scores_exactly():
    X, y, qid = lists()
    ranker = AdaRank(normalize="query-minmax").fit(X, y, qid=qid)
    scores = ranker.predict(X, qid=qid)
    means = np.array([scores[qid == query].mean() for query in qid])
    np.testing.assert_allclose(ranker.explain(X, qid=qid).contributions.sum(axis=1), scores - means, atol=1e-9)


@pytest.mark.parametrize("metric", ["map", "kendall", "ndcg@3(empty=skip)"])
def test_queries_of_weight_zero_have_no_say_in_which_rounds_are_kept(metric):
    X, y, qid = lists(n_queries=30, seed=1)
    weights = np.arange(30) % 3 > 0
    is_kept = weights[qid]
    weighted = AdaRank(metric).fit(X, y, qid=qid, sample_weight=weights.astype(float))
    alone = AdaRank(metric).fit(X[is_kept], y[is_kept], qid=qid[is_kept])
    assert weighted.steps_.size == alone.steps_.size
    np.testing.assert_allclose(weighted.coef_, alone.coef_, atol=1e-9)
    np.testing.assert_allclose(weighted.history_["train"], alone.history_["train"], atol=1e-12)


def test_a_query_of_weight_two_counts_as_two_alike():
    X, y, qid = lists(n_queries=20, seed=2)
    is_doubled = qid % 2 == 0
    weighted = AdaRank("ndcg@3").fit(X, y, qid=qid, sample_weight=2.0 - np.arange(20) % 2)
    copied = [np.concatenate([part, more[is_doubled]]) for part, more in ((X, X), (y, y), (qid, qid + 100))]
    doubled = AdaRank("ndcg@3").fit(copied[0], copied[1], qid=copied[2])
    np.testing.assert_allclose(weighted.history_["train"], doubled.history_["train"], atol=1e-12)
    np.testing.assert_allclose(weighted.coef_, doubled.coef_, atol=1e-9)


def test_scores_that_overflow_are_refused():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=40)
    X = np.where(rng.normal(size=(40, 3)) + y[:, None] > 0, 1.7e308, -1.7e308)
    with pytest.raises(ValueError, match=r"scale the columns \(normalize=\)"):
        AdaRank().fit(X, y, qid=np.repeat(np.arange(5), 8))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_rounds": 0}, "n_rounds=0; it must be a whole number"),
        ({"patience": 0}, "patience=0; it must be a whole number"),
        ({"tol": -1}, "tol=-1; it must be a finite number of at least 0"),
        ({"directions": "up"}, "directions='up' is not known"),
        ({"metric": "mapp"}, "there is no measure 'mapp'"),
    ],
)
def test_adarank_refuses_parameters_when_it_is_fitted(params, message):
    X, y, qid = lists()
    with pytest.raises(ValueError, match=message):
        AdaRank(**params).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coef_", np.zeros(3)),
        ("coef_", np.full(5, np.nan)),
        ("feature", 7),
        ("weight", np.nan),
        ("steps_", np.zeros(9)),
    ],
)
def test_adarank_refuses_arrays_that_no_fit_leaves_behind(name, value):
    X, y, qid = lists()
    ranker = AdaRank().fit(X, y, qid=qid)
    ranker.check_loaded()
    damage(ranker, name, value)
    with pytest.raises(ValueError, match=r"must|there are"):
        ranker.check_loaded()
