"""Estimators of others: fitted by arrays, told of queries in their own words, refused before anything runs."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import plackett as pk
from plackett.evaluation import estimators
from plackett.evaluation.compare.contestants import as_contestants
from plackett.evaluation.select.grids import candidates_of, seeded, with_params
from plackett.evaluation.splits import as_folds


@pytest.fixture(scope="module")
def data():
    """Queries with words as ids and named columns."""
    made = pk.datasets.make_web_like(24, 8, 4, random_state=1)
    ids = np.array([f"query {key}" for key in made.ids.tolist()])
    return pk.Queries.from_groups(made.X, made.y, ids, made.indptr, feature_names=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def parts(data):
    return data[:16], data[16:]


def group_sizes(queries):
    return np.diff(queries.indptr)


def numbers(queries):
    return np.repeat(np.arange(queries.n_queries), group_sizes(queries))


# --- In comparisons ---------------------------------------------------------------------------------------------------


def test_regressors_and_pipelines_take_part_as_if_fitted_by_hand(data):
    forest, line = RandomForestRegressor(5), make_pipeline(StandardScaler(), Ridge())
    result = pk.compare({"forest": forest, "line": (line, {"ridge__alpha": [1e4, 1.0]})}, data, cv=3, metrics="map")
    by_hand = {"forest": [], "line": []}
    for fold, fit in zip(as_folds(3, data), result.fits["line"], strict=True):
        seeds = RandomForestRegressor(5, random_state=0)
        by_hand["forest"].append(seeds.fit(fold.train.X, fold.train.y).predict(fold.test.X))
        values, scores = [], []
        for alpha in (1e4, 1.0):
            fitted = make_pipeline(StandardScaler(), Ridge(alpha)).fit(fold.train.X, fold.train.y)
            valued = pk.evaluate(fold.validation, fitted.predict(fold.validation.X), metrics=["map"])
            values.append(valued.mean()["map"])
            scores.append(fitted.predict(fold.test.X))
        assert fit.params == {"ridge__alpha": [1e4, 1.0][int(np.argmax(values))]}
        assert fit.validation == max(values)
        by_hand["line"].append(scores[int(np.argmax(values))])
    for name, scores in by_hand.items():
        np.testing.assert_array_equal(result.scores[name], np.concatenate(scores))
    assert (forest.random_state, hasattr(line, "n_features_in_")) == (None, False)


@pytest.mark.parametrize("is_enabled", [False, True])
def test_qid_goes_through_pipelines_whether_routing_is_enabled_or_not(parts, is_enabled):
    train, test = parts
    pipeline = make_pipeline(pk.preprocessing.QueryZScore(), StandardScaler(), pk.LinearRanker(l2=0.1))
    scaled = pk.preprocessing.QueryZScore().fit_transform(train.X, qid=train.qid)
    scaler = StandardScaler().fit(scaled)
    ranker = pk.LinearRanker(l2=0.1).fit(scaler.transform(scaled), train.y, qid=train.qid)
    expected = ranker.predict(scaler.transform(pk.preprocessing.QueryZScore().fit_transform(test.X, qid=test.qid)))
    with sklearn.config_context(enable_metadata_routing=is_enabled):
        fitted = estimators.fit_copy(pipeline, train)
        np.testing.assert_array_equal(estimators.predict(fitted, test), expected)
        assert sklearn.get_config()["enable_metadata_routing"] is is_enabled


class TopOfList(BaseEstimator):
    """Remembers the queries it was told of in ``fit``, and scores by the place of the query in ``predict``."""

    def fit(self, X, y, qid=None):
        self.seen_ = None if qid is None else list(dict.fromkeys(qid))
        return self

    def predict(self, X, qid=None):
        return X[:, 0] if qid is None else -np.unique(qid, return_inverse=True)[1].astype(float)


class Marked(BaseEstimator):
    """One more column, which says whether ``qid`` was there."""

    def fit(self, X, y=None, qid=None):
        return self

    def transform(self, X, qid=None):
        return np.column_stack([X, np.full(len(X), float(qid is not None))])


def test_qid_reaches_every_fit_and_predict_that_takes_it(parts):
    train, test = parts
    alone = estimators.fit_copy(TopOfList(), train)
    inside = estimators.fit_copy(make_pipeline(Marked(), TopOfList()), train)
    assert alone.seen_ == inside[-1].seen_ == train.ids.tolist()
    for fitted in (alone, inside):
        np.testing.assert_array_equal(estimators.predict(fitted, test), -np.unique(test.qid, return_inverse=True)[1])
    line = estimators.fit_copy(make_pipeline(Marked(), StandardScaler(), Ridge()), train)
    assert line[1].mean_[-1] == 1.0


def test_a_part_that_says_it_wants_no_qid_gets_none(parts):
    with sklearn.config_context(enable_metadata_routing=True):
        unasked = Marked().set_fit_request(qid=False).set_transform_request(qid=False)
        pipeline = make_pipeline(unasked, StandardScaler(), Ridge())
    assert estimators.fit_copy(pipeline, parts[0])[1].mean_[-1] == 0.0


def test_searches_cut_between_queries_and_their_best_is_told_of_qid(parts):
    train, test = parts
    pipeline = make_pipeline(pk.preprocessing.QueryZScore(), pk.LinearRanker())
    search = GridSearchCV(pipeline, {"linearranker__l2": [1.0, 0.1]}, cv=pk.QueryKFold(3))
    fitted = estimators.fit_copy(search, train)
    best = estimators.fit_copy(with_params(pipeline, fitted.best_params_), train)
    np.testing.assert_array_equal(estimators.predict(fitted, test), estimators.predict(best, test))
    by_groups = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=GroupKFold(3))
    assert estimators.fit_copy(by_groups, train).n_splits_ == 3


def test_columns_can_be_chosen_by_name(parts):
    pytest.importorskip("pandas")
    chosen = make_column_transformer((FunctionTransformer(), ["c", "a"]))
    fitted = estimators.fit_copy(make_pipeline(chosen, Ridge()), parts[0])
    by_hand = Ridge().fit(parts[0].X[:, [2, 0]], parts[0].y).predict(parts[1].X[:, [2, 0]])
    np.testing.assert_allclose(estimators.predict(fitted, parts[1]), by_hand, rtol=1e-12)


class OnQueries(BaseEstimator):
    def fit(self, queries, eval_set=None, eval_metric=None):  # which gives back nothing
        self.seen_ = queries, eval_set, eval_metric

    def predict(self, queries):
        return queries.X[:, :1]


def test_a_fit_that_takes_nothing_but_queries_gets_them(parts):
    fitted = estimators.fit_copy(OnQueries(), *parts, "map")
    assert fitted.seen_ == (*parts, "map")
    np.testing.assert_array_equal(estimators.predict(fitted, parts[1]), parts[1].X[:, 0])


def test_select_and_cross_validate_take_them_too(data, parts):
    found = pk.select(make_pipeline(StandardScaler(), Ridge()), parts[0], {"ridge__alpha": [1.0, 10.0]}, cv=3)
    by_hand = make_pipeline(StandardScaler(), Ridge(found.best_params["ridge__alpha"])).fit(parts[0].X, parts[0].y)
    np.testing.assert_array_equal(found.best_.predict(data.X), by_hand.predict(data.X))
    pipeline = make_pipeline(pk.preprocessing.QueryZScore(), pk.LinearRanker())
    result = pk.cross_validate(pipeline, data, cv=2, grid={"linearranker__l2": [1.0]}, metrics="map")
    assert "linearranker__l2=1" in str(result)


def test_classes_as_scores_are_told_of(data):
    result = pk.compare({"classes": DecisionTreeClassifier(max_depth=2)}, data, cv=2, metrics="map")
    assert "classes: predict returns classes, which tie many documents; a regressor would rank them" in result.notes
    assert pk.compare({"line": Ridge()}, data, cv=2, metrics="map").notes == []


# --- LightGBM, XGBoost, CatBoost --------------------------------------------------------------------------------------


def own_rankers():
    """By package a small ranker, its argument for queries, and what stops it early."""
    makers = {
        "lightgbm": lambda package: package.LGBMRanker(n_estimators=4, min_child_samples=2, verbose=-1, n_jobs=1),
        "xgboost": lambda package: package.XGBRanker(n_estimators=4, max_depth=2, n_jobs=1),
        "catboost": lambda package: package.CatBoostRanker(
            iterations=4, silent=True, allow_writing_files=False, thread_count=1
        ),
    }
    groups = {"lightgbm": ("group", group_sizes), "xgboost": ("qid", numbers), "catboost": ("group_id", numbers)}
    return [(name, makers[name], *groups[name]) for name in makers]


@pytest.mark.parametrize(("name", "make", "argument", "groups"), own_rankers(), ids=lambda value: str(value)[:8])
def test_rankers_of_other_packages_are_told_of_queries_in_their_own_words(name, make, argument, groups, parts):
    package = pytest.importorskip(name)
    train, test = parts
    by_hand = make(package).fit(train.X, train.y, **{argument: groups(train)}).predict(test.X)
    assert np.ptp(by_hand) > 0
    np.testing.assert_array_equal(estimators.predict(estimators.fit_copy(make(package), train), test), by_hand)
    if name == "catboost":  # which cannot be routed to
        return
    inside = estimators.fit_copy(make_pipeline(FunctionTransformer(), make(package)), train)
    np.testing.assert_array_equal(estimators.predict(inside, test), by_hand)
    rows = pk.Queries.from_groups(sparse.csr_array(train.X), train.y, train.ids, train.indptr)
    assert np.isfinite(estimators.predict(estimators.fit_copy(make(package), rows), rows)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_those_set_to_stop_early_stop_on_the_validation_queries(name, kind, parts, capfd):
    package = pytest.importorskip(name)
    if name == "lightgbm":
        made = getattr(package, f"LGBM{kind}")(
            n_estimators=60, min_child_samples=2, verbose=-1, early_stopping_round=2, n_jobs=1
        )
    else:
        made = getattr(package, f"XGB{kind}")(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    fitted = estimators.fit_copy(made, *parts)
    best = fitted.best_iteration_ if name == "lightgbm" else fitted.best_iteration
    assert best < 59
    assert capfd.readouterr() == ("", "")
    with pytest.raises(ValueError, match="uses early stopping, but there are no validation queries"):
        estimators.fit_copy(made, parts[0])


def test_queries_are_held_back_for_those_that_stop_on_them(data):
    package = pytest.importorskip("xgboost")
    folds = [(fold.train, None, fold.test) for fold in as_folds(2, data)]
    stops = package.XGBRanker(n_estimators=8, early_stopping_rounds=1, n_jobs=1)
    result = pk.compare({"stops": stops}, cv=folds, metrics="map")
    assert result.failures == {}
    assert all(np.isfinite(fit.validation) for fit in result.fits["stops"])


# --- Refused before anything runs -------------------------------------------------------------------------------------


class NeedsMore(BaseEstimator):
    def fit(self, X, y, *, base_score):
        return self

    def predict(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("entry", "error", "match"),
    [
        (StandardScaler(), TypeError, r"not StandardScaler\(\), which has no predict"),
        (make_pipeline(StandardScaler()), TypeError, "which has no predict"),
        (object(), TypeError, "which has no fit"),
        (Ridge, TypeError, r"Ridge is a class; pass an instance: Ridge\(\)"),
        (NeedsMore(), TypeError, "NeedsMore.fit needs base_score, which is not available"),
        ((Ridge(), {"l2": [1]}), ValueError, "Ridge has no parameter 'l2'; it has alpha"),
        (
            (make_pipeline(StandardScaler(), Ridge()), {"alpha": [1]}),
            ValueError,
            "Pipeline has no parameter 'alpha'; it has .*ridge. Did you mean ridge__alpha?",
        ),
    ],
)
def test_what_cannot_take_part_is_refused_by_name(entry, error, match):
    with pytest.raises(error, match=match):
        as_contestants({"it": entry})


def test_parameters_that_an_estimator_does_not_list_are_its_own_matter():
    catboost, lightgbm = pytest.importorskip("catboost"), pytest.importorskip("lightgbm")
    assert len(candidates_of(catboost.CatBoostRanker(), {"depth": [2, 3]})) == 2
    assert len(candidates_of(lightgbm.LGBMRanker(), {"lambda_l2": [0.0, 1.0]})) == 2
    with pytest.raises(ValueError, match="CatBoostRanker has no parameter 'dept'"):
        candidates_of(catboost.CatBoostRanker(), {"dept": [2]})


def test_scores_in_one_column_are_scores_and_other_shapes_are_refused(parts):
    class Wide(OnQueries):
        def predict(self, queries):
            return queries.X

    with pytest.raises(ValueError, match=r"scores of shape \(64, 4\) for 64 documents"):
        estimators.predict(Wide(), parts[1])


# --- Settings ---------------------------------------------------------------------------------------------------------


def test_settings_that_share_a_step_do_not_change_each_other():
    step = Ridge()
    pipeline = make_pipeline(StandardScaler(), Ridge())
    settings = candidates_of(pipeline, {"ridge": [step, Lasso()], "ridge__alpha": [1.0, 2.0]})
    made = [with_params(pipeline, setting) for setting in settings]
    assert [(type(one[-1]), one[-1].alpha) for one in made] == [(Ridge, 1.0), (Ridge, 2.0), (Lasso, 1.0), (Lasso, 2.0)]
    assert step.alpha == Ridge().alpha


def test_every_part_that_draws_is_given_the_seed():
    pipeline = make_pipeline(StandardScaler(), RandomForestRegressor())
    assert seeded(pipeline, 7)[-1].random_state == 7
    assert seeded(make_pipeline(RandomForestRegressor(random_state=3)), 7)[-1].random_state == 3
    drawing = pk.LinearRanker(loss=pk.losses.ListMLE(ties="random"))
    assert seeded(drawing, 7).loss.random_state is None  # our rankers give theirs to the loss
