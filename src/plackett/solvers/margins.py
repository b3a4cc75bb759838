"""Problems in pair form: a weighted sum of losses of margins, which are linear in the coefficients, and a penalty.

    Σ_t c_t L(m_t) + b · m + (l2 / 2) ‖h‖²,    m = M coef,  h = coef without its last n_free entries

Row t of M belongs to one pair and c_t is what the pair counts. With a kernel matrix ``K = Z Zᵀ`` the rows are those of
Z: coefficients ``Zᵀ α`` have the squared length ``αᵀ K α``. The tilt b is 0 but for the convex pieces of a loss that is
not convex.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from plackett.solvers.margin_losses import MarginLoss, get_margin_loss

LARGEST_MATRIX = 512  # up to so many coefficients their second derivative is estimated as a whole
BALANCED = 1e-7  # share of all weights with which pulls may move a free coefficient in a bound from below


class Rows(Protocol):
    """Rows of which only products are known."""

    shape: tuple[int, int]

    def times(self, coef: np.ndarray) -> np.ndarray: ...

    def back(self, pulls: np.ndarray) -> np.ndarray: ...


class MarginProblem:
    """The objective above, as a function of the coefficients.

    ``minimize_by_admm`` minimises it where it is convex. ``Newton``, for smooth losses, and ``minimize_hinge`` do where
    the rows are a matrix; the latter wants nothing free. ``minimize_psi`` makes convex problems of one that is not.

    A problem remembers the margins of the last coefficients it saw, and shares them with those made from it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, size), or Rows
        M; a matrix should be float64, others are copied.
    weights : ndarray of shape (n_rows,)
        c, not below 0.
    l2 : float
        Above 0.
    loss : {"hinge", "logistic", "psi"} or MarginLoss, default="hinge"
    n_free : int, default=0
        How many coefficients at the end are not penalised, such as an intercept; their columns hold 1 and -1.
    tilt : ndarray of shape (n_rows,), default=None
        b; None is 0.
    """

    is_random = False
    has_curvature_bound = False

    def __init__(
        self,
        rows: Any,
        weights: np.ndarray,
        l2: float,
        *,
        loss: str | MarginLoss = "hinge",
        n_free: int = 0,
        tilt: np.ndarray | None = None,
    ):
        self.rows = rows if hasattr(rows, "times") else Matrix(rows)
        self.n_rows, self.size = self.n_terms, _ = self.rows.shape
        self.l2, self.n_free, self.loss = float(l2), n_free, get_margin_loss(loss)
        self.n_held = self.size - n_free
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.tilt = np.zeros(self.n_rows) if tilt is None else np.asarray(tilt, dtype=np.float64)
        self._seen = _Seen()
        self._check()

    def _check(self) -> None:
        if not 0.0 < self.l2 < np.inf:
            raise ValueError(f"l2={self.l2}; it must be a number above 0.")
        if not 0 <= self.n_free <= self.size:
            raise ValueError(f"n_free={self.n_free}; it must be between 0 and the {self.size} columns of the rows.")
        for name in ("weights", "tilt"):
            vector = getattr(self, name)
            if vector.shape != (self.n_rows,):
                raise ValueError(f"{name} has shape {vector.shape} but there are {self.n_rows} rows.")
            if not np.isfinite(vector).all():
                raise ValueError(f"{name} has a NaN or an infinite value; all must be finite.")
        if self.n_rows and self.weights.min() < 0.0:
            raise ValueError(f"the weight of row {int(self.weights.argmin())} is below 0; a pair counts 0 or more.")

    def with_loss(self, loss: str | MarginLoss, tilt: np.ndarray | None = None) -> MarginProblem:
        """The same problem with another loss, and with another tilt where one is given."""
        other = copy.copy(self)
        other.loss = get_margin_loss(loss)
        if tilt is not None:
            other.tilt = tilt
        return other

    # what a solver asks before it starts

    @property
    def name(self) -> str:
        return f"loss={self.loss.name!r}"

    @property
    def is_convex(self) -> bool:
        return self.loss.is_convex

    @property
    def is_smooth(self) -> bool:
        return self.loss.is_smooth

    has_curvature_product = is_smooth

    # value and gradient

    def margins(self, coef: np.ndarray) -> np.ndarray:
        """The margin of each row; not to be written to."""
        seen = self._seen.last
        if seen is None or not np.array_equal(seen[0], coef):
            # one assignment, so that another thread sees both or neither
            self._seen.last = seen = np.array(coef, dtype=np.float64), self.rows.times(coef)
        return seen[1]

    def value(self, coef: np.ndarray) -> float:
        """The objective at ``coef``."""
        margins = self.margins(coef)
        return (
            float(self.weights @ self.loss.values(margins))
            + float(self.tilt @ margins)
            + 0.5 * float(coef @ self.held_by(coef))
        )

    def value_and_gradient(self, coef: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective at ``coef`` and its gradient; one of its subgradients at a kink."""
        pulled = self.rows.back(self.weights * self.loss.slopes(self.margins(coef)) + self.tilt)
        return self.value(coef), pulled + self.held_by(coef)

    def held_by(self, coef: np.ndarray) -> np.ndarray:
        """The penalty's gradient, ``l2 h``, and 0 for the free coefficients."""
        gradient = self.l2 * coef
        gradient[self.n_held :] = 0.0
        return gradient

    def dual_value(self, pulls: np.ndarray) -> float:
        """A value that the objective does not fall below, from the shares of their weights with which pairs pull.

        With the hinge, any pulls y from 0 to 1 give the bound ``Σ c y - ‖Mᵀ(c y - b)‖² / (2 l2)``; the logistic loss
        has the entropy of y in the first sum. Pulls that move a free coefficient bound nothing: -inf.
        """
        pulled = self.rows.back(self.weights * pulls - self.tilt)
        held, free = pulled[: self.n_held], pulled[self.n_held :]
        if np.any(np.abs(free) > BALANCED * self.weights.sum()):
            return -np.inf
        return float(self.weights @ self.loss.dual_values(pulls)) - float(held @ held) / (2.0 * self.l2)

    # curvature, of rows that are a matrix

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies the second derivative at ``coef`` with a vector."""
        bends, rows = self.weights * self.loss.bends(self.margins(coef)), self.rows
        bent = np.flatnonzero(bends)
        if 2 * bent.size < self.n_rows:
            # of a narrow hinge most rows are straight; the few others are worth a copy, for many products follow
            rows, bends = rows.part(bent), bends[bent]
        return lambda direction: rows.back(bends * rows.times(direction)) + self.held_by(direction)

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray:
        """The second derivative at ``coef``, or its diagonal where that is too large."""
        M, bends = self.rows.matrix, self.weights * self.loss.bends(self.margins(coef))
        held = self.held_by(np.ones(self.size))
        if self.size > LARGEST_MATRIX:
            return np.einsum("ij,ij,i->j", M, M, bends) + held
        scaled = M * np.sqrt(bends)[:, None]
        matrix = scaled.T @ scaled
        matrix[np.diag_indices(self.size)] += held
        return matrix


class _Seen:
    """The last coefficients that were looked at, and their margins."""

    last: tuple[np.ndarray, np.ndarray] | None = None


class Matrix:
    """Rows that are all there."""

    def __init__(self, matrix: np.ndarray):
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        if self.matrix.ndim != 2:
            raise ValueError(f"the rows have shape {self.matrix.shape}; a matrix with one row for each pair is needed.")
        self.shape = self.matrix.shape

    def times(self, coef: np.ndarray) -> np.ndarray:
        return self.matrix @ coef

    def back(self, pulls: np.ndarray) -> np.ndarray:
        return self.matrix.T @ pulls

    def part(self, places: np.ndarray) -> Matrix:
        return Matrix(self.matrix[places])
