"""What keeps coefficients small."""

from __future__ import annotations

import numpy as np


class L2:
    """``(l2 / 2) Σ coef²`` over all coefficients but the last ``n_free`` (an intercept is not penalised)."""

    def __init__(self, l2: float, n_free: int = 0):
        self.l2, self.n_free = float(l2), n_free

    def value(self, coef: np.ndarray) -> float:
        held = self._held(coef)
        return 0.5 * self.l2 * float(held @ held)

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        return self.curvature_diagonal(coef.size) * coef

    def curvature_diagonal(self, size: int) -> np.ndarray:
        """The diagonal of its second derivative, which has nothing else."""
        diagonal = np.full(size, self.l2)
        diagonal[size - self.n_free :] = 0.0
        return diagonal

    def conjugate(self, gradient: np.ndarray) -> float:
        """``max over coef of gradient·coef − value(coef)``: what a dual point costs."""
        held = self._held(gradient)
        return float(held @ held) / (2.0 * self.l2)

    def _held(self, vector: np.ndarray) -> np.ndarray:
        return vector[: vector.size - self.n_free]
