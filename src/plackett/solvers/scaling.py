"""A change of variables that conditions the objective well.

Badly scaled or redundant columns cost thousands of evaluations. Solvers therefore work on ``u = R coef`` with ``RᵀR``
near the second derivative. The objective and its minimum do not change, only the path does.
"""

from __future__ import annotations

import numpy as np

from plackett._lazy import importing

ROUNDING = 1e-7
RIDGE = 1e-9  # on the scaled matrix, whose diagonal is 1: redundant columns leave it singular


class Scaling:
    """``u = R coef``, from a rough second derivative: a matrix, its diagonal, or None for the identity."""

    def __init__(self, estimate: np.ndarray | None, size: int):
        self._root: np.ndarray | None = None
        self._scale = np.ones(size)
        if estimate is None:
            return
        diagonal = estimate.diagonal() if estimate.ndim == 2 else estimate
        is_used = np.isfinite(diagonal) & (diagonal > 0)
        self._scale = np.sqrt(np.where(is_used, diagonal, 1.0))
        if estimate.ndim == 2:
            self._root = _root(estimate / np.outer(self._scale, self._scale))

    def to_coef(self, u: np.ndarray) -> np.ndarray:
        """Return the coefficients of scaled variables."""
        return (u if self._root is None else _solve(self._root, u, transposed=True)) / self._scale

    def from_coef(self, coef: np.ndarray) -> np.ndarray:
        """Return the scaled variables of coefficients."""
        stretched = coef * self._scale
        return stretched if self._root is None else self._root.T @ stretched

    def pull(self, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient with respect to the scaled variables.

        Its squared norm is about twice the distance of the value from the minimum, for any scale of the columns.
        """
        shrunk = gradient / self._scale
        return shrunk if self._root is None else _solve(self._root, shrunk, transposed=False)

    def is_converged(self, gradient: np.ndarray, tol: float) -> bool:
        """Return whether both gradients are at most ``tol``: by the coefficients and by the scaled variables."""
        return float(np.linalg.norm(gradient)) <= tol and float(np.linalg.norm(self.pull(gradient))) <= tol

    def is_near(self, gradient: np.ndarray, tol: float) -> bool:
        """Return whether the value is within tol² of the minimum, where rounding keeps the gradient above ``tol``.

        The gradient may exceed ``tol`` only by rounding, relative to the largest columns, since the scaling is an
        estimate.
        """
        by_coef, by_scaled = float(np.linalg.norm(gradient)), float(np.linalg.norm(self.pull(gradient)))
        return by_scaled <= tol and by_coef <= max(tol, ROUNDING * float(self._scale.max(initial=1.0)))


def _root(matrix: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor of a matrix with unit diagonal, with the smallest ridge that allows one."""
    if not np.isfinite(matrix).all():
        return None
    ridge = RIDGE
    while ridge < 1.0:
        try:
            return np.linalg.cholesky(matrix + ridge * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            ridge *= 100.0
    return None


def _solve(root: np.ndarray, vector: np.ndarray, *, transposed: bool) -> np.ndarray:
    with importing:
        from scipy.linalg import solve_triangular

    return solve_triangular(root, vector, lower=True, trans=1 if transposed else 0, check_finite=False)
