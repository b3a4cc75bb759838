"""Errors of the system, and messages of the library in the words of the command."""

import errno
import os
import pickle
import sys

import pytest

from plackett.cli.app import load_verb
from plackett.cli.errors import show_error
from plackett.cli.shared import files
from plackett.exceptions import ParameterError, UnknownNameError
from plackett.text import build_index
from plackett.validation import check_choice


@pytest.fixture
def shown(capsys, monkeypatch):
    """Return the lines and the exit status of an error."""

    def shown(error, *words):
        monkeypatch.setattr(sys, "argv", ["plackett", *words])
        status = show_error(error, load_verb(words[0]))
        return [*capsys.readouterr().err.splitlines(), status]

    return shown


@pytest.mark.parametrize(
    ("error", "message", "hint"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "x"), "x: no space left on device.", "free some space"),
        (OSError(errno.ENOSPC, "No space left on device"), "reading or writing failed: no space", "free some space"),
        (
            OSError(errno.EROFS, "Read-only file system", "ro/i"),
            "ro/i: read-only file system.",
            "check the permissions",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file", "/proc/x.plackett.part"),
            "/proc/x: no such",
            "check the path",
        ),
    ],
)
def test_errors_of_the_system_have_a_path_a_hint_and_no_number(shown, error, message, hint):
    first, second, status = shown(error, "rank", "m", "x")
    assert status == 1
    assert first.startswith(f"plackett: error: {message}")
    assert second.startswith(f"  hint: {hint}")


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("n_splits", ["--folds", "1"], "--folds 1: too few."),
        ("n_splits", ["--folds=1"], "--folds 1: too few."),
        ("n_splits", ["--cv", "1"], "--folds 1: too few."),
        ("l2", ["--set", "l2=1"], "--set l2=1: too few."),
        ("l2", ["--grid", "l2=1,2"], "--grid l2=1: too few."),
        ("n_splits", [], "n_splits=1; too few."),
    ],
)
def test_parameters_of_python_are_shown_as_the_options_that_were_typed(shown, name, words, expected):
    error = pickle.loads(pickle.dumps(ParameterError(name, 1, "too few.")))
    assert shown(error, "tune", "x", *words)[::2] == [f"plackett: error: {expected}", 2]


def test_an_unknown_name_has_a_suggestion_and_the_names_in_the_hint(shown):
    with pytest.raises(
        UnknownNameError, match=r"^method='grdi' is not known; choose one of 'grid', 'random'\.$"
    ) as raised:
        check_choice("grdi", "method", ("grid", "random"))
    expected = [
        "plackett: error: --method grdi is not known. Did you mean grid?",
        "  hint: choose one of grid, random.",
        2,
    ]
    assert shown(raised.value, "tune", "x", "--method", "grdi") == expected
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), copy.known, copy.similar) == (str(raised.value), ["grid", "random"], ["grid"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device of Linux that is always full")
def test_a_full_device_is_named(run):
    run("train", "train.txt", "-o", "model")
    done = run("rank", "model", "test.txt", "-o", "/dev/full")
    assert done == (
        1,
        "",
        "plackett: error: /dev/full: no space left on device.\n  hint: free some space, or write to another disk.\n",
    )


def test_a_failed_index_leaves_no_folder(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    index = build_index(["red shoes", "blue hat"])
    monkeypatch.setattr("plackett.text.index.write_container", full)
    with pytest.raises(OSError, match="No space left"):
        index.save(tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_folder_of_letor_files_is_not_data(run, lists_folder):
    (lists_folder / "parts").mkdir()
    (lists_folder / "parts" / "S1.txt").touch()
    done = run("train", "parts", "-o", "model")
    hint = f"give files, such as {os.path.join('parts', 'S1.txt')}."
    assert done == (1, "", f"plackett: error: the folder 'parts' has no Parquet files.\n  hint: {hint}\n")


@pytest.mark.parametrize("verb", [["tune"], ["compare", "-r", "listmle"]], ids=["tune", "compare"])
def test_a_folder_that_cannot_be_made_is_an_error_before_the_fits(run, verb):
    done = run(*verb, "train.txt", "--folder", "train.txt/fits")
    assert (done.returncode, done.stdout) == (1, "")
    assert "is a file; give the name of a folder for the fits." in done.stderr


@pytest.mark.parametrize("name", ["n_trials.txt", "n_splits/x", "a n_splits.csv"])
def test_names_of_files_are_shown_as_they_are(shown, name):
    message, *_ = shown(FileNotFoundError(f"there is no file {name!r}."), "compare", name)
    assert message == f"plackett: error: there is no file {name!r}."


def test_a_folder_on_a_missing_disk_is_an_error(monkeypatch):
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(FileNotFoundError, match="there is no disk '/' for the fits"):
        files.check_folder("/missing/runs", "fits")


def test_an_index_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    def fail(handle):
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        build_index(["a text"]).save(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
