"""Small files that ask for much memory, damaged files, and files that killed writers leave behind."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

from plackett.data.drafts import draft_folder, draft_of
from plackett.text.index import build_index, open_index

# --- Temporary files --------------------------------------------------------------------------------------------------

WRITERS = """
import os, signal, sys
import numpy as np
import plackett as pk
from plackett.text.index import build_index
os.chdir(sys.argv[1])
data = pk.Queries(np.ones((4, 1)), y=[0, 1, 0, 1], qid=[1, 1, 2, 2])
def save(what):
    if what == "model":
        pk.ranker("regression").fit(data.X, data.y, qid=data.qid).save("model.plackett")
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


def test_temporary_files_of_killed_writers_are_deleted_by_the_next_save(tmp_path):
    dying = WRITERS + (
        "for what in sys.argv[2:]:\n"
        "    if os.fork() == 0:\n"
        "        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        save(what)\n"
        "    assert os.wait()[1] == signal.SIGKILL\n"
    )
    subprocess.run([sys.executable, "-c", dying, tmp_path, *KINDS], check=True)
    left = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert len(left) == len(KINDS)  # the kill came in time
    alive = WRITERS + "for what in sys.argv[2:]: save(what)\n"
    subprocess.run([sys.executable, "-c", alive, tmp_path, *KINDS], check=True)
    assert sorted(os.listdir(tmp_path)) == ["index", "lists.parquet", "lists.txt", "model.plackett", "parts"]
    assert len(os.listdir(tmp_path / "index")) == 2
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
    assert len(os.listdir(tmp_path)) == 2
    assert open_index(tmp_path).n_docs == 2
