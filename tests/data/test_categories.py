"""Columns of text and categories become codes, and their names stay with the queries."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import plackett as pk
from plackett.data.categories import recode
from plackett.exceptions import DataWarning

KINDS = ["pandas", "polars", "pyarrow"]


def make_frame():
    return pd.DataFrame({
        "qid": ["b", "a", "b", "a", "c"],
        "label": [0, 2, 1, 0, 1],
        "brand": ["acme", None, "zeta", "acme", "acme"],
        "size": pd.Categorical(["S", "L", None, "S", "M"], categories=["S", "M", "L", "XL"]),
        "sale": [True, False, True, True, False],
        "price": [1.5, np.nan, 2.0, 3.0, 0.5],
    })  # fmt: skip


def native(frame, kind):
    return frame if kind == "pandas" else pk.from_frame(frame).to_frame(kind)


def names_of(queries):
    return {column: names.tolist() for column, names in (queries.categories or {}).items()}


EXPECTED = {0: ["acme", "zeta"], 1: ["S", "M", "L", "XL"]}
CODES = np.array([[0, 0, 1, 1.5], [np.nan, 2, 0, np.nan], [1, np.nan, 1, 2], [0, 0, 1, 3], [0, 1, 0, 0.5]])


@pytest.mark.parametrize("kind", KINDS)
def test_text_becomes_sorted_codes_and_categories_keep_their_order(kind):
    data = pk.from_frame(native(make_frame(), kind))
    assert names_of(data) == EXPECTED
    np.testing.assert_array_equal(data.X, CODES)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_take_frames_with_text(kind):
    frame = native(make_frame(), kind)
    columns = ["brand", "size", "sale", "price"]
    data = pk.Queries(frame.select(columns) if kind != "pandas" else frame[columns], qid=[0, 1, 0, 1, 2])
    assert names_of(data) == EXPECTED
    assert data.feature_names == columns
    np.testing.assert_array_equal(data.X, CODES)


def test_codes_do_not_depend_on_the_order_of_rows():
    frame = make_frame()
    order = [3, 0, 4, 2, 1]
    moved = pk.from_frame(frame.iloc[order].reset_index(drop=True))
    np.testing.assert_array_equal(moved.X, pk.from_frame(frame).X[order])


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_gets_the_names_back(kind):
    data = pk.from_frame(make_frame())
    again = pk.from_frame(data.to_frame(kind))
    np.testing.assert_array_equal(again.X, data.X)
    assert names_of(again) == names_of(data)
    assert data.to_frame()["brand"].tolist()[:1] == ["acme"]
    assert data.to_frame()["brand"].isna().tolist()[1]


def test_selections_and_copies_keep_categories():
    data = pk.from_frame(make_frame())
    parts = [data[0], data[1:], data[[2, 0]], data[np.array([True, False, True])], data.subset(["c"]), data.grouped]
    parts += [data.replace(y=None), pickle.loads(pickle.dumps(data)), pk.Queries.concat(data)]
    assert all(names_of(part) == EXPECTED for part in parts)
    assert names_of(data.replace(categories=None)) == {}


def test_concat_extends_the_names_and_keeps_what_codes_mean():
    first = pk.Queries([[0.0], [1.0]], qid=[1, 1], categories={0: ["b", "a"]})
    second = pk.Queries([[0.0], [1.0], [np.nan]], qid=[2, 2, 2], categories={0: ["c", "b"]})
    both = pk.Queries.concat([first, second])
    assert names_of(both) == {0: ["b", "a", "c"]}
    np.testing.assert_array_equal(both.X.ravel(), [0, 1, 2, 0, np.nan])
    with pytest.raises(ValueError, match="column 0 holds categories in only one of parts 0 and 1"):
        pk.Queries.concat([first, second.replace(categories=None)])


def test_mapped_rows_stay_mapped_when_codes_change(tmp_path, monkeypatch):
    monkeypatch.setattr("plackett.storage.mapped.SPILL_ABOVE", 1 << 10)
    monkeypatch.setattr("plackett.data.categories.BLOCK_BYTES", 1 << 10)
    codes = np.random.default_rng(0).integers(0, 3, size=(500, 2)).astype(float)
    np.save(tmp_path / "X.npy", codes)
    known, given = {1: np.array(["c", "a"])}, {1: np.array(["a", "b", "c"])}
    found = recode(np.load(tmp_path / "X.npy", mmap_mode="c"), given, known)
    assert isinstance(found.base, np.memmap)
    np.testing.assert_array_equal(found[:, 0], codes[:, 0])
    np.testing.assert_array_equal(found[:, 1], np.array([1, np.nan, 0])[codes[:, 1].astype(int)])


@pytest.mark.parametrize("cache", [False, True], ids=["read", "cached"])
@pytest.mark.parametrize("partitions", [1, 2])
def test_parquet_keeps_categories(tmp_path, cache, partitions):
    data = pk.from_frame(make_frame())
    pk.write_parquet(data, tmp_path / "lists.parquet", partitions=partitions, rows_per_group=2)
    for _ in range(2):  # the second time from the cache
        again = pk.read_parquet(tmp_path / "lists.parquet", cache=cache)
        assert names_of(again) == EXPECTED
        np.testing.assert_array_equal(again.X, data.grouped.X)


def test_parquet_of_others_has_sorted_names_in_all_parts(tmp_path):
    frame = make_frame()
    frame[:3].to_parquet(tmp_path / "one.parquet")
    frame[3:].assign(brand=["beta", None]).to_parquet(tmp_path / "two.parquet")
    data = pk.read_parquet(tmp_path)
    assert names_of(data) == {0: ["acme", "beta", "zeta"], 1: ["L", "M", "S"]}
    np.testing.assert_array_equal(data.X[:, 0], [0, np.nan, 2, 1, np.nan])
    part = pk.read_parquet(tmp_path / "one.parquet", row_groups=(0, 1))
    assert names_of(part) == {0: ["acme", "zeta"], 1: ["L", "S"]}


def test_sorted_parquet_keeps_categories(tmp_path):
    make_frame().to_parquet(tmp_path / "mixed.parquet")
    pk.write_parquet(pk.read_parquet(tmp_path / "mixed.parquet"), tmp_path / "sorted.parquet")
    data = pk.read_parquet(tmp_path / "sorted.parquet", cache=True)
    assert data.grouped.ids.tolist() == ["b", "a", "c"]
    assert data.to_frame()["brand"].tolist()[:2] == ["acme", "zeta"]


def test_categories_of_arrays_are_given_by_position_or_name():
    by_name = pk.Queries([[0.0, 5.0]], feature_names=["brand", "price"], categories={"brand": ["acme"]})
    assert names_of(by_name) == names_of(pk.Queries([[0.0, 5.0]], categories={0: ["acme"]})) == {0: ["acme"]}


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({0: ["a"]}, "column 0 of X holds categories: expected NaN or codes from 0 to 0"),
        ({5: ["a"]}, "categories names column 5, which is not one of the 2 columns of X"),
        ({1: ["a", "a"]}, "column 1 has the category 'a' twice"),
    ],
)
def test_wrong_categories_are_rejected(categories, message):
    with pytest.raises(ValueError, match=message):
        pk.Queries([[1.0, 0.0], [0.5, 0.0]], categories=categories)


def test_a_text_per_row_is_called_an_id_or_a_title():
    frame = pd.DataFrame({"qid": [1] * 12, "label": 0, "title": [f"text {n}" for n in range(12)]})
    with pytest.warns(DataWarning, match="'title' is a feature but holds 12 different texts in 12 rows"):
        pk.from_frame(frame)
    with pytest.warns(DataWarning, match="'title' is a feature but"):
        pk.Queries(frame[["title"]])


def test_an_empty_column_of_text_is_missing_and_has_no_categories():
    data = pk.from_frame(pd.DataFrame({"qid": [1, 1], "label": [0, 1], "brand": pd.array([None, None], "string")}))
    assert data.categories is None
    assert np.isnan(data.X).all()


def test_flags_with_missing_values_are_numbers():
    flags = pd.DataFrame({"qid": 1, "label": [0, 1, 2], "flag": [True, None, False]})
    assert str(flags["flag"].dtype) == "object"
    for data in (pk.from_frame(flags), pk.Queries(flags[["flag"]])):
        assert data.categories is None
        np.testing.assert_array_equal(data.X.ravel(), [1, np.nan, 0])


def test_letor_files_hold_no_categories(tmp_path):
    with pytest.raises(ValueError, match="Use write_parquet, which keeps them"):
        pk.write_letor(pk.from_frame(make_frame()), tmp_path / "x.txt")


def test_columns_beside_text_keep_their_values():
    frame = pd.DataFrame(
        {"brand": ["b", None, "a"], "count": pd.array([1, None, 3], "Int64"), "is_new": [True, False, True]}
    )
    data = pk.Queries(frame, qid=[1, 1, 2])
    np.testing.assert_array_equal(data.X, [[1, 1, 1], [np.nan, np.nan, 0], [0, 3, 1]])
    assert data.X.dtype == np.float64
    singles = pd.DataFrame({"brand": ["b", "a"], "bm25": np.array([0.1, 0.2], np.float32)})
    assert pk.Queries(singles).X.dtype == np.float32
    with pytest.raises(ValueError, match=r'column 1 \("seen"\) of X has values that are not numbers'):
        pk.Queries(singles.rename(columns={"bm25": "seen"}).assign(seen=[(1, 2), {}]))
