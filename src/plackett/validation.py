"""Checks of arguments. Every message says what came, what was expected and what to do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from plackett._lazy import importing
from plackett._names import count_of as count_of
from plackett._names import unknown_name
from plackett.exceptions import ParameterError

Choice = TypeVar("Choice")

LARGEST_SEED = 2**32 - 1  # accepted by numpy's RandomState
INDICES_PER_BLOCK = 1 << 20  # per thread
ROWS_PER_CHECK = 1 << 16  # finite checks run over blocks of rows, so that they need no second copy of X


def plain(value: object) -> object:
    """Return ``value`` as a plain Python number or string, for messages (``7``, not ``np.int64(7)``)."""
    return value.item() if isinstance(value, np.generic) else value


def is_sparse(X: object) -> bool:
    """Return whether X is a scipy sparse matrix or array, without importing scipy."""
    return hasattr(X, "nnz") and hasattr(X, "tocsr")


def as_csr(X: Any) -> Any:
    """Return a sparse matrix of any format as CSR, checked before and after the conversion."""
    check_csr(X)
    if X.format == "csr":
        return _laid_out(X)
    try:
        rows = X.tocsr()
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(f"X is a damaged sparse matrix: {error}.") from error
    check_csr(rows)
    return _laid_out(rows)


def _laid_out(X: Any) -> Any:
    """Return a CSR matrix for kernels: contiguous and aligned arrays, index arrays of one dtype."""
    given, place = (X.data, X.indices, X.indptr), np.result_type(X.indices, X.indptr)
    dtypes = (None, place, place)
    parts = tuple(np.require(array, dtype, ["C", "A"]) for array, dtype in zip(given, dtypes, strict=True))
    if all(one is other for one, other in zip(given, parts, strict=True)):
        return X
    return type(X)(parts, shape=X.shape, copy=False)


def check_csr(X: Any, name: str = "X") -> None:
    """Reject a sparse matrix whose indices are out of bounds: compiled code trusts them.

    CSR, CSC, BSR, COO and LIL are checked in one pass. Other formats have no index arrays; ``as_csr`` checks them after
    the conversion. Dense rows pass. scipy's own check skips the indices when ``indptr`` ends with a negative number,
    and never checks the lists of LIL.
    """
    if not is_sparse(X):
        return
    if X.format == "lil":
        if len(X.rows) != len(X.data) or any(len(own) != len(X.data[row]) for row, own in enumerate(X.rows)):
            _raise_not_sound(name, "a row has different numbers of values and column numbers")
        return
    if X.format in ("coo", "csr", "csc", "bsr"):
        data = X.data
        if not isinstance(data, np.ndarray) or data.ndim != (3 if X.format == "bsr" else 1):
            _raise_not_sound(name, "its values must be one array")
        if data.dtype.kind not in "fiub":
            raise ValueError(f"{name} has values of type {data.dtype}; real numbers are needed.")
    if X.format == "coo":
        for indices, size in zip(X.coords, X.shape, strict=True):
            if len(indices) != len(X.data):
                _raise_not_sound(name, f"it has {len(X.data):,} values but {len(indices):,} row or column numbers")
            _check_indices(indices, size, name)
    elif X.format in ("csr", "csc", "bsr") and len(X.shape) == 2:
        _check_compressed(X, name)


def _check_compressed(X: Any, name: str) -> None:
    with importing:
        from plackett import _native  # loaded where it is used: many checks need no compiled code

    sizes = X.shape if X.format != "bsr" else [size // block for size, block in zip(X.shape, X.blocksize, strict=True)]
    n_groups, n_places = reversed(sizes) if X.format == "csc" else sizes
    for part, array in (("indptr", X.indptr), ("indices", X.indices)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype not in (np.int32, np.int64):
            _raise_not_sound(name, f"{part} must be a vector of int32 or int64")
    indptr = np.require(X.indptr, requirements=["C", "A"])
    if indptr.size != n_groups + 1:
        _raise_not_sound(name, f"indptr has {indptr.size:,} numbers instead of {n_groups + 1:,}")
    if indptr[0] != 0:
        _raise_not_sound(name, f"indptr begins with {indptr[0]} instead of 0")
    if not indptr[-1] == len(X.indices) == len(X.data):
        _raise_not_sound(
            name,
            f"indptr ends with {indptr[-1]}, but there are {len(X.indices):,} indices and {len(X.data):,} values "
            "(X.prune() drops unused ones at the end)",
        )
    if not _native.data.is_rising(indptr):
        _raise_not_sound(name, f"indptr decreases after row {int(np.argmax(indptr[1:] < indptr[:-1]))}")
    _check_indices(X.indices, n_places, name)


def _check_indices(indices: np.ndarray, size: int, name: str) -> None:
    with importing:
        from plackett import _native
        from plackett._threads import map_blocks

    if not len(indices):
        return
    places = np.require(indices, requirements=["C", "A"])
    parts = [(places[start : start + INDICES_PER_BLOCK],) for start in range(0, places.size, INDICES_PER_BLOCK)]
    lows, highs = zip(*map_blocks(_native.data.bounds, parts), strict=True)
    low, high = min(lows), max(highs)
    if low < 0 or high >= size:
        _raise_not_sound(name, f"index {low if low < 0 else high} is outside the range 0 to {size - 1}")


def _raise_not_sound(name: str, what: str) -> None:
    raise ValueError(f"{name} is a damaged sparse matrix: {what}. Build it again from its rows, columns and values.")


def _is_masked(values: object) -> bool:
    """Return whether an array has masked values, without importing numpy.ma, which is slow to import."""
    return "numpy.ma" in sys.modules and np.ma.is_masked(values)


def check_not_masked(values: object, name: str) -> None:
    """Reject a masked array with masked values: numpy's functions would use the masked values."""
    if _is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values. Fill them ({name}.filled(...)), or drop their rows."
        )


def check_index(values: Any, name: str, frame: Any, frame_name: str = "X") -> None:
    """Raise if ``values`` of pandas have the index of the frame in another order: rows are matched by position."""
    index: Any = getattr(frame, "index", None)
    own: Any = getattr(values, "index", None)
    if not (hasattr(index, "equals") and hasattr(own, "equals")) or index.equals(own):
        return
    if len(index) == len(own) and index.is_unique and own.isin(index).all():
        raise ValueError(
            f"{name} has the index of {frame_name} in a different order. "
            f"Pass {name}.loc[{frame_name.split()[-1]}.index], or {name}.to_numpy() if its order is that of the rows."
        )


def check_labels(
    labels: Any,
    n_docs: int | None = None,
    *,
    name: str = "y",
    allow_nan: bool = False,
    row_numbers: np.ndarray | None = None,
) -> np.ndarray:
    """Return labels as a contiguous float64 vector of finite numbers, one per document.

    ``row_numbers`` are the row numbers of the input, if rows were moved since.
    """
    vector = _as_numbers(labels, name)
    if n_docs is not None and vector.size != n_docs:
        raise ValueError(f"{name} has {vector.size:,} labels but X has {n_docs:,} rows.")
    if _may_hold_non_finite(vector):
        bad = np.isinf(vector) if allow_nan else ~np.isfinite(vector)
        if not bad.any():
            return vector
        row = int(np.argmax(bad))
        kind = "NaN" if np.isnan(vector[row]) else "infinite label"
        where = row if row_numbers is None else int(row_numbers[row])
        raise ValueError(
            f"{name} has a{'n' if kind[0] == 'i' else ''} {kind} in row {where}. Labels must be finite numbers."
        )
    return vector


def check_numbers(values: Any, name: str) -> np.ndarray:
    """Return a float64 vector of finite numbers."""
    vector = _as_numbers(values, name)
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} has a NaN or an infinite value in row {int(np.argmax(~np.isfinite(vector)))}.")
    return vector


def check_levels(labels: Any) -> np.ndarray:
    """Return labels as ``check_labels`` does, but integers unchanged: they are always finite."""
    vector = np.asarray(labels)
    if vector.ndim == 1 and vector.dtype.kind in "iu" and not _is_masked(labels):
        return np.require(vector, requirements=["C", "A", "W"])
    return check_labels(labels, name="labels")


def check_scores(scores: object, n_docs: int | None = None, *, name: str = "scores") -> np.ndarray:
    """Return scores as a contiguous float vector without NaN; infinite scores rank first or last."""
    vector = _as_numbers(scores, name, keep_float32=True)
    if n_docs is not None and vector.size != n_docs:
        raise ValueError(f"{name} has {vector.size:,} values but there are {n_docs:,} labels.")
    if _may_hold_non_finite(vector):
        missing = np.isnan(vector)
        if missing.any():
            raise ValueError(f"{name} has a NaN in row {int(np.argmax(missing))}. NaN cannot be ranked.")
    return vector


def _may_hold_non_finite(values: np.ndarray) -> bool:
    """Return False if all values are finite, in one pass: a finite sum has finite terms. An overflow returns True."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(values.sum(dtype=np.float64))


def _as_numbers(values: object, name: str, *, keep_float32: bool = False) -> np.ndarray:
    check_not_masked(values, name)
    vector = np.asarray(values)
    if vector.ndim == 2 and 1 in vector.shape:
        vector = vector.reshape(-1)
    if vector.ndim != 1:
        raise ValueError(f"{name} has shape {vector.shape}; it must be a vector with one number per document.")
    if vector.dtype.kind not in "fiub":
        if vector.dtype.kind not in "OUS":
            raise ValueError(f"{name} has values of type {vector.dtype}; numbers are needed.")
        if vector.dtype.kind in "US":
            example = f" such as {plain(vector[0])!r}" if vector.size else ""
            raise ValueError(f"{name} has text{example}; numbers are needed.")
        try:
            vector = vector.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} has values that are not numbers: {error}.") from error
    dtype = np.float32 if keep_float32 and vector.dtype == np.float32 else np.float64
    return np.require(vector, dtype, ["C", "A", "W"])  # for kernels, and for libraries that reject read-only arrays


def feature_label(column: int, names: Sequence[str] | None = None, first_index: int | None = None) -> str:
    """Return the name of a column of X for users: as given, else its number in the file, else in the array.

    Parameters
    ----------
    column : int
        Of X, counted from 0.
    names : sequence of str, default=None
    first_index : int, default=None
        The number of the first feature in the file that X was read from; None for arrays.

    Examples
    --------
    >>> feature_label(20), feature_label(20, first_index=1), feature_label(1, ["bm25", "pagerank"])
    ('column 20', 'feature 21', 'pagerank')
    """
    return names[column] if names is not None else feature_number(column, first_index)


def feature_labels(n_features: int, names: Sequence[str] | None = None, first_index: int | None = None) -> list[str]:
    """Return ``feature_label`` of every column."""
    return [feature_label(column, names, first_index) for column in range(n_features)]


def feature_number(column: int, first_index: int | None, names: Sequence[str] | None = None) -> str:
    """Return the number of a column, as in ``feature_label``, and its name if it has one, for messages."""
    number = f"column {column}" if first_index is None else f"feature {first_index + column}"
    return number if names is None else f'{number} ("{names[column]}")'


def find_column(
    label: str, n_features: int, names: Sequence[str] | None = None, first_index: int | None = None
) -> int | None:
    """Return the column of X with this ``feature_label``; None if there is no such column.

    Named columns are also found by number: "feature 21" as in the file, "column 20" as in the array.

    Examples
    --------
    >>> find_column("feature 21", 46, first_index=1), find_column("pagerank", 2, ["bm25", "pagerank"])
    (20, 1)
    """
    if names is not None and label in names:
        return list(names).index(label)
    kind, _, number = label.partition(" ")
    shift = first_index if kind == "feature" else 0 if kind == "column" else None
    if shift is None or len(number) > 10 or not (number.isascii() and number.isdecimal()):
        return None
    column = int(number) - shift
    return column if 0 <= column < n_features else None


def check_finite(
    X: Any,
    feature_names: Sequence[str] | None = None,
    *,
    first_index: int | None = None,
    row_numbers: np.ndarray | None = None,
    allow_missing: bool = False,
) -> bool:
    """Return whether X holds NaN, in one pass; reject infinite features and, by default, NaN.

    The error names the row and the column of the first one. ``first_index`` is as in ``feature_label``; ``row_numbers``
    are the row numbers of the input, if rows were moved since.
    """

    def is_wrong(values: np.ndarray) -> np.ndarray:
        return np.isinf(values) if allow_missing else ~np.isfinite(values)

    def refuse(value: float, row: int, column: int) -> None:
        row = row if row_numbers is None else int(row_numbers[row])
        where = f"in row {row}, {feature_number(column, first_index, feature_names)}"
        if np.isnan(value):
            raise ValueError(f"X has a NaN {where}. Fill or drop it first.")
        raise ValueError(f"X has an infinite value {where}. Clip or drop it first; missing values are NaN.")

    if is_sparse(X):
        bad: np.ndarray = np.flatnonzero(is_wrong(X.data))
        if bad.size:
            place = int(bad[0])
            row = int(np.searchsorted(X.indptr, place, side="right")) - 1
            refuse(X.data[place], row, int(X.indices[place]))
        return allow_missing and bool(np.isnan(X.data).any())
    has_missing = False
    for start in range(0, X.shape[0], ROWS_PER_CHECK):
        block = X[start : start + ROWS_PER_CHECK]
        if not _may_hold_non_finite(block):
            continue
        bad = np.argwhere(is_wrong(block))
        if bad.size:
            row, column = bad[0].tolist()
            refuse(block[row, column], start + row, column)
        has_missing = has_missing or bool(np.isnan(block).any())  # a sum of finite numbers may overflow
    return has_missing


def largest_values(X: Any) -> np.ndarray:
    """Return the largest absolute value of each column, dense or sparse."""
    ends = X.max(axis=0), X.min(axis=0)
    high, low = (np.asarray(end.todense() if is_sparse(end) else end, dtype=np.float64).ravel() for end in ends)
    return np.maximum(high, -low)


def check_positive_int(value: object, name: str) -> int:
    """Return ``value`` as an int of at least 1 (True and 10.0 are rejected as probable mistakes)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(name, plain(value), "it must be a whole number of at least 1.")
    return int(value)


def check_seed(value: object, name: str = "random_state") -> int:
    """Return ``value`` as a seed that numpy accepts and that can be recorded."""
    seed = plain(value)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise ParameterError(name, seed, f"a seed must be a whole number from 0 to {LARGEST_SEED}.")
    return seed


def check_choice(value: object, name: str, choices: Sequence[Choice]) -> Choice:
    """Return ``value`` if it is one of ``choices``; otherwise raise an error that lists them."""
    given = plain(value)
    for choice in choices:
        if type(given) is type(choice) and given == choice:
            return choice
    known = ", ".join(repr(choice) for choice in choices)
    raise unknown_name(name, given, f"; choose one of {known}.", choices)


def check_number(value: object, name: str, *, least: float | None = None, above: float | None = None) -> float:
    """Return ``value`` as a finite float, at least ``least`` or above ``above``."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
    number = float(value) if is_number else np.nan  # type: ignore[arg-type]
    if not np.isfinite(number) or (least is not None and number < least) or (above is not None and number <= above):
        bound = f" of at least {least:g}" if least is not None else f" above {above:g}" if above is not None else ""
        raise ParameterError(name, plain(value), f"it must be a finite number{bound}.")
    return number
