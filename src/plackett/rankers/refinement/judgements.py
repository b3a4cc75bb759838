"""Judgements of documents: labels or pairs as the feedback of refiners."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett._arrays import part_of_place
from plackett.data.queries import Queries
from plackett.validation import check_not_masked, check_number, count_of, plain


class QueryFeedback(NamedTuple):
    """The pairs i ≻ j of one query, as kernels take them.

    Pairs from labels are given by ``judged``, the judged documents by ascending label, and the bounds of the label
    levels in it. Other pairs are ``better[k] ≻ worse[k]``.
    """

    judged: np.ndarray
    levels: np.ndarray
    better: np.ndarray
    worse: np.ndarray


class Judgements:
    """The feedback of all queries; rows are those of ``queries``, grouped.

    Parameters
    ----------
    queries : Queries
    labels : ndarray of shape (n_docs,) or None
        NaN for documents that were not judged.
    pairs : ndarray of shape (n_pairs, 2) or None
        Rows ``(better, worse)``; a repeated pair counts once.
    """

    def __init__(self, queries: Queries, labels: np.ndarray | None = None, pairs: np.ndarray | None = None):
        self.labels = np.full(queries.n_docs, np.nan) if labels is None else labels
        self._indptr = queries.indptr
        found = np.zeros((0, 2), dtype=np.int64) if pairs is None else np.unique(pairs, axis=0)
        query_of = part_of_place(queries.indptr)[found]
        by_query = np.argsort(query_of[:, 0], kind="stable")
        self._pairs = found[by_query]
        self._bounds = np.searchsorted(query_of[by_query, 0], np.arange(queries.n_queries + 1))

    def of(self, query: int, order: np.ndarray) -> QueryFeedback:
        """Return the feedback on one query, its documents numbered by their places in ``order``."""
        first, last = self._indptr[query], self._indptr[query + 1]
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        labels = self.labels[first:last]
        judged = np.flatnonzero(~np.isnan(labels))
        judged = judged[np.argsort(labels[judged], kind="stable")]
        levels = np.flatnonzero(np.diff(labels[judged])) + 1
        bounds = np.concatenate([[0], levels, [judged.size]]) if judged.size else np.zeros(1, dtype=np.int64)
        pairs = place[self._pairs[self._bounds[query] : self._bounds[query + 1]] - first]
        better, worse = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        return QueryFeedback(place[judged], bounds, better, worse)


def as_relevance(labels: np.ndarray, relevant_from: float | None) -> np.ndarray:
    """Return 1 for labels of at least ``relevant_from``, 0 for others, NaN for NaN; the labels themselves for None."""
    if relevant_from is None:
        return labels
    return np.where(np.isnan(labels), np.nan, labels >= check_number(relevant_from, "relevant_from"))


def check_pairs(pairs: Any, queries: Queries) -> np.ndarray:
    """Return pairs of row numbers of X as pairs of grouped rows."""
    for part in (pairs, *(pairs if isinstance(pairs, tuple) else ())):
        check_not_masked(part, "pairs")
    if isinstance(pairs, tuple) and len(pairs) == 2:
        sides = [np.asarray(side) for side in pairs]
        if sides[0].shape != sides[1].shape or sides[0].ndim != 1:
            raise ValueError("pairs=(better, worse) must be two lists of row numbers of the same length.")
        table = np.stack(sides, axis=1)
    else:
        table = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs))
        table = table.reshape(0, 2) if table.size == 0 else table
    if table.size and (table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu"):
        raise ValueError(
            f"pairs has shape {table.shape} and type {table.dtype}; pass one (better, worse) pair of row numbers per "
            "line, or a tuple of two lists."
        )
    table = table.astype(np.int64)
    outside = (table < 0) | (table >= queries.n_docs)
    if outside.any():
        raise ValueError(f"pairs names row {int(table[outside][0])}, but X has rows 0 to {queries.n_docs - 1:,}.")
    grouped = queries.in_row_order(np.arange(queries.n_docs))[table]
    query_of = np.searchsorted(queries.indptr, grouped, side="right") - 1
    apart = np.flatnonzero(query_of[:, 0] != query_of[:, 1])
    if apart.size:
        better, worse = table[apart[0]].tolist()
        first, second = (plain(queries.ids[place]) for place in query_of[apart[0]])
        raise ValueError(
            f"pairs prefers row {better} of query {first!r} to row {worse} of query {second!r}; only documents of one "
            f"query are compared ({count_of(apart.size, 'such pair')})."
        )
    same = np.flatnonzero(table[:, 0] == table[:, 1])
    if same.size:
        raise ValueError(f"pairs prefers row {int(table[same[0], 0])} to itself.")
    return grouped
