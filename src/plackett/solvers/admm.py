"""Inexact ADMM for problems in pair form (Dai and Wang 2019, §3.2), for comparison with the paper.

It is in this package rather than in ``reproductions`` because ``QueryDependentRanker(solver="admm")`` uses it.

The margins have a copy z, ``z = M α``, which the hinge splits into two parts, ``z = 1 - ξ + γ``: the shortfall below 1
and the surplus above. In turn the coefficients take one gradient step of length 1/ζ on the augmented Lagrangian, z
moves to its minimum, and the multipliers u add up the differences of z and M α. A round costs a product with M and one
with its transpose; no matrix is inverted.

The products with M cannot be replaced by one with MᵀM: z and u change in every round, and need both products anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from plackett import _native
from plackett.solvers.base import INTERRUPTED, MAX_ITER, Result
from plackett.solvers.margins import LOSSES, MarginProblem

CONVERGED = "residuals below tol"
CHECK_EVERY = 10  # rounds between checks of the residuals, which cost a product each
SAFETY = 1.02  # factor of the estimated largest eigenvalue, which is a lower bound
EIGENVALUE_TOL = 1e-3
LEAST_PULL = 1e-3  # see _Residuals


# --- The updates, each as it is printed -------------------------------------------------------------------------------


def next_coef(coef: np.ndarray, penalty_gradient: np.ndarray, v: np.ndarray, rho: float, zeta: float) -> np.ndarray:
    """``α - (λ K̃ α + ρ v) / ζ``, with λ K̃ α given; in coefficients of a factor of the kernel, K̃ is the identity."""
    return coef - (penalty_gradient + rho * v) / zeta


def next_shortfall(margins: np.ndarray, u: np.ndarray, weights: np.ndarray, rho: float) -> np.ndarray:
    """``ξ = max(1 - M α - u - c / ρ, 0)``."""
    return np.maximum(1.0 - margins - u - weights / rho, 0.0)


def next_surplus(margins: np.ndarray, u: np.ndarray) -> np.ndarray:
    """``γ = max(M α - 1 + u, 0)``."""
    return np.maximum(margins - 1.0 + u, 0.0)


def next_copy(margins: np.ndarray, u: np.ndarray, weights: np.ndarray, rho: float, start: np.ndarray) -> np.ndarray:
    """For the logistic loss, ``z = argmin c log(1 + e^-z) + (ρ / 2) (z - M α - u)²``."""
    z = start.copy()
    _native.solvers.logistic_prox(margins + u, weights / rho, z)
    return z


def next_multipliers(margins: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``u + M α - z``; of the hinge, ``u + M α - 1 + ξ - γ``."""
    return u + margins - z


def pull(problem: MarginProblem, margins: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``v = Mᵀ (M α - z + u)``; of the hinge, ``Mᵀ (M α - 1 + ξ - γ + u)``."""
    return problem.transposed @ (margins - z + u)


# --- The method -------------------------------------------------------------------------------------------------------


def minimize_by_admm(
    problem: MarginProblem,
    *,
    rho: float | None = None,
    max_iter: int = 20_000,
    tol: float = 1e-4,
    start: np.ndarray | None = None,
    multipliers: np.ndarray | None = None,
) -> Result:
    """Minimise a convex problem in pair form by inexact ADMM.

    One gradient step per round is slow if ``l2`` is large and an intercept is not penalised. The columns of
    unpenalised coefficients are therefore scaled until they are as stiff as the others.

    Parameters
    ----------
    problem : MarginProblem
        With the hinge or the logistic loss.
    rho : float, default=None
        Weight of the squared differences in the augmented Lagrangian; None means the mean weight of the rows.
    max_iter : int, default=20000
        Maximum number of rounds.
    tol : float, default=1e-4
        Both residuals must be at most this, relative to the terms that they are differences of. Primal:
        ``‖M α - z‖`` over the larger of ``‖M α‖``, ``‖z‖`` and the root of the number of rows. Dual:
        ``‖λ α + ρ Mᵀ u‖`` over the larger of both terms' norms (or, if both vanish, a thousandth of the largest
        possible ``‖ρ Mᵀ u‖``).
    start : ndarray of shape (size,), default=None
        None means 0.
    multipliers : ndarray of shape (n_rows,), default=None
        ``details["multipliers"]`` of a result for the same rows and ``rho``, such as with another ``l2``. None means
        the slope of the loss at the start, which is a poor guess where margins are 1.

    Returns
    -------
    Result
        ``gradient_norm`` is the norm of the dual residual. ``details`` has ``"primal_residual"`` and
        ``"dual_residual"``, both relative, ``"rho"``, ``"zeta"`` and ``"multipliers"``, u.
    """
    start = np.zeros(problem.size) if start is None else start
    if rho is None:
        rho = float(problem.weights.mean()) if problem.weights.any() else 1.0
    if not 0.0 < rho < np.inf:
        raise ValueError(f"rho={rho}; it must be a positive number or None.")
    scale = np.ones(problem.size)
    if problem.n_unpenalized:
        scale[problem.n_penalized :] = _column_scale(problem, rho)
        problem = MarginProblem(
            problem.rows * scale, problem.weights, problem.l2, loss=problem.loss.name,
            n_unpenalized=problem.n_unpenalized, linear=problem.linear,
        )  # fmt: skip
    state = _State.at(problem, start / scale, multipliers, rho)
    result = _run(problem, state, rho, step_bound(problem, rho), max_iter, tol)
    result.coef = result.coef * scale
    return result


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


@dataclass
class _State:
    """The variables of ADMM."""

    coef: np.ndarray
    margins: np.ndarray  # M α
    z: np.ndarray
    u: np.ndarray

    @classmethod
    def at(cls, problem: MarginProblem, coef: np.ndarray, u: np.ndarray | None, rho: float) -> _State:
        margins = problem.rows @ coef
        if u is None:
            u = (problem.weights * problem.loss.slopes(margins) + problem.linear) / rho
        return cls(coef, margins, margins, u)


def _run(problem: MarginProblem, state: _State, rho: float, zeta: float, max_iter: int, tol: float) -> Result:
    stop_reason, is_interrupted, n_iter = "", False, 0
    residuals = _Residuals(problem, state, rho, zeta)
    try:
        while not stop_reason:
            if n_iter >= max_iter:
                stop_reason = MAX_ITER
                continue
            _advance(problem, state, rho, zeta)
            n_iter += 1
            if n_iter % CHECK_EVERY and n_iter < max_iter:
                continue
            residuals = _Residuals(problem, state, rho, zeta)
            if max(residuals.primal, residuals.dual) <= tol:
                stop_reason = CONVERGED
    except KeyboardInterrupt:
        stop_reason, is_interrupted = INTERRUPTED, True
    return Result(
        coef=state.coef,
        value=problem.value(state.coef),
        gradient_norm=residuals.dual_norm,
        n_iter=n_iter,
        n_evaluations=n_iter + 1,
        stop_reason=stop_reason,
        is_converged=stop_reason == CONVERGED,
        is_interrupted=is_interrupted,
        details={
            "primal_residual": residuals.primal, "dual_residual": residuals.dual,
            "rho": rho, "zeta": zeta, "multipliers": state.u,
        },
    )  # fmt: skip


def _advance(problem: MarginProblem, state: _State, rho: float, zeta: float) -> None:
    """Run one round."""
    v = pull(problem, state.margins, state.u, state.z)
    coef = next_coef(state.coef, problem.penalty_gradient(state.coef), v, rho, zeta)
    margins = problem.rows @ coef
    # a linear term b · z moves the minimum by z as if the margins were lower by b / ρ
    shifted = margins - problem.linear / rho
    if problem.loss is LOSSES["logistic"]:
        z = next_copy(shifted, state.u, problem.weights, rho, state.z)
    else:
        z = 1.0 - next_shortfall(shifted, state.u, problem.weights, rho) + next_surplus(shifted, state.u)
    u = next_multipliers(margins, state.u, z)
    state.coef, state.margins, state.z, state.u = coef, margins, z, u


class _Residuals:
    """Residuals of two optimality conditions; z and u meet the third, ``ρ u = c L'(z)``, in every round."""

    def __init__(self, problem: MarginProblem, state: _State, rho: float, zeta: float):
        norm = np.linalg.norm
        penalty, pulled = problem.penalty_gradient(state.coef), rho * (problem.transposed @ state.u)
        size = max(norm(state.margins), norm(state.z), np.sqrt(problem.n_rows), 1e-300)
        self.primal = float(norm(state.margins - state.z) / size)
        # √(ζ / ρ) is a bound on the norm of M
        most = np.sqrt(zeta * rho) * norm(state.u)
        self.dual_norm = float(norm(penalty + pulled))
        self.dual = self.dual_norm / float(max(norm(penalty), norm(pulled), LEAST_PULL * most, 1e-300))
