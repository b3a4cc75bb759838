"""How the pairs of a query are met without listing them: a plan that depends on the labels alone.

In label order, a query is cut in two at a label border near its middle. Every pair of different labels then lies within
the better half, within the worse half, or across; a half is cut again until its pairs are few enough to be met one by
one. A plan lists these steps so that halves come before the whole:

- a leaf ``(start, start, stop, 0)``: meet the pairs within ``start:stop`` directly;
- a crossing ``(start, middle, stop, store)``: meet those of ``start:middle`` with those of ``middle:stop``, both sorted
  by score. ``store`` is where the crossing keeps what it finds, one entry per document.

Places are relative to the query.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from plackett.data.queries import QueryLists

DIRECT = 96  # pairs per document up to which meeting them one by one, as vectors, beats sorting


class PairPlan(NamedTuple):
    """Steps of all queries; query ``q`` owns ``steps[indptr[q]:indptr[q + 1]]``.

    ``run_end`` says, for each place of the label order, where its run of equal labels ends; ``n_stored`` is the number
    of entries that all crossings keep together.
    """

    steps: np.ndarray
    indptr: np.ndarray
    run_end: np.ndarray
    n_stored: int


def pair_plan(lists: QueryLists) -> PairPlan:
    """The plan of these lists, made once."""
    return lists.keep("pair plan", lambda: _make_plan(lists))


def pair_counts(lists: QueryLists) -> np.ndarray:
    """Pairs with different labels in each query, counted once."""
    return lists.keep("pair counts", lambda: _count_pairs(lists))


def _count_pairs(lists: QueryLists) -> np.ndarray:
    squares = np.concatenate([[0.0], np.cumsum(np.diff(lists.levels.bounds).astype(np.float64) ** 2)])
    n_docs = np.diff(lists.indptr).astype(np.float64)
    return 0.5 * (n_docs**2 - np.diff(squares[lists.levels.indptr]))


def _make_plan(lists: QueryLists) -> PairPlan:
    bounds, of_queries = lists.levels.bounds, lists.levels.indptr
    sizes = np.diff(bounds)
    starts = np.repeat(lists.indptr[:-1], np.diff(lists.indptr))
    run_end = (np.repeat(bounds[1:], sizes) - starts).astype(np.int32)
    squares = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    steps = np.empty((2 * sizes.size, 4), dtype=np.int64)
    indptr = np.zeros(lists.n_queries + 1, dtype=np.int64)
    n_stored = plan_steps(bounds, of_queries, lists.indptr, squares, steps, indptr)
    return PairPlan(steps[: indptr[-1]].copy(), indptr, run_end, n_stored)


@njit(cache=True, nogil=True)
def plan_steps(bounds, of_queries, query_bounds, squares, steps, indptr):
    """Write the steps; ``squares`` are running sums of the squared level sizes. Gives the entries to store."""
    waiting = np.empty((256, 3), np.int64)  # a half is at most half as long, or one level: the depth stays small
    n_steps, n_stored = 0, 0
    for q in range(query_bounds.size - 1):
        origin = query_bounds[q]
        n_waiting = 0
        if of_queries[q + 1] > of_queries[q]:
            waiting[0, 0], waiting[0, 1], waiting[0, 2] = of_queries[q], of_queries[q + 1], -1
            n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            low, high, cut = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
            start, stop = bounds[low], bounds[high]
            size = stop - start
            if cut >= 0:
                steps[n_steps, 0], steps[n_steps, 1] = start - origin, bounds[cut] - origin
                steps[n_steps, 2], steps[n_steps, 3] = stop - origin, n_stored
                n_steps += 1
                n_stored += size
            elif size * size - (squares[high] - squares[low]) <= 2 * DIRECT * size:
                steps[n_steps, 0], steps[n_steps, 1] = start - origin, start - origin
                steps[n_steps, 2], steps[n_steps, 3] = stop - origin, 0
                n_steps += 1
            else:
                cut = _middle_level(bounds, low, high)
                for k, (first, last, known) in enumerate(((low, high, cut), (cut, high, -1), (low, cut, -1))):
                    waiting[n_waiting + k, 0], waiting[n_waiting + k, 1] = first, last
                    waiting[n_waiting + k, 2] = known
                n_waiting += 3
        indptr[q + 1] = n_steps
    return n_stored


@njit(cache=True, nogil=True)
def _middle_level(bounds, low, high):
    """The level whose start is nearest to the middle of levels ``low:high``, of which there are at least two."""
    twice = bounds[low] + bounds[high]
    before, after = low + 1, high - 1
    while after - before > 1:
        guess = (before + after) // 2
        if 2 * bounds[guess] <= twice:
            before = guess
        else:
            after = guess
    return before if abs(2 * bounds[before] - twice) <= abs(2 * bounds[after] - twice) else after
