"""How results and notes look. Only here, and in the verbs, does anything print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import typer

from plackett._tables import Table, aligned, json_value


def chosen_format(**is_chosen: bool) -> str:
    """Return the name of the one format that was chosen, or "table"; raise a usage error for several."""
    names = [name for name, is_one in is_chosen.items() if is_one]
    if len(names) > 1:
        *first, last = (f"--{name}" for name in is_chosen)
        raise typer.BadParameter(f"choose one of {', '.join(first)} and {last}.")
    return names[0] if names else "table"


def note(text: str) -> None:
    """Something the user should know that is not the result: on standard error."""
    print(text, file=sys.stderr)


def is_terminal() -> bool:
    """Whether standard error is a terminal, which can show a progress bar."""
    return sys.stderr is not None and sys.stderr.isatty()


def write(text: str) -> None:
    """A finished text, to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def flush() -> None:
    """Let a reader of the pipe see what there is, before hours of further work."""
    sys.stdout.flush()


def write_json(value: Any) -> None:
    """JSON to standard output, with null for numbers that JSON does not know: NaN and the infinite ones."""
    plain = json_value(value)
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # an id that was not UTF-8 in its file, or that the terminal cannot show
        text = json.dumps(plain, indent=2, allow_nan=False)
    write(text)


def write_table(table: Table) -> None:
    """Write a table to standard output in aligned columns; no cell is shortened."""
    write(table.to_text())


def write_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Write headings and values to standard output, side by side."""
    write(aligned(pairs, "ll"))


def check_target(path: str, what: str) -> None:
    """Complain about a place where no file can be written, before the work and not after it."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a folder; give the name of a file for the {what}.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder!r} for the {what}.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device is not replaced, but written to
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path!r}, given for the {what}, cannot be written to.")
    elif not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder!r} for the {what} cannot be written to.")
