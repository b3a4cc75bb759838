"""The training queries with positive weight for each target: chosen by distance, ties by order of appearance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett._arrays import bounds, ranges


class Neighbors(NamedTuple):
    """The neighbours of each target, nearest first: target ``t`` owns places ``indptr[t]:indptr[t + 1]``.

    Weights are positive, and those of a target sum to the number of training queries. Distances are Euclidean between
    the numeric features, NaN without any.
    """

    indptr: np.ndarray
    queries: np.ndarray
    weights: np.ndarray
    distances: np.ndarray

    @property
    def n_targets(self) -> int:
        return self.indptr.size - 1

    def of(self, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return queries, weights and distances of one target."""
        own = slice(int(self.indptr[target]), int(self.indptr[target + 1]))
        return self.queries[own], self.weights[own], self.distances[own]

    @classmethod
    def of_places(
        cls, row: np.ndarray, queries: np.ndarray, weights: np.ndarray, distances: np.ndarray, n: int, total: float
    ) -> Neighbors:
        """Return the neighbours of n targets, from ascending rows, with the weights of each scaled to ``total``."""
        sizes = np.bincount(row, minlength=n)
        indptr = bounds(sizes)
        weights = weights / np.repeat(np.maximum.reduceat(weights, indptr[:-1]), sizes)  # their sum may underflow
        weights *= np.repeat(total / np.add.reduceat(weights, indptr[:-1]), sizes)
        return cls(indptr, queries, weights, distances)

    @classmethod
    def join(cls, parts: list[Neighbors], order: np.ndarray | None = None) -> Neighbors:
        """Return the targets of all parts, concatenated and then reordered."""
        sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(part.indptr) for part in parts)])
        empty = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
        columns = [np.concatenate(column) for column in zip(empty, *(part[1:] for part in parts), strict=True)]
        if order is not None:
            starts, sizes = bounds(sizes)[order], sizes[order]
            places = ranges(starts, sizes)
            columns = [column[places] for column in columns]
        return cls(bounds(sizes), *columns)


def nearest(lead: np.ndarray, nearness: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the k entries of each row with the smallest ``lead``, the smallest first.

    Ties are resolved by ``nearness``, then by column. An entry of -1 comes before all distances.
    """
    if k < lead.shape[1]:
        kth = np.partition(lead, k - 1, axis=1)[:, k - 1]
        row, column = np.nonzero(lead <= kth[:, None])
    else:
        row, column = (places.reshape(-1) for places in np.indices(lead.shape))
    order = np.lexsort((nearness[row, column], lead[row, column], row))  # stable: equals stay in order of column
    row, column = row[order], column[order]
    is_near = np.arange(row.size) - first_places(row, lead.shape[0])[row] < k
    return row[is_near], column[is_near]


def first_places(row: np.ndarray, n_rows: int) -> np.ndarray:
    """Return where each row begins in ascending row numbers without gaps."""
    return np.searchsorted(row, np.arange(n_rows))
