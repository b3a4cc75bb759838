"""Convex objectives with kinks: minimised by Newton steps with the kinks rounded off.

The hinge is the largest ``y (1 - m)`` for a pull y from 0 to 1. Rounded off over a width, what y is away from a centre
costs ``(width / 2) (y - centre)²``. The smoothed objective has curvature, so Newton steps work, and its pulls are a
point of the dual problem. The duality gap that this point leaves has two parts: what width and centre hide, and a share
that goes with the square of the smoothed gradient. Steps take away the second part. Once the first is most of what
remains, the objective is smoothed anew:

- ``ShrinkingWidth`` keeps the centre at 0 and lets the width shrink. It needs sums over pairs only.
- ``MovingCentre`` moves the centre to the pulls just found (a proximal method on the dual). A hinge smoothed around the
  pulls of the minimum has its minimum where the hinge has, for any width. It holds a number for each pair, and takes a
  fraction of the steps where there are as many coefficients as pairs: a narrow width lets few pairs bend at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, cast

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result
from plackett.solvers.margin_losses import SmoothedHinge
from plackett.solvers.margins import MarginProblem
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER, STALLED
from plackett.solvers.trust_region import TrustRegion

GAP_BELOW_TOL = "duality gap below tol"
FIRST_WIDTHS = (1.0, 0.1, 0.01, 0.001)
NARROWEST = 1e-12


class Search(ABC):
    """The point so far, the smoothed objective there and the gap it leaves."""

    region: TrustRegion
    gap: float
    n_steps = 0
    stop_reason = ""

    @abstractmethod
    def is_near(self) -> bool:
        """Whether the gap is small enough."""

    def must_step(self) -> bool:
        """Whether a step has to come all the same."""
        return False

    @abstractmethod
    def step(self) -> bool:
        """One Newton step, on another smoothed objective where that is due; False when there is nothing left to do."""

    @abstractmethod
    def close(self) -> tuple[float, int, dict[str, Any]]:
        """The value with its kinks, evaluations besides the region's, and details; may change the stop reason."""

    def run(self, max_iter: int, callback: Callback | None = None) -> Result:
        """Step until the gap is small enough."""
        is_interrupted = False
        try:
            while not self.stop_reason:
                if self.is_near() and not self.must_step():
                    self.stop_reason = GAP_BELOW_TOL
                elif self.n_steps >= max_iter:
                    self.stop_reason = MAX_ITER
                elif not self.step():
                    self.stop_reason = GAP_BELOW_TOL if self.is_near() else STALLED
                else:
                    self.n_steps += 1
                    self.stop_reason = self.region.show(callback, self.n_steps)
        except KeyboardInterrupt:
            self.stop_reason, is_interrupted = INTERRUPTED, True
        value, n_more, details = self.close()
        return Result(
            coef=self.region.coef,
            value=value,
            gradient_norm=self.region.gradient_norm,  # of the smoothed objective
            n_iter=self.n_steps,
            n_evaluations=self.region.n_evaluations + n_more,
            n_products=self.region.n_products,
            stop_reason=self.stop_reason,
            is_converged=self.stop_reason == GAP_BELOW_TOL,
            is_interrupted=is_interrupted,
            details={"duality_gap": self.gap, **details},
        )


# --- A width that shrinks ---------------------------------------------------------------------------------------------


def minimize_with_kinks(
    objective: Minimizable, start: np.ndarray, max_iter: int, tol: float, callback: Callback | None
) -> Result:
    """Minimise until the duality gap is at most ``tol`` times the minimum (see ``Newton``)."""
    return ShrinkingWidth(objective, start, tol).run(max_iter, callback)


class ShrinkingWidth(Search):
    """Looks at the gap, which costs two passes over the data, only where it may be small."""

    SHRINK = 0.4  # of the width, unless less is needed
    SETTLED = 0.5  # share of the gap that the gradient may account for when the width shrinks

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
        self.starts_at_zero = not np.any(start)
        self._note(gaps[self.width])

    def is_near(self) -> bool:
        return self.gap <= self._target()

    def must_step(self) -> bool:
        # under a strong penalty 0 may be near enough by its value, yet it tells no direction
        return self.n_steps == 0 and self.starts_at_zero and self.region.gradient_norm > 0.0

    def step(self) -> bool:
        if self._is_settled() and not self._narrow():
            return False
        while not self.region.step():
            if self.gap_at is None:
                self._measure()
            if self.is_near() or not self._narrow():
                return False
        if self._gradient_share() > self.gap_before:  # far from settled: not worth the look
            self.gap, self.gap_at = np.inf, None
        else:
            self._measure()
        return True

    def close(self) -> tuple[float, int, dict[str, Any]]:
        if self.gap_at is not self.region.coef:
            self._measure()
        value, _ = self.objective.value_and_gradient(self.region.coef)
        n_evaluations = self.n_gaps + 1
        if self.gap_before < self.gap:
            # the gradient of a new width hides what is known: the minimum is no lower than the width before has shown
            n_evaluations += 1
            value_before, _ = self.objective.value_and_gradient(self.coef_before)
            self.gap = min(self.gap, max(0.0, self.gap_before + (value - value_before)))
            if self.stop_reason in (MAX_ITER, STALLED) and self.is_near():
                self.stop_reason = GAP_BELOW_TOL
        return value, n_evaluations, {}

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
        return self.gap_at is not None and self._gradient_share() <= self.SETTLED * self.gap

    def _narrow(self) -> bool:
        if self.width <= NARROWEST:
            return False
        self.gap_before, self.coef_before = self.gap, self.region.coef
        # no narrower than what the tolerance asks for
        self.width *= max(self.SHRINK, min(0.9, 0.5 * self._target() / self.gap)) if self.gap > 0.0 else self.SHRINK
        self.region.turn_to(self.objective.smoothed(self.width))
        self.gap, self.gap_at = np.inf, None
        return True


# --- A centre that moves ----------------------------------------------------------------------------------------------


def minimize_hinge(
    problem: MarginProblem, start: np.ndarray, pulls: np.ndarray | None = None, *, max_iter: int = 1000, tol: float
) -> Result:
    """Minimise a problem in pair form with the hinge until the duality gap is at most ``tol`` times the minimum.

    Parameters
    ----------
    problem : MarginProblem
        With the hinge and without free coefficients.
    start : ndarray of shape (size,)
    pulls : ndarray of shape (n_rows,), default=None
        The first centre, from 0 to 1, such as ``details["pulls"]`` of a result with another ``l2``: pairs whose margin
        is 1 pull by any share of their weight, and coefficients alone do not say by which. None is 0.
    max_iter : int, default=1000
        Most Newton steps.
    tol : float

    Returns
    -------
    Result
        ``gradient_norm`` is that of the last smoothed problem. ``details`` has ``"duality_gap"`` and ``"pulls"``.
    """
    return MovingCentre(problem, start, np.zeros(problem.n_rows) if pulls is None else pulls, tol).run(max_iter)


class MovingCentre(Search):
    """Looks at the gap, one product with the rows, after every step."""

    SHRINK = 0.5  # of the width, with every new centre: a half took fewest steps among 1, 1/2 and 1/5
    SETTLED = 0.3  # share of the gap that further steps about the same centre could still take away
    MANY, WIDEN = 20, 4.0  # after so many steps about one centre the width was too narrow, and grows by so much

    def __init__(self, problem: MarginProblem, start: np.ndarray, pulls: np.ndarray, tol: float):
        assert problem.n_free == 0, "pulls that do not move a free coefficient would have to be looked for"
        self.problem, self.tol = problem, tol
        self.bound = -np.inf  # the best one so far
        if np.any(start):  # the pulls that fit it best are a better centre
            margins = problem.margins(start)
            centres = [SmoothedHinge(width, pulls).pulls(margins) for width in FIRST_WIDTHS]
            bounds = [problem.dual_value(centre) for centre in centres]
            best = int(np.argmax(bounds))
            self.bound, pulls = bounds[best], centres[best]
        self.n_steps_here = 0
        self.loss = SmoothedHinge(FIRST_WIDTHS[0], pulls)
        self.region = TrustRegion(self._smoothed(), start)
        # where the minimum is 0 no value is near it by a share of it: then a share of the start has to do
        self.floor = tol * abs(problem.value(start))
        self._measure()

    def is_near(self) -> bool:
        return self.gap <= self.tol * max(self.value - self.gap, self.floor)

    def step(self) -> bool:
        if self.unsettled <= self.SETTLED * self.gap:
            self._recentre(self.SHRINK)
        elif self.n_steps_here >= self.MANY:
            self._recentre(self.WIDEN)
        while not self.region.step():
            if self.loss.width <= NARROWEST:
                return False
            self._recentre(self.SHRINK)
        self.n_steps_here += 1
        self._measure()
        return True

    def close(self) -> tuple[float, int, dict[str, Any]]:
        return self.value, 0, {"pulls": self.pulls}

    def _smoothed(self) -> Minimizable:
        return cast(Minimizable, self.problem.with_loss(self.loss))

    def _recentre(self, by: float) -> None:
        self.n_steps_here = 0
        self.loss = SmoothedHinge(max(by * self.loss.width, NARROWEST), self.pulls)
        self.region.turn_to(self._smoothed())

    def _measure(self) -> None:
        self.pulls = self.loss.pulls(self.problem.margins(self.region.coef))
        bound = self.problem.dual_value(self.pulls)
        self.value = self.problem.value(self.region.coef)
        self.bound = max(self.bound, bound)
        self.gap = max(self.value - self.bound, 0.0)
        # the smoothed problem has the same bound, less what the pulls cost there
        self.unsettled = self.region.value - bound + float(self.problem.weights @ self.loss.costs(self.pulls))
