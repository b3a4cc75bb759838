"""Inputs of rankers: query ids, labels without differences, missing values, columns, advice about arguments."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import plackett as pk
from plackett.data.preprocessing import QueryRank, QueryZScore
from plackett.exceptions import DataWarning, NothingToLearnWarning
from plackett.rankers.boosting.feature_rank import BLFeatureRank

DATA = pk.datasets.make_web_like(6, docs_per_query=5, n_features=4, random_state=0)
X, Y, QID = DATA.X.astype(float), DATA.y, DATA.qid
ONE = slice(0, 5)  # the rows of the first list

BY_LIST = {
    "query-zscore": lambda: pk.ranker("listmle", normalize="query-zscore"),
    "query-rank in a kernel ranker": lambda: pk.KernelRanker(normalize="query-rank"),
    "position": lambda: pk.KernelRanker(scope="position", normalize="query-zscore"),
    "RankBoost": lambda: pk.RankBoost(n_rounds=3, normalize="query-minmax"),
    "PRank": lambda: pk.PRank(random_state=0, normalize="query-unit"),
    "FeatureRank": pk.FeatureRank,
    "BLFeatureRank": BLFeatureRank,
    "DiffRank": pk.DiffRank,
    "qsvm": lambda: pk.ranker("qsvm", n_neighbors=3),
    "pairs": lambda: pk.QueryDependentRanker("uniform", function="pair", n_neighbors=3),
}
BY_DOCUMENT = {
    "listmle": lambda: pk.ranker("listmle"),
    "zscore": lambda: pk.ranker("listmle", normalize="zscore"),
    "RankBoost": lambda: pk.RankBoost(n_rounds=3),
    "uniform": lambda: pk.QueryDependentRanker("uniform"),
}


# --- Which list a document belongs to ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", BY_LIST.values(), ids=BY_LIST)
def test_a_ranker_that_depends_on_the_list_needs_qid(make):
    ranker = make().fit(X, Y, qid=QID)
    assert ranker.depends_on_list
    for call in (ranker.predict, lambda rows: ranker.score(rows, Y), ranker.explain):
        with pytest.raises((ValueError, NotImplementedError), match=r"predict\(X, qid=(0|'new')\)|cannot explain"):
            call(X)
    scores = ranker.predict(X, qid=QID)
    new = "new" if isinstance(ranker, pk.QueryDependentRanker) else 0
    alone = ranker.predict(X[ONE], qid=QID[0])
    np.testing.assert_allclose(alone, scores[ONE], rtol=1e-9, atol=1e-12)
    assert np.isfinite(ranker.predict(X[ONE], qid=new)).all()
    assert ranker.predict(pk.Queries(X[ONE])).shape == (5,)
    assert np.isfinite(ranker.score(X[ONE], Y[ONE], qid="any"))


@pytest.mark.parametrize("make", BY_DOCUMENT.values(), ids=BY_DOCUMENT)
def test_a_ranker_of_single_documents_does_without_qid(make):
    ranker = make().fit(X, Y, qid=QID)
    assert not ranker.depends_on_list
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(X, qid=QID))


def test_attention_depends_on_the_list():
    pytest.importorskip("torch")
    options = {"hidden": (4,), "heads": 2, "n_epochs": 1, "random_state": 0}
    ranker = pk.NeuralRanker(attention=1, **options).fit(X, Y, qid=QID)
    with pytest.raises(ValueError, match="qid is missing"):
        ranker.predict(X)
    assert not pk.NeuralRanker(**options).fit(X, Y, qid=QID).depends_on_list


def test_a_ranker_fitted_on_one_list_needs_no_qid():
    ranker = pk.FeatureRank().fit(X[ONE], Y[ONE])
    np.testing.assert_array_equal(ranker.predict(X[ONE]), ranker.predict(X[ONE], qid=7))


def test_a_refiner_does_not_score_rows_of_an_unnamed_query():
    refiner = pk.MultiplicativeRefiner(n_rounds=2).fit(X, Y, qid=QID - QID.min(), base_score=0)
    with pytest.raises(ValueError, match="fit had qid, but these rows have none"):
        refiner.score(X[ONE], Y[ONE])


def test_pipelines_carry_qid():
    pipeline = make_pipeline(StandardScaler(), QueryZScore(), pk.LinearRanker())
    with config_context(enable_metadata_routing=True):
        pipeline.fit(X, Y, qid=QID)
        scores = pipeline.predict(X, qid=QID)
        with pytest.raises(ValueError, match=r"transform\(X, qid=0\)"):
            pipeline.predict(X)
    same = pk.LinearRanker(normalize="query-zscore").fit(X, Y, qid=QID)
    np.testing.assert_allclose(scores, same.predict(X, qid=QID), atol=1e-5)
    last = make_pipeline(StandardScaler(), same).fit(X, Y, linearranker__qid=QID)
    np.testing.assert_allclose(last.predict(X, qid=QID), scores, atol=1e-5)
    with pytest.raises(ValueError, match=r"pipeline\.predict\(X, qid=qid\)"):
        last.predict(X)


def test_one_id_applies_to_all_rows_everywhere():
    labels, scores = Y[ONE], X[ONE, 0]
    assert pk.metrics.ndcg(labels, scores, qid="a") == pk.metrics.ndcg(labels, scores)
    assert pk.evaluate(labels, scores, qid="a").queries.tolist() == ["a"]
    assert pk.Queries(X[ONE], labels, qid=3).ids.tolist() == [3]
    one = pk.LinearRanker().fit(X[ONE], labels, qid="a")
    np.testing.assert_array_equal(one.coef_, pk.LinearRanker().fit(X[ONE], labels).coef_)
    np.testing.assert_array_equal(QueryRank().transform(X[ONE], qid=1), QueryRank().transform(X[ONE]))


def test_the_name_of_a_column_is_not_taken_for_an_id():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(query=QID)
    with pytest.raises(ValueError, match=r"qid='query' is the name of a column of X.*qid=X\['query'\]"):
        pk.Queries(frame, Y, qid="query")
    by_name, by_array = (pk.LinearRanker().fit(frame, Y, qid="query"), pk.LinearRanker().fit(X, Y, qid=QID))
    np.testing.assert_array_equal(by_name.coef_, by_array.coef_)


# --- Nothing to learn -------------------------------------------------------------------------------------------------

FEW_ROUNDS = {name: {"n_rounds": 2} for name in ("adarank", "rankboost", "trees", "lightgbm", "xgboost")}
FAST = {**FEW_ROUNDS, "prank": {"random_state": 0}, "neural": {"n_epochs": 1}}
POINTWISE = ("regression", "prank")


@pytest.mark.parametrize("name", pk.ranker_names())
def test_every_ranker_warns_where_labels_order_nothing(name):
    ranker = pk.ranker(name, **FAST.get(name, {}))
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    labels = np.ones(30) if name in POINTWISE else np.repeat(np.arange(6.0), 5)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ranker.fit(X, labels, qid=QID)
    told = [one for one in found if one.category is NothingToLearnWarning]
    assert len(told) == 1
    assert "is y the right column" in str(told[0].message).lower()
    assert told[0].filename == __file__


def test_ids_that_are_unique_per_row_are_named_as_such():
    with pytest.warns(NothingToLearnWarning, match="Each of the 30 queries has one document: is qid a row number"):
        pk.LinearRanker().fit(X, Y, qid=np.arange(30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pk.LinearRanker(loss="squared").fit(X, Y, qid=np.arange(30))  # learns from single documents
        pk.PRank(random_state=0).fit(X, Y, qid=np.arange(30))
        pk.MultiplicativeRefiner(n_rounds=2).fit(X, np.ones(30), qid=QID, base_score=0)


def test_parts_warn_as_rows_in_one_place_do():
    parts = [pk.Queries(X[:15], np.zeros(15), QID[:15]), pk.Queries(X[15:], np.ones(15), QID[15:])]
    with pytest.warns(NothingToLearnWarning, match="In each of the 6 queries all labels are equal"):
        pk.LinearRanker().fit(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingToLearnWarning)
        pk.LinearRanker(loss="squared").fit(parts)


@pytest.mark.parametrize("door", [pk.PRank(random_state=0), QueryZScore()], ids=["ranker", "normaliser"])
def test_many_rows_without_qid_are_reported_as_one_list(door):
    rows, labels = np.vstack([X] * 7), np.tile(Y, 7)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        door.fit(rows, labels)
    assert [
        "all 210 rows were taken as one list" in str(one.message) for one in found if one.category is DataWarning
    ] == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        door.fit(rows, labels, qid=0)
        door.fit(rows[:200], labels[:200])


def test_scores_of_many_rows_without_qid_are_reported_as_one_list():
    with pytest.warns(DataWarning, match="evaluate was called without qid: all 210 rows"):
        pk.evaluate(np.tile(Y, 7), np.tile(X[:, 0], 7))


def test_an_eval_set_without_qid_is_reported_as_one_list():
    held = np.vstack([X] * 7), np.tile(Y, 7), None
    with pytest.warns(DataWarning, match="eval_set was called without qid: all 210 rows"):
        pk.PRank(n_epochs=1, random_state=0).fit(X, Y, qid=QID, eval_set=held)


# --- Values that are not there ----------------------------------------------------------------------------------------

MASKED = np.ma.masked_greater(X, np.quantile(X, 0.9))
WEIGHTS = np.ma.array(np.ones(6), mask=[True] + 5 * [False])
MASKED_CALLS = {
    "X": lambda: pk.LinearRanker().fit(MASKED, Y, qid=QID),
    "X of predict": lambda: pk.LinearRanker().fit(X, Y, qid=QID).predict(MASKED),
    "X of Queries": lambda: pk.Queries(MASKED, Y),
    "X of a normaliser": lambda: QueryZScore().fit(MASKED),
    "y": lambda: pk.LinearRanker().fit(X, MASKED[:, 0], qid=QID),
    "qid": lambda: pk.LinearRanker().fit(X, Y, qid=np.ma.array(QID, mask=30 * [True])),
    "sample_weight": lambda: pk.LinearRanker().fit(X, Y, qid=QID, sample_weight=WEIGHTS),
    "scores": lambda: pk.evaluate(Y, MASKED[:, 0], qid=QID),
    "base_score": lambda: pk.MultiplicativeRefiner().fit(X, Y, qid=QID, base_score=MASKED[:, 0]),
    "query_features": lambda: pk.ranker("qsvm").fit(X, Y, qid=QID, query_features=MASKED[MASKED.mask.any(axis=1)][:6]),
    "ratings": lambda: pk.PersonalityDiagnosis().fit(MASKED),
}


@pytest.mark.parametrize("call", MASKED_CALLS.values(), ids=MASKED_CALLS)
def test_masked_cells_are_not_used_as_values(call):
    with pytest.raises(ValueError, match=r"is a masked array with masked values\. Fill them \(\w+\.filled"):
        call()


# --- Columns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [["a"] * 30, pd.Categorical(["a", "b"] * 15)], ids=["text", "category"])
def test_a_column_of_categories_is_named(values):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(brand=values)
    with pytest.raises(ValueError, match=r'holds text or categories in brand \(.*Set encoding="one-hot"'):
        pk.LinearRanker().fit(frame, Y, qid=QID)
    with pytest.raises(ValueError, match=r'column 4 \("brand"\) of X holds text or categories, not numbers'):
        QueryZScore().fit(frame, Y, qid=QID)


def test_a_column_that_holds_no_numbers_is_named():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(brand=pd.to_datetime(["2020-01-01"] * 30))
    for call in (pk.LinearRanker().fit, QueryZScore().fit, pk.Queries):
        with pytest.raises((TypeError, ValueError), match=r'column 4 \("brand"\) of X has values that are not numbers'):
            call(frame, Y)
    with pytest.raises(ValueError, match="column 1 of X has values that are not numbers"):
        pk.LinearRanker().fit(np.array([["1", "a"]] * 30), Y)


# --- Advice about arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pk.LinearRanker, pk.PRank, pk.FeatureRank, pk.TreeRanker, pk.QueryDependentRanker])
def test_arguments_of_other_packages_get_the_line_to_type(make):
    lines = {
        "sizes": (lambda: make().fit(X, Y, group=6 * [5]), r"fit\(X, y, qid=np\.repeat\(np\.arange\(.*, sizes\)\)"),
        "ids as group": (lambda: make().fit(X, Y, group=QID), r"fit\(X, y, qid=group\)"),
        "ids": (lambda: make().fit(X, Y, group_id=QID), r"fit\(X, y, qid=group_id\)"),
        "by place": (lambda: make().fit(X, Y, QID), r"fit\(X, y, qid=qid\)"),
        "in predict": (lambda: make().predict(X, QID), r"predict\(X, qid=qid\)"),
        "in score": (lambda: make().score(X, Y, QID), r"score\(X, y, qid=qid\)"),
    }  # fmt: skip
    for call, line in lines.values():
        with pytest.raises(TypeError, match=line):
            call()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("lists", "X is a str, but AdaRank needs all rows in one place: read_parquet"),
        (Path("lists.txt"), "X is a PosixPath"),
        (["a.txt", "b.txt"], "X is a list of str"),
        ([DATA[:5], DATA[5:]], "X is a list of Queries, .*Queries.concat"),
        (SimpleNamespace(__dask_graph__=None), "X is a SimpleNamespace, .*compute"),
        (pk.Queries(DATA.X, None, DATA.qid), "X is a Queries without labels, which AdaRank needs"),
    ],
)
def test_inputs_that_are_not_loaded_are_rejected_with_advice(X, words):
    with pytest.raises(ValueError, match=words) as caught:
        pk.AdaRank().fit(X)
    assert ("fit data in parts" in str(caught.value)) == ("in one place" in str(caught.value))


def test_scores_and_labels_are_asked_for_with_rows_too():
    ranker = pk.LinearRanker(max_iter=2, tol=1.0).fit(DATA)
    for method in (ranker.predict, ranker.score, ranker.explain):
        with pytest.raises(ValueError, match="X is a str, but LinearRanker needs all rows in one place"):
            method("lists")


def test_series_in_another_order_than_the_frame_are_errors():
    frame = pd.DataFrame({"a": [0.1, 0.5, 0.3, 0.9], "y": [0, 1, 0, 1], "q": [1, 1, 2, 2], "doc": list("wxyz")})
    mixed = frame.iloc[::-1]
    ranker = pk.LinearRanker(loss="squared").fit(mixed[["a"]], mixed["y"], qid=mixed["q"])
    with pytest.raises(ValueError, match=r"y has the index of X in a different order. Pass y.loc\[X.index\]"):
        ranker.fit(mixed[["a"]], frame["y"], qid=mixed["q"])
    with pytest.raises(ValueError, match="qid has the index of X in a different order"):
        ranker.predict(mixed[["a"]], qid=frame["q"])
    with pytest.raises(ValueError, match="docid has the index of X in a different order"):
        ranker.rank(mixed[["a"]], qid=mixed["q"], docid=frame["doc"])
    with pytest.raises(ValueError, match="qid has the index of X in a different order"):
        pk.Queries(mixed[["a"]], mixed["y"], frame["q"])
    ranking = ranker.rank(mixed[["a"]], qid=mixed["q"], docid=mixed["doc"])
    assert [documents[0][0] for _, documents in ranking] == ["z", "x"]
    other = frame["y"].iloc[::-1].reset_index(drop=True)  # another index: by position
    ranker.fit(mixed[["a"]].set_axis(list("abcd")), other, qid=mixed["q"].to_numpy())
