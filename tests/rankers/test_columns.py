"""Tables of a data team: columns in another order, further ones, NaN, text; roles by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plackett as pk
from plackett.exceptions import DataWarning

pl = pytest.importorskip("polars")
N = 400


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    columns = {"query": rng.integers(0, 40, N), "sku": [f"p{row}" for row in range(N)], "bm25": rng.normal(size=N)}
    frame = pd.DataFrame(columns).assign(price=rng.gamma(2, size=N), season=rng.choice(["a", "b", "c"], N))
    return frame.assign(zip=rng.integers(0, 5, N), grade=rng.integers(0, 3, N))


@pytest.fixture(scope="module")
def trees(frame):
    roles = {"qid": "query", "label": "grade", "docid": "sku"}
    return pk.TreeRanker(n_rounds=5).fit(frame, **roles, categorical="zip")


@pytest.fixture(scope="module")
def other(frame):
    """The same rows: another order of columns, and further ones."""
    return frame[frame.columns[::-1]].assign(extra=1.0, note="text", seen=pd.Timestamp("2024-01-01"))


def test_roles_may_be_named_and_are_no_features(trees):
    assert trees.feature_names_ == ["bm25", "price", "season", "zip"]
    assert sorted(trees.categories_) == [2, 3]


@pytest.mark.parametrize("as_table", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).lazy()])
def test_any_table_with_the_columns_of_fit_gives_the_same_scores(as_table, trees, frame, other):
    expected = trees.predict(pk.from_frame(frame, qid="query", label="grade", docid="sku", categorical="zip"))
    np.testing.assert_array_equal(trees.predict(frame, qid="query"), expected)
    np.testing.assert_array_equal(trees.predict(as_table(other), qid="query"), expected)
    ranking = trees.rank(as_table(other), qid="query", docid="sku", k=2)
    assert set(ranking.docid) <= set(frame["sku"])
    explained = trees.explain(other, qid="query", docid="sku", rows=[0])
    assert explained is not None
    score = trees.score(as_table(other), qid="query", label="grade")
    assert score == trees.score(other, frame["grade"], qid=frame["query"])


def test_queries_with_further_columns_are_taken_by_name_too(trees, frame, other):
    data = pk.from_frame(other.drop(columns="seen"), qid="query", label="grade", docid="sku", categorical="zip")
    assert data.feature_names == ["zip", "season", "price", "bm25", "extra", "note"]
    np.testing.assert_array_equal(trees.predict(data), trees.predict(frame, qid="query"))


@pytest.mark.parametrize("method", ["predict", "rank", "score", "explain", "fit"])
def test_a_role_that_is_no_column_is_an_error(method, frame, trees):
    grades = {"y": frame["grade"]} if method in ("score", "fit") else {}
    with pytest.raises(ValueError, match=r"there is no column 'qery'\. Did you mean 'query'\?"):
        getattr(pk.TreeRanker() if method == "fit" else trees, method)(frame, qid="qery", **grades)
    with pytest.raises(ValueError, match="there is no column 'gradee'"):
        trees.score(frame, "gradee", qid="query")


def test_a_missing_column_is_named(trees, frame):
    message = r"the model needs 'season', which this table does not have; it has 'query', 'sku', .*mean 'saison'\?"
    with pytest.raises(ValueError, match=message):
        trees.predict(frame.rename(columns={"season": "saison"}), qid="query")


def test_unseen_categories_are_missing_with_one_warning(trees, frame):
    changed = frame.assign(season=["z"] * 5 + frame["season"].tolist()[5:], zip=np.full(N, 99))
    with pytest.warns(DataWarning, match=r"not in fit count as missing: 'z' of .*season.*; '99' of .*zip") as told:
        scores = trees.predict(changed)
    assert len(told) == 1
    missing = frame.assign(season=[None] * 5 + frame["season"].tolist()[5:], zip=np.full(N, np.nan))
    np.testing.assert_array_equal(scores, trees.predict(missing))


def test_roles_may_be_arrays_beside_a_frame(frame):
    numbers = frame[["query", "sku", "bm25", "price"]]
    named = pk.LinearRanker().fit(numbers.assign(grade=frame["grade"]), qid="query", label="grade", docid="sku")
    mixed = pk.LinearRanker().fit(numbers, frame["grade"].to_numpy(), qid="query", docid="sku")
    assert mixed.feature_names_ == ["bm25", "price"]
    np.testing.assert_array_equal(mixed.coef_, named.coef_)
    judged = numbers.assign(grade=frame["grade"])
    watched = pk.LinearRanker().fit(judged, qid="query", label="grade", docid="sku", eval_set=judged[:100])
    assert watched.best_iteration_ is not None


def test_a_scorer_takes_frames_by_name(frame, other):
    ranker = pk.LinearRanker().fit(frame[["bm25", "price"]], frame["grade"], qid=frame["query"])
    expected = ranker.predict(frame[["bm25", "price"]])
    for table in (other, pl.from_pandas(other)):
        np.testing.assert_allclose(ranker.scorer().score(table), expected)
    with pytest.raises(ValueError, match="the model needs 'price'"):
        ranker.scorer().score(frame[["bm25"]])


def test_a_scorer_takes_categories_of_frames_by_their_text(trees, frame, other):
    linear = pk.LinearRanker(encoding="one-hot").fit(frame, qid="query", label="grade", docid="sku")
    for ranker in (trees, linear):
        np.testing.assert_allclose(ranker.scorer().score(other), ranker.predict(frame, qid="query"))
    changed = frame.assign(season=["z", *frame["season"][1:]])
    with pytest.warns(DataWarning, match="not in fit count as missing: 'z' of"):
        scores = trees.scorer().score(changed)
    np.testing.assert_array_equal(scores, trees.predict(frame.assign(season=[None, *frame["season"][1:]])))


def test_lists_that_nobody_named_are_told(trees, frame):
    with pytest.warns(DataWarning, match="rank was called without qid: all 400 rows were taken as one list"):
        trees.rank(frame, docid="sku")


def test_a_path_is_read_first(trees):
    with pytest.raises(ValueError, match=r"X is a str, but TreeRanker needs all rows .* read_table"):
        trees.predict("shop.csv")


def test_roles_need_a_frame():
    with pytest.raises(TypeError, match="drop names columns of a data frame, but X is a ndarray"):
        pk.LinearRanker().fit(np.ones((2, 1)), [0, 1], drop="a")


def test_categories_that_are_floats_match_those_of_fit(frame):
    sizes = np.array([0.5, 2.0, 4.0])[frame["zip"] % 3]
    frame = frame[["query", "bm25"]].assign(grade=(sizes == 2.0).astype(int), size=pd.Categorical(sizes))
    ranker = pk.TreeRanker(n_rounds=5, min_data_per_group=5).fit(frame, qid="query", label="grade")
    scores = ranker.predict(frame, qid="query")
    assert scores[frame["grade"] == 1].min() > scores[frame["grade"] == 0].max()
    np.testing.assert_array_equal(ranker.predict(frame.assign(size=sizes), qid="query"), scores)
    np.testing.assert_array_equal(ranker.predict(pk.from_frame(frame, qid="query", label="grade")), scores)
