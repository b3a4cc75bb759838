"""The tables and the chart of the site take their numbers from a record of benchmark runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.tracking import FORMAT

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"processor": "P1", "cores": 2, "python": "3.12.1"}
OLD, NEW = "2026-02-02T04:05:06Z", "2026-02-03T04:05:06Z"


def run_file(path, time, rows):
    names = ("benchmark", "what", "peer", "seconds", "peer_seconds")
    peers = [dict(zip(names, row, strict=True)) for row in rows]
    run = {"format": FORMAT, "time": time, "plackett": "1.0", "commit": "c"}
    run |= {"session": "s", "machine": MACHINE, "cases": {}}
    path.write_text(json.dumps({**run, "peers": peers}), encoding="utf-8")
    return path


def record(path, *runs):
    words = [sys.executable, "-m", "benchmarks.record", *map(str, runs), "--record", str(path)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def rows_of(path):
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return {(run["time"], row["what"]): (row["seconds"], row["peer_seconds"]) for run in runs for row in run["peers"]}


@pytest.mark.parametrize("in_one_call", [True, False])
def test_later_results_replace_earlier_ones_and_others_stay(tmp_path, in_one_call):
    old = run_file(
        tmp_path / "1.json",
        OLD,
        [("read", "text", "a", 1, 5), ("read", "no longer measured", "a", 1, 5), ("trees", "growing", "b", 2, 3)],
    )
    new = run_file(tmp_path / "2.json", NEW, [("read", "text", "a", 0.5, 6)])
    path = tmp_path / "record.json"
    for files in ([new, old],) if in_one_call else ([old], [new]):
        done = record(path, *files)
        assert done.returncode == 0, done.stderr
    assert rows_of(path) == {(OLD, "growing"): (2, 3), (NEW, "text"): (0.5, 6)}
    assert "2 results of 2 runs" in done.stderr


def test_a_result_with_a_peer_is_kept_until_the_peer_is_measured_again(tmp_path):
    path = tmp_path / "record.json"
    record(path, run_file(tmp_path / "1.json", OLD, [("clicks", "pbm", "a", 1, 5), ("clicks", "dbn", "a", 1, 5)]))
    record(path, run_file(tmp_path / "2.json", NEW, [("clicks", "pbm", "a", 1, None), ("clicks", "dbn", "a", 2, 9)]))
    assert rows_of(path) == {(OLD, "pbm"): (1, 5), (NEW, "dbn"): (2, 9)}
    third = "2026-02-04T04:05:06Z"
    record(path, run_file(tmp_path / "3.json", third, [("clicks", "pbm", "a", 3, 8), ("clicks", "dbn", "a", 2, None)]))
    assert rows_of(path) == {(third, "pbm"): (3, 8), (NEW, "dbn"): (2, 9)}


def test_another_file_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "record.json"
    (tmp_path / "x.json").write_text("[]")
    done = record(path, tmp_path / "x.json")
    assert done.returncode == 1
    assert "is not a file of make bench" in done.stderr
    assert not path.exists()
