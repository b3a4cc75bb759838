"""How results and notes look. Only here, and in the verbs, does anything print."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def note(text: str) -> None:
    """Something the user should know that is not the result: on standard error."""
    print(text, file=sys.stderr)


def write(text: str) -> None:
    """A finished text, to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value: Any) -> None:
    write(json.dumps(value, indent=2, ensure_ascii=False))


def write_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table to standard output: first column left, the others right; never cut, whatever the width."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None if not sys.stdout.isatty() else _box(), pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    _console(table).print(table)


def write_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table as CSV with all digits; NaN is left out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([["" if cell != cell else cell for cell in row] for row in rows])
    write(out.getvalue())


def write_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Headings and values, side by side."""
    pairs = list(pairs)
    width = max(len(heading) for heading, _ in pairs)
    write("\n".join(f"{heading:<{width}}  {value}" for heading, value in pairs))


def _box():
    from rich.box import SIMPLE_HEAD

    return SIMPLE_HEAD


def _console(table: Any) -> Console:
    from rich.console import Console

    wide = Console(width=10_000)
    needed = wide.measure(table).maximum
    return Console(width=max(needed, 20), highlight=False)


def tell_when_compiling() -> None:
    """Say on standard error, once, that kernels are being compiled: the first run on a machine takes seconds longer."""
    from numba.core import event

    class FirstCompilation(event.Listener):
        is_told = False

        def on_start(self, _event) -> None:
            if not FirstCompilation.is_told:
                FirstCompilation.is_told = True
                note("compiling for this machine; this happens once and takes some seconds …")

        def on_end(self, _event) -> None:
            pass

    event.register("numba:compile", FirstCompilation())
