"""Linear scores ``X @ coef``, for dense and CSR X, a block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.scorers import _linear
from plackett.validation import is_sparse


class LinearScorer:
    """Scores ``X @ coef`` and the way back, ``X.T @ slope``, for blocks of rows.

    X is neither copied nor changed where it is C-ordered float32 or float64, or CSR; it may be memory-mapped.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_docs, n_features)
    has_intercept : bool, default=False
        Whether the last coefficient is added to every score.
    """

    def __init__(self, X: Any, *, has_intercept: bool = False):
        self.has_intercept = has_intercept
        self.n_docs, self.n_features = X.shape
        self.size = self.n_features + has_intercept
        self.is_sparse = is_sparse(X)
        self._parts: tuple[np.ndarray, ...]
        if self.is_sparse:
            self._parts = (_readable(X.data), _readable(X.indices), _readable(X.indptr.astype(np.int64, copy=False)))
            self.n_values = int(X.nnz)
        else:
            self._parts = (_readable(np.ascontiguousarray(X)),)
            self.n_values = int(X.size)

    @property
    def n_bytes(self) -> int:
        """Memory of the values of X."""
        return self.n_values * self._parts[0].itemsize

    @property
    def X(self) -> np.ndarray:
        """The rows, where they are dense."""
        return self._parts[0]

    def split(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients of the columns, and the intercept."""
        if self.has_intercept:
            return np.ascontiguousarray(coef[:-1]), float(coef[-1])
        return np.ascontiguousarray(coef), 0.0

    def score(self, coef: np.ndarray, start: int, stop: int, scores: np.ndarray) -> None:
        """Write the scores of rows ``start`` to ``stop`` into their places of ``scores``."""
        weights, shift = self.split(coef)
        kernel: Any = _linear.score_sparse if self.is_sparse else _linear.score_dense
        kernel(*self._parts, weights, shift, start, stop, scores)

    def pull_back(self, slope: np.ndarray, start: int, stop: int, gradient: np.ndarray) -> None:
        """Add what the slopes of rows ``start`` to ``stop`` mean for each coefficient."""
        kernel: Any = _linear.pull_back_sparse if self.is_sparse else _linear.pull_back_dense
        kernel(*self._parts, slope, start, stop, gradient[: self.n_features])
        self.pull_back_intercept(slope, start, stop, gradient)

    def pull_back_intercept(self, slope: np.ndarray, start: int, stop: int, gradient: np.ndarray) -> None:
        """The intercept's part of ``pull_back``."""
        if self.has_intercept:
            gradient[-1] += slope[start:stop].sum()

    def add_squares(self, weights: np.ndarray, start: int, stop: int, diagonal: np.ndarray) -> None:
        """Add ``Σ_i weights_i x_ij²`` over the rows to each column's place."""
        kernel: Any = _linear.square_sparse if self.is_sparse else _linear.square_dense
        kernel(*self._parts, weights, start, stop, diagonal[: self.n_features])
        if self.has_intercept:
            diagonal[-1] += weights[start:stop].sum()

    def rows(self, start: int, stop: int) -> np.ndarray:
        """A copy of some rows as a dense float64 block, with a column of ones where there is an intercept."""
        block = np.zeros((stop - start, self.size))
        if self.is_sparse:
            data, indices, row_ptr = self._parts
            places = slice(row_ptr[start], row_ptr[stop])
            of_row = np.repeat(np.arange(stop - start), np.diff(row_ptr[start : stop + 1]))
            block[of_row, indices[places]] = data[places]
        else:
            block[:, : self.n_features] = self.X[start:stop]
        if self.has_intercept:
            block[:, -1] = 1.0
        return block


class _Window:
    """A view of an array that kernels take for writable, though none writes to it."""

    def __init__(self, array: np.ndarray):
        self._array = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def _readable(array: np.ndarray) -> np.ndarray:
    # numba compiles every kernel once more for read-only arrays, which memory maps and data frames often give
    if array.flags.writeable or array.size == 0:
        return array.view(np.ndarray)
    return np.asarray(_Window(array))
