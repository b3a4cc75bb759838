"""Linear scores ``X @ coef``, for dense and CSR X."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from plackett._read_only import for_kernels
from plackett._threads import deal
from plackett.scorers import _linear
from plackett.validation import is_sparse

VALUES_PER_BLOCK = 1 << 18


class LinearScorer:
    """Scores ``X @ coef`` and the way back, ``X.T @ slope``.

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
            data, indices, row_ptr = for_kernels(X)
            self._parts = (data, indices, row_ptr.astype(np.int64, copy=False))
        else:
            self._parts = for_kernels(np.ascontiguousarray(X))

    @property
    def X(self) -> np.ndarray:
        """The rows, where they are dense."""
        return self._parts[0]

    @property
    def n_values(self) -> int:
        """How many values of X are stored."""
        return int(self._parts[-1][-1] - self._parts[-1][0]) if self.is_sparse else self.X.size

    @property
    def n_bytes(self) -> int:
        """Memory of the values of X."""
        return self.n_values * self._parts[0].itemsize

    def part(self, start: int, stop: int) -> LinearScorer:
        """The scorer of some of the rows, sharing their memory."""
        other = copy.copy(self)
        other.n_docs = stop - start
        if self.is_sparse:
            other._parts = (*self._parts[:2], self._parts[2][start : stop + 1])
        else:
            other._parts = (self.X[start:stop],)
        return other

    def split(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients of the columns, and the intercept."""
        if coef.shape != (self.size,):  # the kernels would read beyond the rows
            raise ValueError(f"there are {coef.size} coefficients but X has {self.n_features} columns.")
        if self.has_intercept:
            return np.ascontiguousarray(coef[:-1]), float(coef[-1])
        return np.ascontiguousarray(coef), 0.0

    def score(self, coef: np.ndarray, scores: np.ndarray) -> None:
        """Write the scores of all rows into ``scores``."""
        weights, shift = self.split(coef)
        kernel: Any = _linear.score_sparse if self.is_sparse else _linear.score_dense
        kernel(*self._parts, weights, shift, scores)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """The scores of all rows, on all cores."""
        scores = np.empty(self.n_docs)
        n_blocks = max(1, self.n_values // VALUES_PER_BLOCK)
        edges = np.linspace(0, self.n_docs, n_blocks + 1).astype(np.int64).tolist()
        deal(
            lambda start, stop: self.part(start, stop).score(coef, scores[start:stop]),
            list(itertools.pairwise(edges)),
        )
        return scores

    def pull_back(self, slope: np.ndarray, gradient: np.ndarray) -> None:
        """Add what the slopes of the rows mean for each coefficient."""
        columns = gradient[: self.n_features]
        if self.is_sparse:
            data, indices, row_ptr = self._parts
            _linear.pull_back_sparse(data, indices, row_ptr, slope, columns)
        else:
            _linear.pull_back_dense(self.X, slope, columns)
        self.pull_back_intercept(slope, gradient)

    def pull_back_intercept(self, slope: np.ndarray, gradient: np.ndarray) -> None:
        """The intercept's part of ``pull_back``."""
        if self.has_intercept:
            gradient[-1] += slope.sum()

    def add_squares(self, weights: np.ndarray, diagonal: np.ndarray) -> None:
        """Add ``Σ_i weights_i x_ij²`` over the rows to each column's place."""
        kernel: Any = _linear.square_sparse if self.is_sparse else _linear.square_dense
        kernel(*self._parts, weights, diagonal[: self.n_features])
        if self.has_intercept:
            diagonal[-1] += weights.sum()

    def rows(self) -> np.ndarray:
        """A copy of the rows as a dense float64 block, with a column of ones where there is an intercept."""
        block = np.zeros((self.n_docs, self.size))
        if self.is_sparse:
            data, indices, row_ptr = self._parts
            places = slice(row_ptr[0], row_ptr[-1])
            of_row = np.repeat(np.arange(self.n_docs), np.diff(row_ptr))
            block[of_row, indices[places]] = data[places]
        else:
            block[:, : self.n_features] = self.X
        if self.has_intercept:
            block[:, -1] = 1.0
        return block
