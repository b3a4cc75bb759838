"""Temporary files: those of killed writers are deleted, those of living writers are kept."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

from plackett.storage.atomic import draft_of
from plackett.text import build_index, open_index

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
    else:
        build_index(["a text"]).save("index")
"""
KINDS = ("model", "letor", "parquet", "index")
WRITTEN = ["index", "lists.parquet", "lists.txt", "model.plackett"]


def test_temporary_files_of_killed_writers_are_reused_by_the_next_save(tmp_path):
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
    assert sorted(name.removesuffix(".plackett.part") for name in done.stdout.split()) == WRITTEN
    assert sorted(os.listdir(tmp_path)) == WRITTEN


def test_a_living_writer_keeps_its_temporary_file(tmp_path):
    with draft_of(tmp_path / "a") as one, draft_of(tmp_path / "a") as other:
        assert one.name != other.name
        assert all(map(os.path.exists, (one.name, other.name)))
    assert os.listdir(tmp_path) == []


def _save_often(path: Path) -> None:
    for _ in range(10):
        build_index(["a text", "another"]).save(path)


def test_two_writers_on_one_index_leave_one_index(tmp_path):
    writers = [
        multiprocessing.get_context("fork").Process(target=_save_often, args=(tmp_path / "index",)) for _ in range(2)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["index"]
    assert open_index(tmp_path / "index").n_docs == 2
