"""Losses that look at one document at a time: baselines for those that compare documents."""

from __future__ import annotations

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses.base import CurvatureProduct, Loss


class Squared(Loss):
    """``½ Σ (f − y)²``: least-squares regression on the label.

    Every document counts the same, so that long queries count more than short ones, and a query with a single document
    counts as well. The slope is the residual ``f − y`` and the second derivative 1.

    Examples
    --------
    >>> import plackett as pk
    >>> Squared().value_and_slope([1.0, 3.0], pk.Queries([[1], [2]], y=[2, 0]))  # (1² + 3²) / 2
    (5.0, array([-1.,  3.]))
    """

    name = "squared"
    ignores_shifts = False
    is_pointwise = True

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        np.subtract(scores, lists.labels, out=slope)
        sizes = np.diff(lists.indptr)
        values = np.zeros(lists.n_queries)
        if lists.n_docs:
            values[sizes > 0] = 0.5 * np.add.reduceat(slope * slope, lists.indptr[:-1][sizes > 0])
        return values

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        return np.copy

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        return np.ones(lists.n_docs)

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        return np.ones(lists.n_docs)
