"""Run the benchmarks and print one table of ratios."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

from rich.console import Console
from rich.table import Table

import benchmarks


def main() -> None:
    known = sorted(
        m.name.removeprefix("bench_") for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")
    )
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run ({', '.join(known)}); default: all"
    )
    names = parser.parse_args().names or known
    table = Table(title="seconds, and how many times faster than the peer")
    for heading in ("what", "plackett", "peer", "its time", "ratio", "aim", "note"):
        table.add_column(heading, justify="left" if heading in ("what", "peer", "note") else "right")
    for name in names:
        print(f"{name} …", file=sys.stderr)
        for row in importlib.import_module(f"benchmarks.bench_{name}").run():
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


if __name__ == "__main__":
    main()
