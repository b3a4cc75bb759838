"""L-BFGS, scipy's, in scaled variables: the solver for smooth losses."""

from __future__ import annotations

import contextlib

import numpy as np

from plackett.solvers.base import Callback, Minimizable, Result, Solver, Step
from plackett.solvers.scaling import Scaling
from plackett.solvers.stopping import CONVERGED, INTERRUPTED, MAX_ITER, STALLED, is_finite, require_finite

SAME = 1e-12  # values that differ by less, relatively, may differ by rounding alone


class LBFGS(Solver):
    """Limited-memory quasi-Newton for smooth objectives; needs values and gradients only.

    Parameters
    ----------
    memory : int, default=20
        Steps that are remembered to estimate the curvature.
    """

    name = "lbfgs"

    def __init__(self, memory: int = 20):
        self.memory = memory

    def check(self, objective: Minimizable) -> None:
        if objective.is_random:
            raise self._refuse("a loss that is the same at every look", objective, "draws anew", 'solver="sgd"')
        if not objective.is_smooth:
            hint = 'solver="newton"' if objective.is_convex else 'solver="sgd"'
            raise self._refuse("a smooth loss", objective, "has kinks", hint)

    def minimize(
        self,
        objective: Minimizable,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
        random_state=None,
    ) -> Result:
        from scipy.optimize import minimize

        self.check(objective)
        search = _Search(objective, start, tol, callback)
        options = {"maxiter": max_iter, "maxfun": 20 * max_iter + 100, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        try:
            if not search.is_done_at_start():
                found = minimize(
                    search.evaluate, search.start, jac=True, method="L-BFGS-B", callback=search.look, options=options
                )
                search.polish(found.hess_inv, max_iter)
                search.end(max_iter)
        except KeyboardInterrupt:
            search.stop_reason, search.is_interrupted = INTERRUPTED, True
        return search.result()


class _Search:
    """What happens between scipy and the objective: the change of variables, the best point so far, the end."""

    def __init__(self, objective: Minimizable, start: np.ndarray, tol: float, callback: Callback | None):
        self.objective, self.tol, self.callback = objective, tol, callback
        self.coef = np.array(start, dtype=np.float64)
        self.value, self.gradient = objective.value_and_gradient(self.coef)
        require_finite(self.value, self.gradient)
        self.scaling = Scaling(objective.curvature_estimate(self.coef), objective.size)
        self.start = self.scaling.from_coef(self.coef)
        self.start_value, self.start_gradient = self.value, self.scaling.pull(self.gradient)
        self.n_iter, self.n_evaluations = 0, 1
        self.stop_reason, self.is_converged, self.is_interrupted = "", False, False

    def is_done_at_start(self) -> bool:
        self.is_converged = self.scaling.is_converged(self.gradient, self.tol)
        self.stop_reason = CONVERGED if self.is_converged else ""
        return self.is_converged

    def evaluate(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        if np.array_equal(u, self.start):  # scipy asks for it again
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
        """What stands in for the objective where it is not finite: so high that the next step is about a tenth as long.

        Were it as high as it can be, the line search would hardly move at all.
        """
        beyond = u - self.scaling.from_coef(self.coef)
        length = float(np.linalg.norm(beyond))
        steepness = float(np.linalg.norm(self.scaling.pull(self.gradient)))
        return self.value + 4.0 * steepness * length, 8.0 * steepness * beyond / max(length, 1e-300)

    def look(self, intermediate_result) -> None:
        self.n_iter += 1
        if self.callback is not None:
            norm = float(np.linalg.norm(self.gradient))
            reason = self.callback(Step(self.n_iter, self.coef, self.value, norm))
            if reason is not None:
                self.stop_reason = reason
                raise StopIteration
        if self.scaling.is_converged(self.gradient, self.tol):
            self.stop_reason, self.is_converged = CONVERGED, True
            raise StopIteration

    def polish(self, inverse, max_iter: int) -> None:
        """Steps judged by the gradient, from where values are too close to tell apart; ``inverse`` is scipy's."""
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
                self.look(None)

    def end(self, max_iter: int) -> None:
        if self.stop_reason:
            return
        if self.n_iter >= max_iter:
            self.stop_reason = MAX_ITER
        else:  # the line search found nothing lower
            self.stop_reason = STALLED
            self.is_converged = self.scaling.is_near(self.gradient, self.tol)

    def result(self) -> Result:
        return Result(
            coef=self.coef,
            value=self.value,
            gradient_norm=float(np.linalg.norm(self.gradient)),
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            stop_reason=self.stop_reason,
            is_converged=self.is_converged,
            is_interrupted=self.is_interrupted,
        )
