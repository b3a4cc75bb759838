"""Reading LETOR files through a memory-mapped cache: neither X nor the comments are ever completely in memory.

Rows are written to files as they are parsed: dense rows of the first width directly to the cache, all others to unnamed
files. Usually that is all. If the final form differs, because a larger index came late, X becomes CSR or the rows of a
query are not adjacent, the rows are copied block by block to a second cache file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett.data.cache import CacheFile, most_columns
from plackett.data.grouping import Groups, group_runs
from plackett.data.letor.parse import Options, ParsedRows, id_runs, parse_into
from plackett.data.letor.text import Chunk
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataWarning, warn
from plackett.storage.container import ContainerWriter
from plackett.storage.mapped import BLOCK_BYTES, RowSpill, Spill, n_bytes

MAX_WIDTHS = 16  # each width of X has its own file; rows wider than the last of these are kept as pairs
_ROOM_BYTES = 1 << 25  # dense rows of a wave in memory; those of a wave that needs more are kept as pairs until written
_VALUES = 1 << 18  # of a vector in memory


class _NotWritten(Exception):
    """The cache could not be written, but the text may still be readable; the cause is an OSError."""


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _NotWritten(str(error)) from error


def read_through(inputs: list, options: Options, folder: Any, read_text: Callable[[], Queries]) -> Queries:
    """Return the queries from a valid cache, built if needed; if that is not possible, warn and read into memory."""
    for entry in inputs:
        if entry == "-" or not isinstance(entry, (str, os.PathLike)):
            raise ValueError(
                "cache needs files with a name: standard input and file objects cannot be recognised again."
            )
    cache = CacheFile([Path(entry) for entry in inputs], _described(options), folder, options.dtype)
    queries = cache.load()
    if queries is not None:
        return queries
    try:
        is_built = _build(cache, inputs, options)
    except _NotWritten as error:
        is_built = False
        warn(f"the cache {cache.path} could not be written ({error}).", DataWarning)
    queries = cache.load() if is_built else None
    return read_text() if queries is None else queries


def _described(options: Options) -> dict[str, str]:
    """Return the options as text: JSON has no NaN."""
    return {name: str(getattr(options, name)) for name in options.__dataclass_fields__}


def _build(cache: CacheFile, inputs: list, options: Options) -> bool:
    """Write the cache, unless there are no rows or a file changed while it was read; return whether it was written."""
    with contextlib.ExitStack() as drafts:
        with _writing():
            writer = drafts.enter_context(cache.writer())
        folder = str(cache.path.parent)
        with _writing():
            rows, columns = _Rows(writer, options, folder), _Columns(options, folder)
        parse_into(rows, columns.add, inputs, options)
        with _writing():
            if cache.is_outdated():
                reason = "the text changed while it was read. It is read into memory instead."
                warn(f"the cache {cache.path} was not written: {reason}", DataWarning)
                return False
            if not rows.n_rows:
                return False
            groups = columns.runs.groups()
            if groups.ids.dtype.kind == "O":
                raise OSError("an id is too long to be stored")
            if groups.order is not None or not rows.is_in_place:
                writer = drafts.enter_context(cache.writer())
                rows.copy_to(writer, groups.order)
            columns.copy_to(writer, groups.order)
            writer.add("ids", groups.ids)
            writer.add("indptr", groups.indptr)
            if groups.order is not None:
                writer.add("row_order", groups.order)
            cache.finish(writer, (rows.n_rows, rows.width), None, options.first_index)
    return True


# --- X ----------------------------------------------------------------------------------------------------------------


class _Rows:
    """X while it is parsed: runs of rows, each in its own file, dense and of one width, or as pairs.

    Whether X becomes CSR is decided as in memory, from the whole text.
    """

    def __init__(self, writer: ContainerWriter, options: Options, folder: str):
        self._writer, self._options, self._folder = writer, options, folder
        self._stores: list[_InCache | RowSpill | _PairSpill] = []
        self._widths: list[int | None] = []  # of each store; None: pairs
        self._is_dense = self._is_started = False
        self._room: list[np.ndarray | None] = []
        self._cells = np.empty(0, dtype=options.dtype)
        self._n_pairs = self.n_rows = self.width = 0

    @property
    def bytes_of_row(self) -> int:
        return 0  # only a bounded number of rows is in memory

    def make_room(self, wave: list[Chunk]) -> list[np.ndarray | None]:
        n_rows = sum(chunk.n_rows for chunk in wave)
        if not self._is_dense or n_rows * self.width * self._cells.itemsize > _ROOM_BYTES:
            self._room = [None] * len(wave)
        else:
            if self._cells.size < n_rows * self.width:
                self._cells = np.empty(n_rows * self.width, dtype=self._options.dtype)
            X = self._cells[: n_rows * self.width].reshape(n_rows, self.width)
            ends = np.cumsum([chunk.n_rows for chunk in wave]).tolist()
            self._room = [X[end - chunk.n_rows : end] for chunk, end in zip(wave, ends, strict=True)]
        return self._room

    @_writing()
    def add(self, parts: list[ParsedRows], wave: list[Chunk]) -> None:
        options, old = self._options, self.width
        self.n_rows += sum(part.n_rows for part in parts)
        self._n_pairs += sum(part.n_pairs for part in parts)
        self.width = max([old, options.n_features or 0] + [part.width for part in parts])
        n_cells = self.n_rows * self.width
        if self.width > old:
            options.check_size(self.n_rows, self._n_pairs, self.width, wave[0].name)
        if not self._is_started and self.n_rows:
            self._is_started, self._is_dense = True, not options.looks_sparse(self._n_pairs, n_cells)
        elif self._is_dense and self.width > old:
            is_sparse = options.sparse is None and options.wants_sparse(self._n_pairs, n_cells)
            self._is_dense = not is_sparse and len(self._stores) < MAX_WIDTHS
        for part, room in zip(parts, self._room, strict=True):
            if part.n_rows:
                self._append(part, room)

    def _append(self, part: ParsedRows, room: np.ndarray | None) -> None:
        if part.pairs is None:
            assert room is not None
            rows = room[: part.n_rows]
            if self._is_dense:
                rows = _widened(rows, self.width, self._options.missing)
            self._store(rows.shape[1]).append(rows)
        elif self._is_dense:
            for rows in _dense_blocks(part.pairs, self.width, self._options.missing):
                self._store(self.width).append(rows)
        else:
            self._store(None).append(part.pairs)

    def _store(self, width: int | None) -> Any:
        """Return the store for rows of this width: the current one, or a new one."""
        if not self._stores or self._widths[-1] != width:
            store: _InCache | RowSpill | _PairSpill
            if width is None:
                store = _PairSpill(self._options.dtype, self._folder)
            else:
                store = RowSpill(self._folder) if self._stores else _InCache(self._writer)
            self._stores.append(store)
            self._widths.append(width)
        return self._stores[-1]

    @property
    def _is_sparse(self) -> bool:
        return self._options.wants_sparse(self._n_pairs, self.n_rows * self.width)

    @property
    def is_in_place(self) -> bool:
        """Whether X is complete in the cache file."""
        return not self._is_sparse and self._widths == [self.width]

    def copy_to(self, writer: ContainerWriter, order: np.ndarray | None) -> None:
        """Write X to the cache, in another row order if ``order`` is given."""
        blocks = self._blocks()
        if order is not None:
            blocks = _chosen(self._stores[0].finish() if self.is_in_place else _spilled(blocks, self._folder), order)
        if self._is_sparse:
            self._write_csr(writer, blocks)
            return
        writer.reserve("X", self._options.dtype, (self.n_rows, self.width))
        row = 0
        for block in blocks:
            writer.write_rows("X", row, block)
            row += block.shape[0]

    def _blocks(self) -> Iterator[Any]:
        """Yield all rows in blocks, in the final form of X."""
        as_blocks = _csr_blocks if self._is_sparse else _dense_blocks
        for store in self._stores:
            yield from as_blocks(store.finish(), self.width, self._options.missing)

    def _write_csr(self, writer: ContainerWriter, blocks: Iterator[Any]) -> None:
        indices, indptr = Spill(np.int32, self._folder), np.zeros(self.n_rows + 1, dtype=np.int64)
        row = widest = 0
        for block in blocks:
            writer.append("data", block.data)
            indices.append(block.indices)
            widest = max(widest, 1 + int(block.indices.max(initial=-1)))
            np.add(block.indptr[1:], indptr[row], out=indptr[row + 1 : row + 1 + block.shape[0]])
            row += block.shape[0]
        if self.width > most_columns(int(indptr[-1]), widest, _described(self._options)):
            raise OSError("the values are too few for so many columns")
        writer.add("indices", indices.finish((int(indptr[-1]),)))
        writer.add("indptr_of_rows", indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr)


class _InCache:
    """Dense rows at their final position in the cache."""

    def __init__(self, writer: ContainerWriter):
        self._writer = writer

    def append(self, rows: np.ndarray) -> None:
        self._writer.append("X", rows)

    def finish(self) -> np.ndarray:
        return self._writer.mapped("X")


class _PairSpill:
    """Rows as pairs, including zeros, in unnamed files."""

    def __init__(self, dtype: np.dtype, folder: str):
        self._row_end, self._index, self._value = (Spill(kind, folder) for kind in (np.int64, np.int32, dtype))
        self._n_rows = self._n_pairs = 0

    def append(self, pairs: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        row_end, index, value = pairs
        self._row_end.append(row_end + self._n_pairs)
        self._index.append(index)
        self._value.append(value)
        self._n_rows += row_end.size
        self._n_pairs += index.size

    def finish(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shape = (self._n_pairs,)
        return self._row_end.finish((self._n_rows,)), self._index.finish(shape), self._value.finish(shape)


def _pair_blocks(pairs: tuple, bytes_of_row: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the pairs of some rows at a time, in writable arrays of bounded size."""
    row_end, index, value = pairs
    most_rows, most_pairs = BLOCK_BYTES // max(1, bytes_of_row), BLOCK_BYTES // (4 + value.itemsize)
    start = first = 0
    while start < row_end.size:
        stop = min(start + most_rows, int(np.searchsorted(row_end, first + most_pairs, side="right")))
        stop = max(stop, start + 1)
        last = int(row_end[stop - 1])
        yield row_end[start:stop] - first, index[first:last].copy(), value[first:last].copy()
        start, first = stop, last


def _dense_blocks(rows: np.ndarray | tuple, width: int, missing: float) -> Iterator[np.ndarray]:
    """Yield rows or pairs as dense rows of this width, in blocks."""
    if isinstance(rows, tuple):
        for row_end, index, value in _pair_blocks(rows, width * rows[2].itemsize):
            X = np.empty((row_end.size, width), dtype=value.dtype)
            _native.data.scatter(row_end, index, value, X, missing)
            yield X
        return
    step = max(1, BLOCK_BYTES // max(1, width * rows.itemsize))
    for start in range(0, rows.shape[0], step):
        yield _widened(rows[start : start + step], width, missing)


def _csr_blocks(rows: np.ndarray | tuple, width: int, missing: float) -> Iterator[Any]:
    """Yield rows or pairs as CSR matrices of this width, without stored zeros."""
    with importing:
        from scipy.sparse import csr_matrix

    if not isinstance(rows, tuple):
        for block in _dense_blocks(rows, rows.shape[1], missing):
            found = csr_matrix(block)
            yield csr_matrix((found.data, found.indices, found.indptr), shape=(block.shape[0], width), copy=False)
        return
    for row_end, index, value in _pair_blocks(rows, rows[0].itemsize):
        kept = _native.data.drop_zeros(row_end, index, value)
        indptr = np.append(0, row_end).astype(np.int32)
        yield csr_matrix((value[:kept], index[:kept], indptr), shape=(row_end.size, width), copy=False)


def _widened(rows: np.ndarray, width: int, missing: float) -> np.ndarray:
    if rows.shape[1] == width:
        return rows
    wide = np.full((rows.shape[0], width), missing, dtype=rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide


def _spilled(blocks: Iterable[Any], folder: str) -> Any:
    spill = RowSpill(folder)
    for block in blocks:
        spill.append(block)
    return spill.finish()


def _chosen(X: Any, order: np.ndarray) -> Iterator[Any]:
    step = max(1, BLOCK_BYTES // max(1, n_bytes(X) // order.size))
    for start in range(0, order.size, step):
        yield X[order[start : start + step]]


# --- Labels, comments and query ids -----------------------------------------------------------------------------------


class _Columns:
    """Labels and comments in unnamed files, and the runs of query ids."""

    def __init__(self, options: Options, folder: str):
        self.runs = _Runs()
        self._has_comments = options.comments
        self._labels, self._bounds = Spill(np.float64, folder), Spill(np.int64, folder)
        self._comments = Spill(np.uint8, folder)
        self._bounds.append(np.zeros(1))
        self._n_rows = self._n_bytes = 0

    @_writing()
    def add(self, parts: list[ParsedRows]) -> None:
        for part in parts:
            self.runs.add(part)
            self._labels.append(part.labels)
            self._n_rows += part.n_rows
            if self._has_comments:
                self._bounds.append(part.comment_ends + self._n_bytes)
                self._comments.append(part.comments)
                self._n_bytes += part.comments.size

    def copy_to(self, writer: ContainerWriter, order: np.ndarray | None) -> None:
        """Write labels and comments to the cache, in the row order of X."""
        labels = self._labels.finish((self._n_rows,))
        comments = None
        if self._n_bytes:
            comments = TextColumn(self._comments.finish((self._n_bytes,)), self._bounds.finish((self._n_rows + 1,)))
        if order is None:
            writer.add("y", labels)
            if comments is not None:
                writer.add("comments", comments.buffer)
                writer.add("comment_bounds", comments.bounds)
            return
        writer.reserve("y", np.float64, order.shape)
        for start in range(0, order.size, _VALUES):
            writer.write_rows("y", start, labels[order[start : start + _VALUES]])
        if comments is not None:
            _write_texts(writer, comments, order)


def _write_texts(writer: ContainerWriter, comments: TextColumn, order: np.ndarray) -> None:
    writer.reserve("comment_bounds", np.int64, (order.size + 1,))
    writer.write_rows("comment_bounds", 0, np.zeros(1, dtype=np.int64))
    filled = 0
    for start in range(0, order.size, _VALUES):
        rows = order[start : start + _VALUES]
        lengths = comments.bounds[rows + 1] - comments.bounds[rows]
        ends = filled + np.cumsum(lengths)
        writer.write_rows("comment_bounds", start + 1, ends)
        for places in comments.places_of(rows, lengths):
            writer.append("comments", comments.buffer[places])
        filled = int(ends[-1])


class _Runs:
    """Query ids, one for each run of rows with the same id."""

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._places: dict[str, int] | None = (
            None  # set when an id is not a number: all ids are text then, and keys are their codes
        )

    def add(self, part: ParsedRows) -> None:
        if not part.n_rows:
            return
        if part.id_texts is None:
            starts, keys = id_runs(part.qid)
            if self._places is not None:
                keys = self._codes(map(str, keys.tolist()))
        else:
            if self._places is None:
                self._places = {}
                self._keys = [self._codes(map(str, keys.tolist())) for keys in self._keys]
            starts = np.array([row for row, _ in part.id_texts])
            keys = self._codes(text for _, text in part.id_texts)
        self._keys.append(keys)
        self._lengths.append(np.diff(np.append(starts, part.n_rows)))

    def _codes(self, texts: Iterable[str]) -> np.ndarray:
        assert self._places is not None
        places = self._places
        return np.array([places.setdefault(text, len(places)) for text in texts], dtype=np.int64)

    def groups(self) -> Groups:
        """Return the queries, as ``group_rows`` would for all rows."""
        groups = group_runs(np.concatenate(self._keys), np.concatenate(self._lengths))
        return groups if self._places is None else groups._replace(ids=as_str_array(list(self._places)))
