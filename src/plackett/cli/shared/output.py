"""Printing of results and notes. Only this module and the verbs print."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from plackett.storage.remote import is_remote

if TYPE_CHECKING:
    from plackett._tables import Table

_STYLES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLOURS = {"error": "red", "warning": "yellow", "hint": "cyan"}
_MARKS = {"▲": "green", "▼": "red"}
_VERDICTS = {"not confirmed": "red", "confirmed": "green", "better": "green", "undecided": "yellow"}
_VERDICT = rf"(?<=  )(?:{'|'.join(_VERDICTS)})(?=  |\n|$)"
StreamName = Literal["stdout", "stderr"]


def note(text: str) -> None:
    """Print a note for the user on standard error."""
    print(wrapped(text, "stderr"), file=sys.stderr)


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
    lines = [("plackett: ", kind, message)] + ([("  ", "hint", hint)] if hint is not None else [])
    for begin, word, text in lines:
        plain = wrapped(f"{begin}{word}: {printable(text)}", "stderr")
        print(
            begin + styled(f"{word}:", _COLOURS[word], stream="stderr") + plain[len(f"{begin}{word}:") :],
            file=sys.stderr,
        )


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


def flush() -> None:
    """Flush standard output, so that a reader of a pipe sees results before long work continues."""
    sys.stdout.flush()


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


def check_folder(path: str, what: str) -> None:
    """Raise if no folder can be created or written to at this path, before the work starts; a URL is not checked."""
    if is_remote(path):
        return
    place = target = os.path.realpath(path)
    while not os.path.exists(place):
        if place == os.path.dirname(place):
            raise FileNotFoundError(f"there is no disk {place!r} for the {what}.")
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise NotADirectoryError(f"{place!r} is a file; give the name of a folder for the {what}.")
    if place != target and not os.access(place, os.W_OK):  # an existing one may be meant to be read
        raise PermissionError(f"the folder {place!r} for the {what} cannot be written to.")


def check_target(path: str, what: str) -> None:
    """Raise if no file can be written to this path, before the work starts; a URL is not checked."""
    if is_remote(path):
        return
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
