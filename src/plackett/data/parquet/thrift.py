"""Reading structs of Thrift's compact protocol, the metadata format of Parquet; only requested fields are kept.

The requested fields are a dict from field number to True, to another dict for a struct, or to a list with one of these
for a list. Numbers are returned as int, text as bytes, structs as dicts.
"""

from __future__ import annotations

from typing import Any

_DEEPEST = 12
_KINDS_OF_NUMBERS = (4, 5, 6)
TEXT, LIST, SET, STRUCT = 8, 9, 10, 12


def read_struct(content: bytes, place: int, wanted: dict[int, Any], depth: int = 0) -> tuple[dict[int, Any], int]:
    """Return the requested fields of a struct, and the position after it.

    Raises
    ------
    IndexError
        The content ends before the struct does.
    ValueError
        These bytes are not a struct, or a requested field has another type.
    """
    if depth > _DEEPEST:
        raise ValueError("structs are nested too deeply")
    fields: dict[int, Any] = {}
    field = 0
    while True:
        head = content[place]
        place += 1
        if not head:
            return fields, place
        if head > 15:
            field += head >> 4
        else:
            field, place = _number(content, place)
        asked = wanted.get(field)
        if asked is None:
            place = _skip(content, place, head & 15, depth)
        else:
            fields[field], place = _value(content, place, head & 15, asked, depth)


def _value(content: bytes, place: int, kind: int, asked: Any, depth: int) -> tuple[Any, int]:
    if isinstance(asked, dict):
        if kind != STRUCT:
            raise ValueError("a struct was expected")
        return read_struct(content, place, asked, depth + 1)
    if isinstance(asked, list):
        if kind != LIST:
            raise ValueError("a list was expected")
        kind, length, place = _head_of_list(content, place)
        values = []
        for _ in range(length):
            value, place = _value(content, place, kind, asked[0], depth + 1)
            values.append(value)
        return values, place
    if kind in _KINDS_OF_NUMBERS:
        return _number(content, place)
    if kind == TEXT:
        length, place = _varint(content, place)
        return content[place : place + length], _within(content, place + length)
    raise ValueError("a number or a text was expected")


def _skip(content: bytes, place: int, kind: int, depth: int) -> int:
    """Return the position after a value."""
    if kind in _KINDS_OF_NUMBERS:
        while content[place] > 127:
            place += 1
        return place + 1
    if kind in (1, 2):  # a boolean, stored in the type
        return place
    if kind == TEXT:
        length, place = _varint(content, place)
        return _within(content, place + length)
    if kind == STRUCT:
        return read_struct(content, place, {}, depth + 1)[1]
    if kind in (LIST, SET):
        if depth > _DEEPEST:
            raise ValueError("lists are nested too deeply")
        kind, length, place = _head_of_list(content, place)
        if kind in (1, 2, 3):
            return _within(content, place + length)
        for _ in range(length):
            place = _skip(content, place, kind, depth + 1)
        return place
    if kind in (3, 7):
        return _within(content, place + (1 if kind == 3 else 8))
    raise ValueError("a value of unknown kind")


def _head_of_list(content: bytes, place: int) -> tuple[int, int, int]:
    """Return the type of the values, their number, and the position of the first."""
    head = content[place]
    length, place = (head >> 4, place + 1) if head >> 4 < 15 else _varint(content, place + 1)
    if length > len(content) - place:  # each takes at least one byte
        raise IndexError("the list continues after the end")
    return head & 15, length, place


def _within(content: bytes, place: int) -> int:
    if place > len(content):
        raise IndexError("the value continues after the end")
    return place


def _varint(content: bytes, place: int) -> tuple[int, int]:
    number = content[place]
    place += 1
    if number < 128:
        return number, place
    number &= 127
    shift = 7
    while True:
        byte = content[place]
        place += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, place
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def _number(content: bytes, place: int) -> tuple[int, int]:
    zigzag, place = _varint(content, place)
    return (zigzag >> 1) ^ -(zigzag & 1), place
