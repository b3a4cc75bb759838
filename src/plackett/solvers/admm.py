"""The inexact alternating direction method of multipliers (ADMM) for problems in pair form (Dai and Wang 2019, §3.2).

The margins get a copy z of their own, ``z = M α``, of which the hinge sees two parts, ``z = 1 - ξ + γ``: what is
missing to 1, and what is more. In turn the coefficients take one gradient step of length 1/ζ on the augmented
Lagrangian, z moves to its minimum and the multipliers u collect what z and M α still differ by. A round costs a product
with M and one with its transpose; nothing is inverted.

The products with M are not replaced by one with MᵀM, however few columns there are: z and u change in every round, and
take a product with M and one with its transpose each time anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh_tridiagonal

from plackett import _native
from plackett.solvers.base import Result
from plackett.solvers.margin_losses import Logistic
from plackett.solvers.margins import MarginProblem, Rows
from plackett.solvers.stopping import INTERRUPTED, MAX_ITER

CONVERGED = "residuals below tol"
LOOK_EVERY = 10  # rounds between looks at the residuals, which cost a product each
ABOVE = 1.02  # ζ by the estimate of the largest eigenvalue, which comes from below
EIGENVALUE_TOL = 1e-3
MOST_POWERS = 200
LEAST_PULL = 1e-3  # see Residuals


# --- The updates, each as it is printed -------------------------------------------------------------------------------


def next_coef(coef: np.ndarray, held: np.ndarray, v: np.ndarray, rho: float, zeta: float) -> np.ndarray:
    """``α - (λ K̃ α + ρ v) / ζ``, ``held`` being λ K̃ α; in coefficients of a factor of the kernel, K̃ is the identity."""
    return coef - (held + rho * v) / zeta


def next_missing(margins: np.ndarray, u: np.ndarray, weights: np.ndarray, rho: float) -> np.ndarray:
    """``ξ = max(1 - M α - u - c / ρ, 0)``."""
    return np.maximum(1.0 - margins - u - weights / rho, 0.0)


def next_surplus(margins: np.ndarray, u: np.ndarray) -> np.ndarray:
    """``γ = max(M α - 1 + u, 0)``."""
    return np.maximum(margins - 1.0 + u, 0.0)


def next_copy(margins: np.ndarray, u: np.ndarray, weights: np.ndarray, rho: float, before: np.ndarray) -> np.ndarray:
    """For the logistic loss, ``z = argmin c log(1 + e^-z) + (ρ / 2) (z - M α - u)²``; ``before`` is where to start."""
    z = before.copy()
    _native.solvers.logistic_prox(margins + u, weights / rho, z)
    return z


def next_multipliers(margins: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``u + M α - z``; of the hinge, ``u + M α - 1 + ξ - γ``."""
    return u + margins - z


def pull(rows: Rows, margins: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``v = Mᵀ (M α - z + u)``; of the hinge, ``Mᵀ (M α - 1 + ξ - γ + u)``."""
    return rows.back(margins - z + u)


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

    One gradient step a round is slow where ``l2`` is large and an intercept is free. The columns of free coefficients
    are therefore scaled until they are as stiff as the others.

    Parameters
    ----------
    problem : MarginProblem
        With the hinge or the logistic loss.
    rho : float, default=None
        Weight of the squared differences in the augmented Lagrangian; None is the mean weight of the rows.
    max_iter : int, default=20000
        Most rounds.
    tol : float, default=1e-4
        The work ends when both residuals are at most this, relative to what they are differences of. Primal:
        ``‖M α - z‖`` by the larger of ``‖M α‖``, ``‖z‖`` and the root of the number of rows. Dual:
        ``‖λ α + ρ Mᵀ u‖`` by the larger of both terms' norms (or a thousandth of what ``‖ρ Mᵀ u‖`` could be at
        most, should the terms vanish).
    start : ndarray of shape (size,), default=None
        None is 0.
    multipliers : ndarray of shape (n_rows,), default=None
        ``details["multipliers"]`` of a result for the same rows and ``rho``, such as with another ``l2``; None is the
        slope of the loss at the start, which is not much to go by where margins are 1.

    Returns
    -------
    Result
        ``gradient_norm`` is the norm of the dual residual. ``details`` has ``"primal_residual"`` and
        ``"dual_residual"``, both relative, ``"rho"``, ``"zeta"`` and ``"multipliers"``, u.
    """
    start = np.zeros(problem.size) if start is None else np.array(start, dtype=np.float64)
    if rho is None:
        rho = float(problem.weights.mean()) if problem.weights.any() else 1.0
    if not 0.0 < rho < np.inf:
        raise ValueError(f"rho={rho}; it must be a number above 0, or None.")
    scale = np.ones(problem.size)
    if problem.n_free:
        scale[problem.n_held :] = _free_scale(problem, rho)
        problem = MarginProblem(
            problem.rows.matrix * scale, problem.weights, problem.l2, loss=problem.loss, n_free=problem.n_free,
            tilt=problem.tilt,
        )  # fmt: skip
    result = _run(
        problem, _State.at(problem, start / scale, multipliers, rho), rho, step_bound(problem, rho), max_iter, tol
    )
    result.coef = result.coef * scale
    return result


def _free_scale(problem: MarginProblem, rho: float) -> np.ndarray:
    """Factors of the free columns with which ``ρ ‖column‖²`` is as large as the largest eigenvalue of the rest."""
    held, free = np.split(problem.rows.matrix, [problem.n_held], axis=1)
    stiffness = rho * (free**2).sum(axis=0)
    bound = step_bound(MarginProblem(held, problem.weights, problem.l2), rho)
    return np.sqrt(bound / np.where(stiffness > 0.0, stiffness, np.inf)) + (stiffness == 0.0)


def step_bound(problem: MarginProblem, rho: float) -> float:
    """ζ: 2 % above an estimate of the largest eigenvalue of ``λ I + ρ MᵀM`` that is right to a thousandth.

    The estimate is the largest that the space of all powers so far allows (Lanczos). The power method alone, which
    looks at the last of them, seems to stand still where eigenvalues lie close together, and ends up to a tenth too
    low.
    """
    direction = np.random.default_rng(0).normal(size=problem.size)
    basis, estimate = np.empty((0, problem.size)), 0.0
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(problem.size, MOST_POWERS)):
        direction /= np.linalg.norm(direction)
        basis = np.vstack([basis, direction])
        product = problem.held_by(direction) + rho * problem.rows.back(problem.rows.times(direction))
        diagonal.append(float(direction @ product))
        for _ in range(2):  # once leaves rounding that grows
            product -= basis.T @ (basis @ product)
        values, vectors = eigh_tridiagonal(np.array(diagonal), np.array(beside))
        estimate, missed = float(values[-1]), float(np.linalg.norm(product))
        if missed * abs(vectors[-1, -1]) <= EIGENVALUE_TOL * estimate or missed <= 1e-12 * estimate:
            break
        beside.append(missed)
        direction = product
    return ABOVE * estimate if estimate > 0.0 else 1.0


@dataclass
class _State:
    """Where the method stands."""

    coef: np.ndarray
    margins: np.ndarray  # M α
    z: np.ndarray
    u: np.ndarray

    @classmethod
    def at(cls, problem: MarginProblem, coef: np.ndarray, u: np.ndarray | None, rho: float) -> _State:
        margins = problem.margins(coef)
        if u is None:
            u = (problem.weights * problem.loss.slopes(margins) + problem.tilt) / rho
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
            if n_iter % LOOK_EVERY and n_iter < max_iter:
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
    """One round."""
    v = pull(problem.rows, state.margins, state.u, state.z)
    coef = next_coef(state.coef, problem.held_by(state.coef), v, rho, zeta)
    margins = problem.rows.times(coef)
    # a tilt b · z moves the minimum by z as if the margins were lower by b / ρ
    seen = margins - problem.tilt / rho
    if isinstance(problem.loss, Logistic):
        z = next_copy(seen, state.u, problem.weights, rho, state.z)
    else:
        z = 1.0 - next_missing(seen, state.u, problem.weights, rho) + next_surplus(seen, state.u)
    u = next_multipliers(margins, state.u, z)
    state.coef, state.margins, state.z, state.u = coef, margins, z, u


class _Residuals:
    """How far the two conditions of a minimum are from holding; z and u meet the third, ``ρ u = c L'(z)``, always."""

    def __init__(self, problem: MarginProblem, state: _State, rho: float, zeta: float):
        norm = np.linalg.norm
        held, pulled = problem.held_by(state.coef), rho * problem.rows.back(state.u)
        size = max(norm(state.margins), norm(state.z), np.sqrt(problem.n_rows), 1e-300)
        self.primal = float(norm(state.margins - state.z) / size)
        # √(ζ / ρ) is a bound on the norm of M
        most = np.sqrt(zeta * rho) * norm(state.u)
        self.dual_norm = float(norm(held + pulled))
        self.dual = self.dual_norm / float(max(norm(held), norm(pulled), LEAST_PULL * most, 1e-300))
