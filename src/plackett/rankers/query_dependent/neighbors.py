"""The training queries with positive weight for each target: chosen by distance, ties by order of appearance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False)
class Neighbors:
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


class Chosen(NamedTuple):
    """Neighbours of some targets, those of a target side by side, and how many targets had only weights of 0."""

    targets: np.ndarray
    queries: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    n_vanished: int


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


def leave_out_zeros(
    targets: np.ndarray, row: np.ndarray, queries: np.ndarray, weights: np.ndarray, distances: np.ndarray
) -> Chosen:
    """Return the neighbours of positive weight; the first one, with weight 1, for a row without any."""
    is_counted = np.zeros(targets.size, dtype=bool)
    is_counted[row[weights > 0]] = True
    alone = first_places(row, targets.size)[~is_counted]
    weights[alone] = 1.0
    kept = np.flatnonzero(weights > 0)
    return Chosen(targets[row[kept]], queries[kept], weights[kept], distances[kept], alone.size)


def median_of_rows(distances: np.ndarray) -> np.ndarray:
    """Return the median of each row, faster than numpy's: there are no NaN to look for."""
    middle = distances.shape[1] // 2
    parted = np.partition(distances, middle, axis=1)
    upper = parted[:, middle]
    if distances.shape[1] % 2:
        return upper
    return 0.5 * (parted[:, :middle].max(axis=1) + upper)


def join(parts: list[Chosen], n_targets: int, total: float) -> Neighbors:
    """Return all neighbours by target, with the weights of each target scaled to the sum ``total``."""
    targets, queries, weights, distances = (
        np.concatenate([np.zeros(0, dtype=dtype), *(part[field] for part in parts)])
        for field, dtype in enumerate((np.int64, np.int64, np.float64, np.float64))
    )
    if (targets[1:] < targets[:-1]).any():
        order = np.argsort(targets, kind="stable")
        targets, queries, weights, distances = (flat[order] for flat in (targets, queries, weights, distances))
    sizes = np.bincount(targets, minlength=n_targets)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if n_targets:
        weights /= np.repeat(np.maximum.reduceat(weights, indptr[:-1]), sizes)  # their sum may underflow
        weights *= np.repeat(total / np.add.reduceat(weights, indptr[:-1]), sizes)
    return Neighbors(indptr, queries, weights, distances)


def mixed(parts: list[Neighbors], order: np.ndarray) -> Neighbors:
    """Return the targets of all parts, concatenated and then reordered."""
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    indptr = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
    places = np.arange(indptr[-1]) + np.repeat(starts[order] - indptr[:-1], sizes[order])
    queries, weights, distances = (
        np.concatenate([getattr(part, field) for part in parts])[places]
        for field in ("queries", "weights", "distances")
    )
    return Neighbors(indptr, queries, weights, distances)
