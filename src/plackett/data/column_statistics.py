"""Statistics of the columns of X: sums, extremes and counts, merged over parts of the rows, and medians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import map_blocks
from plackett.storage.mapped import is_large
from plackett.validation import is_sparse

VALUES_PER_BLOCK = 1 << 18
COLUMNS_PER_BLOCK = 8
BYTES_PER_PASS = 1 << 29  # of mapped rows


def row_blocks(X: Any) -> list[slice]:
    """Return ranges of rows with a bounded number of values."""
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1]))
    return [slice(first, min(first + step, X.shape[0])) for first in range(0, X.shape[0], step)]


class ColumnStatistics(NamedTuple):
    """Statistics of the columns of some rows; those of several parts can be merged.

    ``n_missing`` and ``n_infinite`` count NaN and infinite values; ``sums``, ``minima`` and ``maxima`` are those of the
    finite values, and minima and maxima are infinite if there are none.
    """

    n_docs: int
    n_missing: np.ndarray
    n_infinite: np.ndarray
    sums: np.ndarray
    minima: np.ndarray
    maxima: np.ndarray

    @classmethod
    def of(cls, X: Any) -> ColumnStatistics:
        """Return the statistics of rows, the same whether they are in memory or mapped from a file."""
        if is_sparse(X):
            return cls._of_sparse(X)
        parts = map_blocks(cls._of_block, [(X[rows],) for rows in row_blocks(X)])
        return cls.merged([cls._of_block(np.empty((0, X.shape[1]))), *parts])

    @classmethod
    def _of_block(cls, block: np.ndarray) -> ColumnStatistics:
        is_nan, is_infinite = np.isnan(block), np.isinf(block)
        is_finite = ~(is_nan | is_infinite)
        return cls(
            block.shape[0],
            is_nan.sum(axis=0),
            is_infinite.sum(axis=0),
            np.where(is_finite, block, 0.0).sum(axis=0, dtype=np.float64),
            block.min(axis=0, initial=np.inf, where=is_finite).astype(np.float64),
            block.max(axis=0, initial=-np.inf, where=is_finite).astype(np.float64),
        )

    @classmethod
    def _of_sparse(cls, X: Any) -> ColumnStatistics:
        n, is_nan, is_finite = X.shape[1], np.isnan(X.data), np.isfinite(X.data)
        n_missing, n_infinite = (np.bincount(X.indices[one], minlength=n) for one in (is_nan, np.isinf(X.data)))
        minima, maxima = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(minima, X.indices[is_finite], X.data[is_finite])
        np.maximum.at(maxima, X.indices[is_finite], X.data[is_finite])
        has_zeros = np.bincount(X.indices, minlength=n) < X.shape[0]
        return cls(
            X.shape[0],
            n_missing,
            n_infinite,
            np.bincount(X.indices[is_finite], X.data[is_finite].astype(np.float64), minlength=n),
            np.where(has_zeros, np.minimum(minima, 0.0), minima),
            np.where(has_zeros, np.maximum(maxima, 0.0), maxima),
        )

    @classmethod
    def merged(cls, parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
        """Return the statistics of all rows, from those of parts."""
        n_docs, n_missing, n_infinite, sums, minima, maxima = zip(*parts, strict=True)
        n_missing, n_infinite, sums = (np.sum(values, axis=0) for values in (n_missing, n_infinite, sums))
        return cls(sum(n_docs), n_missing, n_infinite, sums, np.min(minima, axis=0), np.max(maxima, axis=0))


def column_medians(X: Any) -> np.ndarray:
    """Return the median of each column, NaN left out; 0 for a column without values.

    The median of an even number of values is the mean of the two in the middle. Rows that are large and mapped from a
    file are read once for each half gigabyte of columns.
    """
    if is_sparse(X):
        columns = X.tocsc()
        bounds = columns.indptr.tolist()
        parts = [(columns.data[bounds[one] : bounds[one + 1]], X.shape[0]) for one in range(X.shape[1])]
        return np.array([_sparse_median(*part) for part in parts], dtype=np.float64)
    if not is_large(X):
        return _dense_medians(X)
    step = max(1, BYTES_PER_PASS // (X.shape[0] * X.itemsize))
    starts = range(0, X.shape[1], step)
    return np.concatenate([_dense_medians(np.ascontiguousarray(X[:, start : start + step])) for start in starts])


def _dense_medians(X: np.ndarray) -> np.ndarray:
    def work(first: int, last: int) -> list[float]:
        return [_median(column) for column in np.ascontiguousarray(X[:, first:last].T)]

    starts = range(0, X.shape[1], COLUMNS_PER_BLOCK)
    blocks = [(start, min(start + COLUMNS_PER_BLOCK, X.shape[1])) for start in starts]
    return np.array([median for part in map_blocks(work, blocks) for median in part], dtype=np.float64)


def _median(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    if not values.size:
        return 0.0
    low, high = (values.size - 1) // 2, values.size // 2
    middle = np.partition(values, (low, high))
    return 0.5 * float(middle[low]) + 0.5 * float(middle[high])


def _sparse_median(stored: np.ndarray, n_rows: int) -> float:
    """Return the median of a column with these stored values and zeros."""
    is_missing = np.isnan(stored)
    values = np.sort(stored[~is_missing])
    n_values = n_rows - int(is_missing.sum())
    if not n_values:
        return 0.0
    n_below, n_zeros = int(np.searchsorted(values, 0.0)), n_values - values.size

    def at(rank: int) -> float:
        if rank < n_below:
            return float(values[rank])
        return 0.0 if rank < n_below + n_zeros else float(values[rank - n_zeros])

    return 0.5 * at((n_values - 1) // 2) + 0.5 * at(n_values // 2)
