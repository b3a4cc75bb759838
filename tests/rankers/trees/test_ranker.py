"""TreeRanker: LightGBM's trees for any loss, kept as arrays."""

import io
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk
from plackett import losses
from plackett.losses.backends.trees import SMALLEST
from plackett.rankers.base import Interrupted
from plackett.rankers.trees.ranker import GROWTH, OF_LAMBDARANK
from plackett.scorers.trees import LEAF, FlatTrees

lightgbm = pytest.importorskip("lightgbm")

DATA = pk.datasets.make_web_like(50, 12, 6, random_state=1)
TRAIN, HELD_BACK = DATA[:30], DATA[30:]
FEW = {"n_rounds": 8, "num_leaves": 6, "min_data_in_leaf": 5}


def fitted(loss="listmle", **params):
    return pk.TreeRanker(loss, **{**FEW, **params}).fit(TRAIN)


def objective_of(ranker, queries=TRAIN, scores=None):
    scores = ranker.predict(queries) if scores is None else scores
    return losses.get_loss(ranker.loss).value_and_slope(scores, queries)[0] / queries.n_queries


# --- What is minimised ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).integers(1, 4, TRAIN.n_queries).astype(float)])
def test_squared_is_lightgbm_s_own_regression(weights):
    ranker = pk.TreeRanker("squared", **FEW, bagging_fraction=0.7, bagging_freq=1, max_depth=3)
    ranker.fit(TRAIN, sample_weight=weights)
    of_rows = None if weights is None else np.repeat(weights / weights.mean(), np.diff(TRAIN.indptr))
    params = {
        "objective": "regression", "num_leaves": 6, "min_data_in_leaf": 5, "max_depth": 3, "verbosity": -1, "seed": 0,
        "bagging_fraction": 0.7, "bagging_freq": 1, "num_threads": 1, "deterministic": True, "force_row_wise": True,
    }  # fmt: skip
    own = lightgbm.train(params, lightgbm.Dataset(TRAIN.X, TRAIN.y, weight=of_rows), 8)
    tolerance = 1e-10 if weights is None else 1e-6  # LightGBM keeps weights in single precision
    np.testing.assert_allclose(ranker.predict(HELD_BACK), own.predict(HELD_BACK.X), atol=tolerance)
    assert ranker.intercept_ == pytest.approx(np.average(TRAIN.y, weights=of_rows), abs=1e-12)


def test_a_round_by_hand():
    """One column with two values, so that the only split is known: leaves move by Newton's step."""
    X = np.array([[0.0], [1.0], [1.0], [0.0], [1.0], [0.0]])
    y, qid = np.array([2.0, 0.0, 1.0, 0.0, 1.0, 0.0]), np.array([1, 1, 1, 2, 2, 2])
    ranker = pk.TreeRanker(
        n_rounds=2, num_leaves=2, min_data_in_leaf=1, min_data_in_bin=1, learning_rate=0.5, lambda_l2=0.25
    )
    ranker.set_params(feature_pre_filter=False, min_sum_hessian_in_leaf=0.0).fit(X, y, qid=qid)
    scores = np.zeros(6)
    for _ in range(2):
        slope, curvature = np.zeros(6), np.zeros(6)
        for docs in (np.arange(3), np.arange(3, 6)):
            order = docs[np.argsort(-y[docs], kind="stable")]
            for place, winner in enumerate(order):
                if y[winner] == y[order[-1]]:  # the lowest level has nobody below
                    continue
                share = np.exp(scores[order[place:]])
                share /= share.sum()
                slope[order[place:]] += share
                slope[winner] -= 1.0
                curvature[order[place:]] += share * (1.0 - share)
        for value in (0.0, 1.0):
            leaf = X[:, 0] == value
            scores[leaf] -= 0.5 * slope[leaf].sum() / (np.maximum(curvature[leaf], SMALLEST).sum() + 0.25)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), scores, atol=1e-6)


@pytest.mark.parametrize("name", losses.loss_names())
def test_every_loss_is_lowered(name):
    ranker = fitted(name)
    start = np.full(TRAIN.n_docs, ranker.intercept_)
    history = ranker.history_["objective"]
    assert len(history) == ranker.n_iter_ == ranker.n_rounds_ == ranker.trees_.n_trees == 8
    assert history[-1] == pytest.approx(objective_of(ranker), rel=1e-6)
    if not losses.get_loss(name).has_moving_weights:  # else values at other scores have other weights
        assert history[-1] < history[0] < objective_of(ranker, scores=start)
    assert (ranker.intercept_ == 0.0) == losses.get_loss(name).ignores_shifts


def test_losses_with_parameters_of_their_own():
    one, other = fitted(losses.CSListMLE(k=1)), fitted(losses.CSListMLE(k=10))
    assert not np.array_equal(one.predict(TRAIN), other.predict(TRAIN))
    assert (
        repr(pk.ranker("trees", loss="cs-listmle", k=5, max_depth=3)) == "TreeRanker(loss=CSListMLE(k=5), max_depth=3)"
    )
    with pytest.raises(ValueError, match="is random at every pass"):
        fitted(losses.ListMLE(ties="random"))


def test_rankcosine_starts_where_it_has_a_slope():
    """It has none at scores of 0, such as a mean label of 0 is."""
    labels = np.where(np.arange(TRAIN.n_docs) % 2, 1.0, -1.0)
    ranker = pk.TreeRanker("rankcosine", **FEW).fit(TRAIN.X, labels, qid=TRAIN.qid)
    assert (ranker.intercept_, ranker.n_rounds_) == (1.0, 8)
    with pytest.raises(ValueError, match="base_score is 0 for every row, where RankCosine"):
        pk.TreeRanker("rankcosine").fit(TRAIN, base_score=np.zeros(TRAIN.n_docs))


def test_labels_may_be_larger_than_lightgbm_s_numbers():
    huge = pk.TreeRanker(**FEW).fit(TRAIN.X, TRAIN.y * 1e300, qid=TRAIN.qid)
    np.testing.assert_array_equal(huge.predict(TRAIN), fitted().predict(TRAIN))


def test_weights_count_and_their_scale_does_not():
    weights = np.random.default_rng(0).uniform(0.1, 2.0, TRAIN.n_queries)
    ranker = pk.TreeRanker(**FEW)
    one = ranker.fit(TRAIN, sample_weight=weights).predict(TRAIN)
    other = ranker.fit(TRAIN, sample_weight=np.repeat(weights, np.diff(TRAIN.indptr)))
    np.testing.assert_array_equal(other.predict(TRAIN), one)
    assert not np.array_equal(one, fitted().predict(TRAIN))
    alike = ranker.fit(TRAIN, sample_weight=np.full(TRAIN.n_queries, 5.0)).predict(TRAIN)
    np.testing.assert_array_equal(alike, fitted().predict(TRAIN))
    some = np.arange(TRAIN.n_queries) % 2.0  # each second query counts nothing
    found = ranker.fit(TRAIN, sample_weight=some)
    others = TRAIN[some == 1.0]
    assert found.history_["objective"][-1] == pytest.approx(objective_of(found, others), rel=1e-6)


# --- Rows and lists ---------------------------------------------------------------------------------------------------


def test_rows_may_come_in_any_order_and_form():
    order = np.random.default_rng(0).permutation(TRAIN.n_docs)
    plain = fitted()
    shuffled = pk.TreeRanker(**FEW).fit(TRAIN.X[order], TRAIN.y[order], qid=TRAIN.qid[order])
    np.testing.assert_allclose(
        shuffled.predict(HELD_BACK.X, qid=HELD_BACK.qid), plain.predict(HELD_BACK), atol=1e-6
    )  # single precision, in which LightGBM takes slopes, is added up in another order
    of_sparse = pk.TreeRanker(**FEW).fit(sparse.csr_array(TRAIN.X), TRAIN.y, qid=TRAIN.qid)
    np.testing.assert_array_equal(of_sparse.predict(sparse.csr_matrix(HELD_BACK.X)), plain.predict(HELD_BACK))
    np.testing.assert_array_equal(plain.predict(sparse.csr_array(HELD_BACK.X)), plain.predict(HELD_BACK))


@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_one_query_and_lists_of_one_document():
    one = pk.TreeRanker(**FEW).fit(TRAIN.X, TRAIN.y, qid=0)
    assert np.unique(one.predict(TRAIN.X)).size > 1
    alone = pk.TreeRanker(**FEW).fit(TRAIN.X, TRAIN.y, qid=np.arange(TRAIN.n_docs))
    assert (alone.n_iter_, alone.stop_reason_) == (0, "no split improves the objective")
    np.testing.assert_array_equal(alone.predict(TRAIN.X), 0.0)


@pytest.mark.parametrize("loss", ["listmle", "hinge", "squared"])
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_constant_labels_and_constant_columns_rank_nothing(loss):
    for X, y in ((TRAIN.X, np.full(TRAIN.n_docs, 2.0)), (np.ones((TRAIN.n_docs, 2)), TRAIN.y)):
        ranker = pk.TreeRanker(loss, **FEW).fit(X, y, qid=TRAIN.qid)
        assert np.unique(ranker.predict(X)).size == 1
        assert ranker.trees_.n_trees == 0
        assert not ranker.feature_importances_.any()
        assert not ranker.explain(X).contributions.any()


def mostly_empty():
    """Columns of which only the first two can be split: the others have fewer numbers than leaves want rows."""
    rng = np.random.default_rng(0)
    X = np.zeros((600, 20))
    X[:3] = 1.0 + rng.uniform(size=(3, 20))
    X[:, :2] = rng.normal(size=(600, 2))
    return pk.Queries(X, (X[:, 0] + rng.normal(size=600) > 0).astype(float), np.arange(600) // 20)


@pytest.mark.parametrize("bagging", [{}, {"bagging_fraction": 0.5, "bagging_freq": 2}])
def test_a_draw_without_a_split_is_not_the_last(bagging):
    data = mostly_empty()
    drawn = {"feature_fraction": 0.1, "feature_pre_filter": False, **bagging}
    ranker = pk.TreeRanker("lightgbm", **{**FEW, "n_rounds": 40}, **drawn).fit(data)
    params = {
        "objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 5, "verbosity": -1, "seed": 0, **drawn,
        "num_threads": 1, "deterministic": True, "force_row_wise": True,
    }  # fmt: skip
    own = lightgbm.train(params, lightgbm.Dataset(data.X, data.y, group=np.diff(data.indptr)), 40)
    np.testing.assert_array_equal(ranker.predict(data), own.predict(data.X))
    grown = [tree for tree in own.dump_model()["tree_info"] if tree["num_leaves"] > 1]
    assert 3 < ranker.trees_.n_trees == ranker.n_iter_ == len(grown) < 40
    ours = pk.TreeRanker(**{**FEW, "n_rounds": 40}, **drawn).fit(data, eval_set=data)
    history = ours.history_["objective"]
    assert len(history) == ours.n_iter_ == len(ours.history_["ndcg@10"]) < 40
    assert history[ours.n_rounds_ - 1] == pytest.approx(objective_of(ours, data), rel=1e-6)


def test_two_threads_grow_the_same_trees():
    made = pk.datasets.make_web_like(60, 60, 6, random_state=0)
    one, two = (pk.TreeRanker(n_rounds=3, n_jobs=n).fit(made).predict(made) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_infinite_values_are_refused():
    X = TRAIN.X.copy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinite value in row 3, column 1"):
        pk.TreeRanker().fit(X, TRAIN.y, qid=TRAIN.qid)


# --- Validation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["err@10", "map", "mre", "ndcg@3(gain=linear)"])
def test_any_measure_ends_growing(metric):
    ranker = pk.TreeRanker(**{**FEW, "n_rounds": 60}, learning_rate=0.3, patience=3)
    ranker.fit(TRAIN, eval_set=HELD_BACK, eval_metric=metric)
    values = ranker.history_[metric]
    best = min(values) if metric == "mre" else max(values)
    assert len(values) == ranker.n_iter_ == ranker.best_iteration_ + 3
    assert ranker.best_score_ == best == values[ranker.best_iteration_ - 1]
    assert ranker.stop_reason_ == "no improvement on the validation set"
    assert ranker.trees_.n_trees == ranker.n_rounds_ == ranker.best_iteration_
    kept = pk.evaluate(HELD_BACK, ranker.predict(HELD_BACK), metrics=[metric]).mean()[metric]
    assert kept == pytest.approx(best, abs=1e-12)
    again = pk.TreeRanker(**{**FEW, "n_rounds": ranker.n_rounds_}, learning_rate=0.3).fit(TRAIN)
    np.testing.assert_array_equal(again.predict(HELD_BACK), ranker.predict(HELD_BACK))


def test_without_patience_all_trees_are_grown_and_the_best_are_kept():
    ranker = pk.TreeRanker(**{**FEW, "n_rounds": 30}, learning_rate=0.5, patience=None)
    ranker.fit(TRAIN, eval_set=(HELD_BACK.X, HELD_BACK.y, HELD_BACK.qid))
    assert (ranker.n_iter_, ranker.stop_reason_) == (30, "n_rounds reached")
    assert ranker.n_rounds_ == 1 + int(np.argmax(ranker.history_["ndcg@10"])) < 30


@pytest.mark.parametrize("eval_set", [None, HELD_BACK])
def test_ctrl_c_keeps_the_trees_so_far(eval_set, monkeypatch):
    calls, evaluate = [], losses.ListMLE.query_values

    def interrupt(*arguments):
        calls.append(1)
        if len(calls) == 4:  # in the middle of the fourth tree
            raise KeyboardInterrupt
        return evaluate(*arguments)

    ranker = pk.TreeRanker("listmle", **FEW)
    monkeypatch.setattr(losses.ListMLE, "query_values", interrupt)
    with pytest.raises(Interrupted, match="its result so far was kept"):
        ranker.fit(TRAIN, eval_set=eval_set)
    monkeypatch.undo()
    assert (ranker.stop_reason_, ranker.n_iter_) == ("interrupted", 3)
    assert {len(values) for values in ranker.history_.values()} == {3}
    same = fitted(n_rounds=ranker.n_rounds_)
    np.testing.assert_array_equal(ranker.predict(HELD_BACK), same.predict(HELD_BACK))


def test_a_fit_that_fails_leaves_the_ranker_as_it_was():
    ranker = fitted()
    before = ranker.predict(TRAIN)
    with pytest.raises(ValueError, match="y has 3 labels"):
        ranker.fit(TRAIN.X, [1, 2, 3])
    with pytest.raises(ValueError, match=r"lightgbm raised an error: .*Parameters passed on to it: monotone") as said:
        ranker.set_params(monotone_constraints=[1]).fit(TRAIN)
    assert ".cpp" not in str(said.value)
    np.testing.assert_array_equal(ranker.predict(TRAIN), before)
    assert not any(name.startswith("_") for name in vars(ranker))


# --- Base scores ------------------------------------------------------------------------------------------------------


def test_trees_go_on_from_base_scores():
    base = pk.LinearRanker("listmle", normalize="zscore").fit(TRAIN)
    scores = base.predict(TRAIN)
    ranker = pk.TreeRanker(**FEW).fit(TRAIN, base_score=scores)
    found = ranker.predict(TRAIN, base_score=scores)
    np.testing.assert_allclose(found, scores + ranker.trees_.predict(TRAIN.X), atol=1e-12)
    assert objective_of(ranker, scores=found) < objective_of(ranker, scores=scores)
    # the first slopes are those at the base scores
    params = {**FEW, "n_rounds": 1}
    own = lightgbm.Booster(
        {"objective": "none", "num_leaves": 6, "min_data_in_leaf": 5, "verbosity": -1, "num_threads": 1},
        lightgbm.Dataset(TRAIN.X, init_score=scores, params={"verbosity": -1}),
    )
    own.update(fobj=losses.ListMLE().as_lightgbm(TRAIN))
    first = pk.TreeRanker(**params).fit(TRAIN, base_score=base)
    np.testing.assert_array_equal(first.trees_.predict(HELD_BACK.X), own.predict(HELD_BACK.X))


@pytest.mark.parametrize("kind", ["column", "name", "ranker"])
def test_a_base_that_is_known_elsewhere_goes_with_validation(kind):
    names = [f"f{column}" for column in range(6)]
    train, held = (pk.Queries(part.X, part.y, part.qid, feature_names=names) for part in (TRAIN, HELD_BACK))
    base = {"column": 2, "name": "f2", "ranker": pk.LinearRanker().fit(train)}[kind]
    ranker = pk.TreeRanker(**FEW).fit(train, eval_set=held, eval_metric="map", base_score=base)
    again = {} if kind != "ranker" else {"base_score": base}
    found = ranker.predict(held, **again)
    assert pk.evaluate(held, found, metrics=["map"]).mean()["map"] == pytest.approx(ranker.best_score_, abs=1e-12)
    expected = held.X[:, 2] if kind != "ranker" else base.predict(held)
    np.testing.assert_allclose(found - expected, ranker.trees_.predict(held.X), atol=1e-9)
    assert ranker.score(held, metric="map", **again) == pytest.approx(ranker.best_score_)


@pytest.mark.parametrize("loss", ["listmle", "p-listmle", "cs-listmle", "listnet", "logistic"])
def test_base_scores_that_are_far_apart_do_not_make_leaves_leap(loss):
    scores = 30.0 * np.random.default_rng(0).normal(size=TRAIN.n_docs)  # curvature is next to nothing, slopes are not
    ranker = pk.TreeRanker(loss, **FEW).fit(TRAIN, base_score=scores)
    assert 0.1 < np.abs(ranker.trees_.values_[ranker.trees_.features_ == LEAF]).max() <= 0.2 + 1e-12
    history = ranker.history_["objective"]
    assert history[-1] < history[0] < objective_of(ranker, scores=scores)
    leaping = pk.TreeRanker(loss, **FEW, max_delta_step=0.0).fit(TRAIN, base_score=scores)
    assert np.abs(leaping.trees_.values_).max() > 0.2


def test_slopes_that_overflow_in_lightgbm_are_an_error():
    scores = 1e4 * np.random.default_rng(0).normal(size=TRAIN.n_docs)
    with pytest.raises(ValueError, match=r"exponential.* overflows in LightGBM after 0 trees\. Lower"):
        pk.TreeRanker("exponential").fit(TRAIN, base_score=scores)


def test_a_run_and_a_search_know_base_scores():
    named = pk.Queries(TRAIN.X, TRAIN.y, TRAIN.qid, docid=[f"d{row}" for row in range(TRAIN.n_docs)])
    run, scores = {str(query): {} for query in named.ids.tolist()}, TRAIN.X[:, 2].astype(np.float64)
    for query, doc, score in zip(named.qid.tolist(), named.docid.tolist(), scores.tolist(), strict=True):
        run[str(query)][doc] = score
    ranker = pk.TreeRanker(**FEW).fit(named, base_score=run)
    np.testing.assert_allclose(ranker.predict(named, base_score=run), ranker.predict(TRAIN, base_score=scores))
    assert ranker.score(named, base_score=run) == pytest.approx(ranker.score(TRAIN, base_score=scores))
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(pk.TreeRanker(**FEW), {"max_depth": [1, 4]}, cv=GroupKFold(2), error_score="raise")
        search.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, base_score=scores, groups=TRAIN.qid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_base_scores_that_are_missing_or_too_many_are_told_of():
    scores = np.zeros(TRAIN.n_docs)
    ranker = pk.TreeRanker(**FEW).fit(TRAIN, base_score=scores)
    with pytest.raises(ValueError, match="pass the base_score of these rows"):
        ranker.predict(TRAIN)
    with pytest.raises(ValueError, match="fit had no base_score"):
        fitted().predict(TRAIN, base_score=scores)
    with pytest.raises(ValueError, match="the rows of eval_set have none"):
        pk.TreeRanker().fit(TRAIN, eval_set=TRAIN, base_score=scores)


# --- What the trees say -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_contributions_sum_to_the_score_less_the_mean_of_the_list(form):
    ranker = fitted()
    order = np.random.default_rng(0).permutation(HELD_BACK.n_docs)
    X, qid = form(HELD_BACK.X[order]), HELD_BACK.qid[order]
    explanation = ranker.explain(X, qid=qid)
    scores = ranker.predict(X, qid=qid)
    means = {query: scores[qid == query].mean() for query in np.unique(qid)}
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=1), explanation.scores - explanation.baseline, atol=1e-9
    )
    np.testing.assert_array_equal(explanation.scores, scores)
    np.testing.assert_allclose(explanation.baseline, [means[query] for query in qid], atol=1e-12)
    own = ranker.to_lightgbm().predict(HELD_BACK.X[order], pred_contrib=True)[:, :-1]
    of_list = qid == qid[0]
    np.testing.assert_allclose(explanation.contributions[0], own[0] - own[of_list].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_some_rows_are_explained_as_all(form, monkeypatch):
    monkeypatch.setattr("plackett.rankers.trees.scores.CELLS_AT_ONCE", 30)
    ranker = fitted()
    order = np.random.default_rng(0).permutation(HELD_BACK.n_docs)
    X, qid, rows = form(HELD_BACK.X[order]), HELD_BACK.qid[order], [70, 3, 21]
    some, all_rows = ranker.explain(X, qid=qid, rows=iter(rows)), ranker.explain(X, qid=qid)
    np.testing.assert_array_equal(some.contributions, all_rows.contributions[rows])
    np.testing.assert_array_equal(some.baseline, all_rows.baseline[rows])
    with pytest.raises(ValueError, match="rows contains 999"):
        ranker.explain(X, qid=qid, rows=[999])


@pytest.mark.parametrize("base", [3, "scores"])
def test_base_scores_are_explained_too(base):
    scores = np.random.default_rng(0).normal(size=TRAIN.n_docs)
    given = base if base == 3 else scores
    ranker = pk.TreeRanker(**FEW).fit(TRAIN, base_score=given)
    again = {} if base == 3 else {"base_score": scores}
    explanation = ranker.explain(TRAIN, **again)
    np.testing.assert_array_equal(explanation.scores, ranker.predict(TRAIN, **again))
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=1), explanation.scores - explanation.baseline, atol=1e-9
    )
    assert explanation.feature_names[-1] == ("base score" if base == "scores" else TRAIN.feature_names[-1])


def test_importances_are_lightgbm_s():
    ranker, own = fitted(), fitted().to_lightgbm()
    np.testing.assert_array_equal(ranker.importances("split"), own.feature_importance("split"))
    np.testing.assert_allclose(ranker.importances("gain"), own.feature_importance("gain"), rtol=1e-5)
    np.testing.assert_allclose(
        ranker.feature_importances_, own.feature_importance("gain") / own.feature_importance("gain").sum(), rtol=1e-5
    )
    np.testing.assert_array_equal(own.predict(HELD_BACK.X), ranker.predict(HELD_BACK))
    with pytest.raises(ValueError, match="kind='cover'"):
        ranker.importances("cover")


# --- Parameters -------------------------------------------------------------------------------------------------------


def test_parameters_of_lightgbm_are_parameters_as_any():
    ranker = pk.TreeRanker("logistic", max_depth=2)
    assert ranker.get_params()["max_depth"] == 2
    assert clone(ranker).get_params() == ranker.get_params()
    assert repr(ranker) == "TreeRanker(loss='logistic', max_depth=2)"
    ranker.set_params(max_depth=1, feature_fraction=0.5, n_rounds=3)
    assert (ranker.max_depth, ranker.feature_fraction, ranker.n_rounds) == (1, 0.5, 3)
    ranker.set_params(loss=losses.CSListMLE()).set_params(loss__k=2)
    assert ranker.get_params()["loss__k"] == 2
    assert ranker.fit(TRAIN).trees_.depth() == 1


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"n_estimators": 3}, r"no parameter 'n_estimators'\. Did you mean n_rounds\?"),
        ({"baging_fraction": 0.5}, r"Did you mean bagging_fraction"),
        ({"output_model": "x"}, "has no parameter 'output_model'"),
        ({"label_gain": [0, 1]}, "label_gain is a parameter of LightGBM's own objective, loss='lightgbm'"),
        ({"boosting": "dart"}, "trees must not change after they are grown"),
        ({"categorical_feature": [1]}, "are found in data frames"),
        ({"n_rounds": 0}, "n_rounds=0"),
        ({"num_leaves": 1}, "at least 2 leaves"),
        ({"learning_rate": 0}, "learning_rate=0"),
        ({"lambda_l2": -1}, "lambda_l2=-1"),
        ({"n_jobs": -1}, r"n_jobs=-1; .* None takes as many threads as this library does"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"loss": "listmel"}, "loss='listmel' is not known"),
        ({"loss": losses.CSListMLE(k=0)}, "k=0"),
    ],
)
def test_wrong_parameters_are_named(params, match):
    with pytest.raises(ValueError, match=match):
        pk.TreeRanker(**params).fit(TRAIN)


@pytest.mark.parametrize("name", ["fit", "_secret", "trees_", "__class__"])
def test_names_that_are_taken_are_no_parameters(name):
    with pytest.raises(TypeError, match=f"cannot have a parameter '{name}'"):
        pk.TreeRanker(**{name: 1})


def test_lightgbm_knows_all_parameters_that_are_passed_on():
    known = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    assert set(known) >= GROWTH | OF_LAMBDARANK


def test_searches_pass_qid_on():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(pk.TreeRanker(**FEW), {"max_depth": [1, 4], "learning_rate": [0.1]}, cv=GroupKFold(2))
        search.fit(TRAIN.X, TRAIN.y, qid=TRAIN.qid, groups=TRAIN.qid)
    assert search.best_params_["max_depth"] in (1, 4)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def why_a_check_does_not_apply(estimator):
    reason = "a query is weighted as a whole; the check gives documents of one list different weights"
    names = ("not_overwritten", "equivalence_on_dense_data", "equivalence_on_sparse_data")
    by_name = {"check_dataframe_column_names_consistency": "a frame's columns are taken by name, in any order"}
    return by_name | {f"check_sample_weight{'s' if name == 'not_overwritten' else ''}_{name}": reason for name in names}


@parametrize_with_checks([pk.TreeRanker(n_rounds=5)], expected_failed_checks=why_a_check_does_not_apply)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


# --- Files ------------------------------------------------------------------------------------------------------------


def saved(ranker):
    file = io.BytesIO()
    ranker.save(file)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize("loss", ["listmle", "lightgbm"])
def test_a_loaded_ranker_needs_no_lightgbm(loss, monkeypatch):
    ranker = pk.TreeRanker(loss, **FEW, bagging_fraction=0.5, bagging_freq=1).fit(
        TRAIN, eval_set=HELD_BACK, base_score=1
    )
    file = saved(ranker)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    loaded = pk.load(file)
    assert repr(loaded) == repr(ranker)
    np.testing.assert_array_equal(loaded.predict(HELD_BACK), ranker.predict(HELD_BACK))
    np.testing.assert_array_equal(loaded.feature_importances_, ranker.feature_importances_)
    with pytest.raises(ModuleNotFoundError, match=r"TreeRanker needs lightgbm.*plackett\[trees\]"):
        loaded.explain(HELD_BACK)
    with pytest.raises(ModuleNotFoundError, match=r"needs lightgbm.*plackett\[trees\]"):
        loaded.fit(TRAIN)


def test_a_loaded_ranker_explains_as_the_one_that_was_saved():
    ranker = fitted(losses.CSListMLE(k=3))
    loaded = pk.load(saved(ranker))
    np.testing.assert_array_equal(loaded.explain(TRAIN).contributions, ranker.explain(TRAIN).contributions)


@pytest.mark.parametrize("n_jobs", [10**9, 10**15])
def test_a_file_cannot_ask_for_more_threads_than_cores(n_jobs):
    ranker = fitted()
    expected = ranker.explain(TRAIN).contributions
    loaded = pk.load(saved(ranker.set_params(n_jobs=n_jobs)))
    np.testing.assert_array_equal(loaded.explain(TRAIN).contributions, expected)


def changed(name, place, value):
    def change(ranker):
        getattr(ranker.trees_, name)[place] = value

    return change


def set_to(name, value, of_trees=True):
    return lambda ranker: setattr(ranker.trees_ if of_trees else ranker, name, value)


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (changed("left_", 0, 0), "must lead to later ones"),
        (changed("right_", 0, -7), "must lead to later ones"),
        (changed("left_", 0, 10**6), "must lead to later ones"),
        (lambda ranker: changed("left_", 0, ranker.trees_.starts_[1])(ranker), "must lead to later ones"),
        (lambda ranker: changed("left_", 0, ranker.trees_.right_[0])(ranker), "must have one parent"),
        (changed("features_", 0, 6), "must name one of 6 features"),
        (changed("features_", 0, -2), "must name one of 6 features"),
        (changed("thresholds_", 0, np.nan), "thresholds_ must be a vector of finite numbers"),
        (changed("values_", -1, np.inf), "values_ must be a vector of finite numbers"),
        (changed("counts_", 0, -1), "counts_ must be numbers from 0 to 2,147,483,647"),
        (changed("counts_", 0, 2**62), "counts_ must be numbers from 0 to 2,147,483,647"),
        (changed("counts_", 0, 5), "the sum of its two sides"),
        (changed("starts_", 0, 1), "starts_ must increase"),
        (changed("starts_", -1, 10**9), "starts_ must increase"),
        (set_to("values_", np.zeros(3)), "as many thresholds, children, values"),
        (set_to("starts_", np.zeros(0, dtype=np.int64)), "starts_ must increase"),
        (set_to("features_", np.zeros(3)), "features_ must be a vector"),
        (set_to("n_features_", 7), "trees over 6 features"),
        (set_to("n_features_", 6.0), "n_features_ must be"),
        (set_to("trees_", 3, of_trees=False), "trees_ must be trees"),
        (set_to("intercept_", np.nan, of_trees=False), "intercept_ must be a finite number"),
        (set_to("intercept_", "0", of_trees=False), "intercept_ must be a finite number"),
        (set_to("has_base_", 1, of_trees=False), "has_base_ must"),
        (set_to("base_column_", 0, of_trees=False), "has_base_ must"),
        (set_to("bad_name", 0, of_trees=False), "has no parameter 'bad_name'"),
    ],
)
def test_a_file_with_damaged_trees_is_refused(damage, match):
    ranker = fitted()
    ranker.trees_ = ranker.trees_.first(8)
    damage(ranker)
    with pytest.raises(pk.exceptions.ModelFormatError, match=match):
        pk.load(saved(ranker))


@pytest.mark.parametrize("column", [6, False])
def test_a_base_column_from_a_file_must_exist(column):
    ranker = pk.TreeRanker(**FEW).fit(TRAIN, base_score=1)
    ranker.base_column_ = column
    with pytest.raises(pk.exceptions.ModelFormatError, match="base_column_ must be"):
        pk.load(saved(ranker))


# --- Flat trees -------------------------------------------------------------------------------------------------------


def score_literally(trees, row):
    total = 0.0
    for root in trees.starts_[:-1]:
        node = root
        while trees.features_[node] != LEAF:
            side = trees.left_ if row[trees.features_[node]] <= trees.thresholds_[node] else trees.right_
            node = side[node]
        total += trees.values_[node]
    return total


def test_trees_are_followed_from_root_to_leaf():
    trees = fitted().trees_
    on_edges = np.tile(trees.thresholds_[trees.features_ >= 0][:40, None], 6)  # values that are thresholds go left
    for X in (HELD_BACK.X, on_edges, HELD_BACK.X.astype(np.float32)):
        expected = [score_literally(trees, row.astype(np.float64)) for row in X]
        np.testing.assert_array_equal(trees.predict(X), expected)
        np.testing.assert_array_equal(trees.predict(sparse.csr_array(X)), expected)


def test_some_of_the_trees_and_none():
    trees = fitted().trees_
    halves = trees.first(4), trees.first(8)
    assert [half.n_trees for half in halves] == [4, 8]
    for half in (*halves, trees.first(0), FlatTrees.of([], 6)):
        half.check_loaded()
    own = fitted(n_rounds=4).trees_
    np.testing.assert_array_equal(halves[0].predict(HELD_BACK.X), own.predict(HELD_BACK.X))
    np.testing.assert_array_equal(trees.first(0).predict(HELD_BACK.X, start=2.5), 2.5)


def test_trees_that_are_too_deep_are_not_explained():
    n = 1200  # a way with a leaf on the left of every node
    inner = np.arange(n)
    tree = {
        "features": np.concatenate([np.zeros(n), np.full(n + 1, LEAF)]),
        "thresholds": np.zeros(2 * n + 1),
        "left": np.concatenate([n + inner, np.zeros(n + 1)]),
        "right": np.concatenate([np.where(inner + 1 < n, inner + 1, 2 * n), np.zeros(n + 1)]),
        "values": np.ones(2 * n + 1),
        "counts": np.concatenate([n + 1 - inner, np.ones(n + 1)]),
        "gains": np.zeros(2 * n + 1),
    }
    ranker = fitted()
    ranker.trees_ = FlatTrees.of([tree], 6)
    ranker.trees_.check_loaded()
    assert ranker.trees_.depth() == n
    with pytest.raises(ValueError, match="more than 1,000 splits deep"):
        ranker.explain(TRAIN)


@pytest.mark.parametrize("name", ["trees", "lightgbm", "xgboost"])
def test_trees_are_small_and_without_validation_queries_few(name):
    pytest.importorskip("xgboost" if name == "xgboost" else "lightgbm")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60 * 6, 15))
    y = (X @ rng.normal(size=15) + 4 * rng.normal(size=len(X)) > 3).astype(float)
    queries = pk.Queries(X, y, np.repeat(np.arange(60), 6))
    train, validation = queries[:40], queries[40:]
    ranker = pk.ranker(name).fit(train)
    assert ranker.n_iter_ == 100
    assert pk.ranker(name, patience=None).fit(train, eval_set=validation).n_iter_ == 300
    assert pk.ranker(name, n_rounds=7).fit(train).n_iter_ == 7
    assert np.diff(ranker.trees_.starts_).max() <= 15  # nodes of a tree with 7 or 8 leaves
