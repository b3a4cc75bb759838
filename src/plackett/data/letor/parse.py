"""Parsing waves of LETOR lines into the arrays of a ``Queries``: X, labels, query ids, comments.

The first wave is read into pairs, which determine the number of columns. From then on each chunk is parsed straight
into its rows of X; for a CSR matrix, all chunks are kept as pairs.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett._threads import submit_blocks
from plackett.data.letor.text import Chunk, expected_bytes, waves, with_fewer_rows
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataFormatError
from plackett.validation import count_of

MAX_UNCHECKED_BYTES = 1 << 26  # of dense rows, allowed with any number of values
MAX_EMPTY_CELLS = 1000  # for each value in the text; more are treated as a mistake
_GROWTH = 1.25
MAX_ROW_BYTES = 16  # for each byte of text; above this, lines are counted more precisely
_SPARE = 1.02  # rows to come are estimated from the rows so far
_LONGEST_QUOTE = 80
SHORTEST_PAIR = 4  # bytes: "1:2 "
MOST_COLUMNS = 2**31 - 2
# Kinds of errors in a line, and the fields of their report, as in _native/data/letor.hpp.
FINE, NO_LABEL, LABEL_NOT_FINITE, NO_QID, BAD_PAIR, INDEX_TOO_SMALL, INDEX_TOO_LARGE, TWICE, OVERFLOW = range(9)
ROWS, PAIRS, LARGEST, N_HARD, COMMENT_BYTES, TEXT_IDS, PROBLEM, PLACE, DETAIL = range(9)


@dataclass(frozen=True)
class Options:
    """The checked arguments of ``read_letor``."""

    n_features: int | None
    first_index: int
    missing: float
    null: float
    dtype: np.dtype
    sparse: bool
    comments: bool

    def check_size(self, n_rows: int, n_pairs: int, width: int, name: str) -> None:
        """Reject rows that take too much memory for the values in the text, unless the caller gave the width."""
        n_bytes = n_rows * width * self.dtype.itemsize
        if self.sparse or self.n_features is not None or n_bytes <= MAX_UNCHECKED_BYTES:
            return
        if n_rows * width > MAX_EMPTY_CELLS * n_pairs:
            found = f"dense rows would take {n_bytes:,} bytes for {count_of(n_pairs, 'value')} in the text"
            hint = "Read them with sparse=True and missing=0, or, if this is intended, pass n_features."
            raise DataFormatError(name, None, f"{found}. {hint}")


class ParsedRows(NamedTuple):
    """The content of a chunk. ``pairs`` is None if the rows were written to X."""

    n_rows: int
    n_pairs: int
    width: int
    labels: np.ndarray
    qid: np.ndarray
    id_texts: tuple[np.ndarray, list[str]] | None  # as ``runs`` returns them; None: all are numbers
    comments: np.ndarray
    comment_ends: np.ndarray
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    def runs(self) -> tuple[np.ndarray, Any]:
        """Return the first row of each run of equal ids, and its id: numbers, or texts if one is not a number."""
        if self.id_texts is not None:
            return self.id_texts
        starts = np.flatnonzero(np.append(True, self.qid[1:] != self.qid[:-1]))[: self.qid.size]
        return starts, self.qid[starts]

    def notes(self) -> TextColumn:
        """Return the comments."""
        return TextColumn(self.comments, np.append(0, self.comment_ends))


class _TooWide(Exception):
    """A chunk has a larger index than X has columns."""


def parse(inputs: list, options: Options) -> Queries:
    """Return the rows of all inputs, grouped by query."""
    table = _Table(options, expected_bytes(inputs))
    parts: list[ParsedRows] = []
    parse_into(table, parts.extend, inputs, options)
    return _as_queries(parts, table.finish(), options)


def parse_into(table: Any, take: Callable[[list[ParsedRows]], Any], inputs: list, options: Options) -> None:
    """Pass the rows of all inputs to ``table``, and their labels, ids and comments to ``take``.

    A table has ``make_room(wave)``, a slice of X for the rows of each chunk, or None for those to be parsed as pairs;
    ``add(parts, wave)``, which takes the parsed chunks; and ``bytes_of_row``, 0 while rows are kept as pairs.
    """
    text = waves(inputs)
    try:
        wave = next(text, [])
        while wave:
            wave = _parse_wave(wave, text, table, take, options)
    finally:
        text.close()


def _parse_wave(wave: list[Chunk], text, table: Any, take: Callable, options: Options) -> list[Chunk]:
    """Parse a wave on all threads while the next one is read; return the next one."""
    n_bytes = sum(chunk.text.size for chunk in wave)
    if sum(chunk.n_rows for chunk in wave) * table.bytes_of_row > MAX_ROW_BYTES * n_bytes:  # are there blank lines?
        wave = with_fewer_rows(wave)
    rows = table.make_room(wave)
    tasks = [(chunk, options, X) for chunk, X in zip(wave, rows, strict=True)]
    finish = submit_blocks(_parse_chunk, tasks)
    ahead = _read_ahead(text)  # in the calling thread, which may block on a pipe and can be interrupted
    parsed = finish()
    del rows, tasks, finish  # views of a buffer that may move
    failure = next((found for found in [*parsed, ahead] if isinstance(found, Exception)), None)
    if failure is not None:
        try:
            raise failure
        finally:  # break the exception-frame reference cycle, which would keep X and open files alive
            del failure, parsed, ahead
    table.add(parsed, wave)
    take([part._replace(pairs=None) for part in parsed])
    return ahead


def _read_ahead(text):
    """Return the next wave, or the error of reading it: an error in the previous wave is raised first."""
    try:
        return next(text, [])
    except Exception as error:
        return error


def _parse_chunk(chunk: Chunk, options: Options, X: np.ndarray | None):
    """Return the rows of a chunk, or the error to raise. Without X, or if X is too narrow, they stay pairs."""
    try:
        with contextlib.suppress(_TooWide):
            return _parse(chunk, options, X)
        return _parse(chunk, options, None)
    except DataFormatError as error:
        return error.with_traceback(None)  # break the exception-frame reference cycle, which would keep the text alive


def _parse(chunk: Chunk, options: Options, X: np.ndarray | None) -> ParsedRows:
    text, n = chunk.text, chunk.n_lines
    widest = MOST_COLUMNS if options.n_features is None else options.n_features
    end_index = widest if X is None else X.shape[1]
    is_dense = X is not None
    rows = np.empty((0, 0), dtype=options.dtype) if X is None else X
    most_pairs = text.size // SHORTEST_PAIR + 1
    index, value = np.empty(most_pairs, dtype=np.int32), np.empty(most_pairs, dtype=options.dtype)
    labels, qid, qid_span = np.empty(n), np.empty(n, dtype=np.int64), np.empty((n, 2), dtype=np.int64)
    row_end, comment_end = np.empty(0 if is_dense else n, dtype=np.int64), np.empty(n, dtype=np.int64)
    comments = np.empty(text.size if options.comments else 0, dtype=np.uint8)
    hard = np.empty((text.size // 7 + 1, 4), dtype=np.int64)  # the shortest is "1:1e99 "
    report = np.zeros(9, dtype=np.int64)
    assert text[-1] == ord("\n"), "a chunk ends in a newline, which stops the parser"
    _native.data.parse(
        text, rows, labels, qid, qid_span, index, value, row_end, comments, comment_end, hard, options.first_index,
        end_index, is_dense, options.comments, options.missing, options.null, _smallest_overflow(options.dtype), report,
    )  # fmt: skip
    if report[PROBLEM] == INDEX_TOO_LARGE and is_dense and end_index < widest:
        raise _TooWide
    n_rows, n_pairs = int(report[ROWS]), int(report[PAIRS])
    problems = [] if report[PROBLEM] == FINE else [_error(chunk, options, *report[[PROBLEM, PLACE, DETAIL]].tolist())]
    for row, column, start, stop in hard[: report[N_HARD]].tolist():
        if row >= n_rows:
            break  # in the row that is wrong
        number = _hard_number(chunk, options, start, stop, problems, is_label=column < 0)
        if column < 0:
            labels[row] = number
        elif is_dense:
            rows[row, column] = number
        else:
            begin = row_end[row - 1] if row else 0
            value[begin + np.searchsorted(index[begin : row_end[row]], column)] = number
    texts = None
    if report[TEXT_IDS]:
        texts = _id_texts(chunk, qid[:n_rows], qid_span[:n_rows], problems)
    if problems:
        raise min(problems, key=lambda problem: problem.line or 0)
    return ParsedRows(
        n_rows,
        n_pairs,
        int(report[LARGEST]) + 1,
        labels[:n_rows].copy(),
        qid[:n_rows].copy(),
        texts,
        comments[: report[COMMENT_BYTES]].copy(),
        comment_end[:n_rows].copy(),
        None if is_dense else (row_end[:n_rows].copy(), index[:n_pairs].copy(), value[:n_pairs].copy()),
    )


def _smallest_overflow(dtype: np.dtype) -> float:
    """Return the smallest number that rounds to infinity: half a step above the largest finite one."""
    return math.inf if dtype == np.float64 else 2.0**128 - 2.0**103


def _hard_number(chunk: Chunk, options: Options, start: int, stop: int, problems: list, *, is_label: bool) -> float:
    """Return a number that the kernel does not parse: very long, very small or very large."""
    number = float(chunk.text[start:stop].tobytes())
    if abs(number) >= (math.inf if is_label else _smallest_overflow(options.dtype)):
        problems.append(_error(chunk, options, LABEL_NOT_FINITE if is_label else OVERFLOW, start))
    return number


def _id_texts(chunk: Chunk, qid: np.ndarray, qid_span: np.ndarray, problems: list) -> tuple[np.ndarray, list[str]]:
    starts = np.empty(qid.size, dtype=np.int64)
    starts = starts[: _native.data.id_runs(chunk.text, qid, qid_span, starts)]
    texts = []
    for number, (start, stop) in zip(qid[starts].tolist(), qid_span[starts].tolist(), strict=True):
        try:
            texts.append(chunk.text[start:stop].tobytes().decode("utf-8") if stop else str(number))
        except UnicodeDecodeError:
            line, found = _line_at(chunk, start)
            problems.append(DataFormatError(chunk.name, line, f'the query id in "{_quote(found)}" is not UTF-8.'))
            break
    return starts, texts


def _line_at(chunk: Chunk, place: int) -> tuple[int, bytes]:
    """Return the number and the bytes of the line around a position."""
    before = chunk.text[:place].tobytes()
    start = before.rfind(b"\n") + 1
    end = int(np.argmax(chunk.text[place:] == 10)) + place
    return chunk.lines_before + before.count(b"\n") + 1, chunk.text[start:end].tobytes().removesuffix(b"\r")


def _quote(text: bytes) -> str:
    """Return text for a message: printable and truncated."""
    shown = text.decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown[: 2 * _LONGEST_QUOTE])
    return shown if len(shown) <= _LONGEST_QUOTE else shown[: _LONGEST_QUOTE - 3] + "..."


def _error(chunk: Chunk, options: Options, problem: int, place: int, detail: int = 0) -> DataFormatError:
    line, text = _line_at(chunk, place)
    token = chunk.text[place : place + 4 * _LONGEST_QUOTE].tobytes().split(b"\n")[0].replace(b"\t", b" ").split(b" ")[0]
    found, shown = _quote(text), _quote(token.removesuffix(b"\r"))
    first, n_columns = options.first_index, options.n_features
    allowed = f"indices end at {MOST_COLUMNS - 1 + first}"
    if n_columns is not None:
        allowed = f"n_features={n_columns} allows indices {first} to {n_columns - 1 + first}"
    hint = " Pass dtype=numpy.float64." if options.dtype == np.float32 else ""
    from_zero = "If this file counts from 0, pass first_index=0 (on the command line, --zero-based)."
    messages = {
        LABEL_NOT_FINITE: f'the label is "{shown}"; labels must be finite numbers.',
        BAD_PAIR: f'expected index:value, found "{shown}" in "{found}".',
        INDEX_TOO_SMALL: f'found "{shown}", but indices start from 1. {from_zero}',
        INDEX_TOO_LARGE: f'found "{shown}", but {allowed}.',
        TWICE: f'index {detail + first} occurs twice in "{found}".',
        OVERFLOW: f"the value {shown} does not fit into {options.dtype}.{hint}",
    }
    general = f'expected "label qid:ID index:value ...", found "{found}".'
    return DataFormatError(chunk.name, line, messages.get(problem, general))


class _Table:
    """X while it grows: pairs of the first rows, then rows in one buffer; only pairs if X is sparse."""

    def __init__(self, options: Options, expected_bytes: int):
        self._options, self._expected_bytes = options, expected_bytes
        self._is_dense = False
        self._cells = np.empty(0, dtype=options.dtype)
        self._pairs: list = []
        self._n_rows = self._n_pairs = self._width = 0

    def _rows(self, n: int) -> np.ndarray:
        return self._cells[: n * self._width].reshape(n, self._width)

    @property
    def bytes_of_row(self) -> int:
        return self._width * self._cells.itemsize if self._is_dense else 0

    def make_room(self, wave: list[Chunk]) -> list[np.ndarray | None]:
        if not self._is_dense:
            return [None] * len(wave)
        n_rows = self._n_rows + sum(chunk.n_rows for chunk in wave)
        most_pairs = self._n_pairs + sum(chunk.text.size for chunk in wave) // SHORTEST_PAIR
        self._options.check_size(n_rows, most_pairs, self._width, wave[0].name)
        self._reserve(n_rows)
        X = self._rows(n_rows)
        ends = np.cumsum([self._n_rows] + [chunk.n_rows for chunk in wave]).tolist()
        return [X[start:stop] for start, stop in pairwise(ends)]

    def add(self, parts: list[ParsedRows], wave: list[Chunk]) -> None:
        self._n_pairs += sum(part.n_pairs for part in parts)
        width = max([self._width, self._options.n_features or 0] + [part.width for part in parts])
        n_rows = self._n_rows + sum(part.n_rows for part in parts)
        if width > self._width:
            self._options.check_size(n_rows, self._n_pairs, width, wave[0].name)
        if self._is_dense:
            self._add_dense(parts, wave, width)
            return
        self._pairs += [part.pairs for part in parts]
        self._n_rows, self._width = n_rows, width
        if n_rows and not self._options.sparse:
            n_bytes = sum(chunk.text.size for chunk in wave)
            self._become_dense(int(_SPARE * self._expected_bytes * n_rows / n_bytes))

    def _add_dense(self, parts: list[ParsedRows], wave: list[Chunk], width: int) -> None:
        n_places = sum(chunk.n_rows for chunk in wave)
        old, first = self._width, self._n_rows
        if width > old:
            # the rows of this wave move as well; those of a chunk that was too wide are not written yet
            self._n_rows += n_places
            self._width = width
            self._reserve(self._n_rows)
            _native.data.change_width(self._cells, self._n_rows, old, width, self._options.missing)
        X = self._rows(first + n_places)
        start = end = first
        for part, chunk in zip(parts, wave, strict=True):
            if part.pairs is not None:
                _native.data.scatter(*part.pairs, X[end : end + part.n_rows], self._options.missing)
            elif end < start:  # lines without data left a gap
                X[end : end + part.n_rows] = X[start : start + part.n_rows]
            start += chunk.n_rows
            end += part.n_rows
        self._n_rows = end

    def _become_dense(self, n_rows: int) -> None:
        self._is_dense = True
        self._cells = np.empty(max(n_rows, self._n_rows) * self._width, dtype=self._options.dtype)
        X = self._rows(self._n_rows)
        start = 0
        for row_end, index, value in self._pairs:
            _native.data.scatter(row_end, index, value, X[start : start + row_end.size], self._options.missing)
            start += row_end.size
        self._pairs = []

    def _reserve(self, n_rows: int) -> None:
        needed = n_rows * self._width
        if needed > self._cells.size:
            # grows in place if the system can move pages; nothing else references the buffer between two waves
            self._cells.resize(max(needed, int(self._cells.size * _GROWTH)), refcheck=False)

    def finish(self):
        """Return X."""
        if self._options.sparse:
            return self._as_csr()
        if not self._is_dense:
            self._become_dense(self._n_rows)
        self._cells.resize(self._n_rows * self._width, refcheck=False)
        return self._cells.reshape(self._n_rows, self._width)

    def _as_csr(self):
        with importing:
            from scipy.sparse import csr_matrix

        if not self._pairs:
            return csr_matrix((self._n_rows, self._width), dtype=self._options.dtype)
        kept = [_native.data.drop_zeros(row_end, index, value) for row_end, index, value in self._pairs]
        shifts = np.cumsum([0, *kept])
        ends = [pairs[0] + shift for pairs, shift in zip(self._pairs, shifts, strict=False)]
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), *ends])
        indices = np.concatenate([pairs[1][:n] for pairs, n in zip(self._pairs, kept, strict=True)])
        data = np.concatenate([pairs[2][:n] for pairs, n in zip(self._pairs, kept, strict=True)])
        self._pairs = []
        if indptr[-1] < 2**31:
            indptr = indptr.astype(np.int32)
        X = csr_matrix((data, indices, indptr), shape=(self._n_rows, self._width), copy=False)
        X.has_sorted_indices = X.has_canonical_format = True
        return X


def _as_queries(parts: list[ParsedRows], X, options: Options) -> Queries:
    labels = np.concatenate([part.labels for part in parts]) if parts else np.empty(0)
    comments: Any = None
    if any(part.comments.size for part in parts):
        comments = TextColumn.concat([part.notes() for part in parts])
    if all(part.id_texts is None for part in parts):
        qid = np.concatenate([part.qid for part in parts]) if parts else np.empty(0, dtype=np.int64)
        return Queries(X, labels, qid, comments=comments, first_index=options.first_index)
    codes, ids = _text_ids(parts)
    queries = Queries(X, labels, codes, comments=comments, first_index=options.first_index)
    queries.ids = as_str_array(ids)  # codes and queries are both in order of appearance
    return queries


def _text_ids(parts: list[ParsedRows]) -> tuple[np.ndarray, list[str]]:
    """Return one code per row and the text of each code, if at least one id is not a number."""
    places: dict[str, int] = {}
    codes = []
    for part in parts:
        starts, ids = part.runs()
        numbers = np.array([places.setdefault(str(key), len(places)) for key in ids], dtype=np.int64)
        codes.append(np.repeat(numbers, np.diff(starts, append=part.n_rows)))
    return np.concatenate(codes), list(places)
