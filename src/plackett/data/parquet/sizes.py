"""Checks of the sizes that Parquet files declare before pyarrow reads them: it allocates whatever they say.

They are read from the bytes of the file, since some damaged metadata crash pyarrow. Fields have the numbers of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from plackett.exceptions import DataFormatError

_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # bytes of a value by physical type; 6 and 7 are text
_LEVELS = 8  # bytes of definition levels per value, at most
_SLACK = 1 << 16  # bytes and values of a page that are always allowed
_MAX_RATIO = 1024  # expansion of text, at most
_NUMBERS, _TEXT, _LISTS, _STRUCT = (4, 5, 6), 8, (9, 10), 12  # kinds of values in Thrift's compact protocol
_SKIPPED = {1: 0, 2: 0, 3: 1, 7: 8}  # other kinds and their bytes; a Boolean takes one in lists only


class Chunk(NamedTuple):
    """The pages of a column in a row group: their position, number of values, and type."""

    column: str
    start: int
    stop: int
    n_values: int
    type: int


def chunks_of(path: str, footer: bytes) -> list[list[Chunk]]:
    """Return the column chunks of each row group."""
    groups: list[list[Chunk]] = []
    try:
        for group in _read_struct(footer, 0)[0].get(4, {}).values():
            groups.append([])
            for column in group.get(1, {}).values():
                found = column.get(3, {})
                start, dictionary = found.get(9, 0), found.get(11, 0)
                if dictionary > 0 and not 0 < start <= dictionary:  # it comes first, and may be the only page
                    start = dictionary
                name = b".".join(found.get(3, {}).values()).decode("utf-8", "replace")
                chunk = Chunk(name, start, start + found.get(7, 0), found.get(5, 0), found.get(1, -1))
                if {*map(type, chunk[1:])} != {int}:
                    raise TypeError("expected numbers")
                groups[-1].append(chunk)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise DataFormatError(path, None, f"the file is damaged: its footer cannot be read ({error}).") from error
    return groups


def check_pages(path: str, content: Any, chunks: Iterable[Chunk], end: int) -> None:
    """Reject chunks with pages outside of them, or with pages that declare far more bytes than their values need.

    ``content`` is the mapped file, ``end`` the position where its footer begins.
    """
    for chunk in chunks:
        of_column = f"the file is damaged: in column {chunk.column!r}, "
        start, n_values = chunk.start, 0
        if not 0 < start <= chunk.stop <= end or chunk.n_values < 0:
            where = f"its pages at {start:,} to {chunk.stop:,} are outside the file."
            raise DataFormatError(path, None, of_column + where)
        while start < chunk.stop and n_values < chunk.n_values:
            try:
                header, start = _read_struct(content, start)
                packed, unpacked = header[3], header[2]
                counted = (header.get(5) or header.get(8) or header[7])[1]
                most = _SLACK + counted * (_LEVELS + _WIDTHS.get(chunk.type, 0))
                most += 0 if chunk.type in _WIDTHS else _MAX_RATIO * packed
                is_possible = 0 <= packed <= chunk.stop - start and 0 <= counted <= max(chunk.n_values, _SLACK)
                is_possible &= 0 <= unpacked <= most
            except (LookupError, ValueError, TypeError):
                raise DataFormatError(path, None, f"{of_column}the page at {start:,} has no header.") from None
            if not is_possible:
                sizes = f"{counted:,} values in {packed:,} bytes, which expand to {unpacked:,} bytes"
                raise DataFormatError(path, None, f"{of_column}the page at {start:,} declares {sizes}.")
            start += packed
            n_values += 0 if 7 in header else counted


def _read_struct(content: Any, place: int) -> tuple[dict[int, Any], int]:
    """Return the numbers, texts, lists and structs of a struct, and its end; lists are dicts by position.

    Raises a LookupError or a ValueError if the bytes do not hold a struct.
    """
    values: dict[int, Any] = {}
    outer: list[tuple] = []  # what is read on after the end of a struct or list
    field, n_left, kind = 0, -1, 0  # in a list, n_left values of this kind are left; in a struct -1
    while True:
        if n_left < 0:
            head, place = content[place], place + 1
            kind, is_end, field = head & 15, not head, field + (head >> 4)
            if 0 < head < 16:
                number, place = _number(content, place)
                field = (number >> 1) ^ -(number & 1)
        else:
            is_end, n_left, field = not n_left, n_left - 1, field + 1
        if is_end:
            if not outer:
                return values, place
            values, field, n_left, kind = outer.pop()
        elif kind in _NUMBERS or kind == _TEXT:
            number = shift = 0
            while shift < 70 and content[place] > 127:
                number |= (content[place] & 127) << shift
                place, shift = place + 1, shift + 7
            number, place = number | content[place] << shift, place + 1
            values[field] = (number >> 1) ^ -(number & 1)
            if kind == _TEXT:
                values[field], place = content[place : place + number], place + number
        elif kind == _STRUCT or kind in _LISTS:
            outer.append((values, field, n_left, kind))
            values[field] = values = {}
            field, n_left = 0, -1
            if kind in _LISTS:
                kind, n_left, field, place = content[place] & 15, content[place] >> 4, -1, place + 1
                if n_left == 15:
                    n_left, place = _number(content, place)
                if n_left > len(content) - place:  # each takes at least one byte
                    raise IndexError("the list continues after the end")
        else:
            place += _SKIPPED[kind] if n_left < 0 or kind > 2 else 1


def _number(content: Any, place: int) -> tuple[int, int]:
    """Return a number without a sign, and the position after it."""
    number = 0
    for at in range(10):
        byte = content[place + at]
        number |= (byte & 127) << 7 * at
        if byte < 128:
            return number, place + at + 1
    raise ValueError("a number is too long")
