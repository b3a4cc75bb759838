"""Printing of results and notes. Only this module and the verbs print."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import click

from plackett._progress import is_drawn, is_watched

if TYPE_CHECKING:
    from plackett._tables import Table

_STYLES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLOURS = {"error": "red", "warning": "yellow", "hint": "cyan"}
_MARKS = {"▲": "green", "▼": "red"}
_VERDICTS = {"not confirmed": "red", "confirmed": "green", "better": "green", "undecided": "yellow"}
_VERDICT = rf"(?<=  )(?:{'|'.join(_VERDICTS)})(?=  |\n|$)"
DELAY = 0.5  # seconds before a line says what is being done
StreamName = Literal["stdout", "stderr"]


def note(text: str) -> None:
    """Print a note for the user on standard error."""
    print(wrapped(text, "stderr"), file=sys.stderr)


def notes(texts: Iterable[str]) -> None:
    """Print several notes."""
    for text in texts:
        note(text)


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Say on a terminal what is being done, if it takes longer than ``DELAY``; the line disappears when it is done."""
    context = click.get_current_context(silent=True)
    is_quiet = context is not None and context.params.get("quiet")
    if is_quiet or not is_terminal() or not is_watched() or is_drawn():
        yield
        return
    shown = []

    def show() -> None:
        shown.append(what)
        print(f"\r{what} …", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown:
            print("\r\033[2K", end="", file=sys.stderr, flush=True)


def next_step(text: str) -> None:
    """Print what to open or run next, if standard error is a terminal; commands in it can be copied."""
    if is_terminal():
        print(styled(text, "bold", stream="stderr"), file=sys.stderr)


def wrapped(text: str, stream: StreamName = "stdout") -> str:
    """Return the text with lines that end between words at the width of the terminal; unchanged for a pipe."""
    if not is_terminal(stream):
        return text
    width = shutil.get_terminal_size().columns
    lines = [textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) for line in text.split("\n")]
    return "\n".join("\n".join(parts) for parts in lines)


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def alert(kind: Literal["error", "warning"], message: str, hint: str | None = None) -> None:
    """Print an error or a warning on standard error, and what to do about it on a second line."""
    for begin, word, text in (("plackett: ", kind, message), ("  ", "hint", hint)):
        if text is not None:
            shown = wrapped(f"{begin}{word}: {printable(text)}", "stderr")
            print(shown.replace(f"{word}:", styled(f"{word}:", _COLOURS[word], stream="stderr"), 1), file=sys.stderr)


def is_terminal(stream: StreamName = "stderr") -> bool:
    """Whether a stream is a terminal; standard error can then show a progress bar."""
    opened = getattr(sys, stream)
    return opened is not None and opened.isatty()


def is_coloured(stream: StreamName = "stdout") -> bool:
    """Whether a stream supports colours and bold text: a terminal, unless ``NO_COLOR`` is set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, *, stream: StreamName = "stdout") -> str:
    """Return the text in bold or a colour if the stream supports it."""
    return f"\033[{_STYLES[style]}m{text}\033[0m" if is_coloured(stream) else text


def write(text: str) -> None:
    """Write a text to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_json(value: Any) -> None:
    """Write JSON to standard output, with null for NaN and infinite numbers."""
    from plackett._tables import json_value

    plain = json_value(value)
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:  # an id that was not UTF-8 in its file, or that the terminal cannot show
        text = json.dumps(plain, indent=2, allow_nan=False)
    write(text)


def show(found: Any, *, as_json: bool) -> None:
    """Write a result as JSON, or in its own words."""
    if as_json:
        write_json(found.to_dict())
    else:
        write(str(found))


def write_verdicts(table: Table) -> None:
    """Write a table with a column of verdicts; on a terminal it is as wide as this, and the verdicts are coloured."""
    text = table.to_text(shutil.get_terminal_size().columns if is_terminal("stdout") else None)
    write(re.sub(_VERDICT, lambda found: styled(found[0], _VERDICTS[found[0]]), text))


def write_table(table: Table, winner: str | None = None) -> None:
    """Write a table to standard output in aligned columns; no cell is shortened.

    On a terminal, the row whose first cell is ``winner`` is bold, and marks of significance are coloured.
    """
    lines = table.to_text().split("\n")
    if is_coloured():
        best = [row[0] for row in table.rows].index(winner) + 1 if winner is not None else 0  # below the headings
        lines = [_with_marks(line, is_bold=0 < number == best) for number, line in enumerate(lines)]
    write("\n".join(lines))


def _with_marks(line: str, *, is_bold: bool) -> str:
    """Return a line of a table with coloured marks, and in bold for the winner."""
    parts = re.split(f"([{''.join(_MARKS)}]+)", line)
    return "".join(
        styled(part, _MARKS[part[0]]) if part[:1] in _MARKS else styled(part, "bold") if is_bold and part else part
        for part in parts
    )


def write_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Write headings and values to standard output, side by side."""
    from plackett._tables import aligned

    write(aligned(pairs, "ll"))
