"""What the user named on the command line, as data."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from plackett.data.opening import name_of, open_bytes
from plackett.exceptions import DataFormatError

if TYPE_CHECKING:
    from plackett.data.queries import Queries


def load_queries(names: list[str], *, zero_based: bool, cache: bool) -> Queries:
    """LETOR files, or the name of a known data set found in ``PLACKETT_DATA``."""
    from plackett.data.letor import read_letor
    from plackett.data.queries import Queries

    if len(names) == 1 and is_known_name(names[0]):
        from plackett.data import datasets

        loaded = datasets.load(names[0], cache=cache)
        if not isinstance(loaded, Queries):
            raise ValueError(f"{names[0]} holds {type(loaded).__name__}, not judged lists of feature vectors.")
        return loaded
    check_exists(*names)
    source = names[0] if len(names) == 1 else names
    if cache and "-" in names:
        cache = False  # standard input cannot be recognised again
    return read_letor(source, first_index=0 if zero_based else 1, cache=cache)


def is_known_name(name: str) -> bool:
    """Whether ``name`` is a data set's, and not a file's."""
    if name == "-" or Path(name).exists():
        return False
    from plackett.data import datasets

    return name in datasets.names()


def is_letor(name: str) -> bool:
    """Whether a file holds LETOR rows rather than qrels, by its first row; standard input is not consumed by it."""
    if name == "-":
        head = sys.stdin.buffer.peek(1 << 16)  # type: ignore[union-attr]
        is_packed = head[:2] in (b"\x1f\x8b", b"\xfd7", b"BZ", b"\x28\xb5")
        return is_packed or _is_letor(name, head.splitlines())
    with open_bytes(name) as file:
        return _is_letor(name, file)


def _is_letor(name: str, lines: Iterable[bytes]) -> bool:
    for number, line in enumerate(lines, 1):
        words = line.split(b"#", 1)[0].split()
        if not words:
            continue
        if len(words) > 1 and words[1].startswith(b"qid:"):
            return True
        if len(words) in (3, 4):
            return False
        found = line[:60].decode("utf-8", "replace").strip()
        expected = 'expected LETOR rows ("label qid:ID 1:value …") or qrels ("qid 0 docid label")'
        raise DataFormatError(name_of(name), number, f'{expected}, found "{found}".')
    raise DataFormatError(name_of(name), None, "the file has no rows.")


def check_exists(*names: str) -> None:
    """A clear word about files that are not there, before anything is loaded."""
    for name in names:
        if name != "-" and not os.path.exists(name):
            raise FileNotFoundError(f"there is no file {name!r} (looked in {os.getcwd()}).")
    if list(names).count("-") > 1:
        raise ValueError("standard input (-) can stand for one file only.")
    if "-" in names and sys.stdin is None:
        raise ValueError("there is no standard input to read.")
