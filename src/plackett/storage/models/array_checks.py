"""Checks of the attributes of loaded models."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_vector(estimator: Any, name: str, dtype: Any = np.float64) -> None:
    """Raise a ValueError if a loaded attribute is not a vector of finite numbers."""
    vector = getattr(estimator, name, None)
    if not isinstance(vector, np.ndarray) or vector.dtype != dtype or vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a vector of finite numbers.")


def check_matrix(estimator: Any, name: str) -> None:
    """Raise a ValueError if a loaded attribute is not a matrix of finite numbers; make it contiguous."""
    matrix = getattr(estimator, name, None)
    if (
        not isinstance(matrix, np.ndarray)
        or matrix.ndim != 2
        or matrix.dtype not in FLOATS
        or not np.isfinite(matrix).all()
    ):
        raise ValueError(f"{name} must be a matrix of finite numbers.")
    setattr(estimator, name, np.ascontiguousarray(matrix))  # as kernels take them
