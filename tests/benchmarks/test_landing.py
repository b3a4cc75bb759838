"""The chart of the landing page takes its ratios from files of benchmark runs."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.tracking import FORMAT

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"processor": "P1", "cores": 2, "python": "3.12.1"}


def run_file(path, time, peers):
    run = {"format": FORMAT, "time": time, "machine": MACHINE, "cases": {}}
    rows = [{"what": what, "peer": peer, "seconds": ours, "peer_seconds": its} for what, peer, ours, its in peers]
    path.write_text(json.dumps({**run, "peers": rows}), encoding="utf-8")
    return path


def row(what, peer, faster, benchmark):
    return {"what": what, "peer": peer, "faster": faster, "command": "c", "date": "2020-01-01", "machine": "old"} | {
        "benchmark": benchmark
    }


def update(chart, *runs):
    words = [sys.executable, "-m", "benchmarks.landing", *map(str, runs), "--chart", str(chart)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def test_measured_rows_get_the_ratios_of_all_files_and_others_stay(tmp_path):
    chart = tmp_path / "peers.json"
    rows = [row("reading", "A", [9, 9], ["read", "a"]), row("trees", "B", [4, 4], ["trees, ", "b"])]
    chart.write_text(json.dumps({"rows": rows}), encoding="utf-8")
    newer = run_file(tmp_path / "2.json", "2026-02-03T04:05:06Z", [("read it", "a", 0.5, 1.0), ("read it", "b", 1, 9)])
    older = run_file(
        tmp_path / "1.json", "2026-02-02T04:05:06Z", [("read it", "a", 0.3, 1.0), ("trees, 7", "b", 1, None)]
    )
    done = update(chart, newer, older)
    assert done.returncode == 0, done.stderr
    assert "not measured, left as it was: trees, B\n1 of 2 rows updated" in done.stderr
    kept, changed = json.loads(chart.read_text(encoding="utf-8"))["rows"]  # the largest ratio first
    assert kept == rows[1]
    assert changed == {**rows[0], "faster": [2.0, 3.33], "date": "2026-02-03", "machine": "P1, 2 cores, Python 3.12.1"}


def test_files_without_any_of_the_rows_change_nothing(tmp_path):
    chart = tmp_path / "peers.json"
    chart.write_text(json.dumps({"rows": [row("reading", "A", [9, 9], ["read", "a"])]}), encoding="utf-8")
    before = chart.read_bytes()
    done = update(chart, run_file(tmp_path / "1.json", "2026-02-02T04:05:06Z", [("other", "a", 1, 2)]))
    assert done.returncode == 1
    assert "no result for any row" in done.stderr
    assert chart.read_bytes() == before
