"""Every reader sees every byte of a pipe, a named pipe or standard input, whatever looked at its first bytes."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import plackett as pk
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback
from plackett.data.feedback.movielens import read_movielens, read_movies
from plackett.data.sources import read_queries, sources
from plackett.data.text_table import read_scores
from plackett.storage.file_names import is_parquet
from plackett.storage.opening import Stream, first_bytes, is_stream, open_bytes, open_to_examine, rereadable

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
        stream = rereadable(source)
        assert isinstance(stream, Stream)
        assert first_bytes(stream, 4) == pack(LETOR)[:4]
        assert not is_parquet(stream)
        with open_to_examine(stream) as file:
            assert file.readline() == LETOR[: LETOR.index(b"\n") + 1]
        with open_to_examine(stream) as file:  # farther than before
            assert file.read(20_000) == LETOR[:20_000]
        with open_bytes(stream) as file:
            assert file.read() == LETOR


def test_files_and_folders_are_opened_again_and_pipes_are_not(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    os.mkfifo(tmp_path / "pipe")
    assert [is_stream(tmp_path / name) for name in ("file", "", "absent", "pipe")] == [False, False, False, True]
    assert rereadable(tmp_path / "file") == tmp_path / "file"
    assert first_bytes(tmp_path / "pipe", 4) == b""  # not opened: nobody writes to it
    with pytest.raises(ValueError, match="can be read only once"), open_to_examine(str(tmp_path / "pipe")):
        pass


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
