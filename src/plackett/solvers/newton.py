"""Truncated Newton with a trust region, for losses with curvature and for convex losses with kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.solvers.base import CONVERGED, MAX_ITER, STALLED, Minimizable, Result, Search, Solver
from plackett.solvers.trust_region import TrustRegion

GAP_BELOW_TOL = "duality gap below tol"
FIRST_WIDTHS = (1.0, 0.1, 0.01, 0.001)
LEAST_WIDTH = 1e-12
SHRINK = 0.4  # factor of the width, unless the tolerance needs less
SETTLED = 0.5  # share of the gap that the gradient may account for when the width shrinks


class Newton(Solver):
    """Newton steps by conjugate gradients, for losses with curvature, and for convex losses with kinks.

    It takes few steps, each of one evaluation and some products with the curvature, and converges superlinearly near
    the minimum. It counts as converged when the gradient is at most ``tol``.

    Kinks, such as that of the hinge, are rounded off over a width that shrinks. The gradient is then uninformative, and
    the solver counts as converged when the duality gap, which bounds the distance to the minimum, is at most ``tol``
    times the minimum: ``tol=1e-3`` gives a value within a thousandth of the best. The result's ``details`` hold the
    ``"duality_gap"``.

    Examples
    --------
    >>> from plackett.solvers import Newton
    >>> from plackett import LinearRanker
    >>> ranker = LinearRanker("squared-hinge", l2=2.0, solver=Newton())
    >>> ranker.fit([[1.0], [0.0]], [1, 0], qid=[7, 7]).coef_.round(4)  # (1 - w)² + w² is least at 0.5
    array([0.5])
    """

    name = "newton"

    def check(self, objective: Minimizable) -> None:
        self._check_deterministic(objective)
        if objective.has_curvature_product or (objective.is_convex and objective.has_smoothing):
            return
        reason = "has none" if objective.is_convex else "has none (it is not convex)"
        hint = 'solver="lbfgs"' if objective.is_smooth else 'solver="sgd"'
        raise self._mismatch("a loss with curvature_product", objective, reason, hint)

    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        kind = SmoothSearch if objective.has_curvature_product else KinkSearch
        return kind(objective, start, tol)


class SmoothSearch(TrustRegion):
    """Newton steps until the gradient is at most ``tol``."""

    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float):
        super().__init__(objective, start)
        self.tol = tol

    def check(self) -> None:
        if self.scaling.is_converged(self.gradient, self.tol):
            self.stop_reason, self.is_converged = CONVERGED, True

    def stall(self) -> None:
        self.stop_reason, self.is_converged = STALLED, self.scaling.is_near(self.gradient, self.tol)


class KinkSearch(TrustRegion):
    """Newton steps on a smoothed objective whose width shrinks, until the duality gap is small enough.

    The hinge of a margin m is the largest ``y (1 - m)`` over dual variables y from 0 to 1. The smoothed hinge subtracts
    ``(width / 2) y²``. It has curvature, and its y are a point of the dual problem. The duality gap of that point has
    two parts: one due to the width, and one proportional to the squared gradient. Newton steps reduce the second part.
    Once the first part dominates, the width shrinks. Only sums over pairs are needed.

    A gap costs two passes over the data, so it is computed only where it may be small.
    """

    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float):
        self.exact, self.tol = objective, tol
        # near the minimum a narrow width has the smaller gap; a wide one would lose the start
        widths = FIRST_WIDTHS if np.any(start) else FIRST_WIDTHS[:1]
        gaps = {width: objective.duality_gap(start, width) for width in widths}
        self.width = min(gaps, key=gaps.__getitem__)
        super().__init__(objective.smoothed(self.width), start)
        # relative to a minimum of 0 no gap is small enough; a share of the first value is used instead
        self.floor = tol * abs(self.value)
        self.n_gaps = len(gaps)
        self.rate = np.inf  # bound on the gap per squared gradient; the exact rate is 1 / (2 l2)
        self.gap_before = np.inf  # with the previous width
        self.coef_before = self.coef
        self.gap = np.inf
        self.gap_at: np.ndarray | None = None  # the coefficients that the gap belongs to
        # under a strong penalty 0 may be close enough by its value, but it gives no direction
        self.must_step = not np.any(start) and self.gradient_norm > 0.0
        self._note(gaps[self.width])

    def check(self) -> None:
        if self._is_near() and not (self.must_step and self.n_iter == 0):
            self.stop_reason = GAP_BELOW_TOL

    def stall(self) -> None:
        self.stop_reason = GAP_BELOW_TOL if self._is_near() else STALLED

    def step(self) -> bool:
        if self._is_settled() and not self._narrow():
            return False
        while not super().step():
            if self.gap_at is None:
                self._measure()
            if self._is_near() or not self._narrow():
                return False
        if self._gradient_share() > self.gap_before:  # far from settled: not worth computing
            self.gap, self.gap_at = np.inf, None
        else:
            self._measure()
        return True

    def result(self, **details: Any) -> Result:
        """Return the value with its kinks and its gap; ``gradient_norm`` is that of the smoothed objective."""
        if self.gap_at is not self.coef:
            self._measure()
        value, _ = self.exact.value_and_gradient(self.coef)
        n_more = self.n_gaps + 1
        if self.gap_before < self.gap:
            # the gradient of a new width inflates the gap: the bound of the previous width still holds
            n_more += 1
            value_before, _ = self.exact.value_and_gradient(self.coef_before)
            self.gap = min(self.gap, max(0.0, self.gap_before + (value - value_before)))
            if self.stop_reason in (MAX_ITER, STALLED) and self._is_near():
                self.stop_reason = GAP_BELOW_TOL
        self.is_converged = self.stop_reason == GAP_BELOW_TOL
        found = super().result(duality_gap=self.gap)
        found.value, found.n_evaluations = value, found.n_evaluations + n_more
        return found

    def _is_near(self) -> bool:
        return self.gap <= self._target()

    def _target(self) -> float:
        # the value less the gap is a lower bound of the minimum
        return self.tol * max(self.value - self.gap, self.floor)

    def _measure(self) -> None:
        self.n_gaps += 1
        self._note(self.exact.duality_gap(self.coef, self.width))

    def _note(self, gap: float) -> None:
        self.gap, self.gap_at = float(gap), self.coef
        square = self.gradient_norm**2
        if square > 0.0:
            self.rate = min(self.rate, self.gap / square)

    def _gradient_share(self) -> float:
        """Return the part of the gap that is due to the gradient, as far as known."""
        square = self.gradient_norm**2
        return self.rate * square if square > 0.0 else 0.0

    def _is_settled(self) -> bool:
        """Return whether most of the gap is due to the width, which steps do not reduce."""
        return self.gap_at is not None and self._gradient_share() <= SETTLED * self.gap

    def _narrow(self) -> bool:
        if self.width <= LEAST_WIDTH:
            return False
        self.gap_before, self.coef_before = self.gap, self.coef
        # no narrower than the tolerance needs
        self.width *= max(SHRINK, min(0.9, 0.5 * self._target() / self.gap)) if self.gap > 0.0 else SHRINK
        self.change_objective(self.exact.smoothed(self.width))
        self.gap, self.gap_at = np.inf, None
        return True
