"""Parquet through a cache: mapped, equal to what reading gives, made anew when anything changed."""

import os

import numpy as np
import pytest

import plackett as pk
from plackett.data.parquet import read as parquet_read
from plackett.data.parquet.read import read_parquet
from plackett.data.parquet.write import write_parquet
from plackett.data.sources import read_queries
from plackett.data.tables import judged_rows
from plackett.exceptions import DataWarning

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def made(text_ids=False, **more):
    rng = np.random.default_rng(0)
    lengths = [300, 1, 700, 40, 2, 1000, 1]
    qid = np.repeat([f"q{key}" for key in range(7)] if text_ids else np.arange(7), lengths)
    y = rng.integers(0, 3, qid.size).astype(float)
    y[5] = np.nan
    return pk.Queries(rng.random((qid.size, 3), dtype=np.float32), y, qid, **more)


@pytest.fixture
def builds(monkeypatch):
    """Counts how often a cache is built."""
    calls, real = [], parquet_read._build

    def counted(*arguments):
        calls.append(arguments[0])
        return real(*arguments)

    monkeypatch.setattr(parquet_read, "_build", counted)
    return calls


def caches(folder):
    return sorted(folder.glob("*.plackett-cache"))


def assert_same(one, other):
    assert one.feature_names == other.feature_names
    assert one.X.dtype == other.X.dtype
    np.testing.assert_array_equal(one.X, other.X)
    for name in ("y", "ids", "_indptr", "docid"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right)
            assert left.dtype.kind == right.dtype.kind


@pytest.mark.parametrize(
    "queries",
    [
        made(feature_names=["a", "b", "c"]),
        made(text_ids=True, docid=[f"dö{row}" * (row % 4) for row in range(2044)]),
        made(docid=np.arange(2044)),
    ],
    ids=["plain", "text", "numbers"],
)
@pytest.mark.parametrize("partitions", [1, 3])
def test_mapped_rows_are_those_in_memory(tmp_path, queries, partitions, builds, monkeypatch):
    monkeypatch.setattr(judged_rows, "BATCH_BYTES", 1)  # queries go over several batches
    write_parquet(queries, tmp_path / "data", partitions=partitions, rows_per_group=100)
    for _ in range(2):
        mapped = read_parquet(tmp_path / "data", cache=True)
        assert isinstance(mapped.X.base, np.memmap)
        assert_same(mapped, queries)
        assert_same(mapped[2:5], queries[2:5])
        assert_same(mapped[[5, 0]], queries[[5, 0]])
    assert len(builds) == 1
    assert_same(read_parquet(tmp_path / "data"), queries)  # the cache lies beside the files and is none of them
    assert_same(read_queries(tmp_path / "data", cache=tmp_path / "elsewhere"), queries)
    assert len(caches(tmp_path / "elsewhere")) == 1


def test_without_labels_and_with_other_columns_are_other_caches(tmp_path, builds):
    write_parquet(made(feature_names=["a", "b", "c"]), tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet", label=None, features=["c", "b", "a"], cache=True).y is None
    two = read_parquet(tmp_path / "data.parquet", features=("c", "a"), cache=True)
    assert two.feature_names == ["c", "a"]
    np.testing.assert_array_equal(two.X, made().X[:, [2, 0]])
    assert len(builds) == len(caches(tmp_path)) == 2
    read_parquet(tmp_path / "data.parquet", features=["c", "a"], cache=True)
    assert len(builds) == 2


def test_a_file_without_labels_is_cached_by_the_default_of_label(tmp_path, builds):
    write_parquet(pk.Queries(made().X, qid=made().qid), tmp_path / "data.parquet")
    for _ in range(2):
        assert read_parquet(tmp_path / "data.parquet", cache=True).y is None
    assert len(builds) == 1


def test_what_changed_is_read_again(tmp_path, builds):
    write_parquet(made(), tmp_path / "data.parquet")
    read_parquet(tmp_path / "data.parquet", cache=True)
    write_parquet(made()[:3], tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet", cache=True).n_queries == 3
    (cache,) = caches(tmp_path)
    content = cache.read_bytes()
    cache.write_bytes(content[: len(content) // 2])
    with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
        assert_same(read_parquet(tmp_path / "data.parquet", cache=True), made()[:3])
    assert len(builds) == 3


def test_a_torn_query_is_named_with_the_way_out(tmp_path):
    table = pa.table({"qid": [7, 8, 7, 9], "label": [0, 1, 0, 1], "x": [0.1, 0.2, 0.3, 0.4]})
    pq.write_table(table, tmp_path / "torn.parquet")
    with pytest.raises(ValueError, match=r"the rows of query 7 are not adjacent in .*torn.parquet.*write_parquet"):
        read_parquet(tmp_path / "torn.parquet", cache=True)
    write_parquet(read_parquet(tmp_path / "torn.parquet"), tmp_path / "whole.parquet")
    mended = read_parquet(tmp_path / "whole.parquet", cache=True)
    assert mended.ids.tolist() == [7, 8, 9]
    assert mended.X[:, 0].tolist() == [0.1, 0.3, 0.2, 0.4]
    assert len(caches(tmp_path)) == 1


def test_what_cannot_be_mapped_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    write_parquet(made(), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match="either cache or row_groups"):
        read_parquet(tmp_path / "data.parquet", cache=True, row_groups=(0, 1))
    table = pa.table({"qid": [1, 1], "label": [0.0, np.inf], "x": [0.1, 0.2]})
    pq.write_table(table, tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match="column 'label' has an infinite label in row 1"):
        read_parquet(tmp_path / "bad.parquet", cache=True)
    days = pa.array([0, 1], pa.date32())
    pq.write_table(pa.table({"qid": [1, 1], "label": [0, 1], "docid": days, "x": [0.1, 0.2]}), tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match="column 'docid' is neither text nor whole numbers"):
        read_parquet(tmp_path / "bad.parquet", cache=True)

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=r"cache could not be written \(No space left"):
            read_parquet(tmp_path / "data.parquet", cache=True)
    with pytest.raises(OSError, match="cache could not be written"):
        read_parquet(tmp_path / "data.parquet", cache=tmp_path / "data.parquet")  # a file where a folder is needed
    assert sorted(os.listdir(tmp_path)) == ["bad.parquet", "data.parquet"]


def test_files_that_change_meanwhile_leave_no_cache(tmp_path, monkeypatch):
    write_parquet(made(), tmp_path / "data.parquet")
    real = judged_rows.JudgedRows.batches

    def read_and_change(self):
        yield from real(self)
        write_parquet(made()[:2], tmp_path / "data.parquet")

    monkeypatch.setattr(judged_rows.JudgedRows, "batches", read_and_change)
    with pytest.raises(RuntimeError, match="changed while it was read"):
        read_parquet(tmp_path / "data.parquet", cache=True)
    assert caches(tmp_path) == []
