"""Visiting and counting the pairs of each query with different labels, without building a list of pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists

NORMALIZERS: tuple[str, ...] = ("pairs", "all", "none")


class PairPlan(NamedTuple):
    """Steps that visit all pairs of every query without listing them.

    They are defined in ``_native/losses/pairwise/divide_and_conquer.hpp``.

    Query ``q`` owns ``steps[indptr[q]:indptr[q + 1]]``.

    ``run_end`` says, for each position of the label order, where its run of equal labels ends; ``n_stored`` is the
    number of entries that all crossings keep together.
    """

    steps: np.ndarray
    indptr: np.ndarray
    run_end: np.ndarray
    n_stored: int


def pair_plan(lists: QueryLists) -> PairPlan:
    """Return the plan of these lists, computed once."""
    return lists.keep("pair plan", lambda: _make_plan(lists))


def native_plan(lists: QueryLists) -> Any:
    """Return the plan as a compiled object bound to the label order of these lists, computed once."""
    plan = pair_plan(lists)
    return lists.keep(
        "native pair plan",
        lambda: _native.losses.pair_plan(lists.order, lists.indptr, plan.run_end, plan.steps, plan.indptr),
    )


def pair_counts(lists: QueryLists) -> np.ndarray:
    """Return the number of pairs with different labels in each query, counted once."""
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
    n_stored = _native.losses.plan_steps(bounds, of_queries, lists.indptr, squares, steps, indptr)
    return PairPlan(steps[: indptr[-1]].copy(), indptr, run_end, n_stored)
