"""What a refiner may start from, how it explains itself, how it is saved, and that it is a scikit-learn estimator."""

import io

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk
from plackett.data.trec import Run
from plackett.exceptions import ModelFormatError
from plackett.rankers.refinement.base_score import as_base_score
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from plackett.rankers.refinement.weak_learners import SavedTree
from plackett.rankers.tied_scores import break_ties, places_of, row_keys

REFINERS = [MultiplicativeRefiner(n_rounds=12), LinearRefiner(gamma=0.7, n_rounds=12), RocchioRefiner()]
of_class = {"ids": lambda refiner: type(refiner).__name__}


@pytest.fixture(scope="module")
def data():
    made = pk.datasets.make_web_like(6, n_features=5, random_state=0)
    names = [f"d{place}" for place in range(made.n_docs)]
    return pk.Queries(made.X, made.y, made.qid, docid=names, feature_names=["bm25", "title", "url", "age", "rank"])


@pytest.fixture(scope="module")
def feedback(data):
    """Each query's first three documents are judged."""
    places = np.arange(data.n_docs) - np.repeat(data.indptr[:-1], np.diff(data.indptr))
    return np.where(places < 3, data.y, np.nan)


# ---- base scores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_a_base_may_be_a_column_scores_a_ranker_or_a_run(refiner, data, feedback):
    column = np.asarray(data.X[:, 1])
    expected = clone(refiner).fit(data, feedback, base_score=column).scores_
    expected_of_column = expected
    if isinstance(refiner, RocchioRefiner):  # for which a column is no feature more
        expected_of_column = clone(refiner).fit(data, feedback, base_score=1).scores_
    run = Run.from_scores(data, column)
    file = io.StringIO()
    pk.write_trec_run(run, file)
    read = pk.read_trec_run(io.StringIO(file.getvalue()))
    for base in (column.tolist(), run, read, run.to_dict()):
        np.testing.assert_array_equal(clone(refiner).fit(data, feedback, base_score=base).scores_, expected)
    for base in (1, np.int64(1), "title"):
        np.testing.assert_array_equal(clone(refiner).fit(data, feedback, base_score=base).scores_, expected_of_column)
    ranker = pk.LinearRanker().fit(data)
    by_ranker = clone(refiner).fit(data, feedback, base_score=ranker)
    np.testing.assert_array_equal(
        by_ranker.scores_, clone(refiner).fit(data, feedback, base_score=ranker.predict(data)).scores_
    )
    np.testing.assert_array_equal(by_ranker.predict(data, base_score=ranker), by_ranker.scores_)


def test_a_vector_follows_the_rows_as_they_were_given(data, feedback):
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    X, y, qid, base = data.X[mixed], feedback[mixed], data.qid[mixed], np.asarray(data.X[:, 1])[mixed]
    expected = MultiplicativeRefiner().fit(X, y, base_score=1, qid=qid).scores_
    np.testing.assert_array_equal(MultiplicativeRefiner().fit(X, y, base_score=base, qid=qid).scores_, expected)


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_ranker_sees_the_rows_as_they_were_given(data, feedback, has_ids):
    """As a data frame with its names, mixed; without ids, a base ranker that depends on the list raises."""
    pandas = pytest.importorskip("pandas")
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    frame, y = pandas.DataFrame(data.X, columns=data.feature_names).iloc[mixed], feedback[mixed]
    given = {"qid": data.qid[mixed]} if has_ids else {}
    for base in (
        pk.LinearRanker(normalize="query-zscore").fit(frame, data.y[mixed], qid=data.qid[mixed]),
        pk.QueryDependentRanker(weights="knn", n_neighbors=2).fit(frame, data.y[mixed], qid=data.qid[mixed]),
    ):
        if not has_ids:
            with pytest.raises(ValueError, match="qid is missing"):
                MultiplicativeRefiner().fit(frame, y, base_score=base)
            continue
        expected = MultiplicativeRefiner().fit(frame, y, base_score=base.predict(frame, **given), **given)
        fitted = MultiplicativeRefiner().fit(frame, y, base_score=base, **given)
        np.testing.assert_array_equal(fitted.scores_, expected.scores_)
        np.testing.assert_array_equal(fitted.predict(frame, base_score=base, **given), expected.scores_)
    model = LinearRegression().fit(frame, data.y[mixed])
    np.testing.assert_array_equal(
        MultiplicativeRefiner().fit(frame, y, base_score=model, **given).scores_,
        MultiplicativeRefiner().fit(frame, y, base_score=model.predict(frame), **given).scores_,
    )


def test_a_series_is_scores_not_a_run(data, feedback):
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(np.asarray(data.X[:, 1]), index=range(5, 5 + data.n_docs))
    np.testing.assert_array_equal(
        MultiplicativeRefiner().fit(data, feedback, base_score=series).scores_,
        MultiplicativeRefiner().fit(data, feedback, base_score=1).scores_,
    )


def test_models_of_other_libraries_predict_the_base(data):
    model = LinearRegression().fit(data.X, data.y)
    np.testing.assert_array_equal(as_base_score(model, data), model.predict(data.X))

    class Booster:
        def predict(self, matrix):
            raise TypeError("not a DMatrix")

        def inplace_predict(self, X):
            return X[:, 0]

    np.testing.assert_array_equal(as_base_score(Booster(), data), data.X[:, 0])


def test_a_lightgbm_model_predicts_the_base(data, feedback):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRanker(n_estimators=3, min_child_samples=2, verbose=-1)
    model.fit(data.X, data.y.astype(int), group=np.diff(data.indptr))
    base = as_base_score(model, data)
    np.testing.assert_array_equal(base, model.predict(data.X))
    assert MultiplicativeRefiner().fit(data, feedback, base_score=model.booster_).scores_.shape == base.shape


def test_an_xgboost_model_predicts_the_base(data, feedback):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRanker(n_estimators=3, max_depth=2, n_jobs=1)
    model.fit(np.asarray(data.X), data.y, group=np.diff(data.indptr))
    expected = model.predict(np.asarray(data.X))
    assert np.unique(expected).size > 1
    fits = [MultiplicativeRefiner().fit(data, feedback, base_score=base) for base in (model, model.get_booster())]
    for fit in fits:
        np.testing.assert_allclose(fit.base_scores_, expected, rtol=1e-6)
    np.testing.assert_array_equal(fits[0].scores_, fits[1].scores_)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("pagerank", "X has no column of that name"),
        (-1, "base_score is column -1"),
        ({}, "the run has no score for .* such as 'd0' of query"),
        (np.array([1.0, np.inf]), "NaN or an infinite value in row 1"),
        (["a", "b"], "has text such as 'a'"),
        (pk.LinearRanker, "base_score is the class LinearRanker; give a fitted object"),
    ],
)
def test_bases_that_are_none(data, base, message):
    with pytest.raises(ValueError, match=message):
        as_base_score(base, data)


def test_documents_that_a_run_lacks_get_the_score_given_for_them():
    queries = pk.Queries([[1.0], [2.0], [3.0]], qid=[7, 7, 8], docid=["a", "b", "a"])
    run = {7: {"a": 0.5}, "8": {"a": 0.25}}
    np.testing.assert_array_equal(as_base_score(run, queries, missing=-1.0), [0.5, -1.0, 0.25])
    with pytest.raises(ValueError, match="no score for 1 document of 3, such as 'b' of query '7'"):
        as_base_score(run, queries)


# ---- ties and rows ---------------------------------------------------------------------------------------------------


def test_ties_are_settled_within_a_millionth():
    scores, base = np.array([1.0, 2.0, 1.0, 1.0, 1.0]), np.array([3.0, 0.0, 1.0, 3.0, 2.0])
    settled = break_ties(scores, base, np.array([0, 4, 5]))
    assert settled[2] < settled[0] == settled[3] < settled[1] == 2.0
    assert settled[4] == 1.0  # of another query
    assert np.abs(settled - scores).max() < 1e-6


def test_many_ties_in_a_narrow_gap_stay_below_the_next_score():
    n = 5000
    scores = np.append(np.full(n, 100.0), 100.0 + 1e-9)
    settled = break_ties(scores, np.append(np.arange(n), 0.0), np.array([0, n + 1]))
    assert (np.diff(settled) > 0).all()
    assert settled[-1] - 100.0 < 2e-9


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e-14])
def test_small_scores_are_told_apart_in_proportion(size):
    """Long lists by unit columns have small scores, close to each other, which are no ties for that."""
    draws = np.random.default_rng(0)
    scores, base = draws.permutation(1000) * size, draws.normal(size=1000)
    scores[1:5] = scores[0] = 999 * size
    settled = break_ties(scores, base, np.array([0, 1000]))
    np.testing.assert_array_equal(np.argsort(settled), np.lexsort((base, scores)))
    assert np.abs(settled - scores).max() <= 1e-6 * max(size * 999, 1e-300)


def test_scores_that_only_rounding_tells_apart_are_ties():
    scores = np.array([0.1 + 0.2, 0.3])
    assert scores[0] > scores[1]
    settled = break_ties(scores, np.array([0.0, 1.0]), np.array([0, 2]))
    assert settled[0] < settled[1]


def test_rows_are_recognised_by_their_values():
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [1.0, 2.0]])
    keys = row_keys(rows)
    assert keys[0] == keys[3]
    assert np.unique(keys).size == 3
    np.testing.assert_array_equal(row_keys(rows.astype(np.float32)), keys)
    np.testing.assert_array_equal(row_keys(np.array([[-0.0, 3.0]])), keys[2])
    np.testing.assert_array_equal(places_of(keys[[3, 1, 0]], keys), [0, 1, 3])  # equal rows in their order
    assert places_of(keys[[0, 3, 0]], keys) is None
    assert places_of(row_keys(rows + 1.0), keys) is None


# ---- explanations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_contributions_sum_to_the_score_less_the_mean_of_the_list(refiner, data, feedback):
    fitted = clone(refiner).fit(data, feedback, base_score=np.asarray(data.X[:, 1]) + 0.01 * np.arange(data.n_docs))
    explanation = fitted.explain(data)
    for row in range(data.n_docs):
        total = sum(part.contribution for part in explanation.top(row, None))
        mean = fitted.scores_[data.qid == data.qid[row]].mean()
        assert total == pytest.approx(fitted.scores_[row] - mean, abs=3e-6)
        assert explanation.baseline[row] == pytest.approx(mean)
    comparison = explanation.why(0, 1)
    assert sum(part.difference for part in comparison.differences) == pytest.approx(comparison.total, abs=3e-6)
    assert "total" in str(comparison)
    assert "d0" in str(explanation)
    assert len(explanation.to_dict()["rows"]) == data.n_docs


def test_stumps_are_named_and_taken_together():
    X = np.array([[9.0, 0.0], [8.0, 1.0], [7.0, 0.0], [6.0, 1.0]])
    fitted = MultiplicativeRefiner().fit(pk.Queries(X, feature_names=["bm25", "fresh"]), [0, 1, 0, 1], base_score=0)
    top = fitted.explain(pk.Queries(X, feature_names=["bm25", "fresh"])).top(1, 1)[0]
    steps = fitted.steps_
    own = steps["weight"][(steps["feature"] == 1) & steps["is_above"]]
    assert top.stump == "fresh > 0.5"
    assert top.value == 1.0
    assert top.weight == pytest.approx(own.sum())
    assert top.contribution == pytest.approx(own.sum() / 2)  # half of the list has it


def test_explained_rows_may_come_in_any_order_of_queries(data, feedback):
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=0)
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    whole = fitted.explain(data)
    some = fitted.explain(data.X[mixed], qid=data.qid[mixed], rows=[4, 2])
    assert [part.stump for part in some.top(4)] == [part.stump for part in whole.top(int(mixed[4]))]
    with pytest.raises(ValueError, match="row 0 was not explained"):
        some.top(0)


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_a_saved_refiner_predicts_the_same(refiner, data, feedback, tmp_path):
    fitted = clone(refiner).fit(data, feedback, base_score=np.asarray(data.X[:, 1]))
    fitted.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert repr(loaded) == repr(fitted)
    np.testing.assert_array_equal(loaded.predict(data), fitted.scores_)
    np.testing.assert_array_equal(loaded.scores_, fitted.scores_)
    if hasattr(fitted, "history_"):
        assert loaded.history_.keys() == fitted.history_.keys()


def test_classifiers_are_saved_where_files_can_hold_them(data, feedback, tmp_path):
    fitted = MultiplicativeRefiner(3, estimator=LogisticRegression()).fit(data, feedback, base_score=1)
    fitted.save(tmp_path / "model.plackett")
    np.testing.assert_array_equal(pk.load(tmp_path / "model.plackett").predict(data), fitted.scores_)
    for unsafe in (RandomForestClassifier(2), SVC(), HistGradientBoostingClassifier(max_iter=2)):
        refiner = MultiplicativeRefiner(3, estimator=unsafe).fit(data, feedback, base_score=1)
        with pytest.raises(ValueError, match=rf"{type(unsafe).__name__}\(...\) cannot be saved.*single decision trees"):
            refiner.save(tmp_path / "model.plackett")


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(max_depth=3), ExtraTreeClassifier()])
def test_decision_trees_are_saved_as_arrays_and_predict_the_same(tree, data, feedback, tmp_path):
    fitted = LinearRefiner(n_rounds=5, estimator=tree, random_state=0).fit(data, feedback, base_score=1)
    for _ in range(2):  # what was loaded can be saved again
        fitted.save(tmp_path / "model.plackett")
        assert {type(one) for one in fitted.estimators_} in ({type(tree)}, {SavedTree})
        loaded = pk.load(tmp_path / "model.plackett")
        np.testing.assert_array_equal(loaded.predict(data), fitted.scores_)
        further = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32) * data.X.std(axis=0)
        key = [data.qid[0]] * 500
        np.testing.assert_array_equal(loaded.predict(further, qid=key), fitted.predict(further, qid=key))
        assert str(loaded.explain(data, rows=[0])) == str(fitted.explain(data, rows=[0]))
        fitted = loaded


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("features_", lambda features: features + 99),
        ("features_", lambda features: features - 5),
        ("left_", lambda nodes: nodes * 0),  # in a circle
        ("right_", lambda nodes: nodes + 99),
        ("classes_", lambda classes: classes[:-1]),
        ("thresholds_", lambda limits: limits * np.nan),
    ],
)
def test_a_file_with_what_is_no_tree_is_refused(attribute, change, data, feedback, tmp_path):
    tree = DecisionTreeClassifier(max_depth=2)
    fitted = MultiplicativeRefiner(2, estimator=tree).fit(data, feedback, base_score=1)
    fitted.estimators_ = [SavedTree.of(one) for one in fitted.estimators_]
    setattr(fitted.estimators_[0], attribute, change(getattr(fitted.estimators_[0], attribute)))
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError):
        pk.load(tmp_path / "model.plackett")


def with_field(name, value):
    """A change of steps: a field of the first one has another value."""

    def change(steps):
        changed = steps.copy()
        changed[name][0] = value
        return changed

    return change


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("steps_", with_field("feature", 99)),
        ("steps_", with_field("feature", -1)),
        ("steps_", with_field("threshold", np.nan)),
        ("steps_", with_field("weight", np.inf)),
        ("steps_", lambda steps: steps[:-1]),
        ("steps_", lambda steps: steps[["feature", "weight", "threshold"]]),
        ("steps_", lambda steps: steps["weight"]),
        ("steps_indptr_", lambda bounds: bounds[::-1].copy()),
        ("states_", lambda states: states[:, :2].copy()),
        ("indptr_", lambda bounds: bounds * 2),
        ("query_ids_", lambda ids: ids[:-1]),
        ("base_column_", lambda column: 99),
        ("row_keys_", lambda keys: keys[:-1]),
        ("n_features_in_", lambda n: 5.0),
    ],
)
def test_a_file_that_no_fit_writes_is_refused(attribute, change, data, feedback, tmp_path):
    fitted = MultiplicativeRefiner(3).fit(data, feedback, base_score=1)
    setattr(fitted, attribute, change(getattr(fitted, attribute)))
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError):
        pk.load(tmp_path / "model.plackett")


def test_a_file_with_a_wrong_query_vector_is_refused(data, feedback, tmp_path):
    fitted = RocchioRefiner().fit(data, feedback, base_score=1)
    fitted.coef_ = fitted.coef_[:, :-1].copy()
    fitted.save(tmp_path / "model.plackett")
    with pytest.raises(ModelFormatError, match="coef_ must be a matrix"):
        pk.load(tmp_path / "model.plackett")


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


class FirstColumnIsTheBase:
    """What scikit-learn's checks do not know to give."""

    def fit(self, X, y=None, *, base_score=0, qid=None, pairs=None):
        return super().fit(X, y, base_score=base_score, qid=qid, pairs=pairs)


class CheckedMultiplicative(FirstColumnIsTheBase, MultiplicativeRefiner):
    pass


class CheckedLinear(FirstColumnIsTheBase, LinearRefiner):
    pass


class CheckedRocchio(FirstColumnIsTheBase, RocchioRefiner):
    pass


LIST_MATTERS = {"check_methods_subset_invariance": "ties are settled within the list; the check takes the list apart"}


@parametrize_with_checks(
    [CheckedMultiplicative(n_rounds=5), CheckedLinear(n_rounds=5), CheckedRocchio()],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, CheckedRocchio) else LIST_MATTERS,
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_base_scores_and_ids_pass_through_a_pipeline(data, feedback):
    base = np.asarray(data.X[:, 1])
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), MultiplicativeRefiner())
        pipeline.fit(data.X, feedback, base_score=base, qid=data.qid)
        scores = pipeline.predict(data.X, qid=data.qid, base_score=base)
    np.testing.assert_array_equal(scores, pipeline[-1].scores_)


def test_score_measures_the_refined_ranking(data, feedback):
    base = np.asarray(data.X[:, 1])
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=base)
    expected = np.nanmean(pk.metrics.ndcg(data.y, fitted.scores_, qid=data.qid, k=10))
    assert fitted.score(data) == pytest.approx(expected)
    assert fitted.score(data, base_score=base) == pytest.approx(expected)
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    for given in (base[mixed], pk.LinearRanker().fit(data)):
        shown = fitted.predict(data.X[mixed], qid=data.qid[mixed], base_score=given)
        assert fitted.score(
            data.X[mixed], data.y[mixed], qid=data.qid[mixed], base_score=given, metric="kendall"
        ) == pytest.approx(-np.nanmean(pk.metrics.kendall(data.y[mixed], shown, qid=data.qid[mixed])))


def test_a_failed_fit_leaves_the_refiner_as_it_was(data, feedback):
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=1)
    before = fitted.scores_
    with pytest.raises(ValueError, match="no column"):
        fitted.fit(data, feedback, base_score="pagerank")
    assert fitted.scores_ is before
