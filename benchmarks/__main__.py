"""Run the benchmarks: print a table after each, and write a file of all times and a page with charts.

Peers are measured once. A benchmark that fails is named at the end, and the others go on. The file is written after
each benchmark, so that an interrupted run keeps its results. A run of all benchmarks then measures the cases of
``native_cases`` in turns, so that ``python -m benchmarks.changes`` can tell a slower case from noise.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.page import page
from benchmarks.timing import Result
from benchmarks.tracking import TURNS, as_run, case_names, track, write_run

FOLDER = Path("build", "bench")


def main() -> None:
    known = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run ({', '.join(known)}); default: all"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"folder of bench.json and bench.html ({FOLDER}, or a folder in it)",
    )
    parser.add_argument("--turns", type=int, default=TURNS, help=f"repetitions of each case ({TURNS})")
    parser.add_argument(
        "--cases", help="modules of native_cases, with commas, or none; default: all if no NAME is given, else none"
    )
    options = parser.parse_args()
    # some benchmarks do not replace the file of all
    output = options.output or FOLDER / "-".join(options.names)
    cases = options.cases or ("none" if options.names else ",".join(case_names()))
    modules = [] if cases == "none" else cases.split(",")
    try:
        failed = measure(options.names or known, modules, options.turns, output)
    except KeyboardInterrupt:
        sys.exit(f"interrupted; the results of the benchmarks that finished are in {output / 'bench.html'}")
    print(
        f"Open {output / 'bench.html'}. Compare runs: python -m benchmarks.changes OLD.json NEW.json", file=sys.stderr
    )
    if failed:
        sys.exit(f"error: failed, with the traceback above: {', '.join(failed)}")


def measure(names: Iterable[str], modules: Iterable[str], turns: int, output: Path) -> list[str]:
    """Run benchmarks and modules of cases, write the files after each, and return the names of those that failed."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    peers: dict[str, list[Result]] = {}
    failed = []
    for name in names:
        print(f"{name} …", file=sys.stderr)
        try:
            peers[name] = importlib.import_module(f"benchmarks.bench_{name}").run()
            console.print(table_of(name, peers[name]))
        except Exception:
            traceback.print_exc()
            failed.append(name)
        save(output, {}, peers)
    cases: dict[str, dict[str, list[float]]] = {}
    for module in modules:
        cases |= track([module], turns)
        save(output, cases, peers)
    return failed


def save(folder: Path, cases: dict[str, dict[str, list[float]]], peers: dict[str, list[Result]]) -> None:
    """Write the file and the page of what was measured so far."""
    run = as_run(cases, peers)
    folder.mkdir(parents=True, exist_ok=True)
    write_run(run, folder / "bench.json")
    (folder / "bench.html").write_text(page(run), encoding="utf-8")


def table_of(name: str, rows: Iterable[Result]) -> Table:
    table = Table(title=f"{name}: seconds, or the unit that is shown, and the peer's value divided by plackett's")
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
