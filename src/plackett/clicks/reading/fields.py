"""Fields of the rows of a source, in blocks: spans of a text buffer, from lines or from Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import getitem
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np

from plackett import _native
from plackett._optional import import_optional
from plackett._threads import map_blocks, n_threads
from plackett.clicks.pairs import NameTable
from plackett.data.text_column import TextColumn

BLOCK = 1 << 21  # bytes of lines that are scanned at a time, by each thread
_MOST_BLOCKS = 8  # in memory at once; their fields take several times as much
_QUOTED_LINES = 16  # in a row, at most
_OK, _DAMAGED = 0, 2


class Fields(NamedTuple):
    """Fields of some rows: field ``name`` of row ``i`` is ``buffer[spans[name][i, 0]:spans[name][i, 1]]``.

    The first bound is -1 if the field is missing. The items of a list field are ``items``; those of row ``i`` end at
    ``item_end[i]``.
    """

    buffers: dict[str, np.ndarray]
    spans: dict[str, np.ndarray]
    items: np.ndarray
    item_end: np.ndarray
    n_rows: int
    n_lines: int
    n_damaged: int

    def codes(self, name: str, table: Any) -> np.ndarray:
        """Return the codes of a field in a table of names; -1 where it is missing."""
        return table.add(self.buffers[name], self.spans[name])

    def whole(self, name: str) -> np.ndarray:
        """Return a field as whole numbers: -1 where it is missing, -2 where it is invalid."""
        return self._parsed(name, _native.clicks.parse_whole, np.int32)

    def flags(self, name: str) -> np.ndarray:
        """Return a field as 0, 1 or a count; -1 where it is missing, -2 where it is invalid."""
        return self._parsed(name, _native.clicks.parse_flags, np.int32)

    def times(self, name: str) -> np.ndarray:
        """Return a field as seconds; NaN where it is missing or invalid."""
        return self._parsed(name, _native.clicks.parse_times, np.float64)

    def numbers(self, name: str) -> np.ndarray:
        """Return a field as numbers; NaN where it is missing or invalid."""
        text = self.buffers[name].tobytes()
        return np.array([_number(text[start:stop]) for start, stop in self.spans[name].tolist()], dtype=np.float64)

    def is_given(self, name: str) -> np.ndarray:
        """Return whether a field has a value in each row."""
        return self.spans[name][:, 0] >= 0

    def changes(self, names: Sequence[str]) -> np.ndarray:
        """Return whether one of the fields differs from that of the row before."""
        is_new = np.zeros(self.n_rows, dtype=bool)
        for name in names:
            _native.clicks.mark_changes(self.buffers[name], self.spans[name], is_new)
        return is_new

    def take(self, rows: np.ndarray) -> Fields:
        """Return some rows, without their items."""
        spans = {name: values[rows] for name, values in self.spans.items()}
        none = np.empty((0, 2), dtype=np.int64), np.zeros(rows.size, dtype=np.int64)
        return Fields(self.buffers, spans, *none, rows.size, rows.size, 0)

    def with_missing(self, names: Sequence[str]) -> Fields:
        """Return the fields with others that have no value in any row."""
        missing = [name for name in names if name not in self.spans]
        buffers = {**dict.fromkeys(missing, np.empty(0, dtype=np.uint8)), **self.buffers}
        spans = {**self.spans, **{name: np.full((self.n_rows, 2), -1, dtype=np.int64) for name in missing}}
        return self._replace(buffers=buffers, spans=spans)

    def with_lists(self, name: str | None) -> Fields:
        """Return the fields with the items of a field of JSON arrays."""
        if name is None or name not in self.spans:
            return self
        buffer, spans = self.buffers[name], self.spans[name].tolist()
        texts = (buffer[start:stop].tobytes().decode("utf-8", "surrogateescape") for start, stop in spans if start >= 0)
        found, lengths = _parsed_lists(texts, name)
        n_items = np.zeros(self.n_rows, dtype=np.int64)
        n_items[self.is_given(name)] = lengths
        values = TextColumn.from_strings(item or "" for item in found)
        items = np.stack([values.bounds[:-1], values.bounds[1:]], axis=1)
        items[[item is None for item in found]] = -1
        buffers = {**self.buffers, "items": values.buffer}
        return self._replace(buffers=buffers, items=items, item_end=np.cumsum(n_items))

    def _parsed(self, name: str, parse: Callable, dtype: Any) -> np.ndarray:
        values = np.empty(self.n_rows, dtype=dtype)
        parse(self.buffers[name], self.spans[name], values)
        return values


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _parsed_lists(texts: Iterable[str], name: str) -> tuple[list[str | None], list[int]]:
    """Return the items of JSON arrays, and how many each has; another text is an array of one."""
    items: list[str | None] = []
    lengths = []
    for text in texts:
        own = [text]
        if text.lstrip().startswith("["):
            try:
                own = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{name} is {text[:60]!r}; a list, or the text of a JSON array, is needed.") from error
        items += [item if item is None or isinstance(item, str) else json.dumps(item) for item in own]
        lengths.append(len(own))
    return items, lengths


class Columns:
    """Columns that grow block by block: codes, positions, and those of other types."""

    TYPES: ClassVar[dict[str, type[np.generic]]] = {"lengths": np.int64, "times": np.float64, "propensity": np.float64}
    TYPES |= dict.fromkeys(("click", "is_click", "is_random"), np.bool_)

    def __init__(self, *names: str) -> None:
        self._parts = {name: [np.empty(0, dtype=self.TYPES.get(name, np.int32))] for name in names}

    def add(self, **columns: np.ndarray) -> None:
        """Add the values of a block."""
        for name, values in columns.items():
            self._parts[name].append(values)

    def join(self) -> dict[str, np.ndarray]:
        """Return the columns, and forget their blocks one by one."""
        joined = {}
        while self._parts:
            name, parts = self._parts.popitem()
            joined[name] = np.concatenate(parts)
        return joined


class SpelledTable:
    """Names that consist of the texts of one or several columns, each in the form that its function returns."""

    def __init__(self, names: NameTable, *spellings: Callable[[str], str]):
        self._names, self._rows, self._spellings = names, NameTable(), spellings
        self._given = [NameTable() for _ in spellings]
        self._texts = [[""] for _ in spellings]  # the first is that of a missing one
        self._codes = np.empty(1024, dtype=np.int32)

    def add(self, block: Fields, columns: Sequence[str]) -> np.ndarray:
        """Return the codes of the rows of a block."""
        codes = []
        for table, texts, spell, column in zip(self._given, self._texts, self._spellings, columns, strict=True):
            codes.append(block.codes(column, table) + np.int32(1))
            if len(table) >= len(texts):
                texts += map(spell, table.take(np.arange(len(texts) - 1, len(table), dtype=np.int32)).tolist())
        parts, n_known = np.stack(codes, axis=1), len(self._rows)
        bounds = parts.strides[0] * np.arange(len(parts) + 1)
        row = self._rows.add(parts.view(np.uint8).reshape(-1), np.stack([bounds[:-1], bounds[1:]], axis=1))
        if (n := len(self._rows)) > n_known:
            if n > self._codes.size:
                self._codes = np.append(self._codes, np.empty(2 * n, dtype=np.int32))
            first = np.flatnonzero(row >= n_known)
            first = first[np.unique(row[first], return_index=True)[1]]
            named = [
                " ".join(filter(None, map(getitem, self._texts, place))).strip() for place in parts[first].tolist()
            ]
            self._codes[n_known:n] = self._names.add_column(TextColumn.from_strings(named))
        return self._codes[row]


# --- Lines ------------------------------------------------------------------------------------------------------------


class Lines(NamedTuple):
    """A file of lines, some of whose first bytes were read already."""

    head: bytes
    file: BinaryIO


def json_fields(lines: Lines, keys: Sequence[str], list_key: str | None = None) -> Iterator[Fields]:
    """Yield fields of JSON lines by their path, such as ``event_attributes.object.object_id``."""
    return _scanned(lines, partial(_scan_json, keys=list(keys), list_key=list_key))


def delimited_fields(lines: Lines, delimiter: str, columns: Sequence[str], wanted: Sequence[str]) -> Iterator[Fields]:
    """Yield columns of delimited lines, behind the header."""
    scan = partial(_scan_delimited, delimiter=delimiter, columns=list(columns), wanted=list(wanted))
    return _scanned(lines, scan, has_quotes=True)


def _scanned(lines: Lines, scan: Callable, *, has_quotes: bool = False) -> Iterator[Any]:
    """Scan blocks of lines on all threads, a few at a time, and yield the results in the order of the blocks."""
    blocks = zip(_whole_lines(lines, has_quotes=has_quotes))
    while some := list(islice(blocks, min(_MOST_BLOCKS, 2 * n_threads()))):
        yield from map_blocks(scan, some)


def _whole_lines(lines: Lines, *, has_quotes: bool) -> Iterator[bytes]:
    """Yield blocks of whole lines; ``has_quotes``: where possible, of lines whose quotes are closed."""
    begun: list[bytes] = []
    file, block = lines.file, lines.head
    while block:
        cut = block.rfind(b"\n") + 1
        if cut and has_quotes:
            cut = _closed(b"".join([*begun, block[:cut]]), cut)
        if cut:
            yield b"".join([*begun, block[:cut]])
            begun = []
        begun.append(block[cut:])
        block = file.read(BLOCK)
    if rest := b"".join(begun):
        yield rest


def _closed(block: bytes, cut: int) -> int:
    """Return where to cut a block whose last ``cut`` bytes are new, so that no quotes are open there.

    An earlier end of a line is looked for nearby. If there is none, a quote was never closed.
    """
    if block.count(b'"') % 2 == 0:
        return cut
    n_open, end = 1, len(block) - 1
    for _ in range(_QUOTED_LINES):
        start = block.rfind(b"\n", 0, end)
        if start < len(block) - cut:
            break
        n_open ^= block.count(b'"', start, end) % 2
        end = start
        if not n_open:
            return cut - (len(block) - 1 - end)
    return cut


def _buffer_of(block: bytes) -> tuple[np.ndarray, int]:
    """Return a buffer with space for decoded texts behind the lines, and the number of lines."""
    buffer = np.empty(2 * len(block), dtype=np.uint8)
    buffer[: len(block)] = np.frombuffer(block, dtype=np.uint8)
    return buffer, block.count(b"\n") + (not block.endswith(b"\n"))


def _as_fields(
    names: Sequence[str], buffer: np.ndarray, status: np.ndarray, spans: np.ndarray, items: np.ndarray, ends: np.ndarray
) -> Fields:
    kept = np.flatnonzero(status == _OK)
    n_damaged = int(np.count_nonzero(status == _DAMAGED))
    if kept.size < status.size:
        spans, ends = spans[kept], ends[kept]
    parts = {name: np.ascontiguousarray(spans[:, 2 * i : 2 * i + 2]) for i, name in enumerate(names)}
    buffers = dict.fromkeys([*names, "items"], buffer)
    n_items = int(ends[-1]) if ends.size else 0
    return Fields(buffers, parts, items[:n_items], ends, kept.size, kept.size + n_damaged, n_damaged)


def _scan_json(block: bytes, keys: list[str], list_key: str | None) -> Fields:
    buffer, n_lines = _buffer_of(block)
    names = [*keys, *([list_key] if list_key else [])]
    n_items = block.count(b",") + n_lines if list_key else 0
    status, spans = np.empty(n_lines, dtype=np.uint8), np.empty((n_lines, 2 * len(names)), dtype=np.int64)
    items, item_end = np.empty((n_items, 2), dtype=np.int64), np.empty(n_lines, dtype=np.int64)
    place = len(keys) if list_key else -1
    words = np.frombuffer("\n".join(names).encode(), dtype=np.uint8)
    _native.clicks.scan_json(buffer, len(block), words, place, status, spans, items, item_end)
    return _as_fields(keys, buffer, status, spans, items, item_end)


def _scan_delimited(block: bytes, delimiter: str, columns: list[str], wanted: list[str]) -> Fields:
    buffer, n_lines = _buffer_of(block)
    status, spans = np.empty(n_lines, dtype=np.uint8), np.empty((n_lines, 2 * len(wanted)), dtype=np.int64)
    places = np.array([columns.index(name) for name in wanted], dtype=np.int64)
    _native.clicks.scan_delimited(buffer, len(block), ord(delimiter), len(columns), places, status, spans)
    return _as_fields(
        wanted, buffer, status, spans, np.empty((0, 2), dtype=np.int64), np.zeros(n_lines, dtype=np.int64)
    )


# --- Arrow columns ----------------------------------------------------------------------------------------------------


def arrow_fields(batches: Iterable[Any], names: Sequence[str], list_name: str | None = None) -> Iterator[Fields]:
    """Yield columns of Arrow's record batches; names may be paths into structs. Columns may be missing."""
    arrow = import_optional("pyarrow", extra="tables", needed_for="Reading tables")
    for table in batches:
        buffers, spans = {}, {}
        for name in names:
            column = _column_at(table, name)
            texts = arrow.nulls(table.num_rows, arrow.large_string()) if column is None else _as_texts(column, arrow)
            buffers[name], spans[name] = _spans_of(texts)
        items, item_end = np.empty((0, 2), dtype=np.int64), np.zeros(table.num_rows, dtype=np.int64)
        column = None if list_name is None else _column_at(table, list_name)
        if column is not None and table.num_rows:
            values, item_end = _lists_of(column, arrow, str(list_name))
            buffers["items"], items = _spans_of(_as_texts(values, arrow))
        buffers.setdefault("items", np.empty(0, dtype=np.uint8))
        yield Fields(buffers, spans, items, item_end, table.num_rows, table.num_rows, 0)


def _column_at(table: Any, path: str) -> Any:
    """Return a column, or a field of the structs in a column; None if it does not exist."""
    import pyarrow.compute as compute
    import pyarrow.types as arrow_types

    if path in table.schema.names:
        return table.column(path)
    for end in reversed([place for place, letter in enumerate(path) if letter == "."]):
        if path[:end] in table.schema.names:
            column = table.column(path[:end])
            if arrow_types.is_string(column.type) or arrow_types.is_large_string(column.type):
                return _from_texts(column, path[end + 1 :].split("."))
            for name in path[end + 1 :].split("."):
                if not hasattr(column.type, "get_field_index") or column.type.get_field_index(name) < 0:
                    return None
                column = compute.struct_field(column, name)
            return column
    return None


def _from_texts(column: Any, path: list[str]) -> Any:
    """Return a field of objects that are stored as the text of JSON."""
    import pyarrow as arrow

    found = []
    for text in column.to_pylist():
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            value = None
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        is_plain = value is None or isinstance(value, str)
        found.append(value if is_plain else json.dumps(value))
    return arrow.array(found, arrow.large_string())


def _as_texts(column: Any, arrow: Any) -> Any:
    import pyarrow.compute as compute

    kind = column.type
    if arrow.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    if arrow.types.is_timestamp(kind) or arrow.types.is_date(kind):
        column = column.cast(arrow.timestamp("ms", tz=getattr(kind, "tz", None)), safe=False).cast(arrow.int64())
        column = compute.divide(column.cast(arrow.float64()), 1000.0)
    if arrow.types.is_floating(column.type):
        column = compute.if_else(compute.is_finite(column), column, None)
        is_whole = compute.all(compute.equal(column, compute.floor(column))).as_py() is not False
        column = column.cast(arrow.int64(), safe=False) if is_whole else column
    if arrow.types.is_nested(column.type):
        raise TypeError(f"a column of type {kind} holds no single values")
    return column.cast(arrow.large_string())


def _spans_of(texts: Any) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = texts.buffers()
    n = len(texts)
    if offsets is None or not n:
        return np.empty(0, dtype=np.uint8), np.full((n, 2), -1, dtype=np.int64)
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + n + 1]
    spans = np.stack([bounds[:-1], bounds[1:]], axis=1)
    if texts.null_count:
        spans[~texts.is_valid().to_numpy(zero_copy_only=False)] = -1
    return np.empty(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8), spans


def _lists_of(column: Any, arrow: Any, name: str) -> tuple[Any, np.ndarray]:
    import pyarrow.compute as compute

    if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
        given = np.asarray(column.is_valid())
        values, lengths = _parsed_lists(column.drop_null().to_pylist(), name)
        n_items = np.zeros(len(column), dtype=np.int64)
        n_items[given] = lengths
        return arrow.array(values, arrow.large_string()), np.cumsum(n_items)
    if not (arrow.types.is_list(column.type) or arrow.types.is_large_list(column.type)):
        given = np.asarray(column.is_valid())  # single values are lists of one
        return column.filter(arrow.array(given)), np.cumsum(given)
    lengths = compute.fill_null(compute.list_value_length(column), 0)
    return compute.list_flatten(column), np.cumsum(np.asarray(lengths), dtype=np.int64)
