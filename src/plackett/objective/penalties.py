"""Penalties on the coefficients."""

from __future__ import annotations

import numpy as np


class L2:
    """``(l2 / 2) Σ coef²`` over all coefficients except the last ``n_free``, such as an intercept."""

    def __init__(self, l2: float, n_free: int = 0):
        self.l2, self.n_free = float(l2), n_free

    def value(self, coef: np.ndarray) -> float:
        penalised = self._penalised(coef)
        return 0.5 * self.l2 * float(penalised @ penalised)

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        return self.curvature_diagonal(coef.size) * coef

    def curvature_diagonal(self, size: int) -> np.ndarray:
        """Return the diagonal of the second derivative, which is a diagonal matrix."""
        diagonal = np.full(size, self.l2)
        diagonal[size - self.n_free :] = 0.0
        return diagonal

    def conjugate(self, gradient: np.ndarray) -> float:
        """Return ``max over coef of gradient·coef − value(coef)``, for dual values."""
        penalised = self._penalised(gradient)
        return float(penalised @ penalised) / (2.0 * self.l2)

    def _penalised(self, vector: np.ndarray) -> np.ndarray:
        return vector[: vector.size - self.n_free]
