"""Bounds and places of the parts of flat arrays, and dense rows and columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.validation import is_sparse


def bounds(sizes: Any) -> np.ndarray:
    """Return where parts of these sizes begin and end: 0, and the cumulative sums."""
    return np.append(0, np.cumsum(sizes, dtype=np.int64))


def ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the places of parts, one part after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if ends.size else 0) + np.repeat(starts - (ends - sizes), sizes)


def part_of_place(indptr: np.ndarray) -> np.ndarray:
    """Return the number of its part for each place, such as that of its query for each row."""
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def dense(X: Any) -> Any:
    """Return rows as an array."""
    return X.toarray() if is_sparse(X) else X


def column_of(X: Any, column: int) -> np.ndarray:
    """Return a column as contiguous float64, as kernels take it."""
    return np.ascontiguousarray(dense(X[:, [column]] if is_sparse(X) else X[:, column]), dtype=np.float64).reshape(-1)
