"""Pointwise losses: sums over single documents."""

from __future__ import annotations

from typing import Any

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature


class Squared(CompiledCurvature):
    """``½ Σ (f − y)²``: least-squares regression on the label.

    Every document has the same weight, so that long queries count more than short ones, and queries with a single
    document count, too. The slope is the residual ``f − y`` and the second derivative 1.

    Examples
    --------
    >>> import plackett as pk
    >>> Squared().value_and_slope([1.0, 3.0], pk.Queries([[1], [2]], y=[2, 0]))  # (1² + 3²) / 2
    (5.0, array([-1.,  3.]))
    """

    name = "squared"
    ignores_shifts = False
    is_pointwise = True
    is_linear_in_labels = True  # f y is all that depends on both

    def native(self, lists: QueryLists) -> Any:
        return lists.keep("squared compiled", lambda: _native.losses.squared(lists.indptr, lists.labels))
