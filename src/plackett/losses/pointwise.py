"""Losses that look at one document at a time: baselines for those that compare documents."""

from __future__ import annotations

from typing import Any

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature


class Squared(CompiledCurvature):
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

    def native(self, lists: QueryLists) -> Any:
        return lists.keep("squared compiled", lambda: _native.losses.squared(lists.indptr, lists.labels))
