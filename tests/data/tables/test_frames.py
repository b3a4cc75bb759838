"""Data frames of three libraries give the same queries, and come back."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from plackett.data.queries import Queries
from plackett.data.tables.frames import from_frame
from plackett.exceptions import DataWarning

COLUMNS = {
    "qid": ["b", "a", "b", "c"],
    "label": [0, 2, 1, 0],
    "bm25": [0.5, 1.5, 2.5, 3.5],
    "length": [10, 20, 30, 40],
    "is_title": [True, False, True, False],
}
MAKE = {
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
}
BACKENDS = ["pandas", "polars", "pyarrow"]

to_frame = Queries.to_frame


@pytest.fixture(params=MAKE.values(), ids=MAKE.keys())
def make(request):
    return request.param


def test_columns_are_found_by_name_and_rows_keep_their_order(make):
    data = from_frame(make(COLUMNS))
    assert data.ids.tolist() == ["b", "a", "c"]
    assert data.grouped.indptr.tolist() == [0, 2, 3, 4]
    assert data.y.tolist() == [0, 2, 1, 0]
    assert data.feature_names == ["bm25", "length", "is_title"]
    assert data.X.tolist() == [[0.5, 10, 1], [1.5, 20, 0], [2.5, 30, 1], [3.5, 40, 0]]
    assert data.grouped.y.tolist() == [0, 1, 2, 0]
    assert data.X.dtype == np.float64
    assert data.docid is None


def test_features_are_taken_in_the_order_asked_for_and_other_columns_left_alone(make):
    frame = make(COLUMNS | {"title": ["w", "x", "y", "z"]})
    data = from_frame(frame, docid="title", features=["length", "bm25"])
    assert data.feature_names == ["length", "bm25"]
    assert data.X[0].tolist() == [10, 0.5]
    assert data.docid.tolist() == ["w", "x", "y", "z"]


def test_columns_may_have_other_names(make):
    frame = make({"query": [3, 1, 3], "grade": [1.5, 0.0, 2.0], "x": [1, 2, 3]})
    data = from_frame(frame, qid="query", label="grade")
    assert (data.ids.tolist(), data.y.tolist(), data.X[:, 0].tolist()) == ([3, 1], [1.5, 0.0, 2.0], [1, 2, 3])


def test_a_frame_may_have_no_labels(make):
    assert from_frame(make({"qid": [1, 2], "x": [1.0, 2.0]}), label=None).y is None


def test_nulls_in_features_and_labels_become_nan(make):
    frame = make({"qid": [1, 1, 1], "label": [1, None, 0], "x": [None, 2.5, 3.5], "n": [1, 2, None]})
    data = from_frame(frame)
    np.testing.assert_array_equal(data.X, [[np.nan, 1], [2.5, 2], [3.5, np.nan]])
    np.testing.assert_array_equal(data.y, [1, np.nan, 0])


@pytest.mark.parametrize("ids", [["a", None, "b"], [1, None, 2]], ids=["text", "ints"])
def test_a_null_id_is_refused_with_its_row(make, ids):
    with pytest.raises(ValueError, match="column 'qid' is null in row 1"):
        from_frame(make({"qid": ids, "x": [1.0, 2.0, 3.0]}), label=None)
    with pytest.raises(ValueError, match="column 'doc' is null in row 1"):
        from_frame(make({"qid": [1, 1, 1], "doc": ids, "x": [1.0, 2.0, 3.0]}), label=None, docid="doc")


FLOAT32 = {
    "pandas": lambda columns: pd.DataFrame(columns).astype({"x": np.float32, "z": np.float32}),
    "polars": lambda columns: pl.DataFrame(columns, schema_overrides={"x": pl.Float32, "z": pl.Float32}),
    "pyarrow": lambda columns: pa.table(
        columns, pa.schema([("qid", pa.int64()), ("x", pa.float32()), ("z", pa.float32())])
    ),
}


@pytest.mark.parametrize("make_float32", FLOAT32.values(), ids=FLOAT32.keys())
def test_float32_stays_when_all_features_are(make_float32):
    frame = make_float32({"qid": [1, 1], "x": [0.1, None], "z": [0.3, 0.4]})
    X = from_frame(frame, label=None).X
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, np.array([[0.1, 0.3], [np.nan, 0.4]], dtype=np.float32))
    assert from_frame(frame, label=None, features=["x", "qid"]).X.dtype == np.float64


def test_categories_and_dates_are_ids():
    frame = pd.DataFrame({"qid": pd.Categorical(["x", "y", "x"]), "x": [1.0, 2.0, 3.0]})
    assert from_frame(frame, label=None).ids.tolist() == ["x", "y"]
    days = pl.DataFrame({"qid": ["2020-01-02", "2020-01-01", "2020-01-02"], "x": [1.0, 2.0, 3.0]}).with_columns(
        pl.col("qid").str.to_date()
    )
    assert from_frame(days, label=None).grouped.indptr.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": "quid"}, r"there is no column 'quid'\. Did you mean 'qid'\?"),
        (
            {"label": "relevance"},
            r"no column 'relevance'\. Its columns are 'qid', 'label', 'bm25', 'length', 'is_title', 'title'",
        ),
        ({"features": ["bm52"]}, r"no column 'bm52'\. Did you mean 'bm25'\?"),
        ({}, r"these columns are not: 'tags' \(.*\)\. Leave them out: drop"),
        ({"features": ["tags"]}, r"these columns are not: 'tags' \(.*\)\. Convert them first"),
        ({"label": "title", "features": ["bm25"]}, "must be numbers, but column 'title' is text, such as 'w'"),
        ({"features": ["bm25", "bm25"]}, "features names 'bm25' twice"),
    ],
)
def test_a_wrong_choice_of_columns_says_what_is_wrong(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        from_frame(make(COLUMNS | {"title": ["w", "x", "y", "z"], "tags": [["a"], [], ["b"], ["c"]]}), **arguments)


@pytest.mark.parametrize("thing", [[1, 2], None, np.zeros((2, 2)), {"qid": [1]}], ids=["list", "none", "array", "dict"])
def test_what_is_no_frame_is_refused(thing):
    with pytest.raises(TypeError, match="from_frame needs a data frame, not"):
        from_frame(thing)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ids", [["b", "a", "b"], [7, 3, 7]], ids=["text", "ints"])
def test_queries_come_back_from_a_frame(backend, dtype, ids):
    X = np.array([[0.1, 1.0], [0.2, np.nan], [0.3, 3.0]], dtype=dtype)
    data = Queries(X, [0, 1, np.nan], ids, docid=["d1", "d2", "d3"], feature_names=["one", "two"])
    frame = to_frame(data, backend)
    assert type(frame).__module__.split(".")[0] == backend
    again = from_frame(frame, docid="docid")
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    assert again.X.dtype == dtype
    assert (again.ids.tolist(), again.docid.tolist()) == (data.ids.tolist(), data.docid.tolist())
    assert again.feature_names == ["one", "two"]


def test_a_frame_has_only_the_columns_that_the_queries_have():
    frame = to_frame(Queries(sparse.csr_matrix([[0.0, 2.0]]), qid=["q"]))
    assert frame.to_dict("list") == {"qid": ["q"], "column 0": [0.0], "column 1": [2.0]}


def test_a_feature_with_a_reserved_name_needs_another_name_for_the_column():
    data = Queries([[1.0]], [2], ["q"], feature_names=["label"])
    with pytest.raises(ValueError, match="a feature is called 'label'"):
        to_frame(data)
    assert list(to_frame(data, label="grade").columns) == ["qid", "grade", "label"]


def test_missing_pyarrow_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"Reading a data frame needs pyarrow.*plackett\[tables\]"):
        from_frame(pd.DataFrame(COLUMNS))


# --- Frames as databases and merges leave them ------------------------------------------------------------------------


def frame_of(**columns):
    return pd.DataFrame({"qid": [1, 1, 2], "label": [1, 0, 1], "price": [1.0, 2.0, 3.0]} | columns)


def test_the_query_ids_may_be_in_the_index():
    plain = from_frame(frame_of())
    indexed = from_frame(frame_of().set_index("qid"))
    assert (indexed.qid.tolist(), indexed.X.tolist()) == (plain.qid.tolist(), plain.X.tolist())
    named = from_frame(frame_of(docid=["a", "b", "c"]).set_index(["qid", "docid"]))
    assert named.docid.tolist() == ["a", "b", "c"]
    with pytest.warns(DataWarning, match="'label' is a feature"):
        assert from_frame(frame_of(), label=None).feature_names == ["label", "price"]


def test_document_names_in_comments_are_found():
    data = from_frame(frame_of(letor_comment=["docid = GX1 inc = 1", None, "GX3\tA title"]))
    assert data.docid.tolist() == ["GX1", "", "GX3"]
    assert data.titles == ["", "", "A title"]


def test_a_frame_without_rows_has_no_queries():
    assert len(from_frame(frame_of().head(0))) == 0


def test_names_of_columns_that_are_numbers_become_text():
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2)).assign(qid=[1, 1, 2], label=[1, 0, 1])
    assert from_frame(frame).feature_names == ["0", "1"]


def test_a_column_twice_is_an_error():
    with pytest.raises(ValueError, match="the frame has the column 'price' 2 times"):
        from_frame(pd.concat([frame_of(), frame_of()[["price"]]], axis=1))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_objects_of_databases_are_numbers_and_times(backend):
    columns = {
        "qid": [1, 1, 2],
        "label": [Decimal(1), Decimal(0), None],
        "price": [Decimal("1.25"), None, Decimal("2.50")],
        "stock": [True, None, False],
        "empty": [None, None, None],
        "day": [date(2026, 1, 1), None, date(2026, 1, 2)],
    }
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[backend]
    with pytest.warns(DataWarning, match="'day' is left out: it holds times"):
        data = from_frame(make(columns))
    assert data.feature_names == ["price", "stock", "empty"]
    np.testing.assert_array_equal(data.X, [[1.25, 1, np.nan], [np.nan, np.nan, np.nan], [2.5, 0, np.nan]])
    np.testing.assert_array_equal(data.y, [1, 0, np.nan])


def test_a_lazy_frame_with_a_column_without_values():
    frame = pl.LazyFrame({"qid": [1, 1], "label": [1, 0], "empty": [None, None]})
    assert np.isnan(from_frame(frame).X).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_ids_that_became_floats_are_integers_again(make):
    data = from_frame(
        make({"qid": [7.0, 7.0, 8.0], "docid": [1.0, 2.0, 3.0], "label": [1, 0, 1], "price": [1.0, 2, 3]})
    )
    assert data.qid.dtype.kind == data.docid.dtype.kind == "i"
    with pytest.raises(ValueError, match="'qid' holds ids as floats of 2\\^53 or more"):
        from_frame(make({"qid": [2.0**53, 7.0], "label": [1, 0], "price": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"column 'qid' is (null|NaN) in row 1"):
        from_frame(make({"qid": [7.0, float("nan")], "label": [1, 0], "price": [1.0, 2.0]}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_categories_of_numbers_do_not_depend_on_missing_values(make):
    rest = {"qid": [1, 1, 2], "label": [1, 0, 1]}
    whole = from_frame(make({**rest, "shop": [10, 7, 10]}), categorical="shop")
    floats = from_frame(make({**rest, "shop": [10.0, 7.0, float("nan")]}), categorical="shop")
    assert whole.categories[0].tolist() == floats.categories[0].tolist() == ["10", "7"]
    np.testing.assert_array_equal(floats.X, [[0], [1], [np.nan]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": "label"}, "qid and label name the same column, 'label'"),
        ({"drop": "qid"}, "drop names 'qid', which is the column of qid"),
        ({"drop": ["label"]}, "drop names 'label', which is the column of label.*pass label=None"),
        ({"categorical": "label"}, "categorical names 'label', which is the column of label"),
        ({"categorical": "price", "drop": "price"}, "drop and categorical name the same column, 'price'"),
    ],
)
def test_a_column_has_one_role(arguments, message):
    with pytest.raises(ValueError, match=message):
        from_frame(frame_of(), **arguments)


def test_the_query_ids_are_not_the_document_names_too():
    assert from_frame(frame_of().rename(columns={"qid": "id"}), qid="id").docid is None


def test_a_long_table_cannot_have_a_feature_with_the_name_of_its_ids():
    frame = pd.DataFrame(
        {"qid": [1, 1], "docid": ["a", "b"], "label": [1, 0], "name": ["qid", "qid"], "value": [1.0, 2]}
    )
    with pytest.raises(ValueError, match="a feature is called 'qid', like the column of ids or labels"):
        from_frame(frame, long=("name", "value"))


@pytest.mark.parametrize("names", [["b", "a", "c"], [10, 9, 2]], ids=["text", "numbers"])
def test_the_columns_of_a_long_table_do_not_depend_on_the_order_of_its_rows(names):
    frame = pd.DataFrame({"qid": 1, "docid": "d", "label": 1, "name": names, "value": [1.0, 2.0, 3.0]})
    for rows in (frame, frame[::-1]):
        data = from_frame(rows, long=("name", "value"))
        assert data.feature_names == list(map(str, sorted(names)))
        assert data.X.tolist() == [[value for _, value in sorted(zip(names, [1.0, 2.0, 3.0], strict=True))]]


KINDS = {"int": ([1, 10, 2], ["1", "10", "2"]), "float": ([0.5, 2.0], ["0.5", "2"]), "bool": ([False, True],) * 2}


@pytest.mark.parametrize(("names", "texts"), KINDS.values(), ids=KINDS)
def test_categories_that_are_numbers_are_categories(names, texts):
    shops = pd.Categorical.from_codes([0, 1, -1], categories=names)
    data = from_frame(pd.DataFrame({"qid": [1, 1, 1], "label": [0, 1, 2], "bm25": [0.5, 1.5, 2.5], "shop": shops}))
    assert data.categories[1].tolist() == [str(text) for text in texts]
    np.testing.assert_array_equal(data.X[:, 1], [0.0, 1.0, np.nan])
