"""Progress of a comparison: lines on request, a bar where it is seen, silence otherwise."""

import io
import re
import sys

import joblib
import pytest

import plackett as pk
from plackett.evaluation.compare.folds import _running


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(20, 6, 3, random_state=0)


@pytest.mark.parametrize(("progress", "n_lines"), [(None, 0), (False, 0), (True, 4)])
def test_without_a_terminal_lines_are_written_on_request(data, capfd, progress, n_lines):
    pk.compare({"a": pk.LinearRanker(), "b": pk.PRank()}, data, cv=2, metrics="map", progress=progress)
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == n_lines
    assert not n_lines or err.startswith("1 of 4: a, fold 1: 1 candidate in ")


def test_outcomes_in_any_order_are_sorted_by_fold(data):
    lines = []
    rankers = {"slow": pk.ranker("rankboost", n_rounds=200), "fast": pk.LinearRanker()}
    with joblib.parallel_config("threading", n_jobs=2):
        result = pk.compare(rankers, data, cv=3, metrics="map", progress=lines.append)
    assert len(lines) == 6
    assert [fit.fold for fit in result.fits["slow"]] == [1, 2, 3]
    assert result.mean() == pk.compare(rankers, data, cv=3, metrics="map").mean()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_terminal_shows_what_runs_and_what_is_left(data, monkeypatch, n_jobs):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    rankers = {"loud": pk.ranker("rankboost", n_rounds=5, verbose=True), "[red]": pk.LinearRanker()}
    with joblib.parallel_config("threading", n_jobs=n_jobs):
        pk.compare(rankers, data, cv=2, metrics="map", refit=True)
        shown = terminal.getvalue()
        pk.compare(rankers, data, cv=2, metrics="map", progress=[].append)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "4/4" in text
    assert re.search(r"(loud|\[red\]), fold [12]", text) or "0/4" in text
    assert re.search(r"fitting (loud|\[red\]) to all queries", text)
    assert "fitting ━" not in text  # the bar of a fit inside
    assert "comparing" not in terminal.getvalue()[len(shown) :]


def test_the_text_names_the_first_fits_that_are_left():
    left = [("a", 2), ("b", 1), ("b", 2)]
    assert _running(left, 1) == "a, fold 2"
    assert _running(left, 2) == "a, fold 2, and 1 other"
    assert _running(left[2:], 2) == "b, fold 2"
    assert _running([], 2) == ""


def test_a_selection_shows_the_candidate_that_is_tried(data, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    pk.select("listmle", data, {"l2": [1, 0.1]}, cv=2)
    assert "selecting listmle" in terminal.getvalue()
    before = len(terminal.getvalue())
    pk.select("listmle", data, {"l2": [1, 0.1]}, cv=2, progress=False)
    assert len(terminal.getvalue()) == before
