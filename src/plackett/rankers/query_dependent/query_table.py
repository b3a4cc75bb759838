"""Query features as given by the user: an array, list of rows, data frame or sparse matrix, one row per query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.grouping import as_objects
from plackett.validation import check_csr, check_not_masked, is_sparse, plain


class QueryTable:
    """Columns of numbers, or of other values for columns with a kernel: those of a ranking are sequences of numbers.

    ``ids`` name the queries in messages; None uses their places.
    """

    def __init__(self, features: Any, ids: np.ndarray | None = None):
        self._ids = ids
        self.names: list[str] | None = None
        self._columns: list[Any]
        if is_sparse(features):
            check_csr(features, "the table of query features")
            features = features.toarray()
        if hasattr(features, "columns") and hasattr(features, "__getitem__"):
            self.names = [str(name) for name in getattr(features, "column_names", None) or features.columns]
            keys = self.names if hasattr(features, "column_names") else list(features.columns)
            self._columns = [_as_list(features[key]) for key in keys]
            self.n_queries = len(features)
        else:
            rows = features if isinstance(features, np.ndarray) else list(features)
            for part in (rows, *(rows if isinstance(rows, list) else ())):
                check_not_masked(part, "query_features")
            self._columns = _columns_of_rows(rows)
            self.n_queries = len(rows)
        self.n_columns = len(self._columns)
        if self.n_columns == 0:
            raise ValueError("the query features have no columns; at least one is needed.")

    def called(self, place: int) -> str:
        """Return the name of a column, for messages."""
        return f"column {place}" + (f' ("{self.names[place]}")' if self.names is not None else "")

    def query(self, row: int) -> str:
        """Return the name of a query, for messages."""
        return f"query {row}" if self._ids is None else f"query {plain(self._ids[row])!r} (row {row})"

    def cells(self, place: int) -> list:
        """Return the values of a column."""
        return _as_list(self._columns[place])

    def numbers(self, places: Sequence[int]) -> np.ndarray:
        """Return the columns at ``places`` as finite float64 numbers; an error names the first other value."""
        matrix = np.empty((self.n_queries, len(places)))
        for at, place in enumerate(places):
            try:
                column = np.asarray(self._columns[place])
                if column.dtype.kind in "USmM" or column.ndim != 1:
                    raise ValueError(f"such as {plain(self.cells(place)[0])!r}")
                matrix[:, at] = column.astype(np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"{self.called(place)} of the query features has values that are not numbers ({error}). Name a "
                    f'kernel for it, {{{self.names[place] if self.names else place!r}: "overlap"}}, or leave it out.'
                ) from error
        bad = ~np.isfinite(matrix)
        if bad.any():
            row, at = np.argwhere(bad)[0]
            what = "a NaN" if np.isnan(matrix[row, at]) else "an infinite value"
            raise ValueError(
                f"the query features have {what} for {self.query(int(row))} in {self.called(places[at])}. "
                "Fill it or drop the column first: distances to a query need all of its features."
            )
        return matrix

    def objects(self) -> np.ndarray:
        """Return all cells as an object array of shape (n_queries, n_columns)."""
        cells = np.empty((self.n_queries, self.n_columns), dtype=object)
        for place in range(self.n_columns):
            cells[:, place] = as_objects(self.cells(place))
        return cells


def _columns_of_rows(rows: Any) -> list:
    if isinstance(rows, np.ndarray) and rows.ndim >= 2:
        return [rows[:, place] for place in range(rows.shape[1])]
    if any(isinstance(row, str) or not hasattr(row, "__len__") for row in rows):
        raise ValueError(
            "the query features are a single column; they must have one row per query and one column per feature. "
            "For one feature: features.reshape(-1, 1)."
        )
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise ValueError(f"the rows of the query features have different lengths: {sorted(lengths)}.")
    return [[row[place] for row in rows] for place in range(lengths.pop() if lengths else 0)]


def _as_list(column: Any) -> list:
    for method in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def check_loaded_columns(columns: Any, n: int, name: str) -> list[int]:
    """Raise a ValueError if a loaded list does not hold different column numbers below ``n``; None is empty."""
    if columns is None:
        return []
    is_list = isinstance(columns, list) and all(type(column) is int and 0 <= column < n for column in columns)
    if not is_list or len(set(columns)) < len(columns):
        raise ValueError(f"{name} must be different numbers from 0 to {n - 1}.")
    return columns
