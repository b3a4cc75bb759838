"""Batches of whole queries, flat, with their label order taken from that of all queries: nothing is sorted again."""

from __future__ import annotations

import numpy as np

from plackett.data.queries import Levels, QueryLists


def take_queries(lists: QueryLists, queries: np.ndarray) -> tuple[np.ndarray, QueryLists]:
    """The rows of these queries, one query after the other, and their lists.

    Examples
    --------
    >>> lists = QueryLists(np.array([0.0, 1.0, 2.0, 0.0, 5.0]), np.array([0, 2, 4, 5]))
    >>> rows, taken = take_queries(lists, np.array([2, 0]))
    >>> rows, taken.labels, taken.order
    (array([4, 0, 1]), array([5., 0., 1.]), array([0, 2, 1]))
    """
    rows, indptr = _ranges(lists.indptr, queries)
    taken = QueryLists(lists.labels[rows], indptr, lists.rng)
    moved = np.repeat(indptr[:-1] - lists.indptr[queries], np.diff(indptr))
    taken.order = lists.order[rows] + moved  # a query's places are its rows' numbers, in another order
    levels, level_indptr = _ranges(lists.levels.indptr, queries)
    shifts = np.repeat(indptr[:-1] - lists.indptr[queries], np.diff(level_indptr))
    taken.levels = Levels(np.append(lists.levels.bounds[levels] + shifts, indptr[-1]), level_indptr)
    return rows, taken


def _ranges(indptr: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that belong to some queries, one query after the other, and their new bounds."""
    lengths = indptr[queries + 1] - indptr[queries]
    bounds = np.zeros(queries.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return np.arange(bounds[-1]) + np.repeat(indptr[queries] - bounds[:-1], lengths), bounds
