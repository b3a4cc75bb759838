"""Inexact ADMM for problems in pair form (Dai and Wang 2019, §3.2), for comparison with the paper.

It is in this package rather than in ``reproductions`` because ``QueryDependentRanker(solver="admm")`` uses it.

The margins have a copy z, ``z = M α``, which the hinge splits into two parts, ``z = 1 - ξ + γ``: the shortfall below 1
and the surplus above. In turn the coefficients take one gradient step of length 1/ζ on the augmented Lagrangian, z
moves to its minimum, and the multipliers u add up the differences of z and M α. A round costs a product with M and one
with its transpose; no matrix is inverted.

The products with M cannot be replaced by one with MᵀM: z and u change in every round, and need both products anyway.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from plackett import _native
from plackett.solvers.base import INTERRUPTED, MAX_ITER, Result
from plackett.solvers.margins import LOSSES, MarginProblem

CONVERGED = "residuals below tol"
CHECK_EVERY = 10  # rounds between checks of the residuals, which cost a product each
SAFETY = 1.02  # factor of the estimated largest eigenvalue, which is a lower bound
EIGENVALUE_TOL = 1e-3
LEAST_PULL = 1e-3  # the smallest scale of the dual residual, as a share of the largest possible ‖ρ Mᵀ u‖


def minimize_by_admm(
    problem: MarginProblem,
    *,
    max_iter: int = 20_000,
    tol: float = 1e-4,
    start: np.ndarray | None = None,
    multipliers: np.ndarray | None = None,
) -> Result:
    """Minimise a convex problem in pair form by inexact ADMM.

    One gradient step per round is slow if ``l2`` is large and an intercept is not penalised. The columns of
    unpenalised coefficients are therefore scaled until they are as stiff as the others. The weight ρ of the squared
    differences in the augmented Lagrangian is the mean weight of the rows.

    It ends when both residuals are at most ``tol``, relative to the terms that they are differences of: ``M α - z``,
    and ``λ α + ρ Mᵀ u``. z and u meet the third optimality condition, ``ρ u = c L'(z)``, in every round. ``start`` and
    ``multipliers`` may be those of a result for the same rows, such as with another ``l2``; by default the multipliers
    are the slope of the loss at the start, which is a poor guess where margins are 1.
    """
    rho = float(problem.weights.mean()) if problem.weights.any() else 1.0
    scale = np.ones(problem.size)
    if problem.n_unpenalized:
        scale[problem.n_penalized :] = _column_scale(problem, rho)
        problem = MarginProblem(
            problem.rows * scale, problem.weights, problem.l2, loss=problem.loss.name,
            n_unpenalized=problem.n_unpenalized, linear=problem.linear,
        )  # fmt: skip
    zeta, norm = step_bound(problem, rho), np.linalg.norm
    coef = np.zeros(problem.size) if start is None else start / scale
    z = margins = problem.rows @ coef
    u = multipliers
    if u is None:
        u = (problem.weights * problem.loss.slopes(margins) + problem.linear) / rho
    stop_reason, n_iter, primal, dual, dual_norm = "", 0, np.inf, np.inf, np.inf
    try:
        while not stop_reason:
            if n_iter % CHECK_EVERY == 0 or n_iter >= max_iter:
                penalty, pulled = problem.penalty_gradient(coef), rho * (problem.transposed @ u)
                size = max(norm(margins), norm(z), np.sqrt(problem.n_rows), 1e-300)
                primal, dual_norm = float(norm(margins - z) / size), float(norm(penalty + pulled))
                most = np.sqrt(zeta * rho) * norm(u)  # √(ζ / ρ) is a bound on the norm of M
                dual = dual_norm / float(max(norm(penalty), norm(pulled), LEAST_PULL * most, 1e-300))
                if n_iter and max(primal, dual) <= tol:
                    stop_reason = CONVERGED
                    break
                if n_iter >= max_iter:
                    stop_reason = MAX_ITER
                    break
            # α - (λ α + ρ Mᵀ (M α - z + u)) / ζ
            v = problem.transposed @ (margins - z + u)
            coef = coef - (problem.penalty_gradient(coef) + rho * v) / zeta
            margins = problem.rows @ coef
            z = _next_copy(problem, margins - problem.linear / rho, u, z, rho)
            u = u + margins - z
            n_iter += 1
    except KeyboardInterrupt:
        stop_reason = INTERRUPTED
    return Result(
        coef=coef * scale,
        value=problem.value(coef),
        gradient_norm=dual_norm,
        n_iter=n_iter,
        n_evaluations=n_iter + 1,
        stop_reason=stop_reason,
        is_converged=stop_reason == CONVERGED,
        is_interrupted=stop_reason == INTERRUPTED,
        details={"primal_residual": primal, "dual_residual": dual, "rho": rho, "zeta": zeta, "multipliers": u},
    )


def _next_copy(problem: MarginProblem, margins: np.ndarray, u: np.ndarray, z: np.ndarray, rho: float) -> np.ndarray:
    """Return ``argmin c L(z) + (ρ / 2) (z - M α - u)²``; ``margins`` are ``M α - b / ρ`` with a linear term b · z."""
    if problem.loss is LOSSES["logistic"]:
        nearest = z.copy()
        _native.solvers.logistic_prox(margins + u, problem.weights / rho, nearest)
        return nearest
    shortfall = np.maximum(1.0 - margins - u - problem.weights / rho, 0.0)  # ξ
    surplus = np.maximum(margins - 1.0 + u, 0.0)  # γ
    return 1.0 - shortfall + surplus


def _column_scale(problem: MarginProblem, rho: float) -> np.ndarray:
    """Return factors by which ``ρ ‖column‖²`` of unpenalised columns equals the largest eigenvalue of the others."""
    penalized, unpenalized = np.split(problem.rows, [problem.n_penalized], axis=1)
    stiffness = rho * (unpenalized**2).sum(axis=0)
    bound = step_bound(MarginProblem(penalized, problem.weights, problem.l2), rho)
    return np.sqrt(bound / np.where(stiffness > 0.0, stiffness, np.inf)) + (stiffness == 0.0)


def step_bound(problem: MarginProblem, rho: float) -> float:
    """Return ζ: 2 % above an estimate of the largest eigenvalue of ``λ I + ρ MᵀM`` that is exact to a thousandth."""

    def multiply(direction: np.ndarray) -> np.ndarray:
        return problem.penalty_gradient(direction) + rho * (problem.transposed @ (problem.rows @ direction))

    if problem.size == 1:  # too small for the Krylov space
        estimate = float(multiply(np.ones(1))[0])
    else:
        start = np.random.default_rng(0).normal(size=problem.size)
        operator = LinearOperator((problem.size, problem.size), multiply, dtype=np.float64)
        (estimate,) = eigsh(operator, k=1, v0=start, tol=EIGENVALUE_TOL, return_eigenvectors=False).tolist()
    return SAFETY * estimate if estimate > 0.0 else 1.0
