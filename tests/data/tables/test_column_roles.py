"""Columns that are ids or times do not become features in silence, and queries come back from their frames."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett.distributed.inputs import _of_frame
from plackett.exceptions import DataWarning

N = 24
RNG = np.random.default_rng(0)
ROWS = {
    "qid": np.repeat([1, 2, 3], 8),
    "label": RNG.integers(0, 3, N),
    "bm25": RNG.normal(size=N),
    "hits": RNG.integers(0, 5, N),
}
MAKE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def read_with_parquet(columns, folder):
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    return pk.read_parquet(folder / "rows.parquet")


@pytest.fixture(params=[*MAKE, "parquet"])
def read(request, tmp_path):
    if request.param == "parquet":
        return lambda columns: read_with_parquet(columns, tmp_path)
    return lambda columns: pk.from_frame(MAKE[request.param](columns))


@pytest.mark.parametrize("name", ["docid", "doc_id", "document_id", "docno", "id"])
@pytest.mark.parametrize("kind", [int, str])
def test_a_column_with_the_name_of_an_id_is_the_document_id(name, kind, read):
    ids = [kind(one) for one in range(100, 100 + N)]
    data = read({name: ids, **ROWS})
    assert data.feature_names == ["bm25", "hits"]
    assert data.docid.tolist() == ids


def test_a_second_column_of_ids_is_left_out_and_named(read):
    with pytest.warns(DataWarning, match=r"column 'id' is left out: its name is that of an id\. Choose the columns"):
        data = read({"id": np.arange(N), "docid": [f"d{row}" for row in range(N)], **ROWS})
    assert data.feature_names == ["bm25", "hits"]
    assert data.docid[3] == "d3"


SUSPECTS = {
    "whole numbers that differ": (
        RNG.permutation(10 * N)[:N],
        "'extra' is a feature but holds a different whole number in every row",
    ),
    "seconds": (
        1_700_000_000 + RNG.integers(0, 5, N),
        "'extra' is a feature but holds whole numbers that look like times",
    ),
    "milliseconds": (
        1_700_000_000_000 + RNG.integers(0, 5, N),
        "'extra' is a feature but holds whole numbers that look like times",
    ),
}


@pytest.mark.parametrize(("values", "message"), SUSPECTS.values(), ids=SUSPECTS)
def test_whole_numbers_that_look_like_ids_or_times_are_named(values, message, read):
    with pytest.warns(DataWarning, match=message):
        data = read({**ROWS, "extra": values})
    assert data.feature_names == ["bm25", "hits", "extra"]
    with pytest.warns(DataWarning, match=message):
        pk.LinearRanker("squared", max_iter=1, tol=1e9).fit(
            pd.DataFrame({"bm25": ROWS["bm25"], "extra": values}), ROWS["label"], qid=ROWS["qid"]
        )
    with pytest.warns(DataWarning, match=message):
        pk.Queries(pd.DataFrame({"bm25": ROWS["bm25"], "extra": values}))


def test_times_are_left_out_and_named(read):
    times = np.arange(N).astype("datetime64[ms]")
    with pytest.warns(DataWarning, match=r"column 'shown' is left out: it holds times"):
        assert read({**ROWS, "shown": times}).feature_names == ["bm25", "hits"]


def test_columns_of_another_role_are_named_where_they_become_features(read):
    with pytest.warns(DataWarning, match="'query_id' is a feature but has the name of an id"):
        read({**ROWS, "query_id": ROWS["hits"]})
    with pytest.warns(DataWarning, match="'label' is a feature but has the name of a label"):
        pk.Queries(pd.DataFrame({"bm25": ROWS["bm25"], "label": ROWS["label"]}), ROWS["label"])


def test_ordinary_features_and_chosen_ones_pass_without_a_word(read, recwarn):
    read(ROWS)
    read({**{name: values[:8] for name, values in ROWS.items()}, "length": np.arange(8)})  # few rows say nothing
    frame = pd.DataFrame({**ROWS, "id": np.arange(N)})
    assert pk.from_frame(frame, features=["bm25", "id"], docid=None).feature_names == ["bm25", "id"]
    assert not recwarn.list


def test_a_frame_of_a_cluster_loses_ids_and_times_too():
    dask = pytest.importorskip("dask.dataframe")
    times = np.arange(N).astype("datetime64[ms]")
    frame = dask.from_pandas(pd.DataFrame({**ROWS, "doc_id": np.arange(N), "shown": times}), npartitions=1)
    with pytest.warns(DataWarning, match="column 'shown' is left out: it holds times"):
        (recipe,) = _of_frame(frame, "label", "qid", None, takes_categories=False)
    part, *others = recipe.arguments
    assert recipe.make(part.compute(), *others).queries.feature_names == ["bm25", "hits"]


# --- And back ---------------------------------------------------------------------------------------------------------


def check_same(again, data):
    assert type(again) is type(data)
    dense = data.X.toarray() if sparse.issparse(data.X) else data.X
    np.testing.assert_array_equal(again.X, dense)
    assert again.X.dtype == data.X.dtype
    np.testing.assert_array_equal(again.ids, data.ids)
    np.testing.assert_array_equal(again.qid, data.qid)
    for one, other in ((again.y, data.y), (again.docid, data.docid)):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)
    assert (again.comments is None) == (data.comments is None)
    assert data.comments is None or list(again.comments) == list(data.comments)
    assert (again.feature_names, again.first_index) == (data.feature_names, data.first_index)


@pytest.mark.parametrize("backend", MAKE)
@pytest.mark.parametrize("first_index", [0, 1])
def test_a_letor_file_comes_back_from_its_frame(backend, first_index):
    text = "2 qid:b 1:0.5 2:3 #docid = GX1 inc = 1\n0 qid:a 1:7\n1 qid:b 2:4 # é\n".encode()
    data = pk.read_letor(io.BytesIO(text), first_index=first_index)
    check_same(pk.from_frame(data.to_frame(backend)), data)
    rows = pk.read_letor(io.BytesIO(text), first_index=first_index, sparse=True)
    check_same(pk.from_frame(rows.to_frame(backend)), rows)


IDS = {
    "ints": st.integers(-(2**63), 2**63 - 1),
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
    "floats": st.floats(-(2.0**52), 2.0**52),
    "truth": st.booleans(),
    "days": st.dates(),
}


@settings(max_examples=25, deadline=None)
@given(draw=st.data())
def test_any_queries_come_back_from_their_frame(draw):
    n_docs, n_features = draw.draw(st.integers(1, 6)), draw.draw(st.integers(1, 3))
    numbers = st.floats(width=32)
    kind = draw.draw(st.sampled_from([np.float32, np.float64]))
    X = np.array(
        draw.draw(
            st.lists(st.lists(numbers, min_size=n_features, max_size=n_features), min_size=n_docs, max_size=n_docs)
        )
    )

    def column(values):
        return draw.draw(st.lists(values, min_size=n_docs, max_size=n_docs))

    ids = IDS[draw.draw(st.sampled_from(sorted(IDS)))]
    is_named, has_docid, has_labels, has_comments = (draw.draw(st.booleans()) for _ in range(4))
    data = pk.Queries(
        X.astype(kind),
        column(st.integers(0, 3)) if has_labels else None,
        column(ids),
        docid=column(ids) if has_docid else None,
        feature_names=[f"f{place}" for place in range(n_features)] if is_named else None,
        comments=column(IDS["text"]) if has_comments else None,
        first_index=draw.draw(st.sampled_from([None, 0, 1])) if not is_named else None,
    )
    check_same(pk.from_frame(data.to_frame(draw.draw(st.sampled_from(sorted(MAKE))))), data)


def test_ids_of_several_kinds_are_refused():
    ids = np.array([7, "a", 7], dtype=object)
    data = pk.Queries([[0.1], [0.2], [0.3]], qid=ids, docid=ids)
    with pytest.raises(ValueError, match=r"column 'qid' is objects: int, str. Convert it to text"):
        pk.from_frame(data.to_frame())
    for backend in ("polars", "pyarrow"):
        with pytest.raises(ValueError, match=rf'{backend} has no column type for some ids .*Use to_frame\("pandas"\)'):
            data.to_frame(backend)


def test_a_frame_without_labels_is_one_unless_another_column_may_have_been_meant():
    assert pk.from_frame(pd.DataFrame({"qid": [1, 1], "bm25": [0.5, 0.25]})).y is None
    for name in ("labels", "relevance", "Grade"):
        with pytest.raises(ValueError, match="there is no column 'label'"):
            pk.from_frame(pd.DataFrame({"qid": [1, 1], "bm25": [0.5, 0.25], name: [1, 0]}))


@pytest.mark.parametrize("name", ["id", "doc_id", "docno"])
def test_a_feature_that_would_be_read_as_document_ids_is_refused(name, tmp_path):
    queries = pk.Queries([[0.5, 1.0], [0.25, 2.0]], y=[1, 0], qid=[7, 7], feature_names=[name, "bm25"])
    with pytest.raises(ValueError, match=f"a feature is called '{name}', which would be read as the document ids"):
        queries.to_frame()
    with pytest.raises(ValueError, match=f"a feature is called '{name}', which would be read as the document ids"):
        pk.write_parquet(queries, tmp_path / "lists.parquet")


def test_a_second_label_and_ids_that_became_floats_are_named():
    rows = np.arange(20)
    columns = {"qid": rows // 10, "label": rows % 3, "bm25": rows / 7, "relevance": rows % 3, "item": rows + 5e6}
    with pytest.warns(pk.exceptions.DataWarning, match=r"'relevance' is a feature but has the name of a label.*'item'"):
        queries = pk.from_frame(pd.DataFrame(columns))
    assert queries.feature_names == ["bm25", "relevance", "item"]
