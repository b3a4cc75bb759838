"""Softmax cross-entropies of the scores of a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature


class Softmax(CompiledCurvature):
    """``−Σ_i y_i log softmax(f)_i``: cross-entropy with the labels as they are (Bruch et al. 2019).

    :class:`ListNet` differs in that it turns the labels into probabilities first. Here a query counts in proportion to
    the sum of its labels, and one whose labels are all 0 has a loss of 0. The slope is ``Y softmax(f) − y`` with
    ``Y = Σ y``.

    Labels may be any real numbers, as the loss is linear in them. It is convex if ``Y ≥ 0`` in every query. A negative
    label makes it unbounded below: rankers then need a penalty (``l2`` above 0), and trees get a positive curvature,
    ``Σ |y| p (1 − p)`` with ``p = softmax(f)``. The cost is O(n).

    Examples
    --------
    >>> import plackett as pk
    >>> value, slope = Softmax().value_and_slope([0.0, 0.0], pk.Queries([[1], [2]], y=[3, 1]))
    >>> round(value, 4), slope  # 4 log 2; 4 / 2 − y
    (2.7726, array([-1.,  1.]))
    """

    name = "softmax"
    is_linear_in_labels = True

    def native(self, lists: QueryLists) -> Any:
        return lists.keep("softmax compiled", lambda: _native.losses.cross_entropy(lists.indptr, lists.labels))

    def is_convex_on(self, lists: QueryLists) -> bool:
        return bool((sums_for_rows(lists.labels, lists) >= 0.0).all())

    def is_bounded_on(self, lists: QueryLists) -> bool:
        is_alone = np.repeat(np.diff(lists.indptr) == 1, np.diff(lists.indptr))
        return bool(np.where(is_alone, 0.0, lists.labels).min(initial=0.0) >= 0.0)


def sums_for_rows(values: np.ndarray, lists: QueryLists) -> np.ndarray:
    """Return the sum over its query for each row."""
    queries = np.repeat(np.arange(lists.n_queries), np.diff(lists.indptr))
    return np.bincount(queries, weights=values, minlength=lists.n_queries)[queries]
