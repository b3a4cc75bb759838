"""Linear scores ``X @ coef``, for dense and CSR X."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np

from plackett import _native
from plackett._arrays import part_of_place
from plackett._threads import map_blocks
from plackett.validation import is_sparse

VALUES_PER_BLOCK = 1 << 18


class LinearScorer:
    """Scores ``X @ coef``, and gradients ``X.T @ slope``.

    X is neither copied nor changed if it is C-ordered float32 or float64, or CSR; it may be memory-mapped. With
    ``has_intercept`` the last coefficient is added to every score.
    """

    def __init__(self, X: Any, *, has_intercept: bool = False):
        self.has_intercept = has_intercept
        self.n_docs, self.n_features = X.shape
        self.size = self.n_features + has_intercept
        self.is_sparse = is_sparse(X)
        self._parts: tuple[np.ndarray, ...]
        if self.is_sparse:
            self._parts = (X.data, X.indices, X.indptr.astype(np.int64, copy=False))
        else:
            self._parts = (np.require(X, requirements=["C", "A"]),)

    @property
    def X(self) -> np.ndarray:
        """The rows, if they are dense."""
        return self._parts[0]

    @property
    def n_values(self) -> int:
        """Number of stored values of X."""
        return int(self._parts[-1][-1] - self._parts[-1][0]) if self.is_sparse else self.X.size

    @property
    def n_bytes(self) -> int:
        """Memory of the values of X."""
        return self.n_values * self._parts[0].itemsize

    def part(self, start: int, stop: int) -> LinearScorer:
        """Return the scorer of some of the rows, without a copy."""
        other = copy.copy(self)
        other.n_docs = stop - start
        if self.is_sparse:
            other._parts = (*self._parts[:2], self._parts[2][start : stop + 1])
        else:
            other._parts = (self.X[start:stop],)
        return other

    @property
    def matrix(self) -> tuple:
        """The rows as arguments of kernels."""
        return (*self._parts, self.n_features) if self.is_sparse else self._parts

    def split(self, coef: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the coefficients of the columns, and the intercept."""
        self.check(coef)
        if self.has_intercept:
            return np.require(coef[:-1], requirements=["C", "A"]), float(coef[-1])
        return np.require(coef, requirements=["C", "A"]), 0.0

    def check(self, coef: np.ndarray) -> None:
        """Raise unless there is a coefficient per column: kernels would read out of bounds."""
        if coef.shape != (self.size,):
            raise ValueError(f"there are {coef.size} coefficients but X has {self.n_features} columns.")

    def score(self, coef: np.ndarray, scores: np.ndarray) -> None:
        """Write the scores of all rows into ``scores``."""
        self.check(coef)
        kernel = _native.scorers.score_sparse if self.is_sparse else _native.scorers.score
        kernel(*self.matrix, np.require(coef, requirements=["C", "A"]), scores)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Return the scores of all rows, computed on all cores."""
        scores = np.empty(self.n_docs)
        n_blocks = self.n_values // VALUES_PER_BLOCK
        if n_blocks < 2:
            self.score(coef, scores)
            return scores
        edges = np.linspace(0, self.n_docs, n_blocks + 1).astype(np.int64).tolist()
        map_blocks(
            lambda start, stop: self.part(start, stop).score(coef, scores[start:stop]),
            list(itertools.pairwise(edges)),
        )
        return scores

    def pull_back(self, slope: np.ndarray, gradient: np.ndarray) -> None:
        """Add ``X.T @ slope`` to ``gradient``."""
        kernel = _native.scorers.pull_back_sparse if self.is_sparse else _native.scorers.pull_back
        kernel(*self.matrix, slope, gradient)

    def add_squares(self, weights: np.ndarray, diagonal: np.ndarray) -> None:
        """Add ``Σ_i weights_i x_ij²`` over the rows to each entry of ``diagonal``."""
        kernel = _native.scorers.add_squares_sparse if self.is_sparse else _native.scorers.add_squares
        kernel(*self.matrix, weights, diagonal)

    def rows(self) -> np.ndarray:
        """Return a copy of the rows as a dense float64 block, with a column of ones for an intercept."""
        block = np.zeros((self.n_docs, self.size))
        if self.is_sparse:
            data, indices, row_ptr = self._parts
            places = slice(row_ptr[0], row_ptr[-1])
            of_row = part_of_place(row_ptr)
            block[of_row, indices[places]] = data[places]
        else:
            block[:, : self.n_features] = self.X
        if self.has_intercept:
            block[:, -1] = 1.0
        return block
