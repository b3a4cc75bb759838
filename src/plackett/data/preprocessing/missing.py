"""Filling missing values, which are NaN in X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from plackett import _native
from plackett._lazy import importing
from plackett._threads import map_blocks, query_blocks
from plackett.data.categories import column_of
from plackett.data.column_statistics import VALUES_PER_BLOCK, ColumnStatistics, column_medians, row_blocks
from plackett.data.preprocessing.blocks import usable_rows
from plackett.data.queries import Queries
from plackett.data.query_blocks import rows_from
from plackett.storage.models.array_checks import check_columns, check_vector
from plackett.validation import (
    as_csr,
    check_choice,
    check_finite,
    count_of,
    feature_labels,
    feature_number,
    is_sparse,
    plain,
)

RULES = ("zero", "mean", "median", "min", "query-median")
MERGEABLE = ("zero", "mean", "min")  # learned from statistics that can be merged over parts of the data
COLUMNS_NAMED = 5


def check_rule(rule: Any, name: str = "rule", also: tuple[str, ...] = ()) -> None:
    """Reject what is neither the name of a rule nor a transformer."""
    if isinstance(rule, str) or not hasattr(rule, "transform"):
        check_choice(rule, name, (*also, *RULES))


class NamesOfColumns:
    """A transformer whose method ``labels`` takes the names of the columns before it to those after it."""

    n_features_in_: int
    labels: Callable[[list[str]], list[str]]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that ``transform`` returns.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names of the columns of X; None takes those of ``fit``, or "column 0", "column 1", ...
        """
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        return np.array(self.labels(feature_labels(self.n_features_in_, given)), dtype=object)


class MissingValues(NamesOfColumns, TransformerMixin, BaseEstimator):
    """Fill missing values, NaN in X, with numbers that are learned in ``fit``.

    Other values are unchanged. A column without any value in ``fit`` is filled with 0. Stored NaN of a sparse X are
    missing; values that are not stored are 0.

    Parameters
    ----------
    rule : {"zero", "mean", "median", "min", "query-median"} or transformer, default="median"
        The replacement for a missing value: 0, or the mean, median or minimum of the column over the rows of
        ``fit``. ``"query-median"`` takes the median of the column within the query, and that of ``fit`` if the query
        has no value of it; it is meant for features that are comparable only within a query. A transformer, such as
        scikit-learn's ``KNNImputer()``, is cloned and fitted to X; it must return one row of finite numbers per
        document.
    indicator : bool, default=False
        Whether to append a column for each feature with missing values in ``fit``: 1 where it is missing, else 0.

    Attributes
    ----------
    fill_ : ndarray of shape (n_features,)
        The numbers that are filled in; for ``"query-median"`` those of queries without a value.
    indicated_ : ndarray
        Columns with an indicator, in the order of the indicators.
    transformer_ : fitted transformer or None
        The fitted ``rule`` if it is a transformer; None for a named rule.
    n_columns_out_ : int
        Columns that ``transform`` returns.
    n_queries_ : int
        Queries of ``fit``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Column names of X. Exists only after a fit to a data frame whose column names are all strings.

    Examples
    --------
    >>> from plackett import preprocessing
    >>> import numpy as np
    >>> X = [[1.0, np.nan], [5.0, 7.0], [np.nan, 8.0]]
    >>> preprocessing.MissingValues("median", indicator=True).fit_transform(X)
    array([[1. , 7.5, 0. , 1. ],
           [5. , 7. , 0. , 0. ],
           [3. , 8. , 1. , 0. ]])
    """

    fill_: np.ndarray
    indicated_: np.ndarray
    n_columns_out_: int

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__transform: ClassVar = {"qid": True}

    def __init__(self, rule: Any = "median", indicator: bool = False):
        self.rule = rule
        self.indicator = indicator

    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> Self:
        """Learn the numbers to fill in.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n_docs, n_features)
        y : ignored
        qid : iterable of hashable ids, one per row, default=None
            Used by ``"query-median"``; None means that all rows are one query.
        """
        self.fit_queries(self._check(X, qid, reset=True))
        return self

    def transform(self, X: Any, *, qid: Any = None) -> Any:
        """Return X without missing values, followed by the indicators; a sparse X stays sparse.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n_docs, n_features)
        qid : iterable of hashable ids, one per row in any order, or one id for all rows; default=None
            Needed by ``"query-median"`` if ``fit`` saw several queries.
        """
        check_is_fitted(self)
        queries = self._check(X, qid, reset=False)
        if qid is None and self.depends_on_list and self.n_queries_ > 1:
            raise ValueError(
                f'qid is missing. rule="query-median" was fitted on {self.n_queries_:,} queries and fills each from '
                "its own documents. Pass one id per row: transform(X, qid=qid). If all rows are one query: "
                "transform(X, qid=0)."
            )
        filled = self.transform_queries(queries)
        return filled if queries.row_order is None else filled[queries.in_row_order(np.arange(queries.n_docs))]

    def fit_transform(self, X: Any, y: Any = None, *, qid: Any = None) -> Any:
        """Fit to X and return ``transform(X)``; arguments are as in ``fit``."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    @property
    def depends_on_list(self) -> bool:
        """Whether the filled values depend on the other documents of the query."""
        return isinstance(self.rule, str) and self.rule == "query-median"

    def labels(self, given: list[str]) -> list[str]:
        """Return the names of the columns after ``transform``, from those before."""
        n_kept = self.n_columns_out_ - self.indicated_.size
        kept = given if n_kept == len(given) else feature_labels(n_kept)  # of a transformer with other columns
        return [*kept, *(f"{given[column]} is missing" for column in self.indicated_.tolist())]

    # --- On queries, which may be mapped from a file ------------------------------------------------------------------

    def fit_queries(self, queries: Queries) -> None:
        """Learn from checked and grouped rows without infinite values."""
        check_rule(self.rule)
        is_counted = self.indicator or (isinstance(self.rule, str) and self.rule in MERGEABLE[1:])
        self.fit_statistics(
            ColumnStatistics.of(queries.X) if is_counted else None, queries.n_features, queries.n_queries
        )
        if not isinstance(self.rule, str):
            self.transformer_ = clone(self.rule)
            rows = self._returned(self.transformer_.fit_transform(queries.X), queries.n_docs)
            self.n_columns_out_ = rows.shape[1] + self.indicated_.size
        elif self.rule in ("median", "query-median"):
            self.fill_ = column_medians(queries.X)

    def fit_statistics(self, statistics: ColumnStatistics | None, n_features: int, n_queries: int) -> None:
        """Learn from statistics of the columns, as for ``"zero"``, ``"mean"`` and ``"min"``; None for zeros alone."""
        self.n_features_in_, self.n_queries_, self.transformer_ = n_features, n_queries, None
        rule = self.rule if isinstance(self.rule, str) else ""
        self.fill_ = np.zeros(n_features)
        if statistics is not None and rule == "mean":
            self.fill_ = statistics.sums / np.maximum(statistics.n_docs - statistics.n_missing, 1)
        elif statistics is not None and rule == "min":
            self.fill_ = np.where(np.isfinite(statistics.minima), statistics.minima, 0.0)
        is_indicated = np.zeros(n_features, bool) if statistics is None else statistics.n_missing > 0
        self.indicated_ = np.flatnonzero(is_indicated & self.indicator)
        self.n_columns_out_ = n_features + self.indicated_.size

    def transform_queries(self, queries: Queries, has_missing: bool = True) -> Any:
        """Return the filled rows of checked and grouped queries; memory-mapped if X is large and memory-mapped."""
        if not has_missing and self.transformer_ is None and not self.indicated_.size:
            return queries.X
        if self.transformer_ is not None:
            return self._with_indicators(
                self._returned(self.transformer_.transform(queries.X), queries.n_docs), queries.X
            )
        return rows_from(queries, self._filled)

    def _filled(self, queries: Queries) -> Any:
        """Return the filled rows, followed by the indicators."""
        X = queries.X
        if is_sparse(X):
            return self._with_indicators(self._filled_sparse(queries), X)
        if self.depends_on_list:
            return self._with_indicators(fill_query_medians(np.array(X, order="C"), queries.indptr, self.fill_), X)
        fill, n = self.fill_.astype(X.dtype), X.shape[1]
        filled = np.empty((X.shape[0], self.n_columns_out_), dtype=X.dtype)

        def work(rows: slice) -> None:
            is_missing = np.isnan(X[rows])
            filled[rows, :n] = np.where(is_missing, fill, X[rows])
            filled[rows, n:] = is_missing[:, self.indicated_]

        map_blocks(work, [(rows,) for rows in row_blocks(X)])
        return filled

    def _filled_sparse(self, queries: Queries) -> Any:
        X = queries.X
        data = X.data.copy()
        places = np.flatnonzero(np.isnan(data))
        columns = X.indices[places]
        if self.depends_on_list:
            used, position = np.unique(columns, return_inverse=True)
            dense = fill_query_medians(X[:, used].toarray(), queries.indptr, self.fill_[used])
            rows = np.searchsorted(X.indptr, places, side="right") - 1
            data[places] = dense[rows, position]
        else:
            data[places] = self.fill_[columns]
        return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)

    def _with_indicators(self, filled: Any, X: Any) -> Any:
        if not self.indicated_.size:
            return filled
        if not is_sparse(X):
            is_missing = np.isnan(X[:, self.indicated_]).astype(X.dtype)
            if is_sparse(filled):
                filled = filled.toarray()
            return np.hstack([filled, is_missing.astype(filled.dtype, copy=False)])
        with importing:
            from scipy import sparse

        is_missing = X[:, self.indicated_].copy()
        is_missing.data = np.isnan(is_missing.data).astype(X.dtype)
        is_missing.eliminate_zeros()
        return sparse.hstack([filled, is_missing], format="csr", dtype=X.dtype)

    def _returned(self, rows: Any, n_docs: int) -> Any:
        return usable_rows(rows, n_docs, f"missing={type(self.rule).__name__}")

    def _check(self, X: Any, qid: Any, *, reset: bool) -> Queries:
        checked = validate_data(
            self, as_csr(X) if is_sparse(X) else X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32),
            order="C", ensure_all_finite=False,
        )  # fmt: skip
        check_finite(checked, allow_missing=True)
        return Queries(checked, qid=qid).grouped

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` if attributes loaded from a file are invalid."""
        check_rule(self.rule)
        n: Any = getattr(self, "n_features_in_", None)
        n_out: Any = getattr(self, "n_columns_out_", None)
        if not all(type(one) is int and one >= 0 for one in (n, n_out, getattr(self, "n_queries_", None))):
            raise ValueError("n_features_in_, n_columns_out_ and n_queries_ must be numbers of columns and queries.")
        check_vector(self, "fill_", size=n)
        check_columns(self, "indicated_", n)
        if (getattr(self, "transformer_", None) is None) != isinstance(self.rule, str):
            raise ValueError("transformer_ must be the fitted transformer, or None if the rule is a name.")
        if isinstance(self.rule, str) and n_out != n + self.indicated_.size:
            raise ValueError(f"n_columns_out_ must be {n + self.indicated_.size}.")
        if n_out < self.indicated_.size:
            raise ValueError("n_columns_out_ must be the number of columns.")
        if self.transformer_ is not None and getattr(self.transformer_, "n_features_in_", None) != n:
            raise ValueError(f"transformer_ must be fitted to {n} columns.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def fill_query_medians(X: np.ndarray, indptr: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """Fill NaN in grouped rows, in place, by the median of the column in the query; return X."""
    blocks = query_blocks(indptr, max(1, VALUES_PER_BLOCK // max(1, X.shape[1])))
    map_blocks(lambda first, last: _native.data.fill_query_medians(X, indptr, first, last, fallback), blocks)
    return X


def missing_in_words(queries: Queries, besides: Any = ()) -> str | None:
    """Return where values are missing: the first one, the share, and the columns with most; None if no value is.

    The rows are grouped; columns ``besides`` are ignored.
    """
    counts = ColumnStatistics.of(queries.X).n_missing
    counts[list(besides)] = 0
    columns = np.flatnonzero(counts)
    if not columns.size:
        return None
    X, n_values = queries.X, queries.n_docs * (queries.n_features - len(list(besides)))
    first = [int(np.argmax(np.isnan(column_of(X, int(one))))) for one in columns.tolist()]
    row = min(first)
    column = int(columns[first.index(row)])
    row = row if queries.row_order is None else int(queries.row_order[row])

    def named(column: int) -> str:
        return feature_number(column, queries.first_index, queries.feature_names)

    most = columns[np.argsort(-counts[columns], kind="stable")][:COLUMNS_NAMED]
    shares = ", ".join(f"{named(int(one))} {counts[one] / queries.n_docs:.1%}" for one in most.tolist())
    more = f" and {columns.size - COLUMNS_NAMED} more" if columns.size > COLUMNS_NAMED else ""
    return (
        f"X has a NaN in row {row}, {named(column)}; {counts.sum() / n_values:.1%} of its values are missing, in "
        f"{columns.size} of {count_of(queries.n_features, 'column')}: {shares}{more}."
    )


def shown_rule(rule: Any) -> str:
    """Return a rule as it is written in calls."""
    return repr(plain(rule)) if isinstance(rule, str) else type(rule).__name__
