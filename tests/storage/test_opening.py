"""Opening: the first bytes decide, a path changes only when all is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import zstandard

import plackett as pk
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback
from plackett.data.feedback.ratings import read_movielens, read_movies
from plackett.data.sources import read_queries, sources
from plackett.data.text_table import read_scores
from plackett.exceptions import DataFormatError
from plackett.storage.opening import (
    first_bytes,
    is_stream,
    name_of,
    open_bytes,
    rereadable,
    write_bytes,
)

TEXT = b"one\ntwo\n" * 1000
PACK = {
    "plain": bytes,
    "gz": gzip.compress,
    "two gz members": lambda text: gzip.compress(text[:7]) + gzip.compress(text[7:]),
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "two zst frames": lambda text: b"".join(map(zstandard.ZstdCompressor().compress, (text[:7], text[7:]))),
}


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())
def test_the_first_bytes_say_how_a_file_is_compressed(pack, tmp_path):
    path = tmp_path / "misleading.gz"
    path.write_bytes(pack(TEXT))
    with open_bytes(path) as file:
        assert file.readline() == b"one\n"
        assert file.read() == TEXT[4:]
    with open_bytes(str(path)) as file:
        assert file.read(10_000_000) == TEXT


@pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())
def test_a_callers_file_is_read_and_left_open(pack):
    source = io.BytesIO(pack(TEXT))
    with open_bytes(source) as file:
        assert file.read() == TEXT
    assert not source.closed


def test_text_that_begins_like_a_compressed_file_is_text():
    with open_bytes(io.BytesIO(b"BZh9 Q0 a 1 2 tag\n")) as file:
        assert file.read() == b"BZh9 Q0 a 1 2 tag\n"


def test_text_files_and_standard_input_are_read_too(tmp_path, monkeypatch):
    with open_bytes(io.StringIO("é\n")) as file:
        assert file.read() == "é\n".encode()
    path = tmp_path / "text"
    path.write_bytes(b"abc\n")
    with path.open() as text, open_bytes(text) as file:
        assert file.read() == b"abc\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(b"abc")))))
    with open_bytes("-") as file:
        assert file.read() == b"abc"


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_a_file_that_was_cut_off_is_an_error_with_its_name(kind, tmp_path):
    path = tmp_path / "cut"
    path.write_bytes(PACK[kind](os.urandom(5000))[:-20])
    with (
        pytest.raises(DataFormatError, match="cut: the compressed data are damaged or truncated"),
        open_bytes(path) as file,
    ):
        file.read()


def test_a_damaged_gzip_file_is_an_error_with_its_name(tmp_path):
    packed = bytearray(gzip.compress(TEXT))
    packed[-6] ^= 1
    path = tmp_path / "bad"
    path.write_bytes(packed)
    with pytest.raises(DataFormatError, match="bad: the compressed data are damaged"), open_bytes(path) as file:
        file.read()


def test_a_missing_file_and_a_wrong_source_have_the_usual_errors(tmp_path):
    with pytest.raises(FileNotFoundError), open_bytes(tmp_path / "none"):
        pass
    with pytest.raises(TypeError, match="source is a int; expected a path, '-' or a file object"), open_bytes(7):
        pass


def test_sources_have_names_for_messages(tmp_path):
    assert name_of("a/b.txt") == "a/b.txt"
    assert name_of(tmp_path / "c") == str(tmp_path / "c")
    assert name_of("-") == "standard input"
    assert name_of(io.BytesIO()) == "<BytesIO>"


@pytest.mark.parametrize("ending", ["txt", "gz", "xz", "bz2", "zst"])
def test_what_was_written_is_read_back(ending, tmp_path):
    path = tmp_path / f"out.{ending}"
    with write_bytes(path) as file:
        file.write(TEXT)
    assert (path.read_bytes() == TEXT) == (ending == "txt")
    with open_bytes(path) as file:
        assert file.read() == TEXT
    assert os.listdir(tmp_path) == [path.name]


def test_an_error_while_writing_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(TypeError), write_bytes(path) as file:
        file.writelines([b"new", "not bytes"])
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_bytes(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"


def test_file_objects_and_standard_output_are_written(capsysbinary):
    binary, text = io.BytesIO(), io.StringIO()
    for target in (binary, text, "-"):
        with write_bytes(target) as file:
            file.write("é\n".encode())
    assert binary.getvalue() == "é\n".encode()
    assert text.getvalue() == "é\n"
    assert capsysbinary.readouterr().out == "é\n".encode()


def test_a_device_is_written_to_and_not_replaced():
    with write_bytes(os.devnull) as file:
        file.write(b"gone")
    assert not os.path.isfile(os.devnull)


# --- Pipes and standard input -----------------------------------------------------------------------------------------

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")

STEP = 4093  # bytes per write: less than a pipe holds, and no power of 2


@contextmanager
def piped(content, kind, folder, monkeypatch):
    """A name under which ``content`` can be read once."""
    if kind == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        yield "-"
        return
    if kind == "named pipe":
        reads, name = None, str(folder / "pipe")
        os.mkfifo(name)
        opened = lambda: os.open(name, os.O_WRONLY)  # noqa: E731
    else:
        reads, writes = os.pipe()
        name, opened = f"/dev/fd/{reads}", lambda: writes

    def write():
        with open(opened(), "wb", buffering=0) as target:
            for start in range(0, len(content), STEP):
                target.write(content[start : start + STEP])

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield name
        thread.join(30)
        assert not thread.is_alive(), "not everything was read"
    finally:
        if reads is not None:
            os.close(reads)


KINDS = ("pipe", "named pipe", "standard input")


@pytest.fixture(params=KINDS)
def through(request, tmp_path, monkeypatch):
    return lambda content: piped(content, request.param, tmp_path, monkeypatch)


LETOR = b"".join(b"%d qid:%d 1:%d 2:0.5 #docid = d%d\n" % (row % 3, row // 10, row, row) for row in range(3000))
QRELS = b"".join(b"%d 0 d%d %d\n" % (row // 10, row, row % 2) for row in range(5000))
RUN = b"".join(b"%d Q0 d%d %d %d tag\n" % (row // 10, row, row % 10, -row) for row in range(5000))
SCORES = b"".join(b"%d.5\n" % row for row in range(20000))
RATINGS = b"".join(b"%d\t%d\t3\t%d\n" % (row // 9, row % 9, row) for row in range(3000))
FEEDBACK = b"".join(b'{"qid": %d, "docid": "d", "label": 1}\n' % row for row in range(3000))
DOCUMENTS = b"".join(b'{"id": "d%d", "text": "some words"}\n' % row for row in range(3000))
FILMS = b"movieId,title,genres\n" + b"".join(b"%d,Film,Drama\n" % row for row in range(3000))
READERS = {
    "letor": (LETOR, lambda source: pk.read_letor(source).X[:, 0]),
    "qrels": (QRELS, lambda source: pk.read_qrels(source).docid),
    "run": (RUN, lambda source: pk.read_trec_run(source).scores),
    "scores": (SCORES, read_scores),
    "ratings": (RATINGS, lambda source: read_movielens(source).timestamp),
    "films": (FILMS, lambda source: read_movies(source).item),
    "feedback": (FEEDBACK, lambda source: read_feedback(source).judgements.qid),
    "documents": (DOCUMENTS, lambda source: [one.fields for one in read_documents(source)]),
}


@pytest.mark.parametrize(("content", "read"), READERS.values(), ids=READERS)
def test_a_reader_gets_from_a_pipe_what_it_gets_from_a_file(content, read, through, tmp_path):
    path = tmp_path / "content.jsonl"  # the ending tells documents of a file; a pipe shows its first character
    path.write_bytes(content)
    expected = read(str(path))
    assert len(expected) >= 3000
    with through(content) as source:
        found = read(source)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_was_examined_is_read_again(pack, through):
    with through(pack(LETOR)) as source:
        copy = rereadable(source)
        assert name_of(copy) == ("standard input" if source == "-" else str(source))
        assert first_bytes(copy, 4) == pack(LETOR)[:4]
        assert rereadable(copy) == copy
        for _ in range(2):
            with open_bytes(copy) as file:
                assert file.read() == LETOR


def test_files_and_folders_are_opened_again_and_pipes_are_not(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    os.mkfifo(tmp_path / "pipe")
    assert [is_stream(tmp_path / name) for name in ("file", "", "absent", "pipe")] == [False, False, False, True]
    assert rereadable(tmp_path / "file") == tmp_path / "file"
    assert first_bytes(tmp_path / "pipe", 4) == b""  # not opened: nobody writes to it


def test_a_model_is_loaded_from_a_pipe(tmp_path, through):
    X = np.arange(12.0).reshape(6, 2)
    ranker = pk.LinearRanker(max_iter=2, tol=1.0).fit(X, [0, 1, 2, 0, 1, 2], qid=[1, 1, 1, 2, 2, 2])
    ranker.save(tmp_path / "model.plackett")
    content = (tmp_path / "model.plackett").read_bytes()
    with through(content) as source:
        loaded = pk.load(sys.stdin.buffer if source == "-" else source)
    np.testing.assert_array_equal(loaded.coef_, ranker.coef_)


@pytest.mark.parametrize("kind", ["pipe", "named pipe"])
def test_judged_lists_of_a_pipe_are_read_by_what_decides_between_formats(kind, tmp_path, monkeypatch):
    with piped(LETOR, kind, tmp_path, monkeypatch) as source:
        assert read_queries(source).n_docs == 3000


def test_parquet_and_parts_for_other_processes_are_refused_from_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe, but Parquet needs a file"):
        pk.read_parquet(tmp_path / "pipe")
    with pytest.raises(ValueError, match="which other processes cannot open"):
        sources(tmp_path / "pipe")
