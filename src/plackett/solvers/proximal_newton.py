"""The hinge's exact minimum by Newton steps on smoothed hinges whose centres move (a proximal method on the dual).

A hinge smoothed around the pulls of the minimum has its minimum where the hinge has, for any width. So the kink is
rounded off widely, Newton steps settle there, the pulls found become the next centre, and so on. Rounding it off ever
more narrowly instead, about a fixed centre (``smoothing.py``), takes many times the steps where there are as many
coefficients as pairs, because each width lets few pairs bend at a time.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from plackett.solvers.base import Minimizable, Result
from plackett.solvers.margin_losses import SmoothedHinge
from plackett.solvers.margins import MarginProblem
from plackett.solvers.smoothing import FIRST_WIDTHS, GAP_BELOW_TOL
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER, STALLED
from plackett.solvers.trust_region import TrustRegion

SHRINK = 0.5  # of the width, with every new centre: a half took fewest steps among 1, 1/2 and 1/5
NARROWEST = 1e-12
MANY, WIDEN = 20, 4.0  # after so many steps about one centre the width was too narrow, and grows by so much
SETTLED = 0.3  # share of the gap that further steps about the same centre could still take away


def minimize_hinge(
    problem: MarginProblem, start: np.ndarray, pulls: np.ndarray | None, *, max_iter: int, tol: float
) -> Result:
    """Minimise until the duality gap is at most ``tol`` times the minimum.

    Parameters
    ----------
    problem : MarginProblem
        With the hinge and without a kernel.
    start : ndarray of shape (size,)
    pulls : ndarray of shape (n_rows,) or None
        The first centre, from 0 to 1; None is 0.
    max_iter : int
        Most Newton steps.
    tol : float

    Returns
    -------
    Result
        ``gradient_norm`` is that of the last smoothed problem. ``details`` has ``"duality_gap"`` and ``"pulls"``.
    """
    search = _Search(problem, start, np.zeros(problem.n_rows) if pulls is None else pulls, tol)
    stop_reason, is_interrupted, n_iter = "", False, 0
    try:
        while not stop_reason:
            if search.is_converged():
                stop_reason = GAP_BELOW_TOL
            elif n_iter >= max_iter:
                stop_reason = MAX_ITER
            elif search.step():
                n_iter += 1
            else:
                stop_reason = STALLED
    except KeyboardInterrupt:
        stop_reason, is_interrupted = INTERRUPTED, True
    return search.result(stop_reason, n_iter, is_interrupted)


class _Search:
    """The point so far, the smoothed hinge there and the gap it leaves."""

    def __init__(self, problem: MarginProblem, start: np.ndarray, pulls: np.ndarray, tol: float):
        self.problem, self.tol = problem, tol
        self.bound = -np.inf  # the best one so far
        if np.any(start):  # the pulls that fit it best are a better centre
            bounds = [problem.bound_below(start, SmoothedHinge(width, pulls)) for width in FIRST_WIDTHS]
            self.bound, pulls = max(bounds, key=lambda found: found[0])
        self.n_steps = 0
        self.loss = SmoothedHinge(FIRST_WIDTHS[0], pulls)
        self.region = TrustRegion(self._smoothed(), start)
        # where the minimum is 0 no value is near it by a share of it: then a share of the start has to do
        self.floor = tol * abs(problem.value(start))
        self._measure()

    def is_converged(self) -> bool:
        return self.gap <= self.tol * max(self.value - self.gap, self.floor)

    def step(self) -> bool:
        """One Newton step, about a new centre where that is due; False when nothing moves any more."""
        if self.unsettled <= SETTLED * self.gap:
            self._recentre(SHRINK)
        elif self.n_steps >= MANY:
            self._recentre(WIDEN)
        while not self.region.step():
            if self.loss.width <= NARROWEST:
                return False
            self._recentre(SHRINK)
        self.n_steps += 1
        self._measure()
        return True

    def result(self, stop_reason: str, n_iter: int, is_interrupted: bool) -> Result:
        return Result(
            coef=self.region.coef,
            value=self.value,
            gradient_norm=self.region.gradient_norm,
            n_iter=n_iter,
            n_evaluations=self.region.n_evaluations,
            n_products=self.region.n_products,
            stop_reason=stop_reason,
            is_converged=stop_reason == GAP_BELOW_TOL,
            is_interrupted=is_interrupted,
            details={"duality_gap": self.gap, "pulls": self.pulls},
        )

    def _smoothed(self) -> Minimizable:
        return cast(Minimizable, self.problem.with_loss(self.loss))

    def _recentre(self, by: float) -> None:
        self.n_steps = 0
        self.loss = SmoothedHinge(max(by * self.loss.width, NARROWEST), self.pulls)
        self.region.turn_to(self._smoothed())

    def _measure(self) -> None:
        bound, self.pulls = self.problem.bound_below(self.region.coef, self.loss)
        self.value = self.problem.value(self.region.coef)
        self.bound = max(self.bound, bound)
        self.gap = max(self.value - self.bound, 0.0)
        # the smoothed problem has the same bound, less what the pulls cost there
        self.unsettled = self.region.value - bound + float(self.problem.weights @ self.loss.costs(self.pulls))
