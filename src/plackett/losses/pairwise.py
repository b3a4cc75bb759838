"""Pairwise losses: sums over pairs of documents of a query, of a function of the margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett import _native
from plackett.data.queries import QueryLists
from plackett.losses.base import CompiledCurvature, CurvatureProduct, Loss, evaluate
from plackett.losses.pair_plans import NORMALIZERS, native_plan, pair_counts
from plackett.validation import check_choice, plain


class _Kind(NamedTuple):
    """A loss of one pair: its properties, and the parameter that it has beside the margin."""

    is_convex: bool
    is_smooth: bool
    is_curved: bool
    parameter: str | None = None


KINDS = {
    "hinge": _Kind(is_convex=True, is_smooth=False, is_curved=False),
    "smoothed-hinge": _Kind(is_convex=True, is_smooth=True, is_curved=True, parameter="width"),
    "squared-hinge": _Kind(is_convex=True, is_smooth=True, is_curved=True),
    "logistic": _Kind(is_convex=True, is_smooth=True, is_curved=True, parameter="sigma"),
    "exponential": _Kind(is_convex=True, is_smooth=True, is_curved=True),
    "psi": _Kind(is_convex=False, is_smooth=False, is_curved=False),
    "squared": _Kind(is_convex=True, is_smooth=True, is_curved=True),
}
WEIGHTS = ("uniform",)
_HINGES = ("squared-hinge", "smoothed-hinge")  # the active pairs, which alone have curvature, are found once


class Pairwise(CompiledCurvature):
    """A sum over pairs of documents of a query: a loss of the margin times a weight.

    With ``m = s_i - s_j``, the margin by which a document i is above a document j with a lower label, the loss of a
    pair is

    - ``"hinge"``: ``max(0, 1 - m)`` (RankSVM). It has kinks: at a margin of exactly 1 the slope is 0. It has no
      curvature; ``smoothed`` returns a loss that has.
    - ``"smoothed-hinge"``: with ``z = 1 - m``, 0 for z below 0, ``z² / (2 width)`` up to ``width``, ``z - width/2``
      beyond. Where the second derivative jumps, products use the parabola's side at ``1 - width`` and the flat side
      at 1.
    - ``"squared-hinge"``: ``max(0, 1 - m)²``. Where the second derivative jumps, at a margin of 1, products use the
      flat side.
    - ``"logistic"``: ``log(1 + e^(-sigma m))`` (RankNet).
    - ``"exponential"``: ``e^-m`` (RankBoost). A margin below -600 counts as about -600, so that value and slope stay
      finite (around 1e260).
    - ``"psi"``: ``min(1, max(0, 1 - m))``, a hinge loss of at most 1; not convex. At the kinks the slope is that of the
      right-hand side: 0 at a margin of 1, and not 0 at a margin of 0, so that a fit can start with equal scores.
    - ``"squared"``: ``(m - (y_i - y_j))²``, over all pairs, those with equal labels included (rax's pairwise MSE).

    No list of pairs is built. A query of n documents costs O(n log n) with the hinges and psi, O(n) with
    ``"exponential"`` and ``"squared"``, and O(n²) in time and O(n) in memory with ``"logistic"``.

    Parameters
    ----------
    loss : str, default="logistic"
        The loss of a pair, as above.
    weight : {"uniform"}, default="uniform"
        The weight of a pair.
    sigma : float, default=1.0
        Factor of the margin in ``"logistic"``, above 0.
    width : float, default=1.0
        Width of the parabola of ``"smoothed-hinge"``, above 0.
    normalize : {"pairs", "all", "none"}, default=None
        Divisor of the sum of a query: the number of its pairs in the sum; the number of all pairs, ``n (n - 1) / 2``;
        or 1. None means ``"pairs"``. A query without pairs counts 0.

    Examples
    --------
    >>> from plackett import Queries
    >>> data = Queries([[0.0]] * 3, y=[2, 1, 0])
    >>> value, slope = Pairwise("hinge", normalize="none").value_and_slope([3.0, 1.0, 0.25], data)
    >>> value, slope  # of the margins 2, 2.75 and 0.75 the last alone is below 1
    (0.25, array([ 0., -1.,  1.]))
    >>> value, slope = Pairwise("logistic", normalize="none").value_and_slope([0.0, 0.0, 0.0], data)
    >>> round(value, 4), slope  # three pairs with margin 0: 3 log 2
    (2.0794, array([-1.,  0.,  1.]))
    """

    def __init__(
        self,
        loss: str = "logistic",
        weight: str = "uniform",
        *,
        sigma: float = 1.0,
        width: float = 1.0,
        normalize: str | None = None,
    ):
        self.loss, self.weight = loss, weight
        self.sigma, self.width, self.normalize = sigma, width, normalize

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name for users: that of the pair loss."""
        return "pairwise-squared" if self.loss == "squared" else self.loss

    @property
    def _kind(self) -> _Kind:
        check_choice(self.loss, "loss", KINDS)
        return KINDS[self.loss]

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        return self._kind.is_convex

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        return self._kind.is_smooth

    @property
    def is_linear_in_labels(self) -> bool:  # type: ignore[override]
        return self.loss == "squared"  # but for a constant

    @property
    def has_curvature_product(self) -> bool:
        return self._kind.is_curved

    @property
    def has_positive_diagonal(self) -> bool:
        return self._kind.is_curved

    @property
    def has_curvature_bound(self) -> bool:
        return self._kind.is_curved

    @property
    def has_smoothing(self) -> bool:
        return self.loss == "hinge" and super().has_smoothing

    def check_labels(self, lists: QueryLists) -> None:
        check_choice(self.weight, "weight", WEIGHTS)
        if self.normalize is not None:
            check_choice(self.normalize, "normalize", NORMALIZERS)
        for name, default in (("sigma", 1.0), ("width", 1.0)):
            value = getattr(self, name)
            if self._kind.parameter != name and value != default:
                users = [loss for loss, kind in KINDS.items() if kind.parameter == name]
                raise ValueError(
                    f'{name}={plain(value)!r} has no meaning with loss="{self.loss}"; {name} is a parameter of '
                    f"{', '.join(users)}."
                )
            if not 0 < value < np.inf:
                raise ValueError(f"{name}={plain(value)!r} must be a number above 0.")

    def native(self, lists: QueryLists) -> Any:
        if self.loss == "smoothed-hinge":
            return self._compiled(lists)  # not cached: solvers use many widths
        return lists.keep(("Pairwise", self.loss, self.sigma, self.normalize), lambda: self._compiled(lists))

    def _compiled(self, lists: QueryLists) -> Any:
        plan, weights = native_plan(lists), self.query_weights(lists)
        match self.loss:
            case "hinge":
                return _native.losses.hinge(plan, weights)
            case "smoothed-hinge":
                return _native.losses.bend(plan, weights / self.width, self.width)
            case "squared-hinge":
                return _native.losses.squared_hinge(plan, 2.0 * weights)  # the kernel sums z²/2
            case "logistic":
                return _native.losses.logistic(plan, weights, self.sigma)
            case "exponential":
                return _native.losses.exponential(lists.order, lists.indptr, *lists.levels, weights)
            case "psi":
                return _native.losses.ramp(plan, weights, 1.0)
            case _:
                return _native.losses.squared_pairs(lists.indptr, lists.labels, weights)

    def native_curvature(self, lists: QueryLists, scores: Callable[[], np.ndarray]) -> Any:
        if self.loss not in _HINGES:
            return self.native(lists)
        plan, weights = native_plan(lists), self.query_weights(lists)
        if self.loss == "squared-hinge":
            return _native.losses.squared_hinge_curvature(plan, 2.0 * weights, scores())
        return _native.losses.bend_curvature(plan, weights / self.width, self.width, scores())

    def query_weights(self, lists: QueryLists) -> np.ndarray:
        """Return the number that the pairs of each query are multiplied by; 0 for queries without pairs."""
        normalize = self.normalize or "pairs"
        all_pairs = self.loss == "squared"
        return lists.keep(("pair weights", normalize, all_pairs), lambda: _query_weights(lists, normalize, all_pairs))

    def curvature_at(self, scores: np.ndarray, lists: QueryLists) -> CurvatureProduct:
        self._check_curvature("curvature_product")
        if self.loss not in _HINGES:
            return super().curvature_at(scores, lists)
        found = self.native_curvature(lists, lambda: scores)

        def product(direction: np.ndarray) -> np.ndarray:
            out = np.empty(lists.n_docs)
            _native.losses.multiply(found, direction, direction, out)  # the active pairs replace the scores
            return out

        return product

    def diagonal_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        self._check_curvature("curvature_diagonal")
        return super().diagonal_at(scores, lists)

    def bound_at(self, scores: np.ndarray, lists: QueryLists) -> np.ndarray:
        self._check_curvature("curvature_bound")
        return super().bound_at(scores, lists)

    def _check_curvature(self, method: str) -> None:
        if not self._kind.is_curved:
            raise self._lacks(method)

    def smoothed(self, width: float) -> Loss:
        """Return the hinge loss with a parabola of this width for its kink: lower by at most width/2 per pair."""
        if self.loss != "hinge":
            raise self._lacks("smoothed")
        return Pairwise("smoothed-hinge", width=width, normalize=self.normalize)

    def dual_sums(self, scores: np.ndarray, lists: QueryLists, width: float) -> np.ndarray:
        """Return the sum over each query's pairs of ``c * min(1, max(0, 1 - m) / width)``, c their weight.

        These are the dual variables of the slope of ``smoothed(width)`` of the hinge loss. Their sum minus the
        conjugate of the penalty is a lower bound of the minimum.
        """
        ramp = _native.losses.ramp(native_plan(lists), self.query_weights(lists) / width, width)
        return evaluate(ramp, scores, lists, np.empty(lists.n_docs))


def _query_weights(lists: QueryLists, normalize: str, all_pairs: bool) -> np.ndarray:
    n_docs = np.diff(lists.indptr).astype(np.float64)
    every = 0.5 * n_docs * (n_docs - 1.0)
    counts = every if all_pairs else pair_counts(lists)
    divisors = {"pairs": counts, "all": every, "none": np.ones_like(counts)}[normalize]
    return np.divide(1.0, divisors, out=np.zeros_like(counts), where=counts > 0)
