"""The fast exact solver for problems in pair form: Newton steps, after the kernel has been turned into the identity."""

from __future__ import annotations

from typing import cast

import numpy as np

from plackett.solvers.base import Minimizable, Result
from plackett.solvers.concave_convex import minimize_psi
from plackett.solvers.margins import MarginProblem
from plackett.solvers.newton import Newton
from plackett.solvers.proximal_newton import minimize_hinge
from plackett.solvers.whitening import whiten


def minimize_margins(
    problem: MarginProblem,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    start: np.ndarray | None = None,
    pulls: np.ndarray | None = None,
) -> Result:
    """Minimise a problem in pair form; with the psi loss, down to where the concave-convex procedure ends.

    Parameters
    ----------
    problem : MarginProblem
    max_iter : int, default=1000
        Most Newton steps, in each convex problem.
    tol : float, default=1e-4
        Hinge: the duality gap that ends the work, relative to the minimum. Logistic: the gradient that does, relative
        to the gradient at coefficients of 0. Psi: as for the hinge in each round; the rounds end when the value falls
        by less than ``tol`` of it.
    start : ndarray of shape (size,), default=None
        None is 0.
    pulls : ndarray of shape (n_rows,), default=None
        For the hinge and psi: ``details["pulls"]`` of a result for the same rows, such as with another ``l2``. Pairs
        whose margin is 1 pull by any share of their weight, and coefficients alone do not say by which.

    Returns
    -------
    Result
        In the coefficients of the problem; ``gradient_norm`` is by those of the whitened problem.
    """
    if start is None:
        start = np.zeros(problem.size)
    if problem.kernel is not None:
        inner, whitening = whiten(problem)
        result = minimize_margins(inner, max_iter=max_iter, tol=tol, start=whitening.from_coef(start), pulls=pulls)
        result.coef = whitening.to_coef(result.coef)
        return result

    def solve(convex: MarginProblem, last: Result | None) -> Result:
        if last is None:
            return _solve(convex, start, pulls, max_iter, tol)
        return _solve(convex, last.coef, last.details["pulls"], max_iter, tol)

    return solve(problem, None) if problem.is_convex else minimize_psi(problem, solve, tol)


def _solve(problem: MarginProblem, start: np.ndarray, pulls: np.ndarray | None, max_iter: int, tol: float) -> Result:
    if not problem.is_smooth:
        return minimize_hinge(problem, start, pulls, max_iter=max_iter, tol=tol)
    tol *= float(np.linalg.norm(problem.value_and_gradient(np.zeros(problem.size))[1]))
    return Newton().minimize(cast(Minimizable, problem), start, max_iter=max_iter, tol=tol)
