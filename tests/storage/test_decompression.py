"""Small files that expand to much are rejected before they fill the memory."""

from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import sys

import pytest

import plackett as pk
from plackett.exceptions import DataFormatError

MEASURED = """
import os, resource, sys
import plackett as pk
from plackett.data.documents.read import read_documents
from plackett.data.feedback.log import read_feedback
from plackett.exceptions import DataFormatError
readers = {
    "scores": pk.evaluation.read_scores, "letor": pk.read_letor, "qrels": pk.read_qrels, "run": pk.read_trec_run,
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
    assert "2,147,483,646 columns, but the text has 2 values. If this is intended, pass sparse=True" in told[cases[0]]
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
        pk.evaluation.read_scores(tmp_path / "blank.zst")
