"""scipy's L-BFGS in scaled variables, for smooth losses."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.solvers.base import (
    CONVERGED,
    INTERRUPTED,
    MAX_ITER,
    STALLED,
    Callback,
    Minimizable,
    Result,
    Search,
    Solver,
    is_finite,
)
from plackett.solvers.scaling import Scaling

SAME = 1e-12  # values that differ by less, relatively, may differ by rounding alone


class LBFGS(Solver):
    """Limited-memory quasi-Newton for smooth objectives; needs values and gradients only.

    Parameters
    ----------
    memory : int, default=20
        Number of past steps from which the curvature is estimated.

    Examples
    --------
    >>> from plackett.solvers import LBFGS
    >>> from plackett import LinearRanker
    >>> ranker = LinearRanker("squared-hinge", l2=2.0, solver=LBFGS(memory=5))
    >>> ranker.fit([[1.0], [0.0]], [1, 0], qid=[7, 7]).coef_.round(4)  # (1 - w)² + w² is least at 0.5
    array([0.5])
    """

    name = "lbfgs"

    def __init__(self, memory: int = 20):
        self.memory = memory

    def check(self, objective: Minimizable) -> None:
        self._check_deterministic(objective)
        if not objective.is_smooth:
            hint = 'solver="newton"' if objective.is_convex and objective.has_smoothing else 'solver="sgd"'
            raise self._mismatch("a smooth loss", objective, "has kinks", hint)

    def _search(self, objective: Minimizable, start: np.ndarray, tol: float, random_state: Any) -> Search:
        return _ScaledSearch(objective, start, tol, self.memory)


class _ScaledSearch(Search):
    """The adapter between scipy and the objective: change of variables, best point so far, convergence."""

    callback: Callback | None = None

    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float, memory: int):
        super().__init__(objective, start)
        self.tol, self.memory = tol, memory
        self.scaling = Scaling(objective.curvature_estimate(self.coef), objective.size)
        self.start = self.scaling.from_coef(self.coef)
        self.start_value, self.start_gradient = self.value, self.scaling.pull(self.gradient)

    def check(self) -> None:
        if self.scaling.is_converged(self.gradient, self.tol):
            self.stop_reason, self.is_converged = CONVERGED, True

    def run(self, max_iter: int, callback: Callback | None = None) -> Result:
        with importing:
            from scipy.optimize import minimize

        self.callback = callback
        options = {"maxiter": max_iter, "maxfun": 20 * max_iter + 100, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        try:
            self.check()
            if not self.stop_reason:
                found = minimize(
                    self.evaluate, self.start, jac=True, method="L-BFGS-B", callback=self.after_step, options=options
                )
                self.polish(found.hess_inv, max_iter)
                self.end(max_iter)
        except KeyboardInterrupt:
            self.stop_reason, self.is_interrupted = INTERRUPTED, True
        return self.result()

    def evaluate(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        if np.array_equal(u, self.start):  # scipy evaluates it again
            return self.start_value, self.start_gradient
        coef = self.scaling.to_coef(u)
        value, gradient = self.objective.value_and_gradient(coef)
        self.n_evaluations += 1
        if not is_finite(value, gradient):
            return self._wall(u)
        if value <= self.value:
            self.coef, self.value, self.gradient = coef, value, gradient
        return value, self.scaling.pull(gradient)

    def _wall(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """Return a finite substitute where the objective overflows, such that the next step is a tenth as long.

        With a much larger value the line search would hardly move at all.
        """
        beyond = u - self.scaling.from_coef(self.coef)
        length = float(np.linalg.norm(beyond))
        steepness = float(np.linalg.norm(self.scaling.pull(self.gradient)))
        return self.value + 4.0 * steepness * length, 8.0 * steepness * beyond / max(length, 1e-300)

    def after_step(self, intermediate_result) -> None:
        self.n_iter += 1
        self.stop_reason = self.report(self.callback)
        if not self.stop_reason:
            self.check()
        if self.stop_reason:
            raise StopIteration

    def polish(self, inverse, max_iter: int) -> None:
        """Continue by the gradient where values are equal up to rounding; ``inverse`` is scipy's inverse Hessian."""
        while not self.stop_reason and self.n_iter < max_iter:
            pulled = self.scaling.pull(self.gradient)
            coef = self.coef - self.scaling.to_coef(inverse.matvec(pulled))
            value, gradient = self.objective.value_and_gradient(coef)
            self.n_evaluations += 1
            is_level = is_finite(value, gradient) and value <= self.value + SAME * abs(self.value)
            if not is_level or np.linalg.norm(self.scaling.pull(gradient)) > 0.9 * np.linalg.norm(pulled):
                return
            self.coef, self.value, self.gradient = coef, value, gradient
            with contextlib.suppress(StopIteration):
                self.after_step(None)

    def end(self, max_iter: int) -> None:
        if self.stop_reason:
            return
        if self.n_iter >= max_iter:
            self.stop_reason = MAX_ITER
        else:  # the line search found nothing lower
            self.stop_reason = STALLED
            self.is_converged = self.scaling.is_near(self.gradient, self.tol)
