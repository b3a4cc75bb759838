"""Ids of any kind, in any order, become whole queries."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plackett.data.grouping import group_rows, is_missing


def grouped_by_hand(ids):
    """Rows of each id in order of first appearance, by a dictionary."""
    places = {}
    for row, key in enumerate(ids):
        places.setdefault(key, []).append(row)
    return places


def assert_groups(groups, ids):
    expected = grouped_by_hand(ids)
    assert groups.ids.tolist() == list(expected)
    order = range(len(ids)) if groups.order is None else groups.order.tolist()
    rows = [list(order)[start:stop] for start, stop in zip(groups.indptr[:-1], groups.indptr[1:], strict=True)]
    assert rows == list(expected.values())


SCATTERED = {
    "ints": [7, 3, 7, 3, 9],
    "text": ["b", "a", "b", "c", "a"],
    "tuples of one length": [(1, "a"), (2, "b"), (1, "a"), (2, "a"), (2, "b")],
    "tuples of several lengths": [(1,), (2, 3), (1,), (), (2, 3)],
    "numbers and text": [1, "1", 1, "1", 2],
    "huge ints": [2**70, 1, 2**70, 1, -(2**70)],
    "bools": [True, False, True, False, True],
    "frozen sets": [frozenset({1}), frozenset({2}), frozenset({1}), frozenset(), frozenset({2})],
    "floats": [0.5, 1.5, 0.5, 2.5, 1.5],
}


@pytest.mark.parametrize("ids", SCATTERED.values(), ids=SCATTERED.keys())
def test_hashable_ids_in_any_order_are_grouped_by_first_appearance(ids):
    assert_groups(group_rows(ids, len(ids)), ids)


@pytest.mark.parametrize("ids", SCATTERED.values(), ids=SCATTERED.keys())
def test_rows_that_are_grouped_already_need_no_order(ids):
    side_by_side = [key for key, rows in grouped_by_hand(ids).items() for _ in rows]
    groups = group_rows(side_by_side, len(ids))
    assert groups.order is None
    assert_groups(groups, side_by_side)


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "numpy": np.array,
    "numpy column": lambda ids: np.array(ids).reshape(-1, 1),
    "numpy objects": lambda ids: np.array(ids, dtype=object),
    "numpy scalars": lambda ids: list(np.array(ids)),
    "pandas": lambda ids: pd.Series(ids, index=range(10, 10 + len(ids))),
    "pandas index": pd.Index,
    "pandas categorical": lambda ids: pd.Series(ids, dtype="category"),
    "polars": pl.Series,
    "pyarrow": lambda ids: pa.chunked_array([ids]),
}


@pytest.mark.parametrize("ids", [["b", "a", "b"], [7, 3, 7]], ids=["text", "ints"])
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_ids_may_come_in_any_container(container, ids):
    assert_groups(group_rows(container(ids), 3), ids)


def test_dates_and_bytes_are_ids_too():
    days = np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="M8[D]")
    assert group_rows(days, 3).indptr.tolist() == [0, 2, 3]
    assert group_rows(np.array([b"x", b"y", b"x"]), 3).ids.tolist() == [b"x", b"y"]


def test_ids_of_ints_and_text_become_compact_arrays():
    assert group_rows([np.int64(3), np.int64(1)], 2).ids.dtype == np.int64
    assert group_rows(["a", "b"], 2).ids.dtype.kind == "U"


def test_no_qid_means_one_list():
    groups = group_rows(None, 4)
    assert groups.ids.tolist() == [0]
    assert groups.indptr.tolist() == [0, 4]
    assert groups.order is None


@pytest.mark.parametrize("qid", [None, [], np.zeros(0)], ids=["none", "list", "array"])
def test_no_rows_make_no_queries(qid):
    groups = group_rows(qid, 0)
    assert groups.ids.size == 0
    assert groups.indptr.tolist() == [0]


MISSING = {
    "None": (["a", None, "a"], "None"),
    "NaN in a list": ([1.0, float("nan"), 2.0], "NaN"),
    "NaN in an array": (np.array([1.0, np.nan, 2.0]), "NaN"),
    "NaT": (np.array(["2020-01-01", "NaT", "2020-01-01"], dtype="M8[D]"), "NaT"),
    "pandas NA": (np.array(["a", pd.NA, "b"], dtype=object), "<NA>"),
    "pandas nullable": (pd.Series([1, None, 2], dtype="Int64"), "NaN|<NA>"),
    "polars null": (pl.Series(["a", None, "b"]), "None"),
}


@pytest.mark.parametrize(("qid", "spelled"), MISSING.values(), ids=MISSING.keys())
def test_a_missing_id_is_refused_with_its_row(qid, spelled):
    with pytest.raises(ValueError, match=rf"qid is ({spelled}) in row 1\. Every row needs a query id\."):
        group_rows(qid, 3)


@pytest.mark.parametrize(
    ("value", "answer"), [(None, True), (float("nan"), True), (pd.NA, True), (0, False), ("", False)]
)
def test_is_missing_knows_what_stands_for_nothing(value, answer):
    assert is_missing(value) is answer


def test_a_wrong_number_of_ids_is_refused():
    with pytest.raises(ValueError, match="qid has 2 ids but there are 3 rows"):
        group_rows([1, 2], 3)


def test_ids_that_are_no_vector_are_refused():
    with pytest.raises(ValueError, match=r"qid has shape \(3, 2\)"):
        group_rows(np.ones((3, 2)), 3)


@pytest.mark.parametrize("qid", ["abc", 7, 2.5, np.int64(7), np.array("abc"), datetime.date(2020, 1, 1)])
def test_one_id_applies_to_all_rows(qid):
    groups = group_rows(qid, 3)
    assert groups.ids.tolist() == [qid if not isinstance(qid, np.ndarray) else "abc"]
    assert groups.indptr.tolist() == [0, 3]
    assert groups.order is None
    assert group_rows(qid, 0).ids.size == 0


@pytest.mark.parametrize("qid", [{1, 2, 3}, {1: 0, 2: 0, 3: 0}], ids=["set", "dict"])
def test_collections_without_row_order_are_refused(qid):
    with pytest.raises(ValueError, match="expected one id per row, in the order of the rows"):
        group_rows(qid, 3)


@pytest.mark.parametrize("ids", [[[1], [2], [1]], [(1, []), (2, []), (1, [])]], ids=["lists", "tuples of lists"])
def test_ids_that_cannot_be_hashed_are_refused_with_their_row(ids):
    with pytest.raises(TypeError, match="in row 0 that cannot be an id"):
        group_rows(ids, 3)


keys = st.one_of(st.integers(-3, 3), st.text("ab", max_size=2), st.tuples(st.integers(0, 2), st.sampled_from("xy")))


@given(st.lists(keys, max_size=30))
def test_any_ids_are_grouped_as_by_a_dictionary(ids):
    assert_groups(group_rows(ids, len(ids)), ids)
