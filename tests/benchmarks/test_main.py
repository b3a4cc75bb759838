"""``python -m benchmarks`` keeps the results of all benchmarks that ran."""

from __future__ import annotations

import sys
import types

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


def test_a_killed_run_keeps_what_it_measured(tmp_path, monkeypatch):
    def is_interrupted():
        raise KeyboardInterrupt

    runs = {"good": lambda: [Result("sorting", 1.0, "other", 3.0)], "slow": is_interrupted}
    for name, run in runs.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.bench_{name}", types.SimpleNamespace(run=run))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *runs, "--output", str(tmp_path), "--cases", "none"])
    with pytest.raises(KeyboardInterrupt):
        command.main()
    assert [row["what"] for row in read_run(tmp_path / "bench.json")["peers"]] == ["sorting"]


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
