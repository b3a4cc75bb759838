"""Checks of the page headers of Parquet files before pyarrow reads them: it allocates the sizes that they declare.

The footer is checked as well, since some damaged metadata of columns crash pyarrow. Fields have the
numbers of https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from plackett.data.parquet.thrift import read_struct
from plackett.exceptions import DataFormatError

_FOOTER = {4: [{1: [{3: {1: True, 3: [True], 5: True, 7: True, 9: True, 11: True}}]}]}
_HEADER: dict = {2: True, 3: True, 5: {1: True}, 7: {1: True}, 8: {1: True}}
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # bytes of a value by physical type; 6 and 7 are text
_LEVELS = 8  # bytes of definition levels per value, at most
_SLACK = 1 << 16  # bytes of a page that are always allowed
_MAX_RATIO = 1024  # expansion of text, at most
_FIRST_LOOK, _LONGEST_HEADER = 1 << 9, 1 << 20


class Chunk(NamedTuple):
    """The pages of a column in a row group: their position, number of values, and type."""

    column: str
    start: int
    stop: int
    n_values: int
    type: int


def chunks_of(path: str, footer: bytes) -> list[list[Chunk]]:
    """Return the column chunks of each row group."""
    try:
        groups = read_struct(footer, 0, _FOOTER)[0].get(4, [])
        return [[_chunk(column.get(3, {})) for column in group.get(1, [])] for group in groups]
    except (IndexError, ValueError, TypeError, AttributeError) as error:
        raise DataFormatError(path, None, f"the file is damaged: its footer cannot be read ({error}).") from error


def _chunk(found: dict) -> Chunk:
    start = found.get(9, 0)
    dictionary = found.get(11, 0)
    if (
        dictionary > 0 and not 0 < start <= dictionary
    ):  # the dictionary comes first; without rows it may be the only page
        start = dictionary
    name = b".".join(found.get(3, [])).decode("utf-8", "replace")
    return Chunk(name, start, start + found.get(7, 0), found.get(5, 0), found.get(1, -1))


def check_pages(path: str, handle: int, chunks: Iterable[Chunk], end: int) -> None:
    """Reject chunks with pages outside of them, or with pages that declare far more bytes than their values need.

    ``handle`` is the open file, ``end`` the position where its footer begins.
    """
    for chunk in chunks:
        if not 0 < chunk.start <= chunk.stop <= end or chunk.n_values < 0:
            raise _damaged(path, chunk, f"its pages at {chunk.start:,} to {chunk.stop:,} are outside the file")
        start, n_values = chunk.start, 0
        while start < chunk.stop and n_values < chunk.n_values:
            header, length = _header_at(path, chunk, handle, start)
            packed, counted = _checked(path, chunk, header, chunk.stop - start - length)
            start += length + packed
            n_values += 0 if 7 in header else counted


def _header_at(path: str, chunk: Chunk, handle: int, start: int) -> tuple[dict, int]:
    """Return the header at a position, and its length."""
    look = _FIRST_LOOK
    while True:
        content = os.pread(handle, min(look, chunk.stop - start), start)
        try:
            return read_struct(content, 0, _HEADER)
        except IndexError:
            if look >= min(_LONGEST_HEADER, chunk.stop - start):
                raise _damaged(path, chunk, f"the page at {start:,} has no header") from None
            look *= 8
        except ValueError:
            raise _damaged(path, chunk, f"the page at {start:,} has no header") from None


def _checked(path: str, chunk: Chunk, header: dict, left: int) -> tuple[int, int]:
    """Return the bytes of a page and the number of its values; an impossible header is an error."""
    packed, unpacked = header.get(3, -1), header.get(2, -1)
    n_values = next((header[field].get(1, 0) for field in (5, 8, 7) if field in header), 0)
    if type(packed) is not int or type(unpacked) is not int or type(n_values) is not int:
        raise _damaged(path, chunk, "a page header holds text instead of a number")
    if not 0 <= packed <= left:
        raise _damaged(path, chunk, f"a page of {packed:,} bytes does not fit into the {left:,} bytes left")
    if not 0 <= n_values <= max(chunk.n_values, _SLACK):
        raise _damaged(path, chunk, f"a page has {n_values:,} values where {chunk.n_values:,} are expected")
    if chunk.type in _WIDTHS:
        most = _SLACK + n_values * (_WIDTHS[chunk.type] + _LEVELS)
    else:
        most = _SLACK + n_values * _LEVELS + _MAX_RATIO * packed
    if not 0 <= unpacked <= most:
        raise _damaged(path, chunk, f"{n_values:,} values in {packed:,} bytes expand to {unpacked:,} bytes")
    return packed, n_values


def _damaged(path: str, chunk: Chunk, reason: str) -> DataFormatError:
    return DataFormatError(path, None, f"the file is damaged: in column {chunk.column!r}, {reason}.")
