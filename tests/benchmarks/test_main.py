"""``python -m benchmarks`` keeps the results of all benchmarks that ran."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import benchmarks.__main__ as command
from benchmarks.timing import Result
from benchmarks.tracking import read_run


def test_a_benchmark_that_fails_is_named_and_the_others_are_kept(tmp_path, monkeypatch, capsys):
    def fails():
        raise RuntimeError("no such machine")

    runs = {"good": lambda: [Result("sorting", 1.0, "other", 3.0)], "bad": fails, "last": list}
    for name, run in runs.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", types.SimpleNamespace(run=run))
    words = ["benchmarks", *runs, "--output", str(tmp_path / "out"), "--cases", "none"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match=r"failed, with the traceback above: bad$"):
        command.main()
    printed = capsys.readouterr()
    assert "no such machine" in printed.err
    assert "sorting" in printed.out
    assert [row["what"] for row in read_run(tmp_path / "out" / "bench.json")["peers"]] == ["sorting"]
    assert "sorting" in (tmp_path / "out" / "bench.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [["--output", "chosen"], []])
def test_an_interrupted_run_has_printed_and_kept_what_it_measured(tmp_path, monkeypatch, capsys, options):
    def is_interrupted():
        raise KeyboardInterrupt

    runs = {"good": lambda: [Result("sorting", 1.0, "other", 3.0)], "slow": is_interrupted}
    for name, run in runs.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", types.SimpleNamespace(run=run))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *runs, *options])
    monkeypatch.chdir(tmp_path)
    file = Path("chosen" if options else "build/bench/good-slow", "bench.html")
    with pytest.raises(SystemExit, match=f"^interrupted; the results .* are in {re.escape(str(file))}$"):
        command.main()
    assert "good: seconds" in (printed := capsys.readouterr().out)
    assert "sorting" in printed
    assert [row["what"] for row in read_run(file.with_suffix(".json"))["peers"]] == ["sorting"]


def test_cases_that_were_measured_before_an_interrupt_are_kept(tmp_path, monkeypatch):
    def track(modules, turns):
        if modules == ["text"]:
            raise KeyboardInterrupt
        return {f"{modules[0]}: a": {"seconds": [1.0] * turns, "reference": [2.0] * turns}}

    monkeypatch.setattr(command, "track", track)
    with pytest.raises(KeyboardInterrupt):
        command.measure([], ["metrics", "text"], 3, tmp_path)
    assert list(read_run(tmp_path / "bench.json")["cases"]) == ["metrics: a"]


def test_results_without_a_number_do_not_stop_the_file(tmp_path):
    infinite, nan = float("inf"), float("nan")
    rows = [
        Result("both missed the limit", infinite, "other", infinite),
        Result("only the peer missed it", 0.01, "other", infinite, note="100 requests/s against 0"),
        Result("needs the peer", nan, "other", None),
    ]
    command.save(tmp_path, {}, {"serving": rows})
    (row,) = read_run(tmp_path / "bench.json")["peers"]
    assert (row["benchmark"], row["what"], row["unit"]) == ("serving", "only the peer missed it", "s")
    assert row["peer_seconds"] is None
    assert row["note"] == "100 requests/s against 0"
