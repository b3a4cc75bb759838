"""How results and notes look. Only here, and in the verbs, does anything print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def note(text: str) -> None:
    """Something the user should know that is not the result: on standard error."""
    print(text, file=sys.stderr)


def write(text: str) -> None:
    """A finished text, to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value: Any) -> None:
    write(json.dumps(value, indent=2, ensure_ascii=False))


def write_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table to standard output: first column left, the others right; never cut, and every character as it is."""
    lines = [list(headings), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        write("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())


def write_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Headings and values, side by side."""
    pairs = list(pairs)
    width = max(len(heading) for heading, _ in pairs)
    write("\n".join(f"{heading:<{width}}  {value}" for heading, value in pairs))


def tell_when_compiling() -> None:
    """Say on standard error, once, that kernels are being compiled: the first run on a machine takes seconds longer."""
    from plackett.cli.start import load_numba

    load_numba()
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
