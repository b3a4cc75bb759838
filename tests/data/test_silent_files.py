"""Small files that ask for much memory, damaged files, and files that killed writers leave behind."""

from __future__ import annotations

import gzip
import io
import lzma
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import plackett as pk
from plackett.data import cache
from plackett.data.parquet import pages as parquet_pages
from plackett.data.parquet import rows as parquet_rows
from plackett.exceptions import DataFormatError, DataWarning
from plackett.storage import checksums
from plackett.storage.atomic import draft_folder, draft_of
from plackett.storage.container import ContainerError
from plackett.text import build_index, open_index

# --- Temporary files --------------------------------------------------------------------------------------------------

WRITERS = """
import os, shutil, signal, sys
import numpy as np
import plackett as pk
from plackett.storage.container import ContainerError
from plackett.text import build_index
os.chdir(sys.argv[1])
data = pk.Queries(np.eye(4), y=[0, 1, 0, 1], qid=[1, 1, 2, 2])
model = pk.ranker("regression").fit(data.X, data.y, qid=data.qid)
def save(what):
    if what == "model":
        model.save("model.plackett")
    elif what == "letor":
        pk.write_letor(data, "lists.txt")
    elif what == "parquet":
        pk.write_parquet(data, "lists.parquet")
    elif what == "parts":
        pk.write_parquet(data, "parts", partitions=2)
    else:
        build_index(["a text"]).save("index")
"""
KINDS = ("model", "letor", "parquet", "parts", "index")
WRITTEN = ["index", "lists.parquet", "lists.txt", "model.plackett", "parts"]


def test_temporary_files_of_killed_writers_are_deleted_by_the_next_save(tmp_path):
    code = WRITERS + (
        "for what in sys.argv[2:]: save(what)\n"  # so that each is loaded once only
        "shutil.rmtree('.', ignore_errors=True)\n"
        "for what in sys.argv[2:]:\n"
        "    if os.fork() == 0:\n"
        "        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        save(what)\n"
        "    assert os.wait()[1] == signal.SIGKILL\n"
        "print(*os.listdir())\n"
        "for what in sys.argv[2:]: save(what)\n"
    )
    command = [sys.executable, "-c", code, tmp_path, *KINDS]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert sorted(name.partition(".plackett-")[0] for name in done.stdout.split()) == WRITTEN
    assert sorted(os.listdir(tmp_path)) == WRITTEN
    assert os.listdir(tmp_path / "index") == ["index.plackett"]
    assert sorted(os.listdir(tmp_path / "parts")) == ["part-00000.parquet", "part-00001.parquet"]


def test_a_living_writer_keeps_its_temporary_file(tmp_path):
    with draft_of(tmp_path / "a") as one, draft_of(tmp_path / "a") as other, draft_folder(tmp_path / "a") as folder:
        assert len({one.name, other.name, folder}) == 3
        assert all(map(os.path.exists, (one.name, other.name, folder)))
    assert os.listdir(tmp_path) == []


def _save_often(folder: str) -> None:
    for _ in range(10):
        build_index(["a text", "another"]).save(folder)


def test_two_writers_on_one_index_leave_one_index(tmp_path):
    writers = [multiprocessing.get_context("fork").Process(target=_save_often, args=(tmp_path,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["index.plackett"]
    assert open_index(tmp_path).n_docs == 2


# --- Small files that ask for much memory -----------------------------------------------------------------------------

MEASURED = """
import os, resource, sys
import plackett as pk
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback
from plackett.exceptions import DataFormatError
readers = {
    "scores": pk.read_scores, "letor": pk.read_letor, "qrels": pk.read_qrels, "run": pk.read_trec_run,
    "ratings": pk.datasets.read_movielens, "feedback": read_feedback,
    "documents": lambda path: list(read_documents(path)),
    "missing": lambda path: pk.read_letor(path, missing=float("nan")),
}
os.chdir(sys.argv[1])
pk.read_letor("small.txt").describe()  # loads what reading needs
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for case in sys.argv[2:]:
    reader, path = case.split("=")
    try:
        readers[reader](path)
        print(case, "read")
    except DataFormatError as error:
        print(case, error)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert taken < 200_000, (case, taken)
"""


def test_small_files_take_little_memory(tmp_path):
    (tmp_path / "small.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1\n1 qid:1 2147483646:1\n")
    (tmp_path / "padded.txt").write_bytes(b"1\n" * 60_000 + b" " * 120_000 + b"\n")
    # a wide row, and then lines that look like rows until they are read
    rows = b"1 qid:1 3000:1\n" + b"0 qid:1 1:1\n" * 3 + (b" " * 39 + b"\n") * 2_000_000
    (tmp_path / "blank.txt.gz").write_bytes(gzip.compress(b" " * (160 << 20), 1))
    (tmp_path / "rows.txt.gz").write_bytes(gzip.compress(rows, 1))
    (tmp_path / "blank.txt.xz").write_bytes(lzma.compress(b" " * (80 << 20), preset=0))
    cases = ["letor=wide.txt", "missing=wide.txt", "scores=padded.txt", "letor=rows.txt.gz", "scores=blank.txt.xz"]
    cases += [f"{reader}=blank.txt.gz" for reader in ("scores", "letor", "qrels", "run", "ratings")]
    cases += [f"{reader}=blank.txt.gz" for reader in ("feedback", "documents")]
    command = [sys.executable, "-c", MEASURED, tmp_path, *cases]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert list(told) == cases
    assert "2,147,483,646 columns, but the text has 2 values. If this is meant, pass sparse=True" in told[cases[0]]
    assert "dense rows would take 17,179,869,168 bytes for 2 values" in told[cases[1]]
    assert told["scores=padded.txt"] == told["letor=rows.txt.gz"] == "read"
    assert all("the compressed data expand to" in told[case] for case in cases[4:])


def test_wide_rows_are_read_where_they_are_asked_for():
    text = b"1 qid:1 1:1\n0 qid:1 2147483646:1\n"
    assert pk.read_letor(io.BytesIO(text), sparse=True).X.shape == (2, 2147483646)
    assert pk.read_letor(io.BytesIO(text), n_features=2147483646).X.shape == (2, 2147483646)
    hashed = b"".join(b"1 qid:1 %d:1\n" % (1 + 7919**2 * k % (1 << 24)) for k in range(20_000))
    assert pk.read_letor(io.BytesIO(hashed)).X.shape[1] > 1 << 23


def test_zstandard_frames_that_expand_far_are_refused(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    (tmp_path / "blank.zst").write_bytes(zstandard.compress(b" " * (200 << 20)))
    with pytest.raises(DataFormatError, match="expand to a line of more than 32 MiB"):
        pk.read_scores(tmp_path / "blank.zst")


# --- Damaged files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["letor", "parquet"])
def test_a_changed_byte_anywhere_in_a_cache_is_found(kind, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 150)).astype(np.float32).round(2), rng.integers(0, 3, 4000)
    data = pk.Queries(X, y=y, qid=np.arange(4000) // 20)
    path = tmp_path / f"lists.{kind}"
    if kind == "letor":
        pk.write_letor(data, path)
        read = pk.read_letor
    else:
        pk.write_parquet(data, path, compression="none")
        read = pk.read_parquet
    asked, real = [], cache.load
    monkeypatch.setattr(cache, "load", lambda *arguments: asked.append(arguments) or real(*arguments))
    read(path, cache=True)
    place = asked[-1][0]
    with open(place, "r+b") as file:
        size = file.seek(0, 2)
        assert size > 2 * checksums.BLOCK
        for at in rng.integers(0, size, 200).tolist():
            file.seek(at)
            old = file.read(1)
            for byte in (bytes([old[0] ^ 1 << int(rng.integers(8))]), old):
                file.seek(at)
                file.write(byte)
                file.flush()
                if byte != old:
                    with pytest.raises(ContainerError):
                        real(*asked[-1])
        real(*asked[-1])  # all is as it was
        file.seek(checksums.BLOCK + 5)
        file.write(b"other")
    monkeypatch.setenv("PLACKETT_VERIFY", "0")
    real(*asked[-1])
    monkeypatch.delenv("PLACKETT_VERIFY")
    with pytest.warns(DataWarning, match="is damaged; it is built anew"):
        found = read(path, cache=True)
    assert np.array_equal(found.X, X)


def test_a_changed_byte_anywhere_in_a_parquet_file_is_found(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    path = tmp_path / "lists.parquet"
    pk.write_parquet(pk.Queries(X, y=np.arange(40) % 3, qid=np.arange(40) // 4), path)
    assert pq.read_table(path).num_rows == 40  # others pass over the checksums
    whole = path.read_bytes()
    for at in np.random.default_rng(1).permutation(len(whole))[:200].tolist():
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        with pytest.raises(DataFormatError):
            pk.read_parquet(path)


def test_sizes_that_parquet_pages_declare_are_checked_before_they_are_read(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"qid": np.arange(900) // 9, "label": np.arange(900) % 3, "a": np.arange(900) / 7}
    path = tmp_path / "foreign.parquet"
    pq.write_table(pa.table(columns), path, use_dictionary=False, compression="none")
    whole = path.read_bytes()
    assert len(pk.read_parquet(path)) == 100
    chunk = parquet_pages.chunks_of("", whole[-8 - int.from_bytes(whole[-8:-4], "little") : -8])[0][2]
    header = whole[chunk.start : chunk.start + 10]
    assert header[:2] == b"\x15\x00"  # a data page
    for field in (2, 5):  # the sizes, unpacked and packed, take two bytes each; with five, they are 2 GB
        assert header[field] == 0x15
        size = field + 1
        swollen = header[:size] + b"\xfe\xff\xff\xff\x0f" + whole[chunk.start + size + 2 : chunk.stop]
        path.write_bytes(whole[: chunk.start] + swollen[: chunk.stop - chunk.start] + whole[chunk.stop :])
        with pytest.raises(DataFormatError, match=r"in column .a., .*(expand to|does not fit)"):
            pk.read_parquet(path)


def test_rows_that_a_parquet_file_cannot_hold_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "lists.parquet"
    pk.write_parquet(pk.Queries(np.ones((9, 2)), y=np.arange(9), qid=[1] * 9), path)
    monkeypatch.setattr(parquet_rows, "_count_rows", lambda *_: 10**9)
    with pytest.raises(DataFormatError, match="declare 1,000,000,000 rows, which would take 16,000,000,000 bytes"):
        pk.read_parquet(path)
