"""Pairwise losses: sums over pairs of documents of a query with different labels.

Each is a sum over pairs ``y_i > y_j`` of a function of the margin ``m = f_i - f_j``; no list of pairs is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature, CompiledLoss, CurvatureProduct, evaluate

NORMALIZERS = ("pairs", "all", "none")


class _Pairwise(CompiledLoss):
    """A sum over pairs, normalised by ``normalize``."""

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
        """Return the weight of a pair of each query; 0 for queries without pairs."""
        return lists.keep(("pair weights", self.normalize), lambda: _pair_weights(lists, self.normalize))


def _pair_weights(lists: QueryLists, normalize: str) -> np.ndarray:
    counts = pair_counts(lists)
    n_docs = np.diff(lists.indptr).astype(np.float64)
    divisors = {"pairs": counts, "all": 0.5 * n_docs * (n_docs - 1.0), "none": np.ones_like(counts)}[normalize]
    return np.divide(1.0, divisors, out=np.zeros_like(counts), where=counts > 0)


class _CurvedHinge(_Pairwise, CompiledCurvature):
    """Squared and smoothed hinge: the second derivative is equal for all active pairs, which are found once."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        found = self.native_curvature(lists, lambda: scores)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(found, direction, direction, out)  # the active pairs replace the scores
            return out

        return product


class PairwiseHinge(_Pairwise):
    """Hinge loss, ``max(0, 1 - m)``, over every pair of documents with different labels: RankSVM.

    O(n log n) per query. The loss has kinks: at a margin of exactly 1 the slope is 0. It has no curvature;
    ``smoothed`` returns a loss that has.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        Divisor of the sum of a query: its number of pairs with different labels; the number of all pairs,
        ``n (n - 1) / 2``; or 1. A query without pairs counts 0.

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
        return _native.losses.hinge(_native_plan(lists), self._weights(lists))

    def smoothed(self, width: float) -> PairwiseSmoothedHinge:
        """Return the loss with a parabola of this width in place of its kink: lower by at most width/2 per pair."""
        return PairwiseSmoothedHinge(width, self.normalize)

    def dual_sums(self, scores: np.ndarray, lists: QueryLists, width: float) -> np.ndarray:
        """Return the sum over each query's pairs of ``c * min(1, max(0, 1 - m) / width)``, c their weight.

        These are the dual variables of the slope of ``smoothed(width)``. Their sum minus the conjugate of the penalty
        is a lower bound of the minimum.
        """
        ramp = _native.losses.ramp(_native_plan(lists), self._weights(lists) / width, width)
        return evaluate(ramp, scores, lists, np.empty(lists.n_docs))


class PairwiseSmoothedHinge(_CurvedHinge):
    """Smoothed hinge loss: 0 above a margin of 1, a parabola down to ``1 - width``, linear below.

    With ``z = 1 - m``: ``z² / (2 width)`` for z up to ``width``, ``z - width/2`` beyond. At the jumps of the second
    derivative, products use the parabola's side at ``1 - width`` and the flat side at 1.

    Parameters
    ----------
    width : float, default=1.0
        Width of the parabola, above 0.
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwiseSmoothedHinge(normalize="none").value_and_slope([3.0, 1.0, 0.25], data)
    >>> value, slope  # of the margins 2, 2.75 and 0.75 the last alone is below 1: 0.25² / 2
    (0.03125, array([ 0.  , -0.25,  0.25]))
    """

    name = "smoothed-hinge"

    def __init__(self, width: float = 1.0, normalize: str = "pairs"):
        self.width, self.normalize = width, normalize

    def check_labels(self, lists: QueryLists) -> None:
        super().check_labels(lists)
        if not 0 < self.width < np.inf:
            raise ValueError(f"width={self.width!r} must be a number above 0.")

    def native(self, lists: QueryLists) -> Any:
        return self._compiled(lists)  # not cached: solvers use many widths

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.bend(_native_plan(lists), self._weights(lists) / self.width, self.width)

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        weights = self._weights(lists) / self.width
        return _native.losses.bend_curvature(_native_plan(lists), weights, self.width, scores())


class PairwiseSquaredHinge(_CurvedHinge):
    """Squared hinge loss, ``max(0, 1 - m)²``, over every pair of documents with different labels.

    O(n log n) per query. The second derivative jumps at a margin of 1, where products use the flat side.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwiseSquaredHinge(normalize="none").value_and_slope([3.0, 1.0, 0.25], data)
    >>> value, slope  # of the margins 2, 2.75 and 0.75 the last alone is below 1: 0.25²
    (0.0625, array([ 0. , -0.5,  0.5]))
    """

    name = "squared-hinge"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.squared_hinge(_native_plan(lists), 2.0 * self._weights(lists))  # the kernel sums z²/2

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        weights = 2.0 * self._weights(lists)
        return _native.losses.squared_hinge_curvature(_native_plan(lists), weights, scores())


class PairwiseLogistic(_Pairwise, CompiledCurvature):
    """Logistic loss, ``log(1 + e^-m)``, over every pair of documents with different labels: RankNet.

    O(n²) per query in time, O(n) in memory.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwiseLogistic(normalize="none").value_and_slope([0.0, 0.0, 0.0], data)
    >>> round(value, 4), slope  # three pairs with margin 0: 3 log 2
    (2.0794, array([-1.,  0.,  1.]))
    """

    name = "logistic"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.logistic(_native_plan(lists), self._weights(lists))


class PairwiseExponential(_Pairwise, CompiledCurvature):
    """Exponential loss, ``e^-m``, over every pair of documents with different labels: RankBoost.

    O(n) per query, because ``e^(f_j - f_i)`` is a product. A margin below -600 counts as about -600, so that value and
    slope stay finite (around 1e260).

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwiseExponential(normalize="none").value_and_slope([0.0, 0.0, 0.0], data)
    >>> value, slope  # three pairs with margin 0: 3 e^0
    (3.0, array([-2.,  0.,  2.]))
    """

    name = "exponential"

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.exponential(lists.order, lists.indptr, *lists.levels, self._weights(lists))


class PairwisePsi(_Pairwise):
    """Psi loss, a hinge loss of at most 1 per pair, ``min(1, max(0, 1 - m))``, over pairs with different labels.

    O(n log n) per query; not convex. At the kinks the slope is that of the right-hand side: 0 at a margin of 1, and not
    0 at a margin of 0, so that a fit can start with equal scores.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = PairwisePsi(normalize="none").value_and_slope([3.0, 1.0, 1.25], data)
    >>> value, slope  # of the margins 2, 1.75 and -0.25 the last alone is below 1, and counts 1
    (1.0, array([0., 0., 0.]))
    """

    name = "psi"
    is_convex = False
    is_smooth = False

    def _compiled(self, lists: QueryLists) -> Any:
        return _native.losses.ramp(_native_plan(lists), self._weights(lists), 1.0)


class PairPlan(NamedTuple):
    """Steps that visit all pairs of every query without listing them.

    They are defined in ``_native/losses/pairwise/divide_and_conquer.hpp``.

    Query ``q`` owns ``steps[indptr[q]:indptr[q + 1]]``.

    ``run_end`` says, for each place of the label order, where its run of equal labels ends; ``n_stored`` is the number
    of entries that all crossings keep together.
    """

    steps: np.ndarray
    indptr: np.ndarray
    run_end: np.ndarray
    n_stored: int


def pair_plan(lists: QueryLists) -> PairPlan:
    """Return the plan of these lists, made once."""
    return lists.keep("pair plan", lambda: _make_plan(lists))


def _native_plan(lists: QueryLists) -> Any:
    """Return the plan as a compiled object bound to the label order of these lists, made once."""
    plan = pair_plan(lists)
    return lists.keep(
        "native pair plan",
        lambda: _native.losses.pair_plan(lists.order, lists.indptr, plan.run_end, plan.steps, plan.indptr),
    )


def pair_counts(lists: QueryLists) -> np.ndarray:
    """Return the number of pairs with different labels in each query, counted once."""
    return lists.keep("pair counts", lambda: _count_pairs(lists))


def _count_pairs(lists: QueryLists) -> np.ndarray:
    squares = np.concatenate([[0.0], np.cumsum(np.diff(lists.levels.bounds).astype(np.float64) ** 2)])
    n_docs = np.diff(lists.indptr).astype(np.float64)
    return 0.5 * (n_docs**2 - np.diff(squares[lists.levels.indptr]))


def _make_plan(lists: QueryLists) -> PairPlan:
    bounds, of_queries = lists.levels.bounds, lists.levels.indptr
    sizes = np.diff(bounds)
    starts = np.repeat(lists.indptr[:-1], np.diff(lists.indptr))
    run_end = (np.repeat(bounds[1:], sizes) - starts).astype(np.int32)
    squares = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    steps = np.empty((2 * sizes.size, 4), dtype=np.int64)
    indptr = np.zeros(lists.n_queries + 1, dtype=np.int64)
    n_stored = _native.losses.plan_steps(bounds, of_queries, lists.indptr, squares, steps, indptr)
    return PairPlan(steps[: indptr[-1]].copy(), indptr, run_end, n_stored)
