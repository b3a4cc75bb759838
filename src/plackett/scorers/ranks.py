"""Ranks of documents by their features, and the scores of models that add up ranks step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett._threads import map_blocks, query_blocks
from plackett.data.query_lists import QueryLists
from plackett.validation import is_sparse

DOCS_PER_BLOCK = 16384
LARGEST_CENTRE = np.finfo(np.float64).max / 2  # so that the difference of two centres does not overflow
FEATURE, MIXTURE, BEFORE = 0, 1, 2  # what enters a step of BL-FeatureRank


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


def are_centres(table: np.ndarray) -> bool:
    """Return whether every row has centres, none of them infinite or so large that differences overflow."""
    is_empty = np.isnan(table)
    return not is_empty.all(axis=1).any() and bool((is_empty | (np.abs(table) <= LARGEST_CENTRE)).all())


class Discovery:
    """Maps values of each feature to ranks within a list, by centres (n_features, n_intervals), NaN for empty parts.

    Examples
    --------
    >>> discovery = Discovery(np.array([[0.9, 0.6, 0.3]]))
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
                dense_rows(X, indptr, first, last), order, indptr, self._centres, self._parts, self._signs,
                self._places, self._n_centres, is_counted, levels.start, levels.end, first, last, twice, right, wrong,
            )  # fmt: skip

        map_blocks(work, query_blocks(indptr, DOCS_PER_BLOCK))
        return FeatureRanks(twice, right, wrong)


class Step(NamedTuple):
    """A feature and its weight; for BL-FeatureRank also what enters and the weight β of the mixture."""

    feature: int
    weight: float
    enters: int = FEATURE
    beta: float = 0.0


class Replay(ABC):
    """Applies the steps of a model to lists without labels, one after the other."""

    @property
    @abstractmethod
    def scores(self) -> np.ndarray:
        """Scores after the steps that were applied."""

    @abstractmethod
    def apply(self, step: Step) -> None:
        """Apply one step."""


class DiffReplay(Replay):
    """Adds up weighted ranks."""

    def __init__(self, ranks: np.ndarray):
        self._ranks, self._sums = ranks, np.zeros(ranks.shape[1])

    @property
    def scores(self) -> np.ndarray:
        return self._sums

    def apply(self, step: Step) -> None:
        _native.rankers.add_feature(self._ranks[step.feature], step.weight, self._sums)


class RankReplay(Replay):
    """Ranks new lists again after each step."""

    def __init__(self, ranks: np.ndarray, indptr: np.ndarray):
        self._ranks, self._indptr = ranks, indptr
        self._blocks = query_blocks(indptr, DOCS_PER_BLOCK)
        self._twice = np.zeros(ranks.shape[1], np.int32)
        self._spare = np.empty_like(self._twice)

    @property
    def scores(self) -> np.ndarray:
        return 0.5 * self._twice

    def apply(self, step: Step) -> None:
        ranks, indptr = self._ranks[step.feature], self._indptr
        choices, betas = np.full(indptr.size - 1, step.enters), np.full(indptr.size - 1, step.beta)
        uncounted = np.zeros(0, np.int64)

        def work(first: int, last: int) -> None:
            _native.rankers.rank_step(
                ranks, self._twice, False, step.weight, choices, betas, False, indptr, indptr,
                indptr, first, last, self._spare, uncounted, uncounted,
            )  # fmt: skip

        map_blocks(work, self._blocks)
        self._twice, self._spare = self._spare, self._twice


def dense_rows(X: Any, indptr: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return the rows of the lists from ``first`` to ``last`` as a contiguous array."""
    rows = X[int(indptr[first]) : int(indptr[last])]
    return rows.toarray() if is_sparse(rows) else np.ascontiguousarray(rows)
