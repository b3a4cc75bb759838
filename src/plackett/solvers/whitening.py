"""Kernel penalties turned into squared lengths: the same problem in coefficients w with ``wᵀw = hᵀK h``.

With ``K = Z Zᵀ`` the penalty ``hᵀK h`` is the squared length of ``w = Zᵀh``. The pivots of the factor are as many
coefficients as K has rank, and h on them alone reaches every w; what remains of h moves nothing that is penalised.
Where it moves margins nevertheless, it becomes free coefficients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from plackett.scorers.kernel import INDEFINITE, LEAST_PIVOT, factorize
from plackett.solvers.margins import MarginProblem

UNTOUCHED = 1e-7  # a direction that changes margins by less than this, relative to the others, changes none


def factor(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Z and pivots with ``K = Z Zᵀ``, as many columns as K has rank; the rows of Z at the pivots are a lower triangle.

    Nothing is added to the diagonal: what lies below rounding is left out.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Symmetric and positive semi-definite; not changed.

    Returns
    -------
    Z : ndarray of shape (n, rank)
    pivots : ndarray of ints of shape (rank,)
    """
    if len(K) == 0:
        return np.empty((0, 0)), np.empty(0, dtype=np.int64)
    found = factorize(np.array(K, dtype=np.float64, order="C"), LEAST_PIVOT, INDEFINITE)
    if found is None:
        raise ValueError("the kernel matrix is not positive semi-definite; choose another kernel or other parameters.")
    return found


class Whitening(NamedTuple):
    """How whitened coefficients (w, then what is free) and those of the problem itself belong together.

    ``Z`` and ``pivots`` are the factor of K; ``loose`` are the held coefficients that moved margins unpenalised.
    """

    Z: np.ndarray
    pivots: np.ndarray
    loose: np.ndarray
    size: int

    def to_coef(self, whitened: np.ndarray) -> np.ndarray:
        rank, n_held = self.pivots.size, self.Z.shape[0]
        w, loose, free = np.split(whitened, [rank, rank + self.loose.size])
        coef = np.zeros(self.size)
        coef[self.pivots] = _solve(self.Z[self.pivots], w - self.Z[self.loose].T @ loose, transposed=True)
        coef[self.loose] = loose
        coef[n_held:] = free
        return coef

    def from_coef(self, coef: np.ndarray) -> np.ndarray:
        n_held = self.Z.shape[0]
        return np.concatenate([self.Z.T @ coef[:n_held], coef[self.loose], coef[n_held:]])


def whiten(problem: MarginProblem) -> tuple[MarginProblem, Whitening]:
    """The same problem with the identity for K, and the way back to its own coefficients."""
    n_held = problem.n_held
    if problem.kernel is None:  # nothing to do
        every = np.arange(n_held)
        return problem, Whitening(np.eye(n_held), every, every[:0], problem.size)
    Z, pivots = factor(problem.kernel)
    # at the pivots h = Z_P^(−T) w, so the rows by w are M_P Z_P^(−T)
    rows = _solve(Z[pivots], problem.rows.columns(pivots).T, transposed=False).T
    others = np.setdiff1d(np.arange(n_held), pivots)
    moved = problem.rows.columns(others) - rows @ Z[others].T
    scale = max(float(np.abs(problem.rows.columns(pivots)).max(initial=0.0)), float(np.abs(moved).max(initial=0.0)))
    touched = np.abs(moved).max(axis=0, initial=0.0) > UNTOUCHED * scale
    free = problem.rows.columns(np.arange(n_held, problem.size))
    whitened = MarginProblem(
        np.hstack([rows, moved[:, touched], free]), problem.weights, problem.l2, loss=problem.loss,
        n_free=int(touched.sum()) + problem.n_free, offset=problem.offset, tilt=problem.tilt,
    )  # fmt: skip
    return whitened, Whitening(Z, pivots, others[touched], problem.size)


def _solve(triangle: np.ndarray, right: np.ndarray, *, transposed: bool) -> np.ndarray:
    if triangle.size == 0:
        return np.zeros_like(right)
    return solve_triangular(triangle, right, lower=True, trans=1 if transposed else 0, check_finite=False)
