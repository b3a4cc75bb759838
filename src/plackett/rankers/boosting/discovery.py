"""Rankings by a single feature: by the nearest centre of relevance (quasi-KNN), or by its values.

Quasi-KNN splits every training list, by ascending relevance, into K parts. The centre of a part is the mean of the
feature over that part of all lists. A value belongs to the part of the nearest centre. Higher parts rank higher, and
within a part values ascend or descend as the centres do from the part below. So the best values of a feature may be in
the middle of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.data.query_lists import QueryLists
from plackett.validation import feature_label, is_sparse

CENTRES = ("mean", "prior", "middle", "posterior")
DISCOVERIES = ("quasi-knn", "linear")
DOCS_PER_BLOCK = 16384
LARGEST_CENTRE = np.finfo(np.float64).max / 2  # so that the difference of two centres does not overflow
ROUNDING = 8 * np.finfo(np.float64).eps  # of a centre, relative to the mean absolute value of its part


class LevelBounds(NamedTuple):
    """Start and end of each document's label level within its query, documents in order of descending labels."""

    start: np.ndarray
    end: np.ndarray

    @classmethod
    def of(cls, lists: QueryLists) -> LevelBounds:
        bounds = lists.levels.bounds
        sizes = np.diff(bounds)
        shift = np.repeat(lists.indptr[:-1], np.diff(lists.indptr))
        return cls(np.repeat(bounds[:-1], sizes) - shift, np.repeat(bounds[1:], sizes) - shift)


class FeatureRanks(NamedTuple):
    """Twice the ranks by every feature (n_features, n_docs), and the numbers of pairs in the right and wrong order.

    ``right`` and ``wrong`` have the shape (n_queries, n_features) and are empty if pairs were not counted.
    """

    twice: np.ndarray
    right: np.ndarray
    wrong: np.ndarray


def find_centres(
    X: Any,
    lists: QueryLists,
    n_intervals: int,
    *,
    centre: str = "mean",
    weights: np.ndarray | None = None,
    names: Sequence[str] | None = None,
) -> np.ndarray:
    """Return the centres of the parts of every feature, the least relevant part first; NaN for empty parts.

    In a list of n documents, place p = 0, 1, … (by ascending label) is in part ⌊p K / n⌋. Documents with equal labels
    share their places. Centres that differ only by rounding errors are made equal.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_docs, n_features), grouped as ``lists``
    lists : QueryLists
    n_intervals : int
        K, the number of parts.
    centre : {"mean", "prior", "middle", "posterior"}, default="mean"
        Whether all places of a part count, or the most, the middle or the least relevant third of them (``⌈size / 3⌉``
        places, the middle ones closer to the less relevant end if there is a choice; all of a part smaller than 3).
    weights : ndarray of shape (n_queries,), default=None
        Weights of the lists; None means 1 each.
    names : sequence of str, default=None
        Names of the columns in messages; None counts them from 0.

    Returns
    -------
    ndarray of shape (n_features, n_intervals)
    """
    code = CENTRES.index(centre)
    weights = np.ones(lists.n_queries) if weights is None else weights
    start = LevelBounds.of(lists).start

    def work(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        totals, errors, sizes = (np.zeros((n_intervals, X.shape[1] + 1)) for _ in range(3))
        rows = _rows(X, lists.indptr, first, last)
        _native.rankers.add_to_centres(
            rows, lists.order, start, lists.indptr, weights, code, first, last, totals, errors, sizes
        )
        return totals, errors, sizes

    answers = map_blocks(work, query_blocks(lists.indptr, DOCS_PER_BLOCK))
    # long doubles where the platform has them: the last digit must not depend on the order of the queries
    total = sum(part.astype(np.longdouble) + error for part, error, _ in answers)
    count = total[:, -1:]
    with np.errstate(invalid="ignore"):
        centres = np.ascontiguousarray((total[:, :-1] / count).astype(np.float64).T)
        sizes = np.nan_to_num(sum(size for _, _, size in answers)[:, :-1] / count.astype(np.float64)).T
    is_lost = ~(np.abs(centres) <= LARGEST_CENTRE) & (count.T > 0)
    if is_lost.any():
        column = int(np.flatnonzero(is_lost.any(axis=1))[0])
        raise ValueError(f"{feature_label(column, names)} of X has values that are too large to be averaged. Scale it.")
    for own, size in zip(centres, sizes, strict=True):
        is_known = ~np.isnan(own)
        own[is_known] = _merge_close(own[is_known], ROUNDING * size[is_known])
    return centres


def are_centres(table: np.ndarray) -> bool:
    """Return whether every row has centres, none of them infinite or so large that differences overflow."""
    is_empty = np.isnan(table)
    return not is_empty.all(axis=1).any() and bool((is_empty | (np.abs(table) <= LARGEST_CENTRE)).all())


class Discovery:
    """Maps values of each feature to ranks within a list.

    Parameters
    ----------
    centres : ndarray of shape (n_features, n_intervals)
        As :func:`find_centres` returns them; NaN for an empty part.

    Examples
    --------
    >>> discovery = Discovery(np.array([[0.9, 0.6, 0.3]]))
    >>> discovery.parts([0.4, 0.5, 0.9], feature=0)
    array([3, 2, 1])
    >>> discovery.ranks(np.array([[0.4], [0.5], [0.9]]), np.array([0, 3]))  # low values are good, as the centres show
    array([[3., 2., 1.]])
    """

    def __init__(self, centres: np.ndarray):
        n_features, n_parts = centres.shape
        self._centres = np.zeros((n_features, n_parts))
        self._parts = np.zeros((n_features, n_parts), np.int64)
        self._signs = np.zeros((n_features, n_parts), np.int64)
        self._places = np.zeros((n_features, n_parts), np.int64)
        self._n_centres = np.zeros(n_features, np.int64)
        for feature in range(n_features):
            self._fill(feature, centres[feature])

    def _fill(self, feature: int, row: np.ndarray) -> None:
        parts = np.flatnonzero(~np.isnan(row))
        own = row[parts]
        steps = np.sign(own[1:] - own[:-1]).astype(np.int64)
        signs = np.concatenate([steps[:1], steps]) if own.size > 1 else np.ones(own.size, np.int64)
        centres, lowest = np.unique(own, return_index=True)  # of equal centres the lowest part is taken
        n = centres.size
        self._n_centres[feature] = n
        self._centres[feature, :n], self._parts[feature, :n] = centres, parts[lowest]
        self._signs[feature, :n], self._places[feature, :n] = signs[lowest], np.argsort(lowest)

    @classmethod
    def linear(cls, signs: np.ndarray) -> Discovery:
        """Return a discovery by the values, in descending order where the sign of a feature is −1."""
        discovery = cls(np.zeros((signs.size, 1)))
        discovery._signs[:, 0] = signs
        return discovery

    def parts(self, values: Any, *, feature: int) -> np.ndarray:
        """Return the part of each value, 1 to K, K the most relevant; of two equally near centres the lower part."""
        return self._parts[feature, self._slots(values, feature)] + 1

    def keys(self, values: Any, *, feature: int) -> np.ndarray:
        """Return the sort keys of values: the part, then the value times the sign of its part."""
        slots = self._slots(values, feature)
        signed = np.asarray(values, dtype=np.float64) * self._signs[feature, slots]
        return np.column_stack([self._parts[feature, slots] + 1.0, signed])

    def _slots(self, values: Any, feature: int) -> np.ndarray:
        n = self._n_centres[feature]
        centres, parts = self._centres[feature, :n], self._parts[feature, :n]
        values = np.asarray(values, dtype=np.float64)
        left = np.clip(np.searchsorted(centres, values, side="right") - 1, 0, n - 1)
        right = np.minimum(left + 1, n - 1)
        behind, ahead = values - centres[left], centres[right] - values
        is_right = (ahead < behind) | ((ahead == behind) & (parts[right] < parts[left]))
        return np.where(is_right & (ahead >= 0), right, left)

    def ranks(self, X: Any, indptr: np.ndarray) -> np.ndarray:
        """Return ranks within each list, (n_features, n_docs): 1 to n, larger is better, ties have their mean rank."""
        return 0.5 * self.twice_ranks(X, indptr).twice

    def twice_ranks(
        self, X: Any, indptr: np.ndarray, lists: QueryLists | None = None, *, is_counted: bool = False
    ) -> FeatureRanks:
        """Return twice the ranks, as integers; with labelled ``lists``, in order of their descending labels.

        ``is_counted`` also counts the pairs that each feature orders right and wrong.
        """
        n_docs, n_features, n_queries = int(indptr[-1]), X.shape[1], indptr.size - 1
        twice = np.empty((n_features, n_docs), np.int32)
        right = np.zeros((n_queries if is_counted else 0, n_features), np.int64)
        wrong = np.zeros_like(right)
        if lists is None:
            order = np.arange(n_docs)
            levels = LevelBounds(order, order)  # not used
        else:
            order, levels = lists.order, LevelBounds.of(lists)

        def work(first: int, last: int) -> None:
            _native.rankers.rank_features(
                _rows(X, indptr, first, last), order, indptr, self._centres, self._parts, self._signs, self._places,
                self._n_centres, is_counted, levels.start, levels.end, first, last, twice, right, wrong,
            )  # fmt: skip

        map_blocks(work, query_blocks(indptr, DOCS_PER_BLOCK))
        return FeatureRanks(twice, right, wrong)


def _merge_close(centres: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Make centres equal if they differ by no more than their rounding errors, which must not determine a sign."""
    order = np.argsort(centres, kind="stable")
    gaps = np.diff(centres[order], prepend=-np.inf)
    is_new = gaps > errors[order] + np.concatenate([[0.0], errors[order[:-1]]])
    level = np.empty_like(centres)
    level[order] = centres[order][is_new][np.cumsum(is_new) - 1]
    return level


def find_signs(X: Any, lists: QueryLists, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the direction of each feature: the sign of its mean E = (right − wrong) / pairs; +1 if that is 0."""
    ranks = Discovery.linear(np.ones(X.shape[1], np.int64)).twice_ranks(X, lists.indptr, lists, is_counted=True)
    pairs = count_label_pairs(lists)
    weights = (pairs > 0).astype(np.float64) if weights is None else weights * (pairs > 0)
    means = weights @ ((ranks.right - ranks.wrong) / np.maximum(pairs, 1)[:, None]) / max(weights.sum(), 1.0)
    return np.where(means < -1e-12, -1, 1)


def count_label_pairs(lists: QueryLists, top: int | None = None) -> np.ndarray:
    """Count pairs of different labels per list; with ``top``, only if fewer than ``top`` documents beat the better."""
    levels = LevelBounds.of(lists)
    lengths = np.repeat(np.diff(lists.indptr), np.diff(lists.indptr))
    worse = lengths - levels.end
    if top is not None:
        worse = np.where(levels.start < top, worse, 0)
    sums = np.concatenate([[0], np.cumsum(worse)])
    return sums[lists.indptr[1:]] - sums[lists.indptr[:-1]]


def _rows(X: Any, indptr: np.ndarray, first: int, last: int) -> np.ndarray:
    rows = X[int(indptr[first]) : int(indptr[last])]
    return rows.toarray() if is_sparse(rows) else np.ascontiguousarray(rows)
