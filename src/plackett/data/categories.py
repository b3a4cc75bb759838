"""Categories: columns of X that hold codes, and the names of these codes.

``Queries.categories`` is a dictionary from the position of a column to the array of its names, or None. The column
holds the position of the name, 0, 1, ..., and NaN where the value is missing, so that X stays numeric.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plackett.data.text_column import as_str_array
from plackett.storage.mapped import BLOCK_BYTES, folder_of, is_large, spilled
from plackett.validation import count_of, feature_number, is_sparse

Categories = dict[int, np.ndarray]
MAX_NAMES = 1 << 24  # codes are exact in float32


def check_categories(
    categories: Mapping[Any, Any] | None, X: Any, feature_names: Sequence[str] | None
) -> Categories | None:
    """Return the categories by column, sorted; None without categories. X must hold codes in these columns."""
    if not categories:
        return None
    if not isinstance(categories, Mapping):
        raise TypeError(f"categories must be a dict from columns to names, not {type(categories).__name__}.")
    checked = {}
    for key, names in categories.items():
        column = _column_of(key, X.shape[1], feature_names)
        known = checked[column] = as_names(names, feature_number(column, None, feature_names))
        codes = column_of(X, column)
        codes = codes[~np.isnan(codes)]
        if ((codes < 0) | (codes >= known.size) | (codes != np.floor(codes))).any():
            raise ValueError(
                f"{feature_number(column, None, feature_names)} of X holds categories: expected NaN or codes from 0 to "
                f"{known.size - 1}, positions in the list of its {count_of(known.size, 'name')}."
            )
    return dict(sorted(checked.items()))


def _column_of(key: Any, n_features: int, feature_names: Sequence[str] | None) -> int:
    if feature_names is not None and key in feature_names:
        return list(feature_names).index(key)
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < n_features:
        return int(key)
    raise ValueError(f"categories names column {key!r}, which is not one of the {count_of(n_features, 'column')} of X.")


def as_names(names: Any, column: str) -> np.ndarray:
    """Return the names of the categories of a column as an array of text, each once."""
    texts = [name if isinstance(name, str) else str(name) for name in np.asarray(names, dtype=object).ravel().tolist()]
    if len(texts) > MAX_NAMES:
        raise ValueError(f"{column} has {len(texts):,} categories; at most {MAX_NAMES:,} are possible.")
    if len(set(texts)) < len(texts):
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise ValueError(f"{column} has the category {twice!r} twice.")
    return as_str_array(texts)


def column_of(X: Any, column: int) -> np.ndarray:
    """Return a column of X, dense or sparse, as a vector."""
    return X[:, [column]].toarray().ravel() if is_sparse(X) else X[:, column]


# --- Columns of frames ------------------------------------------------------------------------------------------------


def decode_column(codes: np.ndarray, names: np.ndarray, backend: str) -> Any:
    """Return the names of codes as a categorical column of pandas, polars or pyarrow."""
    places = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    if backend == "pandas":
        import pandas

        return pandas.Categorical.from_codes(places, categories=names.tolist())
    if backend == "polars":
        import polars

        texts = np.array([*names.tolist(), None], dtype=object)[places]
        return polars.Series(values=texts.tolist(), dtype=polars.Enum(names.tolist()))
    import pyarrow

    return as_dictionary(codes, names, pyarrow)


def as_dictionary(codes: np.ndarray, names: np.ndarray, pa: Any) -> Any:
    """Return codes and names as a dictionary array of pyarrow."""
    indices = pa.array(np.where(np.isnan(codes), 0, codes).astype(np.int32), mask=np.isnan(codes))
    return pa.DictionaryArray.from_arrays(indices, pa.array(names.tolist(), type=pa.large_string()))


# --- Codes of other names ---------------------------------------------------------------------------------------------


def same_categories(one: Categories | None, other: Categories | None) -> bool:
    """Return whether the same columns hold the same names in the same order."""
    one, other = one or {}, other or {}
    return one.keys() == other.keys() and all(np.array_equal(names, other[column]) for column, names in one.items())


def merge_categories(parts: Sequence[Categories | None]) -> Categories | None:
    """Return the names of all parts by column: those of the first part, then the new ones of the next."""
    if parts[0] is None:
        return None
    merged = {}
    for column in parts[0]:
        names = dict.fromkeys(name for part in parts if part is not None for name in part[column].tolist())
        merged[column] = as_str_array(list(names))
    return merged


def align(X: Any, given: Categories | None, known: Categories, named: Callable[[int], str]) -> Any:
    """Return X with the codes of ``known``; a name that is not known becomes missing.

    Raises a ``ValueError`` if one side has categories and the other numbers; ``named`` gives the name of the column.
    """
    given = given or {}
    for column in sorted(set(known) ^ set(given)):
        if column in given:
            raise ValueError(f"{named(column)} of X holds text or categories, but in fit it held numbers.")
        values = column_of(X, column)
        if (values == values).any():
            one = str(known[column][0])
            raise ValueError(f"{named(column)} of X holds numbers, but in fit it held categories such as {one!r}.")
    return recode(X, given, known)


def recode(X: Any, given: Categories, known: Categories) -> Any:
    """Return X with the codes of ``known`` instead of those of ``given``; NaN where a name is not known.

    X is copied if a code changes, to a mapped file if X is large and mapped.
    """
    changes = {}
    for column, names in given.items():
        if not np.array_equal(names, known[column][: names.size]):
            place = {name: code for code, name in enumerate(known[column].tolist())}
            changes[column] = np.array([place.get(name, np.nan) for name in names.tolist()] + [np.nan])
    if not changes:
        return X
    if not is_large(X) or is_sparse(X):
        return _recoded(X, changes)
    step = max(1, BLOCK_BYTES // max(1, X.shape[1] * X.itemsize))
    blocks = (_recoded(X[start : start + step], changes) for start in range(0, X.shape[0], step))
    return spilled(blocks, folder_of(X))


def _recoded(X: Any, changes: dict[int, np.ndarray]) -> Any:
    rows: Any = X.tolil(copy=True) if is_sparse(X) else np.array(X)
    for column, codes in changes.items():
        old = column_of(X, column)
        new = codes[np.where(np.isnan(old), codes.size - 1, old).astype(np.int64)]
        rows[:, [column]] = new.reshape(-1, 1)
    return rows.tocsr() if is_sparse(X) else rows
