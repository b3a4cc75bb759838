"""Reading from several inputs, pipes and odd files; writing from several threads."""

import bz2
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from plackett.data.letor import text as letor_text
from plackett.data.letor.read import read_letor
from plackett.data.letor.write import write_letor
from plackett.data.queries import Queries
from plackett.exceptions import DataFormatError, DataWarning
from tests.storage.containers import parts_of, signed

ROWS = st.lists(st.sampled_from([b"1 qid:1 1:2", b"2 qid:7 2:0.5", b"", b"# note", b"0 qid:3 5:1"]), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    files=st.lists(st.tuples(ROWS, st.booleans()), min_size=1, max_size=5), wave=st.sampled_from([24, 37, 64, 1 << 20])
)
def test_several_inputs_are_read_as_their_lines_one_after_the_other(files, wave):
    texts = [b"\n".join(lines) + (b"\n" if ends and lines else b"") for lines, ends in files]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor_text, "WAVE_BYTES", wave)
        patch.setattr(letor_text, "CHUNK_BYTES", 16)
        whole = b"\n".join(texts)
        if not any(line.startswith((b"0", b"1", b"2")) for line in whole.split(b"\n")):
            with pytest.raises(DataFormatError, match="no rows"):
                read_letor([io.BytesIO(text) for text in texts])
            return
        parts, one = read_letor([io.BytesIO(text) for text in texts]), read_letor(io.BytesIO(whole))
    assert parts.ids.tolist() == one.ids.tolist()
    assert np.array_equal(parts.y, one.y)
    assert np.array_equal(parts.X, one.X)


def test_an_empty_file_among_others_changes_nothing():
    first, last = b"1 qid:1 1:1\n2 qid:1 1:2\n", b"7 qid:9 1:7\n8 qid:9 1:8\n"
    data = read_letor([io.BytesIO(first), io.BytesIO(b""), io.BytesIO(last)])
    assert data.y.tolist() == [1, 2, 7, 8]
    assert data.ids.tolist() == [1, 9]


@pytest.mark.parametrize("sparse", [True, False])
def test_nothing_at_all_is_no_rows(sparse):
    with pytest.raises(DataFormatError, match="no rows found"):
        read_letor(io.BytesIO(b""), sparse=sparse)


def test_more_columns_than_can_be_numbered_are_refused():
    with pytest.raises(ValueError, match="n_features=8589934592; at most 2147483646 columns"):
        read_letor(io.BytesIO(b"1 qid:1 4294967297:5\n"), n_features=2**33, sparse=True)


def test_a_large_index_late_in_the_file_is_refused_before_memory_is_gone(monkeypatch):
    monkeypatch.setattr(letor_text, "WAVE_BYTES", 4096)
    rows = b"".join(b"1 qid:%d 1:1 2:2 3:3\n" % (i // 10) for i in range(2000))
    text = rows + b"\n# c\n2 qid:999 5000000:5\n" + rows.replace(b"qid:", b"qid:77777")
    with pytest.raises(DataFormatError, match=r"dense rows would take .* Read them with sparse=True"):  # 80 GB
        read_letor(io.BytesIO(text))
    data = read_letor(io.BytesIO(text), sparse=True)
    assert data.X.shape == (4001, 5_000_000)
    assert data.X[:2000, :3].toarray().tolist() == [[1, 2, 3]] * 2000
    assert data.X[2000, 4_999_999] == 5
    assert data.X[2001:, :3].toarray().tolist() == [[1, 2, 3]] * 2000


def test_wide_rows_are_read_only_where_they_are_asked_for():
    text = b"1 qid:1 1:1\n0 qid:1 2147483646:1\n"
    for missing in (0.0, float("nan")):
        with pytest.raises(DataFormatError, match="dense rows would take 17,179,869,168 bytes for 2 values"):
            read_letor(io.BytesIO(text), missing=missing)
    assert read_letor(io.BytesIO(text), sparse=True).X.shape == (2, 2147483646)
    assert read_letor(io.BytesIO(text), n_features=2147483646, sparse=True).X.shape == (2, 2147483646)
    hashed = b"".join(b"1 qid:1 %d:1\n" % (1 + 7919**2 * k % (1 << 24)) for k in range(20_000))
    assert read_letor(io.BytesIO(hashed), sparse=True).X.shape[1] > 1 << 23


def test_blank_lines_take_no_rows_of_x():
    blank = b"\n" * 1000 + b"1 qid:1 1:1\n" + b"# note\n" * 50 + b"\r\n" * 50
    ((chunk,),) = letor_text.waves([io.BytesIO(blank)])
    assert chunk.n_rows <= 3
    ((chunk,),) = letor_text.waves([io.BytesIO(b"1 qid:1 1:1\n" * 20)])
    assert chunk.n_rows == 20


def test_missing_values_that_do_not_fit_are_refused():
    for value in (1e39, 10**400):
        with pytest.raises(ValueError, match="does not fit into float32"):
            read_letor(io.BytesIO(b"1 qid:1 2:1\n"), missing=value)


def through_pipe(pieces):
    """A reader of a pipe into which another thread writes ``pieces``, one by one."""
    out, into = os.pipe()

    def write():
        with os.fdopen(into, "wb", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
                threading.Event().wait(0.02)

    threading.Thread(target=write, daemon=True).start()
    return os.fdopen(out, "rb")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_pipes_that_deliver_byte_by_byte_are_recognised(pack):
    content = pack(b"1 qid:1 1:1\n2 qid:1 1:2\n")
    with through_pipe([content[:1], content[1:3], content[3:]]) as file:
        assert read_letor(file).y.tolist() == [1, 2]


def test_an_input_that_does_not_wait_is_refused_rather_than_cut():
    out, into = os.pipe()
    os.write(into, b"1 qid:1 1:1\n2 qid:1 1:2\n")
    os.set_blocking(out, False)
    with os.fdopen(out, "rb") as file, pytest.raises(BlockingIOError):
        read_letor(file)
    os.close(into)


def test_damaged_bzip2_names_the_file(tmp_path):
    packed = bytearray(bz2.compress(b"1 qid:1 1:1\n" * 100))
    packed[20] ^= 255
    (tmp_path / "x.bz2").write_bytes(packed)
    with pytest.raises(DataFormatError, match=r"x\.bz2: the compressed data are damaged"):
        read_letor(tmp_path / "x.bz2")


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX systems")
def test_control_c_ends_a_read_that_waits_for_a_pipe():
    code = (
        "import sys; from plackett.data.letor import text; text.WAVE_BYTES = 1 << 16\n"
        "from plackett.data.letor.read import read_letor\n"
        "print('ready', flush=True)\n"
        "try: read_letor('-')\n"
        "except KeyboardInterrupt: print('stopped', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"1 qid:1 1:1\n" * 50_000)  # several waves, and then nothing, but no end either
        process.stdin.flush()
        threading.Event().wait(1.0)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"stopped\n"
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_two_threads_may_write_the_same_path(tmp_path):
    queries = Queries(np.random.default_rng(0).random((3000, 5)), np.zeros(3000), np.repeat(np.arange(30), 100))
    path, errors = tmp_path / "out.txt", []

    def write():
        try:
            for _ in range(5):
                write_letor(queries, path)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert np.array_equal(read_letor(path, dtype=np.float64).X, queries.X)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX systems")
def test_private_files_stay_private(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_bytes(b"1 qid:1 1:1\n")
    path.chmod(0o600)
    data = read_letor(path, cache=True)
    (cache,) = tmp_path.glob("*.plackett-cache")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600
    write_letor(data, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_cannot_be_cached(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="cache needs regular files"):
        read_letor(tmp_path / "pipe", cache=True)


def test_ids_that_are_the_same_text_are_not_merged_by_writing():
    with pytest.raises(ValueError, match="two queries would be written as qid:1"):
        write_letor(Queries(np.ones((2, 1)), [1, 0], [1, "1"]), io.BytesIO())


def test_one_long_comment_does_not_widen_all_document_names():
    rows = b"".join(b"1 qid:1 1:1 #a\n" for _ in range(9000)) + b"1 qid:1 1:1 #" + b"x" * 1_000_000 + b"\n"
    docid = read_letor(io.BytesIO(rows)).docid  # 33 GB as an array of the widest
    assert docid[0] == "a"
    assert len(docid[-1]) == 1_000_000


def test_a_forged_cache_cannot_change_the_type_of_an_array(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"1 qid:1 1:1\n2 qid:1 1:2\n")
    read_letor(path, cache=True)
    (cache,) = tmp_path.glob("*.plackett-cache")
    content = cache.read_bytes()
    directory, body = parts_of(content)
    assert directory["arrays"]["y"]["dtype"] == "<f8"
    directory["arrays"]["y"]["dtype"] = "<i8"
    cache.write_bytes(signed(directory, body))
    with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
        assert read_letor(path, cache=True).y.tolist() == [1.0, 2.0]


def test_rows_without_a_comment_repeat_no_document_id():
    data = read_letor(io.BytesIO(b"1 qid:1 1:1 #a\n1 qid:1 1:2\n1 qid:1 1:3\n"))
    assert data.describe().n_duplicate_docids == 0


def test_large_labels_are_told_apart():
    data = read_letor(io.BytesIO(b"1234567 qid:1 1:1\n1234568 qid:1 1:2\n"))
    assert "1234567: 1, 1234568: 1" in str(data.describe())
