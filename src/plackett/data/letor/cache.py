"""Reading LETOR files through a memory-mapped cache: neither X nor the comments are ever completely in memory.

Dense rows are written as they are parsed, with the width of the first wave. If a later row is wider, the rest of the
text is only searched for its width, and then read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.cache import CacheDraft, CacheFile, NotCachedError
from plackett.data.letor.parse import Options, ParsedRows, parse_into
from plackett.data.letor.text import Chunk
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning, warn
from plackett.storage.mapped import BLOCK_BYTES

_ROOM_BYTES = 1 << 25  # dense rows of a wave in memory; those of a wave that needs more are kept as pairs until written


def read_through(inputs: list, options: Options, folder: Any, read_text: Callable[[], Queries]) -> Queries:
    """Return the queries from a valid cache, built if needed; if that is not possible, warn and read into memory."""
    for entry in inputs:
        if entry == "-" or not isinstance(entry, (str, os.PathLike)):
            raise ValueError(
                "cache needs files with a name: standard input and file objects cannot be recognised again."
            )
    # as text: JSON has no NaN
    described = {name: str(getattr(options, name)) for name in options.__dataclass_fields__}
    cache = CacheFile([Path(entry) for entry in inputs], described, folder, options.dtype)
    queries = cache.load()
    if queries is None:
        try:
            width = _build(cache, inputs, options, options.n_features or 0)
            if width is not None:
                _build(cache, inputs, options, width)
            queries = cache.load()
        except NotCachedError as error:
            warn(f"the cache {cache.path} could not be written ({error}); reading into memory instead.", DataWarning)
    return read_text() if queries is None else queries


def _build(cache: CacheFile, inputs: list, options: Options, width: int) -> int | None:
    """Write the cache, unless there are no rows; if they are wider than ``width``, return their width instead."""
    with cache.draft() as draft:
        rows = _Rows(draft, options, width)
        parse_into(rows, lambda parts: None, inputs, options)
        if rows.is_too_narrow:
            return rows.width
        if rows.n_rows:
            remedy = "write_letor(read_letor(source).grouped, target)"
            draft.finish(rows.width, remedy, feature_names=None, first_index=options.first_index)
    return None


class _Rows:
    """Rows while they are parsed; at width 0, the first wave determines the width."""

    bytes_of_row = 0  # only a bounded number of rows is in memory

    def __init__(self, draft: CacheDraft, options: Options, width: int):
        self._draft, self._options, self.width = draft, options, width
        self.is_too_narrow = False
        self._room: list[np.ndarray | None] = []
        self._cells = np.empty(0, dtype=options.dtype)
        self._n_pairs = self.n_rows = 0

    def make_room(self, wave: list[Chunk]) -> list[np.ndarray | None]:
        ends = np.cumsum([chunk.n_rows for chunk in wave])
        n_cells = int(ends[-1]) * self.width
        self._room = [None] * len(wave)
        if self.width and not self._options.sparse and n_cells * self._cells.itemsize <= _ROOM_BYTES:
            if self._cells.size < n_cells:
                self._cells = np.empty(n_cells, dtype=self._options.dtype)
            self._room = list(np.split(self._cells[:n_cells].reshape(-1, self.width), ends[:-1]))
        return self._room

    def add(self, parts: list[ParsedRows], wave: list[Chunk]) -> None:
        is_first, width = not self.n_rows, max([self.width] + [part.width for part in parts])
        self.n_rows += sum(part.n_rows for part in parts)
        self._n_pairs += sum(part.n_pairs for part in parts)
        if width > self.width:
            self._options.check_size(self.n_rows, self._n_pairs, width, wave[0].name)
            self.is_too_narrow = not (is_first or self._options.sparse)
            self.width = width
        for part, room in zip(parts, self._room, strict=True):
            if part.n_rows and not self.is_too_narrow:
                self._append_X(part, room)
                starts, ids = part.runs()
                comments = part.notes() if self._options.comments else None
                self._draft.append_columns(ids, np.diff(starts, append=part.n_rows), part.labels, None, comments)

    def _append_X(self, part: ParsedRows, room: np.ndarray | None) -> None:
        if part.pairs is None:
            self._draft.append_dense(room[: part.n_rows])  # type: ignore[index]
        elif self._options.sparse:
            row_end, index, value = part.pairs
            n_kept = _native.data.drop_zeros(row_end, index, value)
            self._draft.append_csr(value[:n_kept], index[:n_kept], row_end)
        else:
            for X in _dense_blocks(part.pairs, self.width, self._options.missing):
                self._draft.append_dense(X)


def _dense_blocks(pairs: tuple, width: int, missing: float) -> Iterator[np.ndarray]:
    """Yield pairs as dense rows of this width, in blocks of bounded size."""
    row_end, index, value = pairs
    step = max(1, BLOCK_BYTES // max(1, width * value.itemsize))
    first = 0
    for start in range(0, row_end.size, step):
        ends = row_end[start : start + step]
        X, last = np.empty((ends.size, width), dtype=value.dtype), int(ends[-1])
        _native.data.scatter(ends - first, index[first:last], value[first:last], X, missing)
        yield X
        first = last
