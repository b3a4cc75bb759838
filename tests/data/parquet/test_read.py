"""Parquet: what is written comes back, no row group splits a query, odd files are refused in words."""

import decimal
import errno
import itertools
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett.data.parquet.read import read_parquet
from plackett.data.parquet.write import write_parquet
from plackett.data.tables import judged_rows
from plackett.exceptions import DataFormatError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def made(lengths=(3, 1, 5, 2, 7), n_features=3, dtype=np.float32, text_ids=False, **more):
    rng = np.random.default_rng(0)
    ids = np.arange(10, 10 + len(lengths))
    qid = np.repeat(ids.astype(str) if text_ids else ids, lengths)
    return pk.Queries(rng.random((qid.size, n_features)).astype(dtype), rng.integers(0, 3, qid.size), qid, **more)


def assert_same(one, other):
    X, Z = (queries.X.toarray() if sparse.issparse(queries.X) else queries.X for queries in (one, other))
    np.testing.assert_array_equal(X, Z)
    assert X.dtype == Z.dtype
    assert one.feature_names == other.feature_names
    for name in ("y", "ids", "_indptr", "docid"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right)
            assert left.dtype.kind == right.dtype.kind


def groups_of(path):
    """The query ids of each row group."""
    file = pq.ParquetFile(path)
    return [file.read_row_group(group, columns=["qid"]).column(0).to_pylist() for group in range(file.num_row_groups)]


def assert_no_query_is_split(groups):
    seen = [set(group) for group in groups]
    assert not any(one & other for one, other in itertools.combinations(seen, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text_ids", [False, True])
@pytest.mark.parametrize("names", [None, ["a", "b", "c"]])
def test_what_is_written_comes_back(tmp_path, dtype, text_ids, names):
    docid = [f"GX{row} ä" for row in range(18)]
    queries = made(dtype=dtype, text_ids=text_ids, feature_names=names, docid=docid)
    write_parquet(queries, tmp_path / "data.parquet")
    assert_same(read_parquet(tmp_path / "data.parquet"), queries)


def test_missing_labels_and_features_come_back_too(tmp_path):
    queries = pk.Queries([[np.nan, 1.0], [2.0, np.inf]], y=[np.nan, 1.0], qid=[1, 1], docid=[7, 8])
    write_parquet(queries, tmp_path / "data.parquet")
    assert pq.read_table(tmp_path / "data.parquet").column("label").null_count == 1
    assert_same(read_parquet(tmp_path / "data.parquet"), queries)
    without = pk.Queries(queries.X, None, [1, 1])
    write_parquet(without, tmp_path / "data.parquet")
    assert_same(read_parquet(tmp_path / "data.parquet", label=None), without)


def test_sparse_features_are_written_out(tmp_path):
    X = sparse.random(30, 6, 0.2, format="csr", random_state=0, dtype=np.float32)
    queries = pk.Queries(X, np.ones(30), np.arange(30) // 4)
    write_parquet(queries, tmp_path / "data.parquet", rows_per_group=5)
    assert_same(read_parquet(tmp_path / "data.parquet"), queries)


def test_document_names_of_comments_are_kept(tmp_path):
    queries = made(comments=[f"docid = GX{row} inc = 1" for row in range(18)])
    write_parquet(queries, tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet").docid.tolist() == [f"GX{row}" for row in range(18)]


@pytest.mark.parametrize("rows_per_group", [1, 2, 4, 6, 100])
@pytest.mark.parametrize("partitions", [1, 2, 3, 5, 9])
def test_neither_groups_nor_files_split_a_query(tmp_path, rows_per_group, partitions):
    queries = made(lengths=[3, 1, 5, 2, 7, 1, 1, 9, 2, 4])
    write_parquet(queries, tmp_path / "data", partitions=partitions, rows_per_group=rows_per_group)
    paths = sorted((tmp_path / "data").glob("*.parquet")) if partitions > 1 else [tmp_path / "data"]
    assert len(paths) <= partitions
    assert len(paths) > partitions // 2
    groups = [group for path in paths for group in groups_of(path)]
    assert_no_query_is_split(groups)
    assert max(map(len, groups)) < rows_per_group + 9  # a group ends with the query that fills it
    assert_same(read_parquet(tmp_path / "data"), queries)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(st.integers(-3, 6), min_size=1, max_size=60),
    is_text=st.booleans(),
    partitions=st.integers(1, 4),
    rows_per_group=st.integers(1, 20),
    cuts=st.lists(st.integers(0, 60), max_size=3),
)
def test_files_of_others_are_read_and_written_in_order(
    tmp_path_factory, ids, is_text, partitions, rows_per_group, cuts
):
    folder = tmp_path_factory.mktemp("arrange")
    qid = [f"q{key}" for key in ids] if is_text else ids
    columns = {"x": np.arange(len(ids), dtype=np.float32), "label": np.arange(len(ids)) % 3, "qid": qid}
    table = pa.table(columns | {"docid": [f"d{row}" * (row % 3) for row in range(len(ids))]})
    edges = sorted({0, *(cut for cut in cuts if cut < len(ids)), len(ids)})
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        pq.write_table(table.slice(start, stop - start), folder / f"in-{number}.parquet", row_group_size=7)
    expected = pk.Queries(columns["x"][:, None], columns["label"], qid, docid=table.column("docid").to_pylist())
    expected.feature_names = ["x"]
    read = read_parquet(str(folder / "in-*.parquet"))
    assert_same(read, expected)
    write_parquet(read, folder / "out", partitions=partitions, rows_per_group=rows_per_group)
    arranged = read_parquet(folder / "out")
    assert arranged.row_order is None
    assert_same(arranged, expected.grouped)
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("in-")) == ["out"]
    paths = sorted((folder / "out").glob("*.parquet")) if partitions > 1 else [folder / "out"]
    assert_no_query_is_split([group for path in paths for group in groups_of(path)])


def test_small_batches_give_the_same(tmp_path, monkeypatch):
    queries = made(lengths=[300, 1, 700, 40, 2, 1000])
    shuffled = np.random.default_rng(1).permutation(queries.n_docs)
    torn = pk.Queries(queries.X, queries.y, queries.qid)
    table = pq.read_table(_written(torn, tmp_path / "whole.parquet")).take(shuffled)
    pq.write_table(table, tmp_path / "torn.parquet", row_group_size=333)
    monkeypatch.setattr(judged_rows, "BATCH_BYTES", 1)
    assert_same(read_parquet(tmp_path / "whole.parquet"), queries)
    read = read_parquet(tmp_path / "torn.parquet")
    expected = pk.Queries(queries.X[shuffled], queries.y[shuffled], queries.qid[shuffled])
    assert_same(read, expected)
    np.testing.assert_array_equal(read.row_order, expected.row_order)


def _written(queries, path):
    write_parquet(queries, path)
    return path


def test_columns_are_chosen_by_name_and_numbers_of_all_kinds_are_read(tmp_path):
    table = pa.table(
        {
            "query": pa.array(["a", "a", "b"]).dictionary_encode(),
            "grade": pa.array([1, None, 0], pa.int8()),
            "whole": pa.array([1, None, 3], pa.int64()),
            "half": pa.array(np.array([0.5, 1.5, 2.5], np.float16)),
            "truth": pa.array([True, None, False]),
            "money": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("3.50")]),
            "name": pa.array(["x", "y", "z"], pa.large_string()),
            "__index_level_0__": pa.array([5, 6, 7]),
        }
    )
    pq.write_table(table, tmp_path / "data.parquet")
    data = read_parquet(tmp_path / "data.parquet", label="grade", qid="query", docid="name")
    assert data.feature_names == ["whole", "half", "truth", "money"]
    expected = [[1, 0.5, 1, 1.25], [np.nan, 1.5, np.nan, np.nan], [3, 2.5, 0, 3.5]]
    np.testing.assert_array_equal(data.X, np.array(expected))
    np.testing.assert_array_equal(data.y, [1, np.nan, 0])
    assert data.ids.tolist() == ["a", "b"]
    assert data.docid.tolist() == ["x", "y", "z"]
    two = read_parquet(tmp_path / "data.parquet", label="grade", qid="query", features=["truth", "whole"])
    np.testing.assert_array_equal(two.X, np.array(expected)[:, [2, 0]])
    assert two.docid is None


def test_a_frame_of_pandas_is_read_as_from_frame_reads_it(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"qid": ["b", "a", "b"], "label": [0, 2, 1], "bm25": [0.2, 0.9, 0.4]}, index=[4, 5, 7])
    frame.to_parquet(tmp_path / "frame.parquet")
    assert_same(read_parquet(tmp_path / "frame.parquet"), pk.from_frame(frame))


def test_wrong_columns_are_named(tmp_path):
    good = {"qid": [1, 1], "label": [0, 1], "bm25": [0.5, 0.1]}

    def read(columns, **options):
        pq.write_table(pa.table(columns), tmp_path / "data.parquet")
        return read_parquet(tmp_path / "data.parquet", **options)

    read(good)
    with pytest.raises(ValueError, match=r"has no column 'qid'. Its columns are 'label', 'bm25'."):
        read({"label": [1], "bm25": [0.5]})
    with pytest.raises(ValueError, match=r"has no column 'label'. .*; without labels, label=None."):
        read({"qid": [1], "bm25": [0.5], "grade": [1]})
    assert read({"qid": [1], "bm25": [0.5]}).y is None
    with pytest.raises(ValueError, match=r"has no column 'bm52'. Did you mean 'bm25'\?"):
        read(good, features=["bm52"])
    with pytest.raises(ValueError, match="features names 'bm25' twice"):
        read(good, features=["bm25", "bm25"])
    with pytest.raises(TypeError, match="features is a single string"):
        read(good, features="bm25")
    with pytest.raises(ValueError, match=r"features must be numbers, text or categories.*: 'list' \(list.*drop="):
        read(good | {"url": ["a", "b"], "list": [[1.0], [2.0]]})
    with pytest.raises(
        ValueError, match="labels and scores must be numbers, but column 'label' is text, such as 'bad'"
    ):
        read(good | {"label": ["bad", "good"]})
    assert read(good | {"qid": [1.0, 1.0]}).ids.tolist() == [1]
    with pytest.raises(
        ValueError, match=r"ids must be whole numbers or text, but column 'qid' is list.* Convert it to text"
    ):
        read(good | {"qid": [[1], [1]]})
    with pytest.raises(ValueError, match=r"data.parquet: column 'qid' is null in row 1. Every row needs an id."):
        read(good | {"qid": [1, None]})
    with pytest.raises(ValueError, match="column 'docid' is null in row 0"):
        read(good | {"docid": [None, "b"]})
    with pytest.raises(ValueError, match=r"data.parquet: column 'label' has an infinite label in row 1"):
        read(good | {"label": [1.0, np.inf]})
    with pytest.raises(ValueError, match=r"data.parquet: an id is 9223372036854775808, larger than .* as text"):
        read(good | {"qid": pa.array([2**63, 1], pa.uint64())})
    with pytest.raises(ValueError, match="has 1 row groups; row groups 0 to 1 do not exist"):
        read(good, row_groups=(0, 2))
    with pytest.raises(DataFormatError, match="no rows found"):
        read(pa.table(good).slice(0, 0))
    twice = pa.Table.from_arrays([pa.array([1])] * 3, names=["qid", "label", "qid"])
    with pytest.raises(ValueError, match="has 2 columns named 'qid'"):
        read(twice)


def test_files_that_do_not_go_together_are_refused(tmp_path):
    good = {"qid": [1, 1], "label": [0, 1], "bm25": np.float32([0.5, 0.1])}
    pq.write_table(pa.table(good), tmp_path / "0.parquet")

    def read(columns):
        pq.write_table(pa.table(columns), tmp_path / "1.parquet")
        return read_parquet(tmp_path)

    assert read(good | {"qid": [2, 2]}).n_queries == 2
    assert read(good).n_queries == 1  # a query may go on in the next file
    assert read(good | {"bm25": [0.5, 0.1]}).X.dtype == np.float64
    with pytest.raises(ValueError, match=r"1.parquet has no column 'bm25'"):
        read({"qid": [2], "label": [1]})
    with pytest.raises(ValueError, match=r"1.parquet has a column 'tfidf' that .*0.parquet does not have"):
        read(good | {"tfidf": [0.1, 0.2]})
    with pytest.raises(ValueError, match=r"'qid' is text, but in .*0.parquet it holds whole numbers"):
        read(good | {"qid": ["a", "b"]})
    with pytest.raises(ValueError, match="row_groups applies to a single file"):
        read_parquet(tmp_path, row_groups=(0, 1))


def test_damaged_files_are_refused_in_words(tmp_path):
    path = tmp_path / "data.parquet"
    whole = made(lengths=[50] * 20)
    write_parquet(whole, path, rows_per_group=200, compression="snappy")
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [b"", b"PAR1", b"PAR1" * 10, content[:100], content[: len(content) // 2], content[:-1], content[4:]]
    for _ in range(150):
        copy = bytearray(content)
        for place in rng.integers(0, len(copy), 1 + rng.integers(8)):
            copy[place] = rng.integers(256)
        damaged.append(bytes(copy))
    outcomes = []
    for one in damaged:
        path.write_bytes(one)
        try:
            outcomes.append(repr(read_parquet(path)))
        except ValueError as error:  # DataFormatError is one; anything else fails the test
            outcomes.append(str(error))
    told = [outcome for outcome in outcomes if not outcome.startswith("Queries(")]
    assert all(str(path) in one or "column" in one for one in told)
    assert len(told) > 0.8 * len(damaged)  # pages have a checksum; what is said about them has none
    assert all(outcome in (str(whole), *told) for outcome in outcomes)


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path):
    queries = made()
    with pytest.raises(ValueError, match="partitions=0"):
        write_parquet(queries, tmp_path / "x.parquet", partitions=0)
    with pytest.raises(ValueError, match="compression='zip' is not known"):
        write_parquet(queries, tmp_path / "x.parquet", compression="zip")
    with pytest.raises(ValueError, match="Parquet is compressed internally"):
        write_parquet(queries, tmp_path / "x.parquet.gz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_parquet(queries, tmp_path)
    with pytest.raises(ValueError, match="a feature is called 'label'"):
        write_parquet(made(feature_names=["a", "label", "c"]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"query ids must be whole numbers or text in Parquet, but one is 0\.5"):
        write_parquet(pk.Queries([[1.0]], [1], [0.5]), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"some query ids are text \('a'\) and others are not \(1\)"):
        write_parquet(pk.Queries([[1.0], [2.0]], [1, 0], [1, "a"]), tmp_path / "x.parquet")
    with pytest.raises(FileNotFoundError, match=r"there is no folder to write x.parquet to: .*absent'$"):
        write_parquet(queries, tmp_path / "absent" / "x.parquet")
    with pytest.raises(ValueError, match="not text"):
        write_parquet(made(docid=["\udcff"] * 18), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="nothing to write"):
        write_parquet(queries[:0], tmp_path / "x.parquet")
    with pytest.raises(TypeError, match="data is a PosixPath; expected Queries"):
        write_parquet(tmp_path / "lists.parquet", tmp_path / "x.parquet")
    assert os.listdir(tmp_path) == []
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(FileExistsError, match="is not an empty folder"):
        write_parquet(queries, tmp_path / "full", partitions=2)


@pytest.mark.parametrize("partitions", [1, 3])
def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch, partitions):
    target = tmp_path / "data"
    if partitions == 1:
        target.write_bytes(b"before")
    real, calls = pq.ParquetWriter.write_table, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_parquet(made(lengths=[3] * 20), target, partitions=partitions, rows_per_group=5)
    assert [path.name for path in tmp_path.iterdir()] == (["data"] if partitions == 1 else [])
    assert partitions > 1 or target.read_bytes() == b"before"


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), OSError("9 requested and 0 written")]
)
def test_a_full_disk_is_told_with_the_name_of_the_target(tmp_path, monkeypatch, partitions, error):
    def full(self, *args, **kwargs):
        raise error

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match=r"(No space|written \(9 requested).*data'$") as caught:
        write_parquet(made(), tmp_path / "data", partitions=partitions)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []


def test_a_folder_that_another_process_fills_in_the_meantime_is_kept(tmp_path, monkeypatch):
    target, real = tmp_path / "data", pq.ParquetWriter.write_table

    def overtaken(self, *args, **kwargs):
        monkeypatch.setattr(pq.ParquetWriter, "write_table", real)
        write_parquet(made()[:3], target, partitions=2)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", overtaken)
    with pytest.raises(FileExistsError, match=r"another process wrote to it.*files were kept\..*data'$"):
        write_parquet(made(), target, partitions=2)
    assert os.listdir(tmp_path) == ["data"]
    assert_same(read_parquet(target), made()[:3])


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "empty").mkdir()
    write_parquet(made(), tmp_path / "empty", partitions=2)
    assert sorted(os.listdir(tmp_path / "empty")) == ["part-00000.parquet", "part-00001.parquet"]
    assert_same(read_parquet(tmp_path / "empty"), made())


# --- Folders by the values of a column --------------------------------------------------------------------------------


@pytest.fixture
def by_day(tmp_path):
    """Queries of two days as Spark and others lay them out, with what else such folders hold."""
    queries = made(feature_names=["a", "b", "c"])
    for day, part in (("day=0", queries[:2]), ("day=1", queries[2:])):
        (tmp_path / "lists" / day).mkdir(parents=True)
        write_parquet(part, tmp_path / "lists" / day / "part-0.snappy.parquet")
    (tmp_path / "lists" / "_SUCCESS").touch()
    for folder in ("_temporary", ".tmp", "day=0/_x=1"):
        (tmp_path / "lists" / folder).mkdir()
        (tmp_path / "lists" / folder / "part-1.parquet").write_bytes(b"unfinished")
    return tmp_path / "lists", queries


def test_files_in_folders_by_the_values_of_a_column_are_read_without_it(by_day):
    folder, queries = by_day
    assert_same(read_parquet(folder), queries)
    assert_same(read_parquet(folder, cache=True), queries)
    assert_same(read_parquet(folder / "day=1"), queries[2:])
    dated = read_parquet(folder, features=["a", "day"])
    assert dated.feature_names == ["a", "day"]
    np.testing.assert_array_equal(dated.X[:, 1], np.repeat([0, 1], [queries[:2].n_docs, queries[2:].n_docs]))


def test_folders_that_are_not_called_by_a_column_may_hold_other_sets(by_day, tmp_path):
    folder, queries = by_day
    (tmp_path / "sets").mkdir()
    folder.rename(tmp_path / "sets" / "train")
    with pytest.raises(FileNotFoundError, match=r"has no files \*.parquet; pass a subfolder that has them \(.*train"):
        read_parquet(tmp_path / "sets")
    assert_same(read_parquet(tmp_path / "sets" / "*"), queries)


@pytest.mark.parametrize("keys", [[7, 30, -4], ["7", "007", "a b/c"]])
def test_query_ids_may_be_told_by_folders_alone(tmp_path, keys):
    rows = {"qid": np.repeat(keys, 2), "label": [1, 0, 2, 0, 0, 3], "bm25": np.arange(6.0)}
    pq.write_to_dataset(pa.table(rows), tmp_path / "lists", partition_cols=["qid"])
    read = read_parquet(tmp_path / "lists")
    assert sorted(read.ids.tolist()) == sorted(keys)
    for place, key in enumerate(keys):
        np.testing.assert_array_equal(read.subset([key]).X[:, 0], [2 * place, 2 * place + 1])
    assert_same(read_parquet(tmp_path / "lists", cache=True), read)
    write_parquet(read, tmp_path / "one.parquet")
    assert_same(read_parquet(tmp_path / "one.parquet"), read.grouped)


def test_a_cache_knows_when_the_folder_that_told_the_query_was_renamed(tmp_path):
    (tmp_path / "qid=5").mkdir()
    pq.write_table(pa.table({"label": [1.0], "bm25": [0.5]}), tmp_path / "qid=5" / "x.parquet")
    assert read_parquet(tmp_path / "qid=5", cache=True).ids.tolist() == [5]
    (tmp_path / "qid=5").rename(tmp_path / "qid=6")
    assert read_parquet(tmp_path / "qid=6", cache=True).ids.tolist() == [6]
