"""Sources: parts of files that are described here and loaded elsewhere."""

import gzip
import pickle

import numpy as np
import pytest

import plackett as pk
from plackett.data.sources import Source, read_queries, sources

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def queries():
    rng = np.random.default_rng(0)
    lengths = [3, 1, 5, 2, 7, 4, 1, 6]
    qid = np.repeat(np.arange(10, 10 + len(lengths)), lengths)
    return pk.Queries(
        rng.random((qid.size, 3), dtype=np.float32), rng.integers(0, 3, qid.size), qid, feature_names=["a", "b", "c"]
    )


def table_of(queries):
    columns = {"qid": queries.qid, "label": queries.y}
    return pa.table(columns | {name: queries.X[:, place] for place, name in enumerate(queries.feature_names)})


def write(queries, path, group_ends=None):
    """A file whose row groups end where they are told to."""
    table = table_of(queries)
    ends = [table.num_rows] if group_ends is None else [*group_ends, table.num_rows]
    with pq.ParquetWriter(path, table.schema) as writer:
        for start, end in zip([0, *ends], ends, strict=False):
            writer.write_table(table.slice(start, end - start))


def assert_same(one, other):
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.indptr, other.indptr)
    assert one.X.dtype == other.X.dtype


def test_one_file_is_one_source_that_travels(queries, tmp_path):
    write(queries, tmp_path / "data.parquet")
    (source,) = sources(tmp_path / "data.parquet")
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert hash(copy) == hash(source)
    assert len(pickle.dumps(source)) < 500
    assert_same(copy.load(), queries)


@pytest.mark.parametrize("pieces", [2, 3, 8, 50])
def test_pieces_cut_between_row_groups_and_never_within_a_query(queries, tmp_path, pieces):
    write(queries, tmp_path / "data.parquet", [2, 3, 4, 6, 9, 10, 11, 18, 20])  # 2, 6, 10, 20 are within
    parts = [source.load() for source in sources(tmp_path / "data.parquet", pieces=pieces)]
    assert len(parts) == min(pieces, 6)
    assert_same(pk.Queries.concat(parts), queries)


def test_pieces_over_several_files_are_at_least_so_many(queries, tmp_path):
    write(queries[:4], tmp_path / "a.parquet", queries.indptr[1:4].tolist())
    write(queries[4:], tmp_path / "b.parquet", (queries.indptr[5:8] - queries.indptr[4]).tolist())
    for pieces in range(1, 9):
        found = sources(tmp_path, pieces=pieces)
        assert len(found) >= pieces
        assert_same(pk.Queries.concat([source.load() for source in found]), queries)


def test_a_query_that_fills_the_file_is_not_cut(queries, tmp_path):
    write(queries[4], tmp_path / "one.parquet", [2, 4])
    (source,) = sources(tmp_path / "one.parquet", pieces=3)
    assert_same(source.load(), queries[4])


def test_folders_patterns_and_lists_name_files(queries, tmp_path):
    for number in range(3):
        write(queries[number], tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-9.parquet").write_bytes(b"unfinished")
    by_folder = sources(tmp_path)
    assert [source.path for source in by_folder] == [str(tmp_path / f"part-{n}.parquet") for n in range(3)]
    assert sources(str(tmp_path / "part-*.parquet")) == by_folder
    assert sources([tmp_path / "part-0.parquet", str(tmp_path / "part-[12].parquet")]) == by_folder
    assert_same(read_queries(tmp_path), queries[:3])


def test_letor_text_is_a_source_too(queries, tmp_path):
    pk.write_letor(queries, tmp_path / "data.txt")
    (tmp_path / "data.txt.gz").write_bytes(gzip.compress((tmp_path / "data.txt").read_bytes()))
    for name in ("data.txt", "data.txt.gz"):
        (source,) = sources(tmp_path / name, pieces=4, n_features=5)
        loaded = source.load()
        assert loaded.n_features == 5
        np.testing.assert_array_equal(loaded.X[:, :3], queries.X)
        assert_same(read_queries(tmp_path / name), queries)


def test_options_reach_the_reader(queries, tmp_path):
    write(queries, tmp_path / "data.parquet", [4])
    found = sources(tmp_path / "data.parquet", pieces=2, features=["c", "a"], label=None)
    assert isinstance(hash(found[0]), int)
    loaded = found[0].load()
    assert loaded.y is None
    assert loaded.feature_names == ["c", "a"]
    np.testing.assert_array_equal(loaded.X, queries.X[: loaded.n_docs, [2, 0]])


def test_a_source_tells_where_it_lies():
    assert str(Source("/data/a.parquet", (2, 5))) == "/data/a.parquet, row groups 2 to 4"
    assert str(Source("/data/a.txt")) == "/data/a.txt"


def test_what_cannot_be_read_is_said(queries, tmp_path):
    write(queries, tmp_path / "data.parquet", [4])
    pk.write_letor(queries, tmp_path / "data.txt")
    with pytest.raises(ValueError, match=r"is Parquet but .* is not"):
        sources([tmp_path / "data.parquet", tmp_path / "data.txt"])
    with pytest.raises(ValueError, match=r"data\.txt is given twice"):
        sources([tmp_path / "data.txt", str(tmp_path / "*.txt")])
    with pytest.raises(TypeError, match="n_features is not an argument of read_parquet; its arguments are label, qid"):
        sources(tmp_path / "data.parquet", n_features=3)
    with pytest.raises(TypeError, match="features is not an argument of read_letor"):
        read_queries(tmp_path / "data.txt", features=["a"])
    with pytest.raises(ValueError, match="pieces=0"):
        sources(tmp_path / "data.parquet", pieces=0)
    with pytest.raises(ValueError, match="no column 'query'"):
        sources(tmp_path / "data.parquet", pieces=2, qid="query")
    with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
        sources(str(tmp_path / "*.orc"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no files"):
        sources(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        sources(tmp_path / "absent.parquet")
    with pytest.raises(ValueError, match="no file was given"):
        sources([])
    with pytest.raises(TypeError, match="paths is a int"):
        sources(7)


@pytest.mark.parametrize("content", [b"", b"PAR", b"<html>not found</html>"])
def test_a_damaged_file_among_those_of_a_folder_is_told_as_read_parquet_tells_it(content, queries, tmp_path):
    write(queries, tmp_path / "a.parquet", [4])
    (tmp_path / "b.parquet").write_bytes(content)
    for read in (sources, read_queries, pk.read_parquet):
        with pytest.raises(pk.exceptions.DataFormatError, match=r"b\.parquet: not a Parquet file, or a damaged one"):
            read(tmp_path)


def test_a_file_whose_folder_tells_its_query_is_one_piece(tmp_path):
    for key in ("a", "b"):
        (tmp_path / f"qid={key}").mkdir()
        table = pa.table({"label": [1.0, 0.0], "bm25": [0.5, 0.1]})
        pq.write_table(table, tmp_path / f"qid={key}" / "x.parquet", row_group_size=1)
    pieces = sources(tmp_path, pieces=4)
    assert [piece.load().ids.tolist() for piece in pieces] == [["a"], ["b"]]
