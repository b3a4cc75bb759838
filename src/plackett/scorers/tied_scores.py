"""Ties: equal scores in the order of other scores, and keys of equal rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import dense, part_of_place

EQUAL = 1e-10  # scores that differ by less are equal
ROWS_PER_BLOCK = 4096
MOST = 1e-6  # largest change of a score; both are relative to the largest score of the list if that is below 1


def break_ties(scores: np.ndarray, base: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return the scores with ties of a query in the order of the base scores; ties in both remain.

    No score changes by more than 1e-6, and none reaches the next larger one. Both limits are smaller in proportion for
    queries whose scores are all below 1, as in long lists with unit columns.
    """
    answer = scores.astype(np.float64)
    if not answer.size:
        return answer
    query_of = part_of_place(indptr)
    largest = np.maximum.reduceat(np.abs(answer), indptr[:-1])
    scales = np.where((largest > 0.0) & (largest < 1.0), largest, 1.0)
    order = np.lexsort((answer, query_of))
    is_new = (np.diff(answer[order]) > EQUAL * scales[query_of[order[1:]]]) | (np.diff(query_of[order]) != 0)
    group = np.concatenate([[0], np.cumsum(is_new)])
    order = order[np.lexsort((base[order], group))]
    starts = np.concatenate([[0], np.flatnonzero(is_new) + 1, [order.size]])
    _native.rankers.spread_ties(order, starts, base, query_of, MOST * scales, answer)
    return answer


def row_keys(rows: np.ndarray) -> np.ndarray:
    """Return a hash of each row, the same for float32 and float64."""
    dtype = np.float32 if rows.dtype == np.float32 else np.float64
    keys = np.empty(rows.shape[0], dtype=np.uint64)
    _native.rankers.row_keys(np.ascontiguousarray(rows, dtype=dtype), keys)
    return keys.view(np.int64)


def with_equal_rows_tied(scores: np.ndarray, X: Any, indptr: np.ndarray) -> np.ndarray:
    """Return the scores of rows, exactly equal for equal rows of a list.

    BLAS may sum equal rows in different order. Without this, scores of equal documents would differ by rounding, and
    measures would depend on the order of rows.
    """
    if not scores.size:
        return scores
    blocks = (X[first : first + ROWS_PER_BLOCK] for first in range(0, X.shape[0], ROWS_PER_BLOCK))
    keys = np.concatenate([row_keys(dense(rows)) for rows in blocks])
    query_of = part_of_place(indptr)
    order = np.lexsort((keys, query_of))
    is_new = np.ones(order.size, dtype=bool)
    is_new[1:] = (keys[order[1:]] != keys[order[:-1]]) | (query_of[order[1:]] != query_of[order[:-1]])
    answer = np.empty_like(scores)
    answer[order] = scores[order[is_new]][np.cumsum(is_new) - 1]
    return answer


def places_of(keys: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """Return the position of each row among the known ones, equal rows in their order; None unless all are known."""
    order, known_order = np.argsort(keys, kind="stable"), np.argsort(known, kind="stable")
    wanted, there = keys[order], known[known_order]
    place = np.searchsorted(there, wanted) + np.arange(wanted.size) - np.searchsorted(wanted, wanted)
    if wanted.size > there.size or (place >= there.size).any() or (there[place] != wanted).any():
        return None
    places = np.empty(keys.size, dtype=np.int64)
    places[order] = known_order[place]
    return places
