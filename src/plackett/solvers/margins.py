"""Problems in pair form: a weighted sum of losses of margins, which are linear in the coefficients, and a penalty.

    Σ_t c_t L(m_t) + b · m + (l2 / 2) hᵀ K h,    m = offset + M coef,  h = coef without its last n_free entries

Row t of M belongs to one pair and c_t is what the pair counts; K is a kernel matrix or the identity. Hinge, logistic
and psi losses are at home here, and so are kernels over pairs. The tilt b is 0 but for the convex pieces of a loss that
is not convex.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from plackett.solvers.margin_losses import Hinge, MarginLoss, SmoothedHinge, get_margin_loss
from plackett.solvers.trust_region import TrustRegion
from plackett.validation import is_sparse

LARGEST_MATRIX = 512  # up to so many coefficients their second derivative is estimated as a whole
BALANCED = 1e-7  # share of the pulls on a free coefficient that may be left over in a bound from below


class MarginProblem:
    """The objective above, as a function of the coefficients.

    ``minimize_margins`` and ``minimize_by_admm`` minimise it; ``Newton`` does where it is convex, K is None and nothing
    is free.

    A problem remembers the margins of the last coefficients it saw, and shares them with those made from it.

    Parameters
    ----------
    rows : ndarray or scipy sparse matrix of shape (n_rows, size), or an operator with shape, matvec and rmatvec
        M. Dense and sparse rows should be float64; others are copied.
    weights : ndarray of shape (n_rows,)
        c, not below 0.
    l2 : float
        Above 0.
    loss : {"hinge", "logistic", "psi"} or MarginLoss, default="hinge"
    kernel : ndarray of shape (size - n_free, size - n_free), default=None
        K, symmetric and positive semi-definite; None is the identity.
    n_free : int, default=0
        How many coefficients at the end are not penalised, such as an intercept.
    offset, tilt : ndarray of shape (n_rows,), default=None
        None is 0.
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
        kernel: np.ndarray | None = None,
        n_free: int = 0,
        offset: np.ndarray | None = None,
        tilt: np.ndarray | None = None,
    ):
        self.rows = _as_rows(rows)
        self.n_rows, self.size = self.n_terms, _ = self.rows.shape
        self.l2, self.n_free, self.loss = float(l2), n_free, get_margin_loss(loss)
        self.n_held = self.size - n_free
        self.kernel = None if kernel is None else np.ascontiguousarray(kernel, dtype=np.float64)
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.offset = np.zeros(self.n_rows) if offset is None else np.asarray(offset, dtype=np.float64)
        self.tilt = np.zeros(self.n_rows) if tilt is None else np.asarray(tilt, dtype=np.float64)
        self._seen = _Seen()
        self._check()

    def _check(self) -> None:
        if not 0.0 < self.l2 < np.inf:
            raise ValueError(f"l2={self.l2}; it must be a number above 0.")
        if not 0 <= self.n_free <= self.size:
            raise ValueError(f"n_free={self.n_free}; it must be between 0 and the {self.size} columns of the rows.")
        if self.kernel is not None and self.kernel.shape != (self.n_held, self.n_held):
            raise ValueError(
                f"the kernel matrix has shape {self.kernel.shape} but {self.n_held} coefficients are penalised; one "
                "row and one column is needed for each of them."
            )
        for name in ("weights", "offset", "tilt"):
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

    @property
    def has_curvature_product(self) -> bool:
        return self.loss.is_smooth

    # value and gradient

    def margins(self, coef: np.ndarray) -> np.ndarray:
        """The margin of each row; not to be written to."""
        seen = self._seen.last
        if seen is None or not np.array_equal(seen[0], coef):
            # one assignment, so that another thread sees both or neither
            self._seen.last = seen = np.array(coef, dtype=np.float64), self.rows.times(coef) + self.offset
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
        """The penalty's gradient, ``l2 K h``, and 0 for the free coefficients."""
        gradient = np.zeros(self.size)
        held = coef[: self.n_held]
        gradient[: self.n_held] = self.l2 * (held if self.kernel is None else self.kernel @ held)
        return gradient

    # curvature

    def curvature_at(self, coef: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies the second derivative at ``coef`` with a vector."""
        bends = self.weights * self.loss.bends(self.margins(coef))
        bent = np.flatnonzero(bends)
        rows = self.rows
        if 2 * bent.size < self.n_rows and self.rows.has_parts:
            # of a narrow hinge most rows are straight; the few others are worth a copy, for many products follow
            rows, bends = rows.part(bent), bends[bent]
        return lambda direction: rows.back(bends * rows.times(direction)) + self.held_by(direction)

    def curvature_estimate(self, coef: np.ndarray) -> np.ndarray | None:
        """The second derivative at ``coef``, or its diagonal where that is too large; None for an operator."""
        if not self.rows.has_parts or not self.loss.is_smooth:
            return None
        bends = self.weights * self.loss.bends(self.margins(coef))
        if self.size > LARGEST_MATRIX:
            return self.rows.squares(bends) + self.l2 * self._kernel_diagonal
        matrix = self.rows.products(bends)
        if self.kernel is None:
            matrix[np.diag_indices(self.size)] += self.l2 * self._kernel_diagonal
        else:
            matrix[: self.n_held, : self.n_held] += self.l2 * self.kernel
        return matrix

    @cached_property
    def _kernel_diagonal(self) -> np.ndarray:
        diagonal = np.zeros(self.size)
        diagonal[: self.n_held] = 1.0 if self.kernel is None else self.kernel.diagonal()
        return diagonal

    # kinks

    def smoothed(self, width: float) -> MarginProblem:
        """The same problem with the kink of the hinge rounded off over ``width``."""
        if not isinstance(self.loss, Hinge):
            raise ValueError(f"{self.name} has no smoothed form; the hinge has one.")
        return self.with_loss(SmoothedHinge(width))

    def duality_gap(self, coef: np.ndarray, width: float) -> float:
        """How far the hinge's value at ``coef`` can be above the minimum, by the pulls of ``smoothed(width)`` there."""
        bound, _ = self.bound_below(coef, SmoothedHinge(width))
        return max(self.value(coef) - bound, 0.0)

    def bound_below(self, coef: np.ndarray, smoothed: SmoothedHinge) -> tuple[float, np.ndarray]:
        """A value that the hinge's problem does not fall below, and the pulls of the smoothed hinge that show it.

        Any pulls y from 0 to 1, one for each row, give a bound, ``Σ c y (1 - offset) + b · offset - ‖Mᵀ(c y - b)‖² /
        (2 l2)``, as long as ``Mᵀ(c y - b)`` is 0 for the free coefficients. These are moved, for this purpose only, to
        where the pulls on them cancel; where rounding keeps them from that the bound is -inf.
        """
        if self.kernel is not None:
            raise ValueError("the bound needs kernel=None; whiten(problem) gives the same problem in that form.")
        pulls = self._balanced_pulls(coef, smoothed)
        forces = self.weights * pulls - self.tilt
        pulled = self.rows.back(forces)
        held, free = pulled[: self.n_held], pulled[self.n_held :]
        if self.n_free and np.any(np.abs(free) > BALANCED * self._free_pulls):
            return -np.inf, pulls
        bound = float(self.weights @ pulls) - float(forces @ self.offset) - float(held @ held) / (2.0 * self.l2)
        return bound, pulls

    @cached_property
    def _free_columns(self) -> np.ndarray:
        """The columns of M that belong to the free coefficients."""
        return self.rows.columns(np.arange(self.n_held, self.size))

    @cached_property
    def _free_pulls(self) -> np.ndarray:
        """The largest pulls there can be on each free coefficient."""
        return (self.weights + np.abs(self.tilt)) @ np.abs(self._free_columns)

    def _balanced_pulls(self, coef: np.ndarray, smoothed: SmoothedHinge) -> np.ndarray:
        """The pulls once the free coefficients are at their best, the others as they are."""
        margins = self.margins(coef)
        if self.n_free == 0:
            return smoothed.pulls(margins)
        if self.n_free == 1:
            return self._pulls_between(margins, smoothed)
        free = coef[self.n_held :]
        rest = MarginProblem(
            self._free_columns, self.weights, 1.0, loss=smoothed, n_free=self.n_free, tilt=self.tilt,
            offset=margins - self._free_columns @ free,
        )  # fmt: skip
        region = TrustRegion(rest, free)  # type: ignore[arg-type]
        while np.any(np.abs(region.gradient) > 1e-4 * BALANCED * self._free_pulls) and region.step():
            pass
        return smoothed.pulls(rest.margins(region.coef))

    def _pulls_between(self, margins: np.ndarray, smoothed: SmoothedHinge) -> np.ndarray:
        """The same for one free coefficient, by halving; the pulls at both ends are mixed so that they cancel."""
        column = self._free_columns[:, 0]

        def at(shift: float) -> tuple[float, np.ndarray]:
            pulls = smoothed.pulls(margins + shift * column)
            return float(column @ (self.weights * pulls - self.tilt)), pulls

        here, pulls = at(0.0)  # what is left over falls as the shift rises
        sign = 1.0 if here > 0.0 else -1.0
        near, far = 0.0, sign
        left_near, left_far, pulls_far = here, *at(far)
        while sign * left_far > 0.0 and abs(far) < 1e12:
            near, left_near, pulls = far, left_far, pulls_far
            far *= 4.0
            left_far, pulls_far = at(far)
        for _ in range(60):
            if abs(left_near - left_far) <= BALANCED * self._free_pulls[0]:
                break
            middle = 0.5 * (near + far)
            left, found = at(middle)
            if sign * left > 0.0:
                near, left_near, pulls = middle, left, found
            else:
                far, left_far, pulls_far = middle, left, found
        share = left_near / (left_near - left_far) if left_near != left_far else 0.0
        return (1.0 - share) * pulls + share * pulls_far


class _Seen:
    """The last coefficients that were looked at, and their margins."""

    last: tuple[np.ndarray, np.ndarray] | None = None


# --- Rows -------------------------------------------------------------------------------------------------------------


class _Matrix:
    """Rows that are all there, dense or sparse."""

    has_parts = True

    def __init__(self, matrix: Any):
        self.matrix, self.shape = matrix, matrix.shape
        self._across = matrix.T  # made once: for sparse rows this takes longer than a short product

    def times(self, coef: np.ndarray) -> np.ndarray:
        return self.matrix @ coef

    def back(self, pulls: np.ndarray) -> np.ndarray:
        return self._across @ pulls

    def part(self, places: np.ndarray) -> _Matrix:
        return _Matrix(self.matrix[places])

    def columns(self, places: np.ndarray) -> np.ndarray:
        columns = self.matrix[:, places]
        return columns.toarray() if is_sparse(columns) else columns

    def products(self, weights: np.ndarray) -> np.ndarray:
        """``Mᵀ diag(weights) M``."""
        if not is_sparse(self.matrix):
            scaled = self.matrix * np.sqrt(weights)[:, None]
            return scaled.T @ scaled
        return np.asarray((self._across @ self.matrix.multiply(weights[:, None]).tocsr()).todense())

    def squares(self, weights: np.ndarray) -> np.ndarray:
        """The diagonal of the same."""
        if not is_sparse(self.matrix):
            return np.einsum("ij,ij,i->j", self.matrix, self.matrix, weights)
        return self.matrix.multiply(self.matrix).T @ weights


class _Operator:
    """Rows of which only products are known."""

    has_parts = False

    def __init__(self, operator: Any):
        self.operator, self.shape = operator, operator.shape

    def times(self, coef: np.ndarray) -> np.ndarray:
        return np.asarray(self.operator.matvec(coef), dtype=np.float64)

    def back(self, pulls: np.ndarray) -> np.ndarray:
        return np.asarray(self.operator.rmatvec(pulls), dtype=np.float64)

    def part(self, places: np.ndarray) -> _Matrix:
        raise NotImplementedError("an operator has no parts.")

    def columns(self, places: np.ndarray) -> np.ndarray:
        columns = np.empty((self.shape[0], len(places)))
        for column, place in enumerate(places):
            unit = np.zeros(self.shape[1])
            unit[place] = 1.0
            columns[:, column] = self.times(unit)
        return columns

    def products(self, weights: np.ndarray) -> np.ndarray:
        raise NotImplementedError("an operator has no entries.")

    squares = products


def _as_rows(rows: Any) -> _Matrix | _Operator:
    if isinstance(rows, _Matrix | _Operator):
        return rows
    if is_sparse(rows):
        return _Matrix(rows.tocsr().astype(np.float64, copy=False))
    if hasattr(rows, "matvec") and hasattr(rows, "rmatvec"):
        return _Operator(rows)
    dense = np.ascontiguousarray(rows, dtype=np.float64)
    if dense.ndim != 2:
        raise ValueError(f"the rows have shape {dense.shape}; a matrix with one row for each pair is needed.")
    return _Matrix(dense)
