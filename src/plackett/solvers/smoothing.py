"""Convex losses with kinks: minimised with the kinks rounded off over a width that shrinks.

The smoothed objective has curvature, so Newton steps work, and its pulls are a point of the dual problem. The duality
gap that this point leaves has two parts: what the width hides, and a share that goes with the square of the smoothed
gradient. Steps take away the second part. Once the first is most of what remains, the width shrinks.
"""

from __future__ import annotations

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER, STALLED
from plackett.solvers.trust_region import TrustRegion

GAP_BELOW_TOL = "duality gap below tol"
FIRST_WIDTHS = (1.0, 0.1, 0.01, 0.001)
SHRINK = 0.4  # of the width, unless less is needed
NARROWEST = 1e-12
SETTLED = 0.5  # share of the gap that the gradient may account for when the width shrinks


def minimize_with_kinks(
    objective: Minimizable, start: np.ndarray, max_iter: int, tol: float, callback: Callback | None
) -> Result:
    """Minimise until the duality gap is at most ``tol`` times the minimum (see ``Newton``)."""
    search = _Continuation(objective, start, tol)
    stop_reason, is_interrupted, n_iter = "", False, 0
    try:
        while not stop_reason:
            # under a strong penalty 0 may be near enough by its value, yet it tells no direction: one step at least
            if search.is_converged() and (n_iter > 0 or np.any(start) or search.region.gradient_norm == 0.0):
                stop_reason = GAP_BELOW_TOL
            elif n_iter >= max_iter:
                stop_reason = MAX_ITER
            elif not search.step():
                stop_reason = GAP_BELOW_TOL if search.is_converged() else STALLED
            else:
                n_iter += 1
                stop_reason = search.region.show(callback, n_iter)
    except KeyboardInterrupt:
        stop_reason, is_interrupted = INTERRUPTED, True
    return search.result(stop_reason, n_iter, is_interrupted)


class _Continuation:
    """The point so far, the width there and the gap it leaves."""

    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float):
        self.objective, self.tol = objective, tol
        # a start near the minimum must not be blurred away: there a narrow width leaves the smaller gap
        gaps = {
            width: objective.duality_gap(start, width)
            for width in (FIRST_WIDTHS if np.any(start) else FIRST_WIDTHS[:1])
        }
        self.width = min(gaps, key=gaps.__getitem__)
        self.region = TrustRegion(objective.smoothed(self.width), start)
        # where the minimum is 0 no value is near it by a share of it: then a share of the start has to do
        self.floor = tol * abs(self.region.value)
        self.n_gaps = len(gaps)
        self.rate = np.inf  # bound on what a squared gradient of 1 adds to the gap; 1 / (2 l2) in truth
        self.gap_before = np.inf  # with the width before, and where
        self.coef_before = self.region.coef
        self.gap = np.inf
        self.gap_at: np.ndarray | None = None  # the coefficients that the gap belongs to
        self._note(gaps[self.width])

    def is_converged(self) -> bool:
        return self.gap <= self._target()

    def step(self) -> bool:
        """One Newton step, with a smaller width where that is due; False when there is nothing left to do."""
        if self._is_settled() and not self._narrow():
            return False
        while not self.region.step():
            if self.gap_at is None:
                self._measure()
            if self.is_converged() or not self._narrow():
                return False
        if self._gradient_share() > self.gap_before:  # far from settled: not worth the look
            self.gap, self.gap_at = np.inf, None
        else:
            self._measure()
        return True

    def result(self, stop_reason: str, n_iter: int, is_interrupted: bool) -> Result:
        if self.gap_at is not self.region.coef:
            self._measure()
        value, _ = self.objective.value_and_gradient(self.region.coef)
        n_evaluations = self.region.n_evaluations + self.n_gaps + 1
        if self.gap_before < self.gap:
            # the gradient of a new width hides what is known: the minimum is no lower than the width before has shown
            n_evaluations += 1
            value_before, _ = self.objective.value_and_gradient(self.coef_before)
            self.gap = min(self.gap, max(0.0, self.gap_before + (value - value_before)))
            if stop_reason in (MAX_ITER, STALLED) and self.is_converged():
                stop_reason = GAP_BELOW_TOL
        return Result(
            coef=self.region.coef,
            value=value,
            gradient_norm=self.region.gradient_norm,  # of the smoothed objective
            n_iter=n_iter,
            n_evaluations=n_evaluations,
            n_products=self.region.n_products,
            stop_reason=stop_reason,
            is_converged=stop_reason == GAP_BELOW_TOL,
            is_interrupted=is_interrupted,
            details={"duality_gap": self.gap},
        )

    def _target(self) -> float:
        # the value less the gap is a bound from below on the minimum
        return self.tol * max(self.region.value - self.gap, self.floor)

    def _measure(self) -> None:
        self.n_gaps += 1
        self._note(self.objective.duality_gap(self.region.coef, self.width))

    def _note(self, gap: float) -> None:
        self.gap, self.gap_at = float(gap), self.region.coef
        square = self.region.gradient_norm**2
        if square > 0.0:
            self.rate = min(self.rate, self.gap / square)

    def _gradient_share(self) -> float:
        """What the gradient adds to the gap, as far as we know."""
        square = self.region.gradient_norm**2
        return self.rate * square if square > 0.0 else 0.0

    def _is_settled(self) -> bool:
        """Whether most of the gap is due to the width, and steps have done what they can."""
        return self.gap_at is not None and self._gradient_share() <= SETTLED * self.gap

    def _narrow(self) -> bool:
        if self.width <= NARROWEST:
            return False
        self.gap_before, self.coef_before = self.gap, self.region.coef
        # no narrower than what the tolerance asks for
        self.width *= max(SHRINK, min(0.9, 0.5 * self._target() / self.gap)) if self.gap > 0.0 else SHRINK
        self.region.turn_to(self.objective.smoothed(self.width))
        self.gap, self.gap_at = np.inf, None
        return True
