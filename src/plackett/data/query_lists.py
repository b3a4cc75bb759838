"""Labels and bounds of judged lists, without their features."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np


class QueryLists:
    """Labels and bounds of the queries: all that a loss needs, without X.

    Parameters
    ----------
    labels : ndarray of shape (n_docs,)
    indptr : ndarray of shape (n_queries + 1,)
        Query ``q`` owns rows ``indptr[q]:indptr[q + 1]``.
    rng : numpy.random.Generator, default=None
        Source of random draws for losses that need them (``ListMLE(ties="random")``); None lets them use their own.
    has_estimated_labels : bool, default=False
        As for ``Queries``.
    """

    def __init__(
        self,
        labels: np.ndarray,
        indptr: np.ndarray,
        rng: np.random.Generator | None = None,
        *,
        has_estimated_labels: bool = False,
    ):
        self.labels, self.indptr, self.rng = labels, indptr, rng
        self.has_estimated_labels = has_estimated_labels
        self._kept: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}}  # compiled objects stay in their process

    @property
    def n_queries(self) -> int:
        return self.indptr.size - 1

    @property
    def n_docs(self) -> int:
        return self.labels.size

    @cached_property
    def order(self) -> np.ndarray:
        """Rows of each query by descending label; equal labels keep their order."""
        queries = np.repeat(np.arange(self.n_queries), np.diff(self.indptr))
        return np.lexsort((-self.labels, queries))

    @cached_property
    def levels(self) -> Levels:
        """Runs of equal labels in ``order``."""
        ranked = self.labels[self.order]
        is_start = np.ones(self.n_docs, dtype=bool)
        is_start[1:] = ranked[1:] != ranked[:-1]
        starts_of_queries = self.indptr[:-1]
        is_start[starts_of_queries[starts_of_queries < self.n_docs]] = True
        starts = np.flatnonzero(is_start)
        return Levels(np.append(starts, self.n_docs), np.searchsorted(starts, self.indptr))

    def keep(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return ``make()``, cached under ``key``."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def part(self, first: int, last: int, rng: np.random.Generator | None = None) -> QueryLists:
        """Return queries ``first`` to ``last`` (exclusive), sharing the labels."""
        indptr = self.indptr[first : last + 1]
        labels = self.labels[indptr[0] : indptr[-1]]
        return QueryLists(labels, indptr - indptr[0], rng, has_estimated_labels=self.has_estimated_labels)


class Levels(NamedTuple):
    """Label levels: level ``l`` holds positions ``bounds[l]:bounds[l + 1]`` of the label order.

    Query ``q`` owns levels ``indptr[q]:indptr[q + 1]``, the best first.
    """

    bounds: np.ndarray
    indptr: np.ndarray
