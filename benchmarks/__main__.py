"""Run the benchmarks: print one table of ratios, and write a file of all times and a page with charts.

Peers are measured once. A benchmark that fails is named at the end, and the others go on. With ``--output`` the file is
written after each benchmark, so that an interrupted run keeps its results, and the cases of ``native_cases`` are
measured in turns, so that ``python -m benchmarks.changes`` can tell a slower case from noise.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.page import page
from benchmarks.timing import Result
from benchmarks.tracking import TURNS, as_run, case_names, track, write_run


def main() -> None:
    known = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run ({', '.join(known)}); default: all"
    )
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of bench.json and bench.html")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"repetitions of each case ({TURNS})")
    parser.add_argument("--cases", default=",".join(case_names()), help="modules of native_cases, with commas, or none")
    given = parser.parse_args()
    peers: dict[str, list[Result]] = {}
    failed: list[str] = []
    for name in given.names or known:
        print(f"{name} …", file=sys.stderr)
        try:
            peers[name] = importlib.import_module(f"benchmarks.bench_{name}").run()
        except Exception:
            traceback.print_exc()
            failed.append(name)
        save(given.output, {}, peers)
    Console(width=None if sys.stdout.isatty() else 150).print(table_of(chain(*peers.values())))
    if given.output is not None:
        save(given.output, track([] if given.cases == "none" else given.cases.split(","), given.turns), peers)
        print(
            f"Open {given.output / 'bench.html'}. Compare runs: python -m benchmarks.changes OLD.json NEW.json",
            file=sys.stderr,
        )
    if failed:
        sys.exit(f"error: failed, with the traceback above: {', '.join(failed)}")


def save(folder: Path | None, cases: dict[str, dict[str, list[float]]], peers: dict[str, list[Result]]) -> None:
    """Write the file and the page of what was measured so far."""
    if folder is None:
        return
    run = as_run(cases, peers)
    folder.mkdir(parents=True, exist_ok=True)
    write_run(run, folder / "bench.json")
    (folder / "bench.html").write_text(page(run), encoding="utf-8")


def table_of(rows: Iterable[Result]) -> Table:
    table = Table(title="seconds, or the unit that is shown, and the peer's value divided by plackett's")
    for heading in ("what", "plackett", "peer", "its value", "ratio", "aim", "note"):
        table.add_column(heading, justify="left" if heading in ("what", "peer", "note") else "right")
    for row in rows:
        unit = "" if row.unit == "s" else f" {row.unit}"
        table.add_row(
            row.what,
            f"{row.ours:.4g}{unit}",
            row.peer_name,
            f"{row.peer:.4g}{unit}" if row.peer is not None else "not installed" if row.peer_name else "",
            "" if row.ratio is None else f"{row.ratio:.3g} ×",
            "" if row.target is None else f"{row.target:g} ×",
            row.note,
        )
    return table


if __name__ == "__main__":
    main()
