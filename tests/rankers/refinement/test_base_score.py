"""Every form of a base ranker."""

import io

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import plackett as pk
from plackett.data.trec.run import Run
from plackett.rankers.refinement.base_score import as_base_score
from plackett.rankers.refinement.boosted import MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from tests.rankers.refinement.refined_lists import REFINERS, make_list, of_class


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
@pytest.mark.parametrize(
    ("base", "message"),
    [
        (np.full(17, np.nan), "base_score has a NaN or an infinite value in row 0"),
        (np.zeros(3), "base_score has 3 values but X has 17 rows"),
        (9, "base_score is column 9, but X has columns 0 to 3"),
        ("bm25", "the columns of X have no names"),
        (None, "base_score is None"),
        ({"q": {"d": 1.0}}, "X has no document ids"),
    ],
)
def test_base_scores_that_are_none(refiner, base, message):
    X, _, y = make_list(0)
    with pytest.raises(ValueError, match=message):
        clone(refiner).fit(X, y, base_score=base)


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
        (pk.LinearRanker, "base_score is the class LinearRanker; pass a fitted object"),
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
