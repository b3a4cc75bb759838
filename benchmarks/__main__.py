"""Run the benchmarks: print one table of ratios, and write a file of all times and a page with charts.

Peers are measured once. With ``--output`` the cases of ``native_cases`` are measured in turns too, so that
``python -m benchmarks.changes`` can tell a slower case from noise.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
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
    names = given.names or known
    peers: list[Result] = []
    table = Table(title="seconds, and how many times faster than the peer")
    for heading in ("what", "plackett", "peer", "its time", "ratio", "aim", "note"):
        table.add_column(heading, justify="left" if heading in ("what", "peer", "note") else "right")
    for name in names:
        print(f"{name} …", file=sys.stderr)
        for row in importlib.import_module(f"benchmarks.bench_{name}").run():
            peers.append(row)
            table.add_row(
                row.what,
                f"{row.ours:.4g}",
                row.peer_name,
                "not installed" if row.peer is None else f"{row.peer:.4g}",
                "" if row.ratio is None else f"{row.ratio:.3g} ×",
                "" if row.target is None else f"{row.target:g} ×",
                row.note,
            )
    Console(width=None if sys.stdout.isatty() else 150).print(table)
    if given.output is None:
        return
    run = as_run(track([] if given.cases == "none" else given.cases.split(","), given.turns), peers)
    given.output.mkdir(parents=True, exist_ok=True)
    write_run(run, given.output / "bench.json")
    (given.output / "bench.html").write_text(page(run), encoding="utf-8")
    print(
        f"Open {given.output / 'bench.html'}. Compare runs: python -m benchmarks.changes OLD.json NEW.json",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
