"""Checks of the attributes of loaded models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Check = Callable[[Any, str, int], None]  # of an attribute of a model over a number of columns
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def check_vector(estimator: Any, name: str, dtype: Any = np.float64, size: int | None = None) -> None:
    """Raise a ValueError if a loaded attribute is not a vector of finite numbers, ``size`` of them."""
    vector = getattr(estimator, name, None)
    if not isinstance(vector, np.ndarray) or vector.dtype != dtype or vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a vector of finite numbers.")
    if size is not None and vector.size != size:
        raise ValueError(f"{name} must have {size} numbers.")


def check_columns(estimator: Any, name: str, n_columns: int) -> None:
    """Raise a ValueError if a loaded attribute does not hold ascending numbers of columns."""
    check_vector(estimator, name, np.int64)
    columns = getattr(estimator, name)
    if ((columns < 0) | (columns >= n_columns)).any() or (np.diff(columns) <= 0).any():
        raise ValueError(f"{name} must be ascending column numbers from 0 to {n_columns - 1}.")


def check_bounds(estimator: Any, name: str, n_parts: int | None = None, *, least: int = 1) -> None:
    """Raise a ValueError if a loaded attribute does not hold the bounds of parts with at least ``least`` entries."""
    check_vector(estimator, name, np.int64, None if n_parts is None else n_parts + 1)
    bounds = getattr(estimator, name)
    if bounds.size < 2 or bounds[0] != 0 or (np.diff(bounds) < least).any():
        raise ValueError(f"{name} must increase from 0.")


def check_records(estimator: Any, name: str, fields: list, size: int | None = None) -> None:
    """Raise a ValueError if a loaded attribute is not a vector of records of finite numbers, ``size`` of them."""
    records = getattr(estimator, name, None)
    if not isinstance(records, np.ndarray) or records.dtype != np.dtype(fields) or records.ndim != 1:
        raise ValueError(f"{name} must be records of {', '.join(field for field, _ in fields)}.")
    if size is not None and records.size != size:
        raise ValueError(f"{name} must hold {size} records.")
    if not all(np.isfinite(records[field]).all() for field, _ in fields):
        raise ValueError(f"{name} must hold finite numbers.")


def check_matrix(estimator: Any, name: str, n_rows: int | None = None, n_columns: int | None = None) -> None:
    """Raise a ValueError if a loaded attribute is not a matrix of finite numbers of this size; make it contiguous."""
    matrix: Any = getattr(estimator, name, None)
    is_sparse = hasattr(matrix, "nnz")
    values = matrix.data if is_sparse else matrix
    is_array = isinstance(values, np.ndarray) and values.dtype in FLOATS and len(np.shape(matrix)) == 2
    if not is_array or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a matrix of finite numbers.")
    for size, needed, what in zip(np.shape(matrix), (n_rows, n_columns), ("rows", "columns"), strict=True):
        if needed not in (None, size):
            raise ValueError(f"{name} must have {needed} {what}.")
    if not is_sparse:
        setattr(estimator, name, np.ascontiguousarray(matrix))  # as kernels take them


def check_state(estimator: Any, checks: Mapping[str, Check], n_columns: int) -> None:
    """Raise a ValueError for the first loaded attribute that does not pass its check."""
    for name, check in checks.items():
        check(estimator, name, n_columns)


def number(estimator: Any, name: str, n_columns: int) -> None:
    """Raise a ValueError if a loaded attribute is not a finite number."""
    value = getattr(estimator, name, None)
    if type(value) is not float or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number.")


def flag(estimator: Any, name: str, n_columns: int) -> None:
    """Raise a ValueError if a loaded attribute is not True or False."""
    if type(getattr(estimator, name, None)) is not bool:
        raise ValueError(f"{name} must be True or False.")


def column_or_none(estimator: Any, name: str, n_columns: int) -> None:
    """Raise a ValueError if a loaded attribute is neither the number of a column nor None."""
    column = getattr(estimator, name, None)
    if column is not None and (type(column) is not int or not 0 <= column < n_columns):
        raise ValueError(f"{name} must be the number of a column or None.")


def row(estimator: Any, name: str, n_columns: int) -> None:
    """Raise a ValueError if a loaded attribute is not a finite number for every column."""
    check_vector(estimator, name, size=n_columns)
