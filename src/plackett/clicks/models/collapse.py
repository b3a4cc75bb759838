"""Collapsed logs: what the likelihood of a click model depends on, by blocks of whole queries.

Blocks depend on the queries alone, and what they hold does not depend on the order of the sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.clicks.log import ClickLog, CountedLog

ROWS_PER_BLOCK = 1 << 19
_kernels = _native.clicks


class Cells(NamedTuple):
    """Clicks and skips of each pair of a block in each cell: a rank, or a rank and that of the last click above."""

    pairs: slice
    indptr: np.ndarray  # cells of each pair
    cell: np.ndarray
    clicks: np.ndarray
    skips: np.ndarray


class Lists(NamedTuple):
    """Different lists of a block, with the number of sessions by rank of the last click, and counts per pair.

    A list begins at the rank ``start``, the first one at which a session had its last click.
    """

    pairs: slice
    indptr: np.ndarray
    pair: np.ndarray
    ends: np.ndarray
    start: np.ndarray
    n_none: np.ndarray
    query_lists: np.ndarray
    query_pairs: np.ndarray
    clicks: np.ndarray
    skips: np.ndarray
    passed: np.ndarray
    passed_at: np.ndarray


def count_cells(log: ClickLog, *, by_last_click: bool) -> list[Cells]:
    """Return the clicks and skips of every pair by rank, or by rank and rank of the last click above."""
    if isinstance(log, CountedLog) and not by_last_click:
        return _blocks_of(log)

    def work(first: int, last: int, pairs: slice, n_rows: int, n_sessions: int, sessions: tuple) -> Cells:
        indptr = np.empty(pairs.stop - pairs.start + 1, dtype=np.int64)
        parts = [np.empty(n_rows, dtype=np.int32) for _ in range(3)]
        n_cells = _kernels.collapse_cells(*sessions, first, last, pairs.start, by_last_click, indptr, *parts)
        return Cells(pairs, indptr, *(part[:n_cells].copy() for part in parts))

    return _by_query(log, work)


def _blocks_of(log: CountedLog) -> list[Cells]:
    """Return the counts in the blocks that a log of their sessions has."""
    bounds, ends = _pair_bounds(log), log.cell_bounds
    rows = np.append(0, np.cumsum(log.impressions))[bounds]
    pairs = [slice(int(bounds[first]), int(bounds[last])) for first, last in query_blocks(rows, ROWS_PER_BLOCK)]
    cells = [(own, slice(int(ends[own.start]), int(ends[own.stop]))) for own in pairs]
    return [
        Cells(own, ends[own.start : own.stop + 1] - part.start, log.cell[part], log.clicks[part], log.skips[part])
        for own, part in cells
    ]


def count_lists(log: ClickLog) -> list[Lists]:
    """Return the different lists of every query, and counts per pair."""
    longest = log.longest
    bounds = _pair_bounds(log)

    def work(first: int, last: int, pairs: slice, n_rows: int, n_sessions: int, sessions: tuple) -> Lists:
        indptr, query_lists = np.empty(n_sessions + 1, dtype=np.int64), np.empty(last - first + 1, dtype=np.int64)
        pair, ends = np.empty((2, n_rows), dtype=np.int32)
        start, n_none = np.empty((2, n_sessions), dtype=np.int32)
        clicks, skips, passed = np.zeros((3, pairs.stop - pairs.start), dtype=np.int32)
        passed_at = np.zeros(longest)
        lists: tuple[np.ndarray, ...] = (indptr, pair, ends, start, n_none, query_lists)
        n_lists, n_rows = _kernels.collapse_lists(
            *sessions, first, last, pairs.start, *lists, clicks, skips, passed, passed_at
        )
        sizes = (n_lists + 1, n_rows, n_rows, n_lists, n_lists, last - first + 1)
        kept = [values[:size].copy() for values, size in zip(lists, sizes, strict=True)]
        rest = (bounds[first : last + 1] - pairs.start, clicks, skips, passed, passed_at)
        return Lists._make((pairs, *kept, *rest))

    return _by_query(log, work)


def _pair_bounds(log: ClickLog) -> np.ndarray:
    return np.searchsorted(log.pair_query, np.arange(len(log.queries) + 1))


def _by_query(log: ClickLog, work: Callable[..., Any]) -> list[Any]:
    """Call ``work`` for blocks of whole queries."""
    bounds, order = np.empty(len(log.queries) + 1, dtype=np.int64), np.empty(len(log), dtype=np.int32)
    _kernels.order_by_query(log.session_query, bounds, order)
    rows = np.zeros(bounds.size, dtype=np.int64)
    np.cumsum(np.bincount(log.session_query, np.diff(log.indptr), len(log.queries)), out=rows[1:])
    pairs = _pair_bounds(log)
    sessions = (log.indptr, log.pair, log.click, bounds, order)
    blocks = [
        (
            first,
            last,
            slice(int(pairs[first]), int(pairs[last])),
            int(rows[last] - rows[first]),
            int(bounds[last] - bounds[first]),
            sessions,
        )
        for first, last in query_blocks(rows, ROWS_PER_BLOCK)
    ]
    return map_blocks(work, blocks)


def summed(work: Callable[[Any], tuple[float, np.ndarray]], blocks: list[Any]) -> tuple[float, np.ndarray]:
    """Return the sums of the values and the arrays that ``work`` returns for each block, in their order."""
    value = 0.0
    total: Any = 0.0
    for part, parts in map_blocks(work, [(block,) for block in blocks]):
        value, total = value + part, total + parts
    return value, total


def session_blocks(log: ClickLog) -> Iterator[tuple[int, int, slice]]:
    """Return blocks of sessions ``first`` to ``last``, with their rows."""
    for first, last in query_blocks(log.indptr, ROWS_PER_BLOCK):
        yield first, last, slice(int(log.indptr[first]), int(log.indptr[last]))
