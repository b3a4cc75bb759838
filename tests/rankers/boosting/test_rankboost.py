"""RankBoost against a slow literal loop over pairs and what its paper proves."""

import itertools

import numpy as np
import pytest
from scipy import sparse

import plackett as pk
from plackett._threads import set_n_threads
from plackett.rankers.boosting.rankboost import RankBoost
from tests.rankers.boosting.feature_lists import damage
from tests.rankers.judged_lists import lists, shuffled

LARGEST_ALPHA = 0.5 * np.log((2 - 1e-6) / 1e-6)


def rankboost_by_loops(X, y, qid, n_rounds, alpha="r", pair_weights="pairs"):
    """Rounds of (feature, threshold, α, Z, pair error), over a list of all pairs."""
    pairs, first = [], []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        own = [(i, j) for i in rows for j in rows if y[i] > y[j]]
        divisor = {"pairs": len(own), "all": rows.size * (rows.size - 1) / 2, "none": 1}[pair_weights]
        pairs += own
        first += [1 / divisor for _ in own]
    pairs, first = np.array(pairs), np.array(first) / np.sum(first)
    D, scores, rounds = first, np.zeros(y.size), []
    for _ in range(n_rounds):
        best = None
        for feature in range(X.shape[1]):
            values = np.unique(X[np.isin(qid, qid[pairs[:, 0]]), feature])
            for threshold in (values[1:] + values[:-1]) / 2:
                h = (X[:, feature] > threshold).astype(float)
                gain = h[pairs[:, 0]] - h[pairs[:, 1]]
                if best is None or abs((D * gain).sum()) > abs(best[0]) + 1e-12:
                    best = (D * gain).sum(), feature, threshold, h, gain
        r, feature, threshold, h, gain = best
        right, wrong = D[gain > 0].sum(), D[gain < 0].sum()
        with np.errstate(divide="ignore"):
            a = 0.5 * np.log((1 + r) / (1 - r)) if alpha == "r" else 0.5 * np.log(right / wrong)
        a = np.clip(a, -LARGEST_ALPHA, LARGEST_ALPHA)
        D = D * np.exp(-a * gain)
        Z = D.sum()
        D = D / Z
        scores = scores + a * h
        error = first[scores[pairs[:, 0]] <= scores[pairs[:, 1]]].sum()
        rounds.append((feature, threshold, a, Z, error))
    return rounds, scores


@pytest.mark.parametrize("pair_weights", ["pairs", "all", "none"])
@pytest.mark.parametrize("alpha", ["r", "exact"])
@pytest.mark.parametrize("values", [None, 1])
def test_rankboost_does_what_a_literal_loop_over_pairs_does(pair_weights, alpha, values):
    X, y, qid = lists(n_features=3, values=values, n_queries=20)
    ranker = RankBoost(n_rounds=8, alpha=alpha, pair_weights=pair_weights).fit(X, y, qid=qid)
    rounds, scores = rankboost_by_loops(X, y, qid, 8, alpha, pair_weights)
    for place, name in enumerate(["feature", "threshold", "alpha", "z"]):
        np.testing.assert_allclose(ranker.history_[name], [step[place] for step in rounds], atol=1e-9, err_msg=name)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), scores, atol=1e-9)
    if values is None:  # where sums of different α are equal, the last bit decides
        np.testing.assert_allclose(ranker.history_["pair_error"], [step[4] for step in rounds], atol=1e-9)


@pytest.mark.parametrize("alpha", ["r", "exact"])
@pytest.mark.parametrize("n_thresholds", [None, 5])
def test_rankboost_s_bound_falls_and_holds_the_pair_error(alpha, n_thresholds):
    X, y, qid = lists(40, seed=2)
    history = RankBoost(n_rounds=60, n_thresholds=n_thresholds, alpha=alpha).fit(X, y, qid=qid).history_
    z, r, bound = (np.array(history[name]) for name in ("z", "r", "bound"))
    assert (z < 1).all()
    assert (z <= np.sqrt(1 - r**2) + 1e-12).all() or alpha == "exact"
    np.testing.assert_allclose(bound, np.cumprod(z), rtol=1e-12)
    assert (np.array(history["pair_error"]) <= bound + 1e-12).all()


def test_rankboost_s_exact_weight_makes_the_first_z_smallest():
    X, y, qid = lists(40)
    one, other = (RankBoost(n_rounds=1, alpha=alpha).fit(X, y, qid=qid).history_ for alpha in ("r", "exact"))
    assert one["threshold"] == other["threshold"]
    assert other["z"][0] < one["z"][0]


@pytest.mark.parametrize("values", [None, 1])
def test_rankboost_does_not_see_the_order_of_the_rows(values):
    X, y, qid = lists(25, values=values)
    rows = shuffled(X, y, qid)
    one, other = RankBoost(n_rounds=50).fit(X, y, qid=qid), RankBoost(n_rounds=50).fit(*rows[:2], qid=rows[2])
    assert one.history_["feature"] == other.history_["feature"]
    assert one.history_["threshold"] == other.history_["threshold"]
    np.testing.assert_allclose(one.steps_["weight"], other.steps_["weight"], atol=1e-9)


def test_rankboost_scores_new_documents_by_thresholds():
    X, y, qid = lists()
    ranker = RankBoost(n_rounds=30).fit(X, y, qid=qid)
    new = np.random.default_rng(1).normal(size=(50, 5))
    new[:10, ranker.steps_["feature"][0]] = ranker.steps_["threshold"][0]  # not above it
    expected = sum(a * (new[:, f] > t) for f, a, t, _ in ranker.steps_.tolist())
    np.testing.assert_allclose(ranker.predict(new), expected, atol=1e-12)
    parts = sum(ranker.contribution(feature, new[:, feature]) for feature in range(5))
    np.testing.assert_allclose(parts, expected, atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rankboost_gives_a_perfect_threshold_a_finite_weight(sign):
    X, _, qid = lists()
    y = (np.arange(qid.size) % 2).astype(float)
    X[:, 2] = sign * y
    ranker = RankBoost().fit(X, y, qid=qid)
    assert ranker.steps_.tolist() == [(2, pytest.approx(sign * 7.25, abs=0.01), sign * 0.5, 0)]
    assert ranker.stop_reason_ == "one threshold orders every pair"


def test_rankboost_with_perfect_features_of_many_levels_ends_in_order():
    X, y, qid = lists(levels=6)
    X[:, 1] = X[:, 3] = y
    ranker = RankBoost(n_rounds=2000).fit(X, y, qid=qid)
    assert ranker.history_["pair_error"][-1] == 0
    assert np.isfinite(ranker.predict(X)).all()
    assert ranker.stop_reason_ == "every pair is in order by a wide margin"
    assert 3 not in ranker.steps_["feature"]


def test_rankboost_keeps_the_round_that_is_best_on_the_validation_set():
    X, y, qid = lists(30)
    other = lists(20, seed=5)
    ranker = RankBoost(n_rounds=100, patience=20).fit(X, y, qid=qid, eval_set=other, eval_metric="map")
    values = ranker.history_["map"]
    assert ranker.steps_.size == ranker.best_iteration_ == 1 + int(np.argmax(values)) == len(values) - 20
    assert ranker.stop_reason_ == "no improvement on the validation set"
    assert ranker.score(*other[:2], qid=other[2], metric="map") == pytest.approx(ranker.best_score_, abs=1e-9)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_rankboost_without_pairs_or_without_differences_learns_nothing():
    X, y, qid = lists()
    for ranker, reason in [
        (RankBoost().fit(X, np.ones_like(y), qid=qid), "no two documents of a query differ in their labels"),
        (RankBoost().fit(np.ones_like(X), y, qid=qid), "all features are constant"),
        (RankBoost().fit(qid[:, None].astype(float), y, qid=qid), "no threshold orders the pairs better than chance"),
    ]:
        assert ranker.stop_reason_ == reason
        assert not ranker.predict(np.ones((2, ranker.n_features_in_))).any()


def test_rankboost_takes_few_thresholds_where_most_values_are_equal():
    X, y, qid = lists(40)
    X[X < 0.5] = 0.0
    ranker = RankBoost(n_rounds=40, n_thresholds=4).fit(X, y, qid=qid)
    for feature in range(5):
        assert np.unique(ranker.steps_["threshold"][ranker.steps_["feature"] == feature]).size <= 4
    assert ranker.history_["bound"][-1] < 1


def test_rankboost_parts_neighbours_among_the_floats():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    ranker = RankBoost(n_rounds=1).fit(X, [0, 1])
    assert np.diff(ranker.predict(X)) > 0


def test_rankboost_counts_a_query_of_weight_two_like_two_queries():
    X, y, qid = lists()
    weights = np.ones(np.unique(qid).size)
    weights[4] = 2.0
    again = qid == 4
    twice = np.vstack([X, X[again]]), np.append(y, y[again]), np.append(qid, np.full(again.sum(), 99))
    one = RankBoost(n_rounds=10).fit(X, y, qid=qid, sample_weight=weights)
    other = RankBoost(n_rounds=10).fit(*twice[:2], qid=twice[2])
    np.testing.assert_allclose(one.steps_["weight"], other.steps_["weight"], atol=1e-9)


def test_rankboost_is_the_same_for_sparse_rows_and_any_number_of_threads():
    X, y, qid = lists(n_features=40, values=1)
    ranker = RankBoost(n_rounds=20).fit(X, y, qid=qid)
    set_n_threads(1)
    try:
        thin = RankBoost(n_rounds=20).fit(sparse.csr_array(X), y, qid=qid)
    finally:
        set_n_threads(None)
    np.testing.assert_array_equal(ranker.steps_, thin.steps_)
    np.testing.assert_array_equal(ranker.predict(X), thin.predict(sparse.csr_array(X)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_rounds": 2.0}, "n_rounds=2.0; it must be a whole number"),
        ({"n_thresholds": 0}, "n_thresholds=0; it must be a whole number"),
        ({"alpha": "best"}, "alpha='best' is not known"),
        ({"pair_weights": None}, "pair_weights=None is not known"),
    ],
)
def test_rankboost_refuses_parameters_when_it_is_fitted(params, message):
    X, y, qid = lists()
    with pytest.raises(ValueError, match=message):
        RankBoost(**params).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("feature", 5),
        ("feature", -1),
        ("threshold", np.nan),
        ("weight", np.inf),
        ("n_columns_", 4),
        ("steps_", np.zeros(9)),
    ],
)
def test_rankboost_refuses_arrays_that_no_fit_leaves_behind(name, value):
    X, y, qid = lists()
    ranker = RankBoost(n_rounds=9).fit(X, y, qid=qid)
    ranker.check_loaded()
    damage(ranker, name, value)
    with pytest.raises(ValueError, match="must"):
        ranker.check_loaded()


@pytest.mark.parametrize(("normalize", "is_sparse"), [(None, False), (None, True), ("query-minmax", False)])
def test_rankboost_explains_its_scores_threshold_by_threshold(normalize, is_sparse):
    X, y, qid = shuffled(*lists(values=2))
    given = sparse.csr_array(X) if is_sparse else X
    ranker = RankBoost(n_rounds=30, normalize=normalize).fit(given, y, qid=qid)
    explained = ranker.explain(given, qid=qid)
    values = X.copy()
    if normalize:
        for query in np.unique(qid):
            rows = qid == query
            low, high = X[rows].min(axis=0), X[rows].max(axis=0)
            values[rows] = (X[rows] - low) / np.where(high > low, high - low, 1.0)
    parts = np.zeros(X.shape)
    for feature, alpha, threshold, _ in ranker.steps_.tolist():
        parts[:, feature] += alpha * (values[:, feature] > threshold)
    expected = np.array([part - parts[qid == query].mean(axis=0) for part, query in zip(parts, qid, strict=True)])
    np.testing.assert_allclose(explained.contributions, expected, atol=1e-9)
    np.testing.assert_allclose(explained.scores, ranker.predict(given, qid=qid), atol=1e-9)
    np.testing.assert_allclose(explained.contributions.sum(axis=1), explained.scores - explained.baseline, atol=1e-9)
    few = ranker.explain(given, qid=qid, rows=[7, 2], docid=[f"d{row}" for row in range(y.size)])
    np.testing.assert_allclose(few.contributions, expected[[7, 2]], atol=1e-9)
    assert few.docid == ["d7", "d2"]


def test_rankboost_explains_by_the_names_of_the_columns():
    X, y, qid = lists()
    names = [f"feature {column}" for column in range(5)]
    data = pk.Queries(X, y, qid, docid=[f"d{row}" for row in range(y.size)], feature_names=names)
    ranker = RankBoost(n_rounds=5).fit(data)
    explained = ranker.explain(data)
    assert explained.feature_names == names
    assert explained.docid[3] == "d3"
    assert ranker.feature_weights_.shape == (5,)


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_rankboost_that_learned_nothing_explains_that():
    X, y, qid = lists()
    explained = RankBoost().fit(X, np.ones_like(y), qid=qid).explain(X, qid=qid)
    assert not explained.contributions.any()


# --- Missing values ---------------------------------------------------------------------------------------------------


def missing_by_loop(X, labels, qid, n_rounds):
    """Return feature, α, threshold and q_def of each round, over a list of all pairs."""
    pairs = [
        (i, j) for i in range(labels.size) for j in range(labels.size) if qid[i] == qid[j] and labels[i] > labels[j]
    ]
    better, worse = np.array(pairs).T
    counts = {query: sum(qid[i] == query for i in better) for query in set(qid.tolist())}
    weights = np.array([1 / counts[qid[i]] for i in better])
    weights /= weights.sum()
    steps = []
    for _ in range(n_rounds):
        best = (0.0,)
        for feature in range(X.shape[1]):
            is_missing = np.isnan(X[:, feature])
            values = np.unique(X[~is_missing, feature]).tolist()
            limits = [0.5 * (low + high) for low, high in itertools.pairwise(values)]
            for default in (0, 1) if is_missing.any() else (0,):
                for limit in [-np.inf] * bool(is_missing.any()) + limits:
                    h = np.where(is_missing, default, X[:, feature] > limit).astype(float)
                    r = float(weights @ (h[better] - h[worse]))
                    if abs(r) > abs(best[0]) + 1e-12:
                        best = (r, feature, limit, default, h)
        r, feature, limit, default, h = best
        alpha = 0.5 * np.log((1 + r) / (1 - r))
        steps.append((feature, alpha, limit, default))
        weights = weights * np.exp(-alpha * (h[better] - h[worse]))
        weights /= weights.sum()
    return steps


def make_missing():
    draws = np.random.default_rng(3)
    X = np.round(draws.normal(size=(60, 4)), 1)
    labels = draws.integers(0, 3, size=60).astype(float)
    X[draws.random(X.shape) < 0.3] = np.nan
    X[labels == 2, 1] = np.nan  # that a value is missing tells most
    X[:, 3] = np.arange(60) % 7
    return X, labels, np.arange(60) // 10


def test_defaults_of_missing_values_agree_with_a_loop():
    X, labels, qid = make_missing()
    ranker = RankBoost(n_rounds=10).fit(X, labels, qid=qid)
    expected = missing_by_loop(X, labels, qid, 10)
    assert {default for _, _, _, default in expected} == {0, 1}
    for (feature, alpha, limit, default), step in zip(expected, ranker.steps_, strict=True):
        assert (step["feature"], step["default"]) == (feature, default)
        assert step["weight"] == pytest.approx(alpha, rel=1e-9)
        assert step["threshold"] == pytest.approx(limit) if np.isfinite(limit) else step["threshold"] < -1e300


def test_scores_and_explanations_of_missing_values_are_sums_over_the_steps():
    X, labels, qid = make_missing()
    ranker = RankBoost(n_rounds=10).fit(X, labels, qid=qid)
    expected = np.zeros(60)
    for feature, alpha, limit, default in ranker.steps_.tolist():
        expected += alpha * np.where(np.isnan(X[:, feature]), default, X[:, feature] > limit)
    np.testing.assert_allclose(ranker.predict(X), expected, rtol=1e-12)
    found = ranker.explain(X, qid=qid)
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.baseline, atol=1e-12)


def test_a_value_that_was_never_missing_in_training_adds_nothing():
    X, labels, qid = make_missing()
    ranker = RankBoost(n_rounds=20).fit(np.nan_to_num(X), labels, qid=qid)
    assert not ranker.steps_["default"].any()
    assert ranker.predict(np.full((1, 4), np.nan)).tolist() == [0.0]
