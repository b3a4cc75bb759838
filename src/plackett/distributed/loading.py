"""Loading and checking the rows of one part: files, ``Queries``, frames and arrays."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np

from plackett.data.parquet.table import opened
from plackett.data.queries import Queries
from plackett.data.sources import Source
from plackett.exceptions import DataFormatError
from plackett.storage import mapped
from plackett.storage.file_names import is_parquet
from plackett.storage.opening import open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_csr, check_finite, check_numbers, is_sparse


@dataclasses.dataclass(eq=False)
class LoadedPart:
    """Whole queries with labels and optional query weights."""

    queries: Queries
    weights: np.ndarray | None  # of the queries
    name: str  # in error messages
    may_widen: bool = False  # whether missing last columns count as 0, as in LETOR files, which leave out zeros
    has_missing: bool = False  # whether X holds NaN

    @property
    def weight(self) -> float:
        """Sum of the query weights; the number of queries without weights."""
        return float(self.queries.n_queries if self.weights is None else self.weights.sum())

    def rows(self, n_features: int) -> Any:
        """Return X, padded with zeros to ``n_features`` columns."""
        X = self.queries.X
        n_missing = n_features - X.shape[1]
        if n_missing == 0:
            return X
        if is_sparse(X):
            return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
        return np.pad(X, ((0, 0), (0, n_missing)))

    def __sizeof__(self) -> int:  # Dask schedules by size
        return n_bytes(self.queries)


def n_bytes(queries: Queries) -> int:
    """Return the memory of the rows in bytes."""
    own = object.__sizeof__(queries) + queries.indptr.nbytes + (0 if queries.y is None else queries.y.nbytes)
    return own + mapped.n_bytes(queries.X)


@local_files
def load_source(path: str, source: Source) -> LoadedPart:
    """Load a file or a part of it. Empty files, which parallel writers often leave, give an empty part."""
    is_text = not is_parquet(path)
    if not is_text and not _has_rows(path, source.row_groups):
        return LoadedPart(_no_queries(), None, str(source))
    try:
        queries = dataclasses.replace(source, path=path).load()
    except DataFormatError:
        if is_text and os.path.isfile(path) and not _has_lines(path):
            return LoadedPart(_no_queries(), None, str(source))
        raise
    return from_queries(queries, str(source), may_widen=is_text)


def _has_rows(path: str, row_groups: tuple[int, int] | None) -> bool:
    """Return whether a Parquet file has rows."""
    with opened(path) as file:
        groups = range(file.num_row_groups) if row_groups is None else range(*row_groups)
        return any(file.metadata.row_group(group).num_rows for group in groups)


def _has_lines(path: str) -> bool:
    """Return whether a LETOR file has lines other than blank ones and comments."""
    with open_bytes(path) as file:
        return any(line.lstrip()[:1] not in (b"", b"#") for line in file)


def from_queries(queries: Any, name: str, *, may_widen: bool = False) -> LoadedPart:
    """Check queries that were created elsewhere."""
    if not isinstance(queries, Queries):
        raise TypeError(f"{name} is a {type(queries).__name__}; Queries are needed.")
    return _checked(queries, None, name, may_widen=may_widen)


def from_arrays(X: Any, labels: Any, qid: Any, weight: Any, name: str, docid: Any = None) -> LoadedPart:
    """Take rows, labels, query ids and optional weights: one entry per row each, or the name of a column of X."""
    named = [given for given in (labels, qid, weight, docid) if isinstance(given, str)]
    missing = [column for column in named if column not in X.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}; it has {', '.join(map(str, X.columns[:12]))}.")
    labels, qid, weight, docid = (
        X[given] if isinstance(given, str) else given for given in (labels, qid, weight, docid)
    )
    X = X.drop(columns=named) if named else X
    X, labels, weight = (_with_nan(given) for given in (X, labels, weight))
    labels, qid, weight, docid = (
        getattr(given, "to_numpy", lambda given=given: given)() for given in (labels, qid, weight, docid)
    )
    try:
        queries = Queries(X, labels, qid, docid=docid).grouped
        weights = None if weight is None else _of_queries(check_numbers(weight, "sample_weight"), queries)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return _checked(queries, weights, name)


def _with_nan(table: Any) -> Any:
    """Convert numbers with pandas' own missing values to floats with NaN."""
    if not hasattr(table, "dtypes"):
        return table
    types = list(table.dtypes) if table.ndim == 2 else [table.dtypes]
    if all(isinstance(one, np.dtype) for one in types) or not all(map(is_number, types)):
        return table
    is_float32 = all(getattr(one, "numpy_dtype", one) == np.float32 for one in types)
    return table.astype(np.float32 if is_float32 else np.float64)


def is_number(dtype: Any) -> bool:
    """Return whether a dtype, of numpy or a nullable one of pandas, is numeric."""
    return getattr(dtype, "kind", None) in tuple("fiub")


def _of_queries(weights: np.ndarray, queries: Queries) -> np.ndarray:
    """Return one weight per query from one per row."""
    if weights.size != queries.n_docs:
        raise ValueError(f"sample_weight has {weights.size:,} values but there are {queries.n_docs:,} rows.")
    rows = weights if queries.row_order is None else weights[queries.row_order]
    from_queries = rows[queries.indptr[:-1]]
    if (rows != np.repeat(from_queries, np.diff(queries.indptr))).any():
        raise ValueError("sample_weight differs within a query; a query is weighted as a whole.")
    if from_queries.min(initial=0.0) < 0:
        raise ValueError("sample_weight must not be negative.")
    return from_queries


def _checked(queries: Queries, weights: np.ndarray | None, name: str, *, may_widen: bool = False) -> LoadedPart:
    queries = queries.grouped
    try:
        check_csr(queries.X)
        has_missing = check_finite(
            queries.X, queries.feature_names,
            first_index=queries.first_index, row_numbers=queries.row_order, allow_missing=True,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    # Rows of a data frame are column-major: a scorer would keep a second, row-major copy.
    X = queries.X if is_sparse(queries.X) else np.require(queries.X, requirements=["C", "A"])
    return LoadedPart(queries.replace(X=X, comments=None), weights, name, may_widen=may_widen, has_missing=has_missing)


def _no_queries() -> Queries:
    return Queries.from_groups(np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64), np.zeros(1, np.int64))
