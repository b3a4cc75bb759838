"""Measure the cases of ``native_cases`` repeatedly, and keep all times in a file that a later run is compared with.

The cases of a module take turns, so that the repetitions of one are seconds apart. Before each turn a fixed reference
workload is measured: its time tells how fast the machine was at that moment.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import os
import pkgutil
import platform
import subprocess
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import plackett
from benchmarks.timing import Result, shortest

FORMAT = 1
TURNS = 12  # fewer could not show a change among more than 200 cases
SECONDS = 0.1  # a turn repeats a short call for this long


def reference() -> Callable[[], object]:
    """Return a workload of numpy and Python that no change of plackett affects."""
    rng = np.random.default_rng(0)
    numbers, matrix = rng.random(50_000), rng.random((120, 120))
    return lambda: (np.sort(numbers), matrix @ matrix, sum(range(20_000)))


def case_names() -> list[str]:
    """Return the names of the modules of cases."""
    import benchmarks.native_cases as cases

    return sorted(module.name for module in pkgutil.iter_modules(cases.__path__))


def track(modules: Iterable[str], turns: int = TURNS) -> dict[str, dict[str, list[float]]]:
    """Return by case its times and those of the reference beside them, in seconds."""
    found: dict[str, dict[str, list[float]]] = {}
    of_reference = reference()
    for module in modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = {
                name: make()
                for name, make in importlib.import_module(f"benchmarks.native_cases.{module}").CASES.items()
            }
            for call in calls.values():
                call()  # warms up
            for turn in range(turns):
                print(f"{module}, turn {turn + 1} of {turns} …", file=sys.stderr)
                gc.collect()
                for name, call in calls.items():
                    times = found.setdefault(f"{module}: {name}", {"reference": [], "seconds": []})
                    times["reference"].append(shortest(of_reference, 0.02))
                    times["seconds"].append(shortest(call, SECONDS))
    return found


def machine() -> dict[str, Any]:
    """Return what distinguishes machines: a comparison of two different ones says so."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


@functools.cache  # of the start: files may change while a long run goes on
def _commit(folder: Path) -> str:
    words = ["git", "describe", "--always", "--dirty"]
    try:
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def as_run(
    cases: dict[str, dict[str, list[float]]],
    peers: Mapping[str, Iterable[Result]] = MappingProxyType({}),
    *,
    session: str | None = None,
    checkout: Path = Path(__file__).parent,
) -> dict[str, Any]:
    """Return the content of a file of results, those with ``peers`` by benchmark.

    Runs of one ``session`` were measured alternately.
    """
    return {
        "format": FORMAT,
        "session": session or uuid.uuid4().hex,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "plackett": plackett.__version__,
        "commit": _commit(checkout),
        "machine": machine(),
        "cases": cases,
        "peers": [
            {
                "benchmark": name,
                "what": row.what,
                "seconds": row.ours,
                "peer": row.peer_name,
                # infinite where the peer missed a limit at every rate; the note says so
                "peer_seconds": row.peer if row.peer is not None and np.isfinite(row.peer) else None,
                "unit": row.unit,
                "note": row.note,
            }
            for name, rows in peers.items()
            for row in rows
            if np.isfinite(row.ours)  # otherwise ours needs the peer, which is not installed, or missed the limit too
        ],
    }


def read_run(path: str | Path) -> dict[str, Any]:
    """Read a file of results; raise a ``ValueError`` for another or a damaged file."""
    try:
        run = json.loads(Path(path).read_text(encoding="utf-8"))
        if run["format"] != FORMAT:
            raise ValueError(f"{path} has format {run['format']}; this version reads format {FORMAT}.")
        texts = [run["session"], run["time"], run["commit"], *(row["benchmark"] + row["what"] for row in run["peers"])]
        numbers = [one for row in run["peers"] for one in (row["seconds"], row["peer_seconds"]) if one is not None]
        is_whole = all(isinstance(text, str) for text in texts) and isinstance(run["machine"], dict)
        for times in run["cases"].values():
            numbers += [*times["seconds"], *times["reference"]]
            is_whole &= len(times["seconds"]) == len(times["reference"]) > 0
        is_whole &= all(0 < number < np.inf for number in numbers)
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a file of make bench, or of an earlier version.") from error
    if not is_whole:
        raise ValueError(f"{path} is damaged: all times must be finite and positive. Run make bench again.")
    return run


def write_run(run: dict[str, Any], path: str | Path) -> None:
    Path(path).write_text(json.dumps(run, indent=1, allow_nan=False) + "\n", encoding="utf-8")
