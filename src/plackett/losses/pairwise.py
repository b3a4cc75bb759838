"""Pairwise losses: every two documents of a query with different labels, compared by the margin of their scores.

Each is a sum over pairs ``y_i > y_j`` of a function of the margin ``m = f_i - f_j``; no list of pairs is ever built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses._pair_plan import native_plan, pair_counts
from plackett.losses.base import CompiledCurvature, CompiledLoss, CurvatureProduct, evaluate

NORMALIZERS = ("pairs", "all", "none")


class _Pairwise(CompiledLoss):
    """A sum over pairs, divided by what ``normalize`` says."""

    def __init__(self, normalize: str = "pairs"):
        self.normalize = normalize

    def check_labels(self, lists: QueryLists) -> None:
        if self.normalize not in NORMALIZERS:
            raise ValueError(f"normalize={self.normalize!r} is not known; choose one of {', '.join(NORMALIZERS)}.")

    def native(self, lists: QueryLists) -> Any:
        return lists.keep((self.name, self.normalize), lambda: self._compiled(lists))

    def _compiled(self, lists: QueryLists) -> Any:
        raise NotImplementedError

    def _weights(self, lists: QueryLists) -> np.ndarray:
        """What a pair of each query counts; 0 where there is none."""
        return lists.keep(("pair weights", self.normalize), lambda: _pair_weights(lists, self.normalize))


def _pair_weights(lists: QueryLists, normalize: str) -> np.ndarray:
    counts = pair_counts(lists)
    n_docs = np.diff(lists.indptr).astype(np.float64)
    divisors = {"pairs": counts, "all": 0.5 * n_docs * (n_docs - 1.0), "none": np.ones_like(counts)}[normalize]
    return np.divide(1.0, divisors, out=np.zeros_like(counts), where=counts > 0)


class _Curved(_Pairwise, CompiledCurvature):
    """A loss with a second derivative, which sums ``c (t_i - t_j)²`` over pairs."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        return super().curvature_at(scores.copy(), lists)  # the caller may move on while products are still taken here


class _CurvedHinge(_Curved):
    """Squared and smoothed hinge: their second derivative is the same for all active pairs, which are found once."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        found = self.native_curvature(lists, lambda: scores)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(found, direction, direction, out)  # the active pairs stand for the scores
            return out

        return product


class PairwiseHinge(_Pairwise):
    """Hinge loss, ``max(0, 1 - m)``, over every pair of documents with different labels: RankSVM.

    O(n log n) per query. The loss has kinks: at a margin of exactly 1 the slope is 0. It has no curvature;
    ``smoothed`` gives a loss that does.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        What a query's sum is divided by: its number of pairs with different labels; all of its pairs,
        ``n (n - 1) / 2``; or nothing. A query without pairs counts 0.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwiseHinge(normalize="none").value_and_slope([3.0, 1.0, 0.25], data)
    >>> value, slope  # of the margins 2, 2.75 and 0.75 the last alone is below 1
    (0.25, array([ 0., -1.,  1.]))
    """

    name = "hinge"
    is_smooth = False

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.hinge(native_plan(lists), self._weights(lists))

    def smoothed(self, width: float) -> PairwiseSmoothedHinge:
        """The loss with a parabola of this width in place of its kink: at most width/2 a pair below, never above."""
        return PairwiseSmoothedHinge(width, self.normalize)

    def dual_sums(self, scores: np.ndarray, lists: QueryLists, width: float) -> np.ndarray:
        """The sum over each query's pairs of ``c * min(1, max(0, 1 - m) / width)``, c being what a pair counts.

        These are the dual variables that belong to the slope of ``smoothed(width)``; their sum, less what they cost in
        the penalty, is a lower bound of the minimum.
        """
        ramp = _native.losses.ramp(native_plan(lists), self._weights(lists) / width, width)
        return evaluate(ramp, scores, lists, np.empty(lists.n_docs))


class PairwiseSmoothedHinge(_CurvedHinge):
    """Hinge loss with its kink rounded: 0 above a margin of 1, a parabola down to ``1 - width``, then straight.

    With ``z = 1 - m``: ``z² / (2 width)`` for z up to ``width``, ``z - width/2`` beyond. Its second derivative jumps;
    where it does, products take the parabola's side at ``1 - width`` and the flat side at 1.

    Parameters
    ----------
    width : float, default=1.0
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "smoothed-hinge"

    def __init__(self, width: float = 1.0, normalize: str = "pairs"):
        self.width, self.normalize = width, normalize

    def check_labels(self, lists: QueryLists) -> None:
        super().check_labels(lists)
        if not 0 < self.width < np.inf:
            raise ValueError(f"width={self.width!r} must be a number above 0.")

    def native(self, lists: QueryLists) -> Any:  # not kept: solvers go through many widths
        return _native.losses.bend(native_plan(lists), self._weights(lists) / self.width, self.width)

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        weights = self._weights(lists) / self.width
        return _native.losses.bend_curvature(native_plan(lists), weights, self.width, scores())


class PairwiseSquaredHinge(_CurvedHinge):
    """Squared hinge loss, ``max(0, 1 - m)²``, over every pair of documents with different labels.

    O(n log n) per query. The second derivative jumps at a margin of 1, where products take the flat side.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "squared-hinge"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.squared_hinge(native_plan(lists), 2.0 * self._weights(lists))  # it sums z²/2

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        weights = 2.0 * self._weights(lists)
        return _native.losses.squared_hinge_curvature(native_plan(lists), weights, scores())


class PairwiseLogistic(_Curved):
    """Logistic loss, ``log(1 + e^-m)``, over every pair of documents with different labels: RankNet.

    O(n²) per query in time, O(n) in memory.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "logistic"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.logistic(native_plan(lists), self._weights(lists))


class PairwiseExponential(_Curved):
    """Exponential loss, ``e^-m``, over every pair of documents with different labels: RankBoost.

    O(n) per query, because ``e^(f_j - f_i)`` is a product. A margin below -600 counts as about -600, so that value and
    slope stay finite (around 1e260) however bad the scores are.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "exponential"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.exponential(lists.order, lists.indptr, *lists.levels, self._weights(lists))


class PairwisePsi(_Pairwise):
    """Hinge loss that no pair can exceed 1 in, ``min(1, max(0, 1 - m))``, over pairs with different labels.

    O(n log n) per query; not convex. At the kinks the slope is that of the right-hand side: 0 at a margin of 1, and at
    a margin of 0 the pair still pulls, so that a start with equal scores moves.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "psi"
    is_convex = False
    is_smooth = False

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.ramp(native_plan(lists), self._weights(lists), 1.0)
