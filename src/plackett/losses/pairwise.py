"""Pairwise losses: every two documents of a query with different labels, compared by the margin of their scores.

Each is a sum over pairs ``y_i > y_j`` of a function of the margin ``m = f_i - f_j``; no list of pairs is ever built.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from plackett.data.queries import QueryLists
from plackett.losses import _pair_curvature, _pair_sums, _pairwise
from plackett.losses._pair_plan import pair_counts, pair_plan
from plackett.losses.base import CurvatureProduct, Loss

NORMALIZERS = ("pairs", "all", "none")


class _Pairwise(Loss):
    """A sum over pairs, divided by what ``normalize`` says."""

    def __init__(self, normalize: str = "pairs"):
        self.normalize = normalize

    def check_labels(self, lists: QueryLists) -> None:
        if self.normalize not in NORMALIZERS:
            raise ValueError(f"normalize={self.normalize!r} is not known; choose one of {', '.join(NORMALIZERS)}.")

    def _weights(self, lists: QueryLists) -> np.ndarray:
        """What a pair of each query counts; 0 where there is none."""
        return lists.keep(("pair weights", self.normalize), lambda: _pair_weights(lists, self.normalize))


def _pair_weights(lists: QueryLists, normalize: str) -> np.ndarray:
    counts = pair_counts(lists)
    n_docs = np.diff(lists.indptr).astype(np.float64)
    divisors = {"pairs": counts, "all": 0.5 * n_docs * (n_docs - 1.0), "none": np.ones_like(counts)}[normalize]
    return np.divide(1.0, divisors, out=np.zeros_like(counts), where=counts > 0)


class _Smooth(_Pairwise):
    """A loss with a second derivative, which sums ``c (t_i - t_j)²`` over pairs."""

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        """Twice the diagonal, since ``(t_i - t_j)²`` is at most ``2 t_i² + 2 t_j²``."""
        return 2.0 * self.diagonal_at(scores, lists)


class _HingeKind(_Pairwise):
    """A loss of ``_pair_sums``, by its code; the kernel's numbers are multiplied by ``_scale``."""

    _kind: ClassVar[int]

    @property
    def _width(self) -> float:
        return np.inf

    @property
    def _scale(self) -> float:
        return 1.0

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        return _sum_pairs(self._kind, self._width, scores, lists, self._scale * self._weights(lists), slope)


def _sum_pairs(
    kind: int, width: float, scores: np.ndarray, lists: QueryLists, weights: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    plan = pair_plan(lists)
    values = np.empty(lists.n_queries)
    _pair_sums.pair_sums(
        kind, width, scores, lists.order, lists.indptr, plan.run_end, plan.steps, plan.indptr, weights, values, slope
    )
    return values


class _Curved(_HingeKind, _Smooth):
    """Squared and smoothed hinge: their second derivative is the same for all active pairs."""

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        plan, weights = pair_plan(lists), self._scale * self._weights(lists)
        is_band, width = np.isfinite(self._width), self._width
        found = self._active_pairs(scores, lists)

        def product(direction: np.ndarray) -> np.ndarray:
            answer = np.empty(lists.n_docs)
            _pair_curvature.product(
                is_band, width, direction, lists.order, lists.indptr, plan.run_end, plan.steps, plan.indptr, weights,
                answer, *found,
            )  # fmt: skip
            return answer

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        _, counts, *_ = self._active_pairs(scores, lists)
        diagonal = np.empty(lists.n_docs)
        diagonal[lists.order] = counts * np.repeat(self._scale * self._weights(lists), np.diff(lists.indptr))
        return diagonal

    def _active_pairs(self, scores: np.ndarray, lists: QueryLists) -> tuple[np.ndarray, ...]:
        plan, is_band = pair_plan(lists), np.isfinite(self._width)
        values, counts = np.empty(lists.n_docs), np.empty(lists.n_docs)
        places, begins = np.empty(plan.n_stored, np.int32), np.empty(plan.n_stored, np.int32)
        ends = np.empty(plan.n_stored if is_band else 0, np.int32)
        found = (values, counts, places, begins, ends)
        _pair_curvature.find_active(
            is_band, self._width, scores, lists.order, lists.indptr, plan.run_end, plan.steps, plan.indptr, *found
        )
        return found


class PairwiseHinge(_HingeKind):
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
    _kind = _pair_sums.HINGE

    def smoothed(self, width: float) -> PairwiseSmoothedHinge:
        """The loss with a parabola of this width in place of its kink: at most width/2 a pair below, never above."""
        return PairwiseSmoothedHinge(width, self.normalize)

    def dual_sums(self, scores: np.ndarray, lists: QueryLists, width: float) -> np.ndarray:
        """The sum over each query's pairs of ``c * min(1, max(0, 1 - m) / width)``, c being what a pair counts.

        These are the dual variables that belong to the slope of ``smoothed(width)``; their sum, less what they cost in
        the penalty, is a lower bound of the minimum.
        """
        weights = self._weights(lists) / width
        return _sum_pairs(_pair_sums.RAMP, width, scores, lists, weights, np.empty(lists.n_docs))


class PairwiseSmoothedHinge(_Curved):
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
    _kind = _pair_sums.BEND

    def __init__(self, width: float = 1.0, normalize: str = "pairs"):
        self.width, self.normalize = width, normalize

    def check_labels(self, lists: QueryLists) -> None:
        super().check_labels(lists)
        if not 0 < self.width < np.inf:
            raise ValueError(f"width={self.width!r} must be a number above 0.")

    @property
    def _width(self) -> float:
        return float(self.width)

    @property
    def _scale(self) -> float:
        return 1.0 / self.width


class PairwiseSquaredHinge(_Curved):
    """Squared hinge loss, ``max(0, 1 - m)²``, over every pair of documents with different labels.

    O(n log n) per query. The second derivative jumps at a margin of 1, where products take the flat side.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "squared-hinge"
    _kind = _pair_sums.SQUARED

    @property
    def _scale(self) -> float:
        return 2.0  # the kernel sums z²/2


class PairwiseLogistic(_Smooth):
    """Logistic loss, ``log(1 + e^-m)``, over every pair of documents with different labels: RankNet.

    O(n²) per query in time, O(n) in memory.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "logistic"

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        values = np.empty(lists.n_queries)
        run_end = pair_plan(lists).run_end
        _pairwise.logistic(scores, lists.order, lists.indptr, run_end, self._weights(lists), values, slope)
        return values

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        scores = scores.copy()  # the caller may move on while products are still taken here
        diagonal = self.diagonal_at(scores, lists)
        return lambda direction: self._curvature(scores, lists, diagonal, direction)

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        return self._curvature(scores, lists, np.empty(0), np.empty(0))

    def _curvature(
        self, scores: np.ndarray, lists: QueryLists, diagonal: np.ndarray, direction: np.ndarray
    ) -> np.ndarray:
        answer = np.empty(lists.n_docs)
        run_end = pair_plan(lists).run_end
        _pairwise.logistic_curvature(
            scores, lists.order, lists.indptr, run_end, self._weights(lists), diagonal, direction, answer
        )
        return answer


class PairwiseExponential(_Smooth):
    """Exponential loss, ``e^-m``, over every pair of documents with different labels: RankBoost.

    O(n) per query, because ``e^(f_j - f_i)`` is a product. A margin below -600 counts as about -600, so that value and
    slope stay finite (around 1e260) however bad the scores are.

    Parameters
    ----------
    normalize : {"pairs", "all", "none"}, default="pairs"
        As in :class:`PairwiseHinge`.
    """

    name = "exponential"

    def query_values(self, scores: np.ndarray, lists: QueryLists, slope: np.ndarray) -> np.ndarray:
        return self._run(_pairwise.SLOPE, scores, lists, np.empty(0), slope)

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        scores = scores.copy()  # the caller may move on while products are still taken here

        def product(direction: np.ndarray) -> np.ndarray:
            answer = np.empty(lists.n_docs)
            self._run(_pairwise.PRODUCT, scores, lists, direction, answer)
            return answer

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        diagonal = np.empty(lists.n_docs)
        self._run(_pairwise.DIAGONAL, scores, lists, np.empty(0), diagonal)
        return diagonal

    def _run(
        self, what: int, scores: np.ndarray, lists: QueryLists, direction: np.ndarray, answer: np.ndarray
    ) -> np.ndarray:
        values = np.empty(lists.n_queries)
        bounds, of_queries = lists.levels
        _pairwise.exponential(
            what, scores, lists.order, lists.indptr, bounds, of_queries, self._weights(lists), direction, values, answer
        )
        return values


class PairwisePsi(_HingeKind):
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
    _kind = _pair_sums.RAMP

    @property
    def _width(self) -> float:
        return 1.0
