"""Exact medians of columns, of rows in memory or mapped from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._threads import map_blocks
from plackett.data.queries import Queries
from plackett.data.query_blocks import blocks_of
from plackett.storage.mapped import is_large
from plackett.validation import is_sparse

COLUMNS_PER_BLOCK = 8
BITS = 16  # of the values that one pass over mapped rows finds


def column_medians(queries: Queries) -> np.ndarray:
    """Return the median of each column, NaN left out; 0 for a column without values.

    The median of an even number of values is the mean of the two in the middle. Rows that are large and mapped from a
    file are read four times (float32: twice), in blocks; others once.
    """
    X = queries.X
    if is_sparse(X):
        columns = X.tocsc()
        bounds = columns.indptr.tolist()
        parts = [(columns.data[bounds[one] : bounds[one + 1]], X.shape[0]) for one in range(X.shape[1])]
        return np.array([_sparse_median(*part) for part in parts], dtype=np.float64)
    if is_large(X):
        return _medians_by_digits(queries)

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


def _medians_by_digits(queries: Queries) -> np.ndarray:
    """Return medians by finding the bits of the values in the middle, 16 in each pass over the rows."""
    X = queries.X
    n_columns, n_bits = X.shape[1], 8 * X.itemsize
    kind: Any = np.uint32 if n_bits == 32 else np.uint64
    rows = [slice(int(queries.indptr[first]), int(queries.indptr[last])) for first, last in blocks_of(queries)]
    n_values = ranks = np.zeros(n_columns, dtype=np.int64)
    found = np.zeros((2, n_columns), dtype=kind)
    for shift in range(n_bits - BITS, -1, -BITS):
        counts = _digit_counts(X, rows, found, shift)
        if shift == n_bits - BITS:
            n_values = counts[0].sum(axis=1, dtype=np.int64)
            ranks = np.stack([(n_values - 1) // 2, n_values // 2])  # of the values in the middle
        ends = np.cumsum(counts, axis=2, dtype=np.int64)
        digit = (ends <= ranks[:, :, None]).sum(axis=2)
        digit = np.minimum(digit, (1 << BITS) - 1)
        before = np.where(digit > 0, np.take_along_axis(ends, np.maximum(digit - 1, 0)[:, :, None], 2)[:, :, 0], 0)
        ranks = ranks - before
        found = (found << kind(BITS)) | digit.astype(kind) if shift + BITS < n_bits else digit.astype(kind)
    middles = _values_of_keys(found, X.dtype).astype(np.float64)
    return np.where(n_values > 0, 0.5 * middles[0] + 0.5 * middles[1], 0.0)


def _digit_counts(X: np.ndarray, rows: list[slice], found: np.ndarray, shift: int) -> np.ndarray:
    """Count the values of each column with the leading bits ``found`` by their next bits, for both middles."""
    kind: Any = found.dtype.type
    is_first = shift + BITS == 8 * X.itemsize
    counts = np.zeros((2, X.shape[1], 1 << BITS), dtype=np.uint32 if X.shape[0] < 1 << 32 else np.int64)
    for part in rows:
        block = np.ascontiguousarray(X[part].T)

        def count(values: np.ndarray, column: int) -> None:
            keys = _rising_keys(values[~np.isnan(values)], kind)
            digits = ((keys >> kind(shift)) & kind((1 << BITS) - 1)).astype(np.int64)
            for middle in range(2):
                chosen = digits if is_first else digits[(keys >> kind(shift + BITS)) == found[middle, column]]
                counts[middle, column] += np.bincount(chosen, minlength=1 << BITS).astype(counts.dtype)

        map_blocks(count, [(block[column], column) for column in range(X.shape[1])])
    return counts


def _rising_keys(values: np.ndarray, kind: Any) -> np.ndarray:
    """Return unsigned whole numbers in the order of the values."""
    bits = np.ascontiguousarray(values + 0.0).view(kind)  # -0.0 becomes 0.0
    sign = kind(1 << (8 * values.itemsize - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def _values_of_keys(keys: np.ndarray, dtype: Any) -> np.ndarray:
    sign = keys.dtype.type(1 << (8 * keys.itemsize - 1))
    bits = np.where(keys & sign, keys & ~sign, ~keys)
    return bits.astype(keys.dtype).view(dtype)
