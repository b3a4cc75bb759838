"""Messages call a feature by its name, or by its number in the file; columns of arrays count from 0."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import plackett as pk
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.rankers.refinement.base_score import as_base_score
from plackett.validation import feature_label, feature_labels, feature_number, find_column

TEXT = "".join(
    f"{label} qid:{query} {{0}}:{label + query / 7} {{1}}:{(3 * label) % 4} {{2}}:1 #d{query}{label}\n"
    for query in (1, 2, 3)
    for label in (2, 0, 1)
)


def lists(first_index):
    text = TEXT.format(first_index, first_index + 1, first_index + 2)
    return pk.read_letor(io.BytesIO(text.encode()), first_index=first_index)


def labels_from(number):
    return [f"feature {number}", f"feature {number + 1}", f"feature {number + 2}"]


def test_labels_and_columns_lead_to_each_other():
    names = ["bm25", "21"]
    assert feature_labels(2) == ["column 0", "column 1"]
    assert feature_labels(2, first_index=1) == ["feature 1", "feature 2"]
    assert feature_label(1, names, 1) == "21"
    assert feature_number(1, 1, names) == 'feature 2 ("21")'
    for first_index in (None, 0, 1):
        for column, label in enumerate(feature_labels(3, None, first_index)):
            assert find_column(label, 3, None, first_index) == column
    assert find_column("21", 2, names, 1) == 1
    assert find_column("feature 2", 2, names, 1) == 1
    unknown = [
        "feature 0",
        "feature 4",
        "feature -1",
        "feature ²",
        "column 3",
        "feature",
        "bm25",
        "feature " + "9" * 9999,
    ]
    assert [find_column(one, 3, None, 1) for one in unknown] == [None] * len(unknown)
    assert find_column("feature 1", 3, None, None) is None  # an array has no feature numbers


@pytest.mark.parametrize("first_index", [0, 1])
def test_what_is_made_of_a_file_keeps_its_numbers(first_index, tmp_path):
    data = lists(first_index)
    pk.write_parquet(data, tmp_path / "lists.parquet")
    pk.write_letor(data, tmp_path / "lists.txt", first_index=first_index)
    mixed = pk.Queries(data.X, data.y, [1, 2, 1, 2, 3, 3, 1, 3, 2], first_index=first_index)
    made = [
        data,
        data[1],
        data[[2, 0]],
        data.subset([3]),
        data.replace(y=None),
        pk.Queries.concat([data[:1], data[1:]]),
        pickle.loads(pickle.dumps(data)),
        mixed.grouped,
        pk.read_parquet(tmp_path / "lists.parquet"),
        pk.read_parquet(tmp_path / "lists.parquet", cache=True),
        *(pk.read_letor(tmp_path / "lists.txt", first_index=first_index, cache=True) for _ in range(2)),
    ]
    for one in made:
        assert one.feature_labels == labels_from(first_index)
        assert one.feature_names is None
    assert pk.Queries(data.X).feature_labels == ["column 0", "column 1", "column 2"]
    assert (
        pk.Queries.concat([data[:1], pk.Queries(data.X, data.y, qid=["a"] * 9, comments=data.comments)]).first_index
        is None
    )


def test_the_columns_of_a_parquet_file_are_called_by_these_numbers(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for data, names in (
        (lists(1), "feature_1 feature_2 feature_3"),
        (pk.Queries(lists(1).X), "column_0 column_1 column_2"),
    ):
        pk.write_parquet(data, tmp_path / "lists.parquet")
        assert parquet.read_schema(tmp_path / "lists.parquet").names[-3:] == names.split()


def test_a_value_that_is_missing_is_found_by_the_number_in_the_file():
    text = TEXT.format(1, 2, 3).replace(" 2:0 ", " 2:NULL ", 1)
    data = pk.read_letor(io.BytesIO(text.encode()))
    with pytest.raises(ValueError, match="X has a NaN in row 1, feature 2; "):
        pk.LinearRanker().fit(data)
    with pytest.raises(ValueError, match="X has a NaN in row 1, column 1; "):
        pk.LinearRanker().fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match='X has a NaN in row 1, feature 2 \\("b"\\); '):
        pk.LinearRanker().fit(data.replace(feature_names=["a", "b", "c"]))


@pytest.fixture(scope="module")
def rankers():
    return [pk.LinearRanker("squared"), pk.AdaRank(n_rounds=2), pk.RankBoost(n_rounds=2), pk.FeatureRank()]


@pytest.mark.parametrize("first_index", [0, 1])
def test_a_model_explains_by_the_numbers_of_its_file_also_when_loaded(first_index, rankers):
    data = lists(first_index)
    for ranker in rankers:
        ranker.fit(data)
        file = io.BytesIO()
        ranker.save(file)
        file.seek(0)
        for fitted in (ranker, pk.load(file)):
            assert fitted.first_index_ == first_index
            assert fitted.explain(data).feature_names == labels_from(first_index)
            assert fitted.explain(data.X, qid=data.qid).feature_names == labels_from(first_index)
        ranker.fit(data.X, data.y, qid=data.qid)
        assert ranker.first_index_ is None
        assert ranker.explain(data.X, qid=data.qid).feature_names == ["column 0", "column 1", "column 2"]


def test_a_base_score_is_a_column_of_x_or_a_feature_of_the_file():
    data = lists(1)
    for base in (1, "feature 2", "column 1"):
        np.testing.assert_array_equal(as_base_score(base, data), data.X[:, 1])
    refiner = pk.RocchioRefiner().fit(data.replace(y=(data.y > 1).astype(float)), base_score="feature 2")
    assert refiner.base_column_ == 1
    assert refiner.explain(data).feature_names == labels_from(1)
    with pytest.raises(ValueError, match="base_score is the column 'feature 0', but"):
        as_base_score("feature 0", data)
    with pytest.raises(ValueError, match="base_score is the column 'feature 1', but"):
        as_base_score("feature 1", pk.Queries(data.X))


def test_floors_and_descriptions_speak_of_the_numbers_of_the_file():
    data = lists(1)
    found = pk.evaluate(data, data.X[:, 0], metrics=["ndcg"], reference_scores=True)
    assert found.best_features == {"ndcg": "feature 1 (descending)"}
    arrays = pk.Queries(data.X, data.y, data.qid)
    assert pk.evaluate(arrays, data.X[:, 0], metrics=["ndcg"], reference_scores=True).best_features == {
        "ndcg": "column 0 (descending)"
    }
    assert dict(data.describe().rows())["constant columns"] == "1: feature 3"
    assert dict(arrays.describe().rows())["constant columns (from 0)"] == "1: 2"
    assert data.describe().constant_columns == [2]
    assert data.describe().to_dict()["constant_columns"] == [3]
    assert arrays.describe().to_dict()["constant_columns"] == [2]


def test_query_features_of_a_file_are_named_by_their_numbers():
    text = "".join(
        f"{label} qid:{query} 1:{label * query} 2:{query % 3} 3:{-label}\n"
        for query in range(1, 7)
        for label in (0, 1, 2)
    )
    data = pk.read_letor(io.BytesIO(text.encode()))
    ranker = pk.QueryDependentRanker(n_neighbors=2, query_features=["feature 2"]).fit(data)
    assert ranker.source_.columns == [1]
    assert ranker.explain(data[0]).feature_names == ["feature 1", "feature 3"]
    with pytest.raises(ValueError, match="feature 1 is a query feature, but it differs between the documents of query"):
        pk.QueryDependentRanker(n_neighbors=2, query_features=["feature 1"]).fit(data)


@pytest.mark.parametrize("first_index", [0, 1])
def test_the_workbench_offers_features_by_the_numbers_of_the_file(first_index):
    assert LetorCollection(lists(first_index), name="lists").own_rankers() == labels_from(first_index)
