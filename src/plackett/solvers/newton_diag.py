"""Gradient descent with one step length per coefficient, from a bound on the curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result, Solver, Step
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER, is_finite, require_finite

MAX_HALVINGS = 40
SETTLED = "loss changed by less than tol"
NO_STEP = "no step lowers the loss"


class NewtonDiagonal(Solver):
    """The gradient over the diagonal of a curvature bound, halved until the loss falls; for reproductions.

    This is Algorithm 2 of the thesis on kernelised cost-sensitive listwise ranking, which scales the coefficients to
    unit norm after every step. With unit norm it does not reach the minimum of the objective, but the loss falls with
    every step along the unit sphere. It counts as converged when the loss changes by less than ``tol``.

    Parameters
    ----------
    unit_norm : bool, default=True
        Whether coefficients are scaled to unit norm. A start other than 0 is scaled too. A start at 0 cannot be: there
        the direction of the first step is taken, even where the loss is higher on the sphere than at 0.
    """

    name = "newton-diag"
    is_exact = False

    def __init__(self, unit_norm: bool = True):
        self.unit_norm = unit_norm

    def check(self, objective: Minimizable) -> None:
        if objective.is_random:
            raise self._refuse("a loss that is the same at every look", objective, "draws anew", 'solver="sgd"')
        if not objective.has_curvature_bound:
            hint = (
                'solver="lbfgs"'
                if objective.is_smooth
                else 'solver="newton"'
                if objective.is_convex
                else 'solver="sgd"'
            )
            raise self._refuse("a loss with curvature_bound", objective, "has none", hint)

    def minimize(
        self,
        objective: Minimizable,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        random_state: Any = None,
    ) -> Result:
        self.check(objective)
        search = _Search(objective, start, self.unit_norm)
        stop_reason, is_interrupted = "", False
        try:
            while not stop_reason:
                before, was_at_zero = search.value, search.is_at_zero()
                if search.n_iter >= max_iter:
                    stop_reason = MAX_ITER
                elif not search.step():
                    stop_reason = NO_STEP
                else:
                    stop_reason = search.show(callback)
                    if not stop_reason and abs(before - search.value) < tol and not was_at_zero:
                        stop_reason = SETTLED
        except KeyboardInterrupt:
            stop_reason, is_interrupted = INTERRUPTED, True
        return search.result(stop_reason, is_interrupted)


class _Search:
    def __init__(self, objective: Minimizable, start: np.ndarray, unit_norm: bool):
        self.objective, self.unit_norm = objective, unit_norm
        self.n_iter, self.n_evaluations = 0, 1
        self.coef = self._scaled(np.array(start, dtype=np.float64))
        self.value, self.gradient = objective.value_and_gradient(self.coef)
        require_finite(self.value, self.gradient)

    def is_at_zero(self) -> bool:
        """Whether the next step leaves 0 for the unit sphere, where values are not comparable with that at 0."""
        return self.unit_norm and not self.coef.any()

    def step(self) -> bool:
        """Move to where the loss is lower; False when even the shortest step does not get there."""
        bound = self.objective.curvature_bound_diagonal(self.coef)
        # a column that nothing depends on has no curvature and no gradient
        step = np.divide(self.gradient, bound, out=np.zeros_like(self.gradient), where=bound > 0.0)
        if not step.any():
            return False
        tried = self.coef
        for halvings in range(MAX_HALVINGS):
            coef = self._scaled(self.coef - 0.5**halvings * step)
            if np.array_equal(coef, tried):  # too short for rounding to show
                return False
            tried = coef
            value, gradient = self.objective.value_and_gradient(coef)
            self.n_evaluations += 1
            if is_finite(value, gradient) and (value < self.value or self.is_at_zero()):
                self.coef, self.value, self.gradient = coef, value, gradient
                self.n_iter += 1
                return True
        return False

    def _scaled(self, coef: np.ndarray) -> np.ndarray:
        norm = np.linalg.norm(coef)
        return coef / norm if self.unit_norm and norm > 0.0 else coef

    def show(self, callback: Callback | None) -> str:
        if callback is None:
            return ""
        return callback(Step(self.n_iter, self.coef, self.value, float(np.linalg.norm(self.gradient)))) or ""

    def result(self, stop_reason: str, is_interrupted: bool) -> Result:
        return Result(
            coef=self.coef,
            value=self.value,
            gradient_norm=float(np.linalg.norm(self.gradient)),
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            stop_reason=stop_reason,
            is_converged=stop_reason in (SETTLED, NO_STEP),
            is_interrupted=is_interrupted,
        )
