"""A cache that is written wave by wave holds what the same text gives in memory, bit for bit, whatever comes late."""

import errno
import gc
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.letor import cache as letor_cache
from plackett.data.letor import parse as letor_parse
from plackett.data.letor import text as letor_text
from plackett.data.letor.read import read_letor
from plackett.exceptions import DataFormatError, DataWarning
from plackett.storage.mapped import Spill, is_mapped


@pytest.fixture
def tiny(monkeypatch):
    """Waves and blocks of a few lines."""
    monkeypatch.setattr(letor_text, "WAVE_BYTES", 160)
    monkeypatch.setattr(letor_text, "CHUNK_BYTES", 64)
    monkeypatch.setattr(letor_cache, "BLOCK_BYTES", 100)
    monkeypatch.setattr(letor_cache, "_VALUES", 7)


def assert_same_bits(a, b):
    assert type(a.X) is type(b.X)
    assert a.X.shape == b.X.shape
    pairs = [(getattr(a, name), getattr(b, name)) for name in ("y", "ids", "row_order")]
    pairs += [(a.grouped.indptr, b.grouped.indptr), (a.grouped.y, b.grouped.y)]
    if isinstance(a.X, np.ndarray):
        pairs.append((a.X, b.X))
    else:
        pairs += [(getattr(a.X, name), getattr(b.X, name)) for name in ("data", "indices", "indptr")]
    assert (a.comments is None) == (b.comments is None)
    if a.comments is not None:
        pairs += [(a.comments.buffer, b.comments.buffer), (a.comments.bounds, b.comments.bounds)]
    for left, right in pairs:
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()


def check(path, **options):
    """Read through a cache, first as it is made and then again, and in memory."""
    in_memory = read_letor(path, **options)
    first, again = read_letor(path, cache=True, **options), read_letor(path, cache=True, **options)
    assert_same_bits(first, in_memory)
    assert_same_bits(again, in_memory)
    names = {entry.name for entry in path.parent.iterdir() if entry.name.endswith((".part", ".plackett-cache"))}
    assert [name.endswith(".plackett-cache") for name in names] == [True]
    return first


def lines(n, features, qid=lambda k: k // 3, comment=lambda k: f" # docid = d{k}"):
    text = "".join(
        f"{k % 3} qid:{qid(k)} {' '.join(f'{j}:{v}' for j, v in features(k))}{comment(k)}\n" for k in range(n)
    )
    return text.encode()


def full(k):
    return [(1, k), (2, "-0"), (3, 0.5)]


FORMS = {
    "in place": (lines(60, full), {}),
    "as CSR": (lines(60, full), {"sparse": True}),
    "torn": (lines(60, full, qid=lambda k: k * 7 % 11), {}),
    "torn, CSR": (lines(60, full, qid=lambda k: k * 7 % 11), {"sparse": True}),
    "torn, text ids late": (lines(60, full, qid=lambda k: k * 7 % 11 if k < 50 else f"q{k % 4}"), {}),
    "texts as ids": (lines(60, full, qid=lambda k: f"0{k // 9}"), {}),
    "an id goes on after another wave": (lines(60, full, qid=lambda k: 5), {}),
    "wider late": (lines(60, lambda k: [*full(k), (4 + k // 20, 9)]), {"missing": -1.0}),
    "wider within a wave": (lines(60, lambda k: [*full(k), *([(9, 2)] if k in (20, 43) else [])]), {}),
    "wider and torn": (lines(60, lambda k: [*full(k), (4 + k // 20, 9)], qid=lambda k: k % 5), {"missing": np.nan}),
    "sparse=False, low fill": (lines(60, lambda k: [(1 + k, "-0"), (61, 1)]), {"sparse": False}),
    "few columns named": (lines(60, lambda k: [(1, 0), (40, k)]), {}),
    "columns given": (lines(60, full), {"n_features": 9, "missing": 3.0}),
    "no features": (lines(60, lambda k: []), {}),
    "features come late": (lines(60, lambda k: full(k) if k > 40 else []), {"dtype": np.float64}),
    "no comments": (lines(60, full, comment=lambda k: ""), {}),
    "comments left out": (lines(60, full, qid=lambda k: k % 5), {"comments": False}),
    "comments late": (lines(60, full, qid=lambda k: k % 5, comment=lambda k: "#" + "x" * (k - 40)), {}),
    "blank lines": (lines(30, full) + b"\n# nothing\n\n\n" * 30 + lines(30, full), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_cache_made_wave_by_wave_is_as_the_text_in_memory(form, tmp_path, tiny):
    text, options = FORMS[form]
    path = tmp_path / "rows.txt"
    path.write_bytes(text)
    data = check(path, **options)
    assert data.n_docs == 60
    assert is_mapped(data.grouped.X) == (data.n_features > 0)


@pytest.mark.parametrize("qid", [lambda k: k // 3, lambda k: k % 5], ids=["whole", "torn"])
def test_x_that_turns_out_sparse_or_dense_only_at_the_end_is_turned(qid, tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(letor_parse, "SPARSE_FROM_CELLS", 500)
    for number, features in enumerate(
        [
            lambda k: [*full(k), *([(300, 1)] if k == 30 else [])],  # dense, until one index makes it sparse
            lambda k: full(k) if k < 6 else [],  # dense to the end, but hardly filled
            lambda k: [(30, k)] if k < 6 else [(j + 1, 2) for j in range(20)],  # begins sparse, and is not
        ]
    ):
        path = tmp_path / f"{number}" / "rows.txt"
        path.parent.mkdir()
        path.write_bytes(lines(200, features, qid=qid))
        assert isinstance(check(path).X, np.ndarray) == (number == 2)


def test_rows_that_grow_wider_again_and_again_need_few_files(tmp_path, tiny):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(300, lambda k: [(1, 0), *((j + 1, j) for j in range(1, 2 + k // 2))]))
    opened = []
    real = Spill.__init__

    def counted(self, *arguments):
        opened.append(self)
        real(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Spill, "__init__", counted)
        check(path, missing=7.0, sparse=False)
    assert len(opened) < 3 * letor_cache.MAX_WIDTHS


def test_waves_that_would_need_much_room_are_kept_as_pairs(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(letor_cache, "_ROOM_BYTES", 16)
    real, rooms = letor_cache._Rows.make_room, []

    def noted(self, wave):
        rooms.extend(real(self, wave))
        return self._room

    monkeypatch.setattr(letor_cache._Rows, "make_room", noted)
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full))
    check(path, missing=2.0)
    assert len(rooms) > 10
    assert all(room is None for room in rooms)


def test_several_files_some_of_them_packed_are_one(tmp_path, tiny):
    import gzip

    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_bytes(lines(40, full, qid=lambda k: k // 7))
    second.write_bytes(gzip.compress(lines(40, lambda k: [*full(k), (6, k)], qid=lambda k: k // 7 + 5)))
    in_memory = read_letor([first, second])
    assert_same_bits(read_letor([first, second], cache=True), in_memory)
    assert in_memory.row_order is None
    assert_same_bits(read_letor([second, first], cache=True), read_letor([second, first]))


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "3", "03"]),
            st.dictionaries(st.integers(1, 9), st.sampled_from(["0", "-0", "1.5", "NULL", "1e30"]), max_size=4),
            st.sampled_from(["", "#", "# a", "#docid = é"]),
        ),
        min_size=1,
        max_size=30,
    ),
    sparse=st.sampled_from([None, True, False]),
)
def test_any_rows_are_the_same(rows, sparse, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "rows.txt"
    path.write_bytes(
        b"".join(
            f"{k} qid:{qid} {' '.join(f'{j}:{v}' for j, v in pairs.items())} {comment}\n".encode()
            for k, (qid, pairs, comment) in enumerate(rows)
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor_text, "WAVE_BYTES", 100)
        patch.setattr(letor_text, "CHUNK_BYTES", 40)
        patch.setattr(letor_cache, "BLOCK_BYTES", 50)
        check(path, sparse=sparse)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 qid:1 1:x", r"rows.txt, line 61: expected index:value"),
        ("1 qid:1 1:1e99", r"rows.txt, line 61: the value 1e99 does not fit into float32. Pass dtype=numpy.float64"),
    ],
)
def test_wrong_lines_are_named_and_leave_nothing_behind(line, message, tmp_path, tiny):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full) + f"{line}\n".encode())
    with pytest.raises(DataFormatError, match=message):
        read_letor(path, cache=True)
    assert os.listdir(tmp_path) == [path.name]


def test_text_without_rows_is_refused(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"# nothing\n")
    with pytest.raises(DataFormatError, match="no rows found"):
        read_letor(path, cache=True)
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_costs_a_warning_and_the_text_is_read_into_memory(tmp_path, tiny, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full, qid=lambda k: k % 5))

    def is_full(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("append", "finish"):
        with monkeypatch.context() as patch:
            patch.setattr(Spill, name, is_full)
            with pytest.warns(DataWarning, match=r"could not be written \(.*No space left"):
                data = read_letor(path, cache=True)
        assert_same_bits(data, read_letor(path))
        assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("most_bytes", [9000, 12_000])
def test_so_does_a_disk_that_is_full_when_the_draft_is_closed(most_bytes, tmp_path, tiny):
    resource = pytest.importorskip("resource")
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(1000, full))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limit[1]))  # a file may not grow any further
    try:
        with pytest.warns(DataWarning, match=r"could not be written \(.*File too large"):
            data = read_letor(path, cache=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert data.n_docs == 1000
    assert os.listdir(tmp_path) == [path.name]


def test_errors_leave_no_files_open_and_no_circles(tmp_path, tiny):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full) + b"1 qid:1 9:1 4:x\n")  # too wide for X as it is, and wrong as well
    gc.collect()
    gc.disable()
    try:
        n_open = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
        with pytest.raises(DataFormatError, match="line 61") as caught:
            read_letor(path, cache=True)
        assert caught.value.__context__ is None
        del caught
        assert n_open is None or len(os.listdir("/proc/self/fd")) == n_open
    finally:
        gc.enable()


def test_reading_that_fails_is_no_matter_of_the_cache(tmp_path, tiny, monkeypatch, recwarn):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full))
    real = letor_parse.waves

    def failing(inputs):
        yield next(real(inputs))
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(letor_parse, "waves", failing)
    with pytest.raises(OSError, match="Input/output error"):
        read_letor(path, cache=True)
    assert len(recwarn) == 0
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("sparse", [False, True])
def test_making_a_cache_takes_a_small_share_of_the_data(sparse, tmp_path, monkeypatch):
    monkeypatch.setattr(letor_text, "WAVE_BYTES", 1 << 18)
    monkeypatch.setattr(letor_text, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(letor_cache, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "rows.txt"
    pairs = " ".join(f"{j}:{j % 7}.5" for j in range(1, 101))
    path.write_bytes(b"".join(f"1 qid:{k * 7 % 900} {pairs} # {k}\n".encode() for k in range(20_000)))
    small = tmp_path / "small.txt"
    small.write_bytes(path.read_bytes()[:300_000].rsplit(b"\n", 1)[0])
    read_letor(small, sparse=sparse, cache=True)  # what is imported once does not count
    tracemalloc.start()
    try:
        data = read_letor(path, sparse=sparse, cache=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = data.X.nbytes if not sparse else data.X.data.nbytes + data.X.indices.nbytes
    assert data.row_order is not None
    assert peak < 0.1 * size + 8 * letor_text.WAVE_BYTES
