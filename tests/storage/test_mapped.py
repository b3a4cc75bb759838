"""Rows mapped from a file: what is made of them is mapped too, equals what memory gives, and travels by its place."""

import errno
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, RobustScaler

import plackett as pk
from plackett.data import query_blocks
from plackett.evaluation.store.keys import data_fingerprint
from plackett.storage import mapped
from plackett.storage.mapped import Spill, by_reference, is_mapped, stack_rows, take_rows


@pytest.fixture(autouse=True)
def small_limits(monkeypatch, tmp_path):
    """Everything counts as large, and blocks are small, so that little data show what much would do."""
    monkeypatch.setattr(mapped, "SPILL_ABOVE", 0)
    for module in (mapped, query_blocks):
        monkeypatch.setattr(module, "BLOCK_BYTES", 4_000)
    monkeypatch.setattr(mapped, "_SENT_BY_REFERENCE_ABOVE", 0)
    monkeypatch.delenv("PLACKETT_CACHE", raising=False)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A LETOR file of 60 queries, with comments."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, 60)
    qid = np.repeat(np.arange(60), lengths)
    X = rng.normal(size=(qid.size, 7)).astype(np.float32)
    y = rng.integers(0, 4, qid.size)
    names = [f"docid = GX{row} inc = 1" for row in range(qid.size)]
    path = tmp_path_factory.mktemp("mapped") / "data.txt"
    pk.write_letor(pk.Queries(X, y, qid, comments=names), path)
    return path


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def is_csr(request):
    return request.param


@pytest.fixture
def both(text, is_csr):
    """The same queries in memory and mapped from a cache."""
    pk.read_letor(text, sparse=is_csr, cache=True)
    in_file = pk.read_letor(text, sparse=is_csr, cache=True)
    assert is_mapped(in_file.X)
    return pk.read_letor(text, sparse=is_csr), in_file


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def assert_same(one, other):
    np.testing.assert_array_equal(dense(one.X), dense(other.X))
    assert one.X.dtype == other.X.dtype
    for name in ("y", "ids", "_indptr", "docid"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.comments == other.comments


def test_chosen_queries_are_mapped_again_and_the_same(both):
    in_memory, in_file = both
    rng = np.random.default_rng(1)
    for which in (rng.random(60) < 0.5, rng.permutation(60), [3, 50], slice(None, None, -2)):
        chosen = in_file[which]
        assert is_mapped(chosen.X)
        assert not is_mapped(in_memory[which].X)
        assert_same(chosen, in_memory[which])
        assert_same(chosen[::3], in_memory[which][::3])  # chosen from what was chosen
    assert_same(in_file[np.zeros(60, dtype=bool)], in_memory[np.zeros(60, dtype=bool)])


def test_queries_that_follow_each_other_share_the_map(both):
    in_memory, in_file = both
    mask = np.zeros(60, dtype=bool)
    mask[10:20] = True
    assert_same(in_file[mask], in_memory[10:20])
    if not sparse.issparse(in_file.X):
        assert np.shares_memory(in_file[mask].X, in_file.X)


def test_joined_queries_are_mapped_again_and_the_same(both):
    in_memory, in_file = both
    for parts in ([slice(0, 20), slice(40, 60), slice(20, 40)], [slice(0, 1), slice(1, 60, 3)]):
        joined = pk.Queries.concat([in_file[part] for part in parts])
        assert is_mapped(joined.X)
        assert_same(joined, pk.Queries.concat([in_memory[part] for part in parts]))
    mixed = pk.Queries.concat([in_file[:30], in_memory[30:]])
    assert_same(mixed, in_memory)


def test_joining_sparse_and_dense_rows_and_types_gives_what_memory_gives(tmp_path):
    X = np.random.default_rng(0).random((500, 3), dtype=np.float32)
    np.save(tmp_path / "X.npy", X)
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert stack_rows([rows, X.astype(np.float64)]).dtype == np.float64
    np.testing.assert_array_equal(dense(stack_rows([rows, sparse.csr_matrix(X)])), np.concatenate([X, X]))


def test_rows_out_of_order_are_grouped_in_a_file(tmp_path):
    X = np.random.default_rng(0).random((900, 4))
    np.save(tmp_path / "X.npy", X)
    qid = np.random.default_rng(1).integers(0, 20, 900)
    in_file = pk.Queries(np.load(tmp_path / "X.npy", mmap_mode="r"), np.ones(900), qid)
    assert is_mapped(in_file.X)
    np.testing.assert_array_equal(in_file.X, pk.Queries(X, np.ones(900), qid).X)


@pytest.mark.parametrize(
    "normalize",
    [
        None, "query-minmax", "query-zscore", "query-unit", "query-rank", "minmax", "zscore", "quantile",
        RobustScaler(), FunctionTransformer(np.abs),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:n_quantiles")
def test_fits_and_scores_are_the_same_to_the_last_bit(text, normalize):
    pk.read_letor(text, cache=True)
    in_memory, in_file = pk.read_letor(text), pk.read_letor(text, cache=True)
    fits = [
        pk.LinearRanker(normalize=normalize, max_iter=30).fit(data, eval_set=data[::2]) for data in (in_memory, in_file)
    ]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert fits[0].history_ == fits[1].history_
    np.testing.assert_array_equal(fits[0].predict(in_memory), fits[1].predict(in_file))
    if normalize is not None and not isinstance(normalize, FunctionTransformer):
        assert is_mapped(fits[1]._normalized(in_file).X)


def test_sums_by_parts_are_those_of_scikit_learn(text):
    data = pk.read_letor(text)  # several blocks, in memory
    scaled = pk.LinearRanker(normalize="minmax", max_iter=1, tol=1e9).fit(data).normalizer_
    np.testing.assert_array_equal(scaled.data_min_, MinMaxScaler().fit(data.X).data_min_)
    scaled = pk.LinearRanker(normalize="zscore", max_iter=1, tol=1e9).fit(data).normalizer_
    np.testing.assert_allclose(scaled.mean_, data.X.mean(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(scaled.var_, data.X.var(axis=0, dtype=np.float64), rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_comparisons_are_the_same(text, n_jobs):
    pk.read_letor(text, cache=True)
    rankers = {"a": pk.LinearRanker(max_iter=20), "b": pk.LinearRanker(loss="listnet", normalize="zscore", max_iter=20)}
    options = {"cv": 2, "metrics": ["ndcg@5", "map"], "n_jobs": n_jobs}
    tables = [pk.compare(rankers, data, **options) for data in (pk.read_letor(text), pk.read_letor(text, cache=True))]
    for name in rankers:
        np.testing.assert_array_equal(tables[0].tables[name].values, tables[1].tables[name].values)


def test_fingerprints_do_not_tell_files_from_memory(both):
    in_memory, in_file = both
    assert data_fingerprint(in_memory) == data_fingerprint(in_file)
    assert data_fingerprint(in_memory) != data_fingerprint(in_memory[1:])
    renamed = pk.Queries(in_memory.X, in_memory.y, in_memory.qid, docid=in_memory.docid)
    assert data_fingerprint(renamed) == data_fingerprint(in_memory)
    renamed.document_ids = renamed.document_ids[::-1]
    assert data_fingerprint(renamed) != data_fingerprint(in_memory)


# --- Files without a name ---------------------------------------------------------------------------------------------


def test_nothing_is_left_in_the_folder(text, monkeypatch, tmp_path):
    pk.read_letor(text, cache=True)
    data = pk.read_letor(text, cache=True)
    before = sorted(os.listdir(text.parent))
    chosen = data[::2]
    assert sorted(os.listdir(text.parent)) == before
    monkeypatch.setenv("PLACKETT_CACHE", str(tmp_path))
    again = chosen[::2]
    assert mapped.folder_of(again.X) == str(tmp_path)
    assert mapped.folder_of(chosen.X) == str(text.parent)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told_with_the_way_out(text, monkeypatch):
    pk.read_letor(text, cache=True)
    data = pk.read_letor(text, cache=True)

    class Full:
        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr(mapped.tempfile, "TemporaryFile", lambda dir: Full())
    with pytest.raises(OSError, match=r"no space for rows.*No space left.*PLACKETT_CACHE"):
        data[::2]


def test_where_nobody_may_write_temporary_files_go_elsewhere(tmp_path, monkeypatch):
    spill = Spill(np.float64, str(tmp_path / "absent"))
    spill.append(np.arange(6.0))
    np.testing.assert_array_equal(spill.finish((2, 3)), np.arange(6.0).reshape(2, 3))
    monkeypatch.setenv("PLACKETT_CACHE", str(tmp_path / "absent" / "as" / "yet"))
    Spill(np.float64)
    assert (tmp_path / "absent" / "as" / "yet").is_dir()
    (tmp_path / "a file").touch()
    monkeypatch.setenv("PLACKETT_CACHE", str(tmp_path / "a file"))
    with pytest.raises(OSError, match=r"the folder PLACKETT_CACHE cannot be written to .*a file"):
        Spill(np.float64)
    monkeypatch.delenv("PLACKETT_CACHE")
    assert Spill(np.float32).finish((0, 3)).shape == (0, 3)


def test_writing_to_chosen_rows_changes_no_other(both):
    _, in_file = both
    chosen, before = in_file[::2], dense(in_file.X).copy()
    if sparse.issparse(chosen.X):
        chosen.X.data[:] = 7
    else:
        chosen.X[:] = 7
    np.testing.assert_array_equal(dense(in_file.X), before)


# --- On the way to another process ------------------------------------------------------------------------------------


def packed(value):
    return pickle.dumps(by_reference(value))


unpacked = pickle.loads


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="this system has no /proc")
def test_mapped_rows_travel_by_their_place(both):
    _, in_file = both
    for queries in (in_file, in_file[5:40], in_file[::2], in_file[::2][3:7]):
        content = packed(queries)
        assert_same(unpacked(content), queries)
        assert is_mapped(unpacked(content).X)
        assert is_mapped(unpacked(packed(unpacked(content))).X)
    assert len(packed(in_file.X)) < 3_000
    np.testing.assert_array_equal(dense(pickle.loads(pickle.dumps(in_file)).X), dense(in_file.X))  # a plain copy
    assert not is_mapped(pickle.loads(pickle.dumps(in_file)).X)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="this system has no /proc")
def test_another_process_finds_the_rows_while_this_one_lives(both):
    _, in_file = both
    chosen = in_file[::2]
    code = (
        "import sys; import pickle; from plackett.storage.mapped import is_mapped\n"
        "queries = pickle.loads(sys.stdin.buffer.read())\n"
        "assert is_mapped(queries.X); print(float(queries.X.sum(dtype='f8')), queries.n_docs)"
    )
    answer = subprocess.run([sys.executable, "-c", code], input=packed(chosen), capture_output=True, check=True).stdout
    assert answer.split() == [str(float(chosen.X.sum(dtype="f8"))).encode(), str(chosen.n_docs).encode()]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="this system has no /proc")
def test_what_changed_or_is_gone_is_refused(tmp_path):
    X = np.random.default_rng(0).random((400, 5))
    np.save(tmp_path / "X.npy", X)
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    content = packed(rows)
    spilled = packed(take_rows(rows, np.arange(100)))  # given free at once
    with pytest.raises(OSError, match="changed or is on another machine"):
        unpacked(spilled)
    np.testing.assert_array_equal(unpacked(content), X)
    np.save(tmp_path / "X.npy", X + 1)
    with pytest.raises(OSError, match="changed or is on another machine"):
        unpacked(content)


def test_a_cache_that_was_replaced_since_is_packed_as_it_was(text, is_csr):
    copy = text.with_name("copy.txt")
    copy.write_bytes(text.read_bytes())
    pk.read_letor(copy, sparse=is_csr, cache=True)
    data = pk.read_letor(copy, sparse=is_csr, cache=True)
    before = dense(data.X).copy()
    lines = copy.read_bytes().splitlines(keepends=True)
    copy.write_bytes(b"".join(lines[: len(lines) // 2]))
    pk.read_letor(copy, sparse=is_csr, cache=True)
    np.testing.assert_array_equal(dense(unpacked(packed(data)).X), before)


# --- Memory -----------------------------------------------------------------------------------------------------------

WATCHED = """
import sys, threading, time, warnings
import numpy as np
import plackett as pk
from plackett.evaluation import compare as comparing

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

def watch(seen, is_over):
    while not is_over.is_set():
        seen.append(anonymous())
        time.sleep(0.004)

warnings.simplefilter("ignore")
comparing._floors = lambda setup: {}  # they would take most of the time
data = pk.read_parquet(sys.argv[1], cache=True)
rankers = {"plain": pk.LinearRanker(max_iter=2), "scaled": pk.LinearRanker(normalize="query-zscore", max_iter=2)}

def work(data):
    for ranker in rankers.values():
        pk.evaluate(data, ranker.fit(data).predict(data), metrics=["ndcg@10"])
    pk.compare(rankers, data, cv=2, metrics=["ndcg@10"])

work(data[:60])  # what is loaded once does not count
before, seen, is_over = anonymous(), [0], threading.Event()
watcher = threading.Thread(target=watch, args=(seen, is_over))
watcher.start()
work(data)
is_over.set()
watcher.join()
print((max(seen) - before) / data.X.nbytes)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system has no /proc")
def test_fits_evaluations_and_comparisons_take_a_small_share_of_the_rows(tmp_path):
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    n_docs, n_features = 160_000, 136
    X = rng.random((n_docs, n_features), dtype=np.float32)  # 87 MB
    data = pk.Queries(X, rng.integers(0, 4, n_docs), np.arange(n_docs) // 100)
    pk.write_parquet(data, tmp_path / "data.parquet", compression="none")
    answer = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path / "data.parquet")], capture_output=True, text=True, check=True
    )
    assert float(answer.stdout) < 0.4


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of file sizes")
def test_a_disk_that_is_full_is_named_with_a_way_out(tmp_path):
    script = (
        "import resource, sys, numpy as np\n"
        "from plackett.storage.mapped import Spill\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))\n"
        "spill = Spill(np.float64, sys.argv[1])\n"
        "try:\n"
        "    for _ in range(1000): spill.append(np.zeros(100))\n"
        "except OSError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "set the environment variable PLACKETT_CACHE to a folder with enough space" in done.stdout
    assert done.stderr == ""
