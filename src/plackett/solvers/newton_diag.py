"""Gradient descent with one step length per coefficient, from a bound on the curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.solvers.base import Minimizable, Search, Solver, is_finite

MAX_HALVINGS = 40
SETTLED = "loss changed by less than tol"
NO_STEP = "no step lowers the loss"


class NewtonDiagonal(Solver):
    """The gradient over the diagonal of a curvature bound, halved until the loss decreases; for reproductions.

    This is Algorithm 2 of the thesis on kernelised cost-sensitive listwise ranking, which scales the coefficients to
    unit norm after every step. With unit norm it does not reach the minimum of the objective, but the loss decreases
    with every step along the unit sphere. It counts as converged when the loss changes by less than ``tol``.

    Parameters
    ----------
    unit_norm : bool, default=True
        Whether coefficients are scaled to unit norm. A start other than 0 is scaled too. From 0, the first step goes
        to the unit sphere in the direction of steepest descent, even if the loss is higher there.

    Examples
    --------
    >>> from plackett.solvers import NewtonDiagonal
    >>> from plackett import LinearRanker
    >>> ranker = LinearRanker("squared-hinge", l2=2.0, solver=NewtonDiagonal())
    >>> ranker.fit([[1.0], [0.0]], [1, 0], qid=[7, 7]).coef_  # (1 - w)² + w² at unit norm
    array([1.])
    """

    name = "newton-diag"
    is_exact = False

    def __init__(self, unit_norm: bool = True):
        self.unit_norm = unit_norm

    def check(self, objective: Minimizable) -> None:
        self._check_deterministic(objective)
        if not objective.has_curvature_bound:
            can_smooth = objective.is_convex and objective.has_smoothing
            hint = "lbfgs" if objective.is_smooth else "newton" if can_smooth else "sgd"
            raise self._mismatch("a loss with curvature_bound", objective, "has none", f'solver="{hint}"')

    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        return _Descent(objective, start, tol, self.unit_norm)


class _Descent(Search):
    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float, unit_norm: bool):
        self.unit_norm, self.tol = unit_norm, tol
        self.change = np.inf  # of the value in the last step
        super().__init__(objective, self._scaled(np.array(start, dtype=np.float64)))

    def is_at_zero(self) -> bool:
        """Return whether the next step leaves 0 for the unit sphere, where values are not comparable with that at 0."""
        return self.unit_norm and not self.coef.any()

    def check(self) -> None:
        if self.change < self.tol:
            self.stop_reason, self.is_converged = SETTLED, True

    def stall(self) -> None:
        self.stop_reason, self.is_converged = NO_STEP, True

    def step(self) -> bool:
        """Move to a point with a lower loss; False if even the shortest step does not lower it."""
        bound = self.objective.curvature_bound_diagonal(self.coef)
        # a column without influence has neither curvature nor gradient
        step = np.divide(self.gradient, bound, out=np.zeros_like(self.gradient), where=bound > 0.0)
        if not step.any():
            return False
        tried = self.coef
        for halvings in range(MAX_HALVINGS):
            coef = self._scaled(self.coef - 0.5**halvings * step)
            if np.array_equal(coef, tried):  # too short at working precision
                return False
            tried = coef
            value, gradient = self.objective.value_and_gradient(coef)
            self.n_evaluations += 1
            if is_finite(value, gradient) and (value < self.value or self.is_at_zero()):
                self.change = np.inf if self.is_at_zero() else abs(self.value - value)
                self.coef, self.value, self.gradient = coef, value, gradient
                return True
        return False

    def _scaled(self, coef: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm(coef)
        return coef / norm if self.unit_norm and norm > 0.0 else coef
