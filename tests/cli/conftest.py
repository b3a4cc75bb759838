"""The command in a folder with small judged lists: in this process, which is fast, or in one of its own."""

import io
import subprocess
import sys
import warnings
from typing import NamedTuple

import pytest

import plackett as pk


def is_one_line(stderr):
    """Whether an error is one line, with or without a hint on a second line."""
    lines = stderr.splitlines()
    return len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("  hint: "))


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def lists():
    return pk.datasets.make_web_like(30, 12, 6, random_state=0)


@pytest.fixture
def lists_folder(lists, tmp_path, monkeypatch):
    """Three parts of one set, in files; the folder is the current one."""
    for name, part in {"train.txt": lists[:18], "vali.txt": lists[18:24], "test.txt": lists[24:]}.items():
        pk.write_letor(part, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(lists_folder, monkeypatch, capfd):
    """The command as a user types it, in that folder."""

    def run(*words, stdin=""):
        from plackett.cli import main

        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        monkeypatch.setattr(sys, "argv", ["plackett", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode()))))
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfd.readouterr()
        return Done(int(end.value.code or 0), out, err)

    return run


@pytest.fixture
def run_apart(lists_folder):
    """The command in a process of its own, after some lines of Python."""

    def run_apart(*words, before=""):
        command = [sys.executable, "-c", f"{before}\nfrom plackett.cli import main; main()", *map(str, words)]
        done = subprocess.run(command, cwd=lists_folder, capture_output=True, text=True, timeout=300)
        return Done(done.returncode, done.stdout, done.stderr)

    return run_apart
