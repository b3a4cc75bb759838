"""Encoding categories, codes in X, as numbers: one column per category, or means of the labels."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from plackett._lazy import importing
from plackett.data.categories import Categories, align, column_of
from plackett.data.preprocessing.missing import NamesOfColumns
from plackett.data.queries import Queries
from plackett.data.query_blocks import rows_from
from plackett.storage.models.array_checks import check_columns
from plackett.validation import (
    check_labels,
    check_number,
    check_positive_int,
    count_of,
    feature_number,
    is_sparse,
    plain,
)

ENCODINGS = ("one-hot", "target")
MOST_CATEGORIES = 1000  # of a column, as columns of a dense X


class CategoryEncoder(NamesOfColumns, TransformerMixin, BaseEstimator, ABC):
    """Base of the encoders: columns that hold codes of categories become numbers, all others stay.

    ``fit`` takes a data frame, whose columns of text and categories are encoded, or an array with the parameter
    ``categories``. ``transform`` takes the same columns: in a data frame categories are matched by name, in an array by
    the codes used in ``fit``. A column keeps its position; further columns are appended.

    Attributes
    ----------
    columns_ : ndarray
        Columns that hold categories.
    names_ : list of ndarray of str
        The categories of each of these.
    n_features_in_, n_columns_out_ : int
        Columns of X, and those that ``transform`` returns.
    feature_names_in_ : ndarray of str
        Column names of X. Exists only after a fit to a data frame whose column names are all strings.

    Examples
    --------
    >>> from plackett.data.preprocessing.categories import CategoryEncoder
    >>> from plackett import preprocessing
    >>> import pandas as pd
    >>> encoder = preprocessing.OneHotCategories().fit(pd.DataFrame({"price": [5.0, 7.0], "brand": ["acme", "zeta"]}))
    >>> isinstance(encoder, CategoryEncoder), encoder.columns_, encoder.names_[0].tolist()
    (True, array([1]), ['acme', 'zeta'])
    """

    __metadata_request__fit: ClassVar = {"qid": True}

    categories: Any
    columns_: np.ndarray
    names_: list[np.ndarray]
    n_features_in_: int
    n_columns_out_: int

    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> Self:
        """Learn the categories and their encoding.

        Parameters
        ----------
        X : data frame or array of shape (n_docs, n_features)
        y : array-like of shape (n_docs,), default=None
            Labels, for encoders that need them.
        qid : iterable of hashable ids, one per row, default=None
        """
        self._fit(X, y, qid)
        return self

    def _fit(self, X: Any, y: Any, qid: Any) -> Queries:
        """Learn from X; return its checked and grouped rows."""
        queries = self._queries(X, y, qid)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.fit_queries(queries)
        return queries

    def transform(self, X: Any) -> Any:
        """Return X with numbers instead of categories; a sparse X stays sparse.

        Parameters
        ----------
        X : data frame or array of shape (n_docs, n_features)
        """
        check_is_fitted(self)
        queries = self._queries(X, None, None)
        if queries.n_features != self.n_features_in_:
            raise ValueError(f"X has {queries.n_features} columns, but had {self.n_features_in_} in fit.")
        names = queries.feature_names
        if names is not None:  # a data frame; an array has the codes of fit
            validate_data(self, X, reset=False, skip_check_array=True)
            rows = align(queries.X, queries.categories, self.known, lambda column: feature_number(column, None, names))
            queries = queries.replace(X=rows, categories=self.known)
        return self.transform_queries(queries)

    def _queries(self, X: Any, y: Any, qid: Any) -> Queries:
        is_array = y is not None and not hasattr(X, "columns")  # transform takes any code
        return Queries(X, y, qid, categories=self.categories if is_array else None).grouped

    @property
    def known(self) -> Categories:
        """The categories of ``fit``, by column."""
        return dict(zip(self.columns_.tolist(), self.names_, strict=True))

    def fit_queries(self, queries: Queries) -> None:
        """Learn from checked and grouped rows."""
        found = queries.categories or {}
        self.columns_, self.names_ = np.array(list(found), dtype=np.int64), list(found.values())
        self.n_features_in_ = self.n_columns_out_ = queries.n_features
        self._learn(queries)

    @abstractmethod
    def _learn(self, queries: Queries) -> None:
        """Learn the encoding of the categories."""

    @abstractmethod
    def transform_queries(self, queries: Queries) -> Any:
        """Return encoded rows of queries with the codes of ``fit``; memory-mapped if X is large and memory-mapped."""

    def labels(self, given: list[str]) -> list[str]:
        """Return the names of the columns after ``transform``, from those before."""
        return list(given)

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` if attributes loaded from a file are invalid."""
        n, columns, names = self.n_features_in_, self.columns_, self.names_
        if type(n) is not int or n < 0 or type(self.n_columns_out_) is not int:
            raise ValueError("n_features_in_ and n_columns_out_ must be numbers of columns.")
        check_columns(self, "columns_", n)
        if not isinstance(names, list) or len(names) != columns.size:
            raise ValueError("names_ must hold the categories of each of columns_.")
        for own in names:
            if not isinstance(own, np.ndarray) or own.ndim != 1 or not all(isinstance(one, str) for one in own):
                raise ValueError("names_ must hold arrays of texts.")
            if len(set(own.tolist())) < own.size:
                raise ValueError("names_ must hold different texts.")


class OneHotCategories(CategoryEncoder):
    """Encode each category as a column that is 1 in its rows and 0 elsewhere.

    The column of the first category takes the place of the codes; those of the others are appended. A missing value,
    and a category that was not in ``fit``, have 0 in all of them.

    Parameters
    ----------
    categories : dict from columns to sequences of str, default=None
        Names of the codes of columns of an array X, as in ``Queries``.

    Attributes
    ----------
    columns_, names_, n_features_in_, feature_names_in_, n_columns_out_ : as in ``CategoryEncoder``

    Examples
    --------
    >>> from plackett import preprocessing
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [5.0, 7.0, 6.0], "brand": ["acme", "zeta", None]})
    >>> encoder = preprocessing.OneHotCategories().fit(frame)
    >>> encoder.get_feature_names_out(frame.columns).tolist()
    ['price', 'brand=acme', 'brand=zeta']
    >>> encoder.transform(frame)
    array([[5., 1., 0.],
           [7., 0., 1.],
           [6., 0., 0.]])
    """

    def __init__(self, categories: Mapping[Any, Sequence[str]] | None = None):
        self.categories = categories

    def _learn(self, queries: Queries) -> None:
        for column, names in zip(self.columns_.tolist(), self.names_, strict=True):
            if names.size > MOST_CATEGORIES and not is_sparse(queries.X):
                raise ValueError(
                    f"{queries.feature_labels[column]} has {names.size:,} categories, which would become columns; "
                    f'encoding="one-hot" takes at most {MOST_CATEGORIES:,}. Choose encoding="target", which '
                    "needs only one column, or leave the column out."
                )
        self.n_columns_out_ = self.n_features_in_ + self._n_more()

    def _n_more(self) -> int:
        return sum(max(0, names.size - 1) for names in self.names_)

    def transform_queries(self, queries: Queries) -> Any:
        return rows_from(queries, lambda part: self._encoded(part.X))

    def _encoded(self, X: Any) -> Any:
        if is_sparse(X):
            return self._encoded_sparse(X)
        rows = np.zeros((X.shape[0], self.n_columns_out_), dtype=X.dtype)
        rows[:, : self.n_features_in_] = X
        start = self.n_features_in_
        for column, names in zip(self.columns_.tolist(), self.names_, strict=True):
            codes = X[:, column]
            rows[:, column] = (codes == 0) if names.size else 0
            for code in range(1, names.size):
                rows[:, start + code - 1] = codes == code
            start += max(0, names.size - 1)
        return rows

    def _encoded_sparse(self, X: Any) -> Any:
        with importing:
            from scipy import sparse

        more = []
        places = sparse.lil_matrix(X) if self.columns_.size else X
        for column, names in zip(self.columns_.tolist(), self.names_, strict=True):
            codes = column_of(X, column)
            places[:, column] = ((codes == 0) & bool(names.size)).astype(X.dtype).reshape(-1, 1)
            rows = np.flatnonzero((codes >= 1) & (codes < names.size))
            shape = (X.shape[0], max(0, names.size - 1))
            ones = np.ones(rows.size, dtype=X.dtype)
            more.append(sparse.csr_matrix((ones, (rows, codes[rows].astype(np.int64) - 1)), shape=shape))
        return sparse.hstack([sparse.csr_matrix(places), *more], format="csr", dtype=X.dtype)

    def labels(self, given: list[str]) -> list[str]:
        labels, more = list(given), []
        for column, names in zip(self.columns_.tolist(), self.names_, strict=True):
            texts = [f"{given[column]}={name}" for name in names.tolist()]
            labels[column] = texts[0] if texts else given[column]
            more += texts[1:]
        return labels + more

    def check_loaded(self) -> None:
        super().check_loaded()
        if self.n_columns_out_ != self.n_features_in_ + self._n_more():
            raise ValueError(f"n_columns_out_ must be {self.n_features_in_ + self._n_more()}.")


class TargetCategories(CategoryEncoder):
    """Encode each category as the mean label of its rows, smoothed towards the mean of all rows.

    A category with n rows and the sum s of their labels becomes ``(s + smoothing * prior) / (n + smoothing)``, prior
    being the mean label of all rows. A missing value, and a category that was not in ``fit``, become the prior. Rows
    without a label (NaN) do not count.

    A mean that includes a row's own label leaks it, especially for rare categories. ``fit_transform`` is therefore
    cross-fitted by query: the queries are divided into ``n_folds`` parts, and rows of a part are encoded by the means
    over the other parts, prior included. Parts depend on the query ids, not on the order of rows. ``transform``, for
    other queries, uses the means over all rows of ``fit``.

    Parameters
    ----------
    smoothing : float, default=10.0
        Weight of the prior, in rows.
    n_folds : int, default=5
        Parts of the queries; at most one per query.
    categories : dict from columns to sequences of str, default=None
        Names of the codes of columns of an array X, as in ``Queries``.

    Attributes
    ----------
    means_ : list of ndarray
        Encoded values of the categories of each column, as ``transform`` uses them.
    prior_ : float
        The mean label of ``fit``.
    columns_, names_, n_features_in_, feature_names_in_, n_columns_out_ : as in ``CategoryEncoder``

    Examples
    --------
    >>> from plackett import preprocessing
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"brand": ["acme", "zeta", "acme", "zeta"]})
    >>> encoder = preprocessing.TargetCategories(smoothing=1.0)
    >>> encoder.fit_transform(frame, [2, 0, 1, 0], qid=[7, 7, 8, 8]).ravel()  # query 7 by the labels of query 8
    array([0.75, 0.25, 1.5 , 0.5 ])
    >>> encoder.transform(pd.DataFrame({"brand": ["acme", "new"]})).ravel()
    array([1.25, 0.75])
    """

    def __init__(
        self, smoothing: float = 10.0, n_folds: int = 5, categories: Mapping[Any, Sequence[str]] | None = None
    ):
        self.smoothing = smoothing
        self.n_folds = n_folds
        self.categories = categories

    def fit_transform(self, X: Any, y: Any = None, *, qid: Any = None) -> Any:
        """Fit to X and return its rows, encoded by the labels of other queries; a sparse X stays sparse.

        Parameters
        ----------
        X : data frame or array of shape (n_docs, n_features)
        y : array-like of shape (n_docs,)
        qid : iterable of hashable ids, one per row
        """
        queries = self._fit(X, y, qid)
        encoded = self.cross_fitted(queries)
        return encoded if queries.row_order is None else encoded[queries.in_row_order(np.arange(queries.n_docs))]

    def _learn(self, queries: Queries) -> None:
        check_number(self.smoothing, "smoothing", above=0.0)
        check_positive_int(self.n_folds, "n_folds")
        labels = check_labels(queries.labels, allow_nan=True)
        if np.isnan(labels).all():
            raise ValueError("target encoding needs labels, but all of them are NaN.")
        self.prior_ = float(np.nanmean(labels))
        self.means_ = [
            self._smoothed(*_sums(column_of(queries.X, column), names.size, labels, None, 1), self.prior_)[0]
            for column, names in zip(self.columns_.tolist(), self.names_, strict=True)
        ]

    def _smoothed(self, sums: np.ndarray, counts: np.ndarray, prior: Any) -> np.ndarray:
        prior = np.asarray(prior).reshape(-1, 1)
        return (sums + self.smoothing * prior) / (counts + self.smoothing)

    def cross_fitted(self, queries: Queries) -> Any:
        """Return the rows of ``fit``, each encoded by the labels of the queries in other parts."""
        if queries.n_queries < 2:
            raise ValueError(
                'encoding="target" is cross-fitted by query and needs at least 2 queries, but there is 1. Choose '
                '"one-hot".'
            )
        labels = check_labels(queries.labels, allow_nan=True)
        n_folds = min(self.n_folds, queries.n_queries)
        fold = folds_of(queries.ids, n_folds)[queries.query_of_row]
        is_judged = ~np.isnan(labels)
        n_judged = is_judged.sum() - np.bincount(fold[is_judged], minlength=n_folds)
        total = labels[is_judged].sum() - np.bincount(fold[is_judged], labels[is_judged], minlength=n_folds)
        priors = np.where(n_judged > 0, total / np.maximum(n_judged, 1), self.prior_)
        encoded = {}
        for column, names in zip(self.columns_.tolist(), self.names_, strict=True):
            codes = column_of(queries.X, column)
            sums, counts = _sums(codes, names.size, labels, fold, n_folds)
            tables = self._smoothed(sums.sum(axis=0) - sums, counts.sum(axis=0) - counts, priors)
            tables = np.hstack([tables, priors.reshape(-1, 1)])
            encoded[column] = tables[fold, _places(codes, names.size)]
        return _with_columns(queries, encoded)

    def transform_queries(self, queries: Queries) -> Any:
        encoded = {}
        for column, names, means in zip(self.columns_.tolist(), self.names_, self.means_, strict=True):
            encoded[column] = np.append(means, self.prior_)[_places(column_of(queries.X, column), names.size)]
        return _with_columns(queries, encoded)

    def check_loaded(self) -> None:
        super().check_loaded()
        if not isinstance(self.prior_, float) or not np.isfinite(self.prior_):
            raise ValueError("prior_ must be a finite number.")
        if not isinstance(self.means_, list) or len(self.means_) != len(self.names_):
            raise ValueError("means_ must hold the means of each of columns_.")
        for means, names in zip(self.means_, self.names_, strict=True):
            if not isinstance(means, np.ndarray) or means.dtype != np.float64 or means.shape != names.shape:
                raise ValueError("means_ must have one number for each category.")
            if not np.isfinite(means).all():
                raise ValueError("means_ must be finite.")
        if self.n_columns_out_ != self.n_features_in_:
            raise ValueError(f"n_columns_out_ must be {self.n_features_in_}.")


def get_encoder(name: str) -> OneHotCategories | TargetCategories:
    """Return the encoder of a name: "one-hot" or "target"."""
    return OneHotCategories() if name == "one-hot" else TargetCategories()


def folds_of(ids: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the part of each query; parts depend on the ids alone and differ by at most one query."""
    keys = [hashlib.blake2b(repr(plain(key)).encode(), digest_size=8).digest() for key in ids.tolist()]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    folds = np.empty(len(keys), dtype=np.int64)
    folds[order] = np.arange(len(keys)) % n_folds
    return folds


def _places(codes: np.ndarray, n_names: int) -> np.ndarray:
    """Return codes as whole numbers; ``n_names`` where a value is missing or not a known code."""
    is_known = (codes >= 0) & (codes < n_names) & (codes == np.floor(codes))
    return np.where(is_known, codes, n_names).astype(np.int64)


def _sums(
    codes: np.ndarray, n_names: int, labels: np.ndarray, fold: np.ndarray | None, n_folds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of labels and the numbers of rows, by fold and category."""
    is_judged = ~np.isnan(labels)
    places = _places(codes[is_judged], n_names)
    if fold is not None:
        places = places + fold[is_judged] * (n_names + 1)
    size = n_folds * (n_names + 1)
    sums = np.bincount(places, labels[is_judged], minlength=size).reshape(n_folds, -1)[:, :-1]
    counts = np.bincount(places, minlength=size).reshape(n_folds, -1)[:, :-1]
    return sums, counts


def _with_columns(queries: Queries, columns: dict[int, np.ndarray]) -> Any:
    """Return X with other values in some columns; memory-mapped if X is large and memory-mapped."""
    start = 0

    def replaced(part: Queries) -> Any:
        nonlocal start
        own = slice(start, start + part.n_docs)
        start = own.stop
        if is_sparse(part.X):
            rows = part.X.tolil(copy=True)
            for column, values in columns.items():
                rows[:, column] = values[own].reshape(-1, 1)
            return rows.tocsr()
        rows = np.array(part.X)
        for column, values in columns.items():
            rows[:, column] = values[own]
        return rows

    return rows_from(queries, replaced)


def categories_in_words(queries: Queries, n_named: int = 5) -> str:
    """Return the columns with categories and how many each has."""
    found = list((queries.categories or {}).items())
    listed = ", ".join(
        f"{queries.feature_labels[column]} ({count_of(names.size, 'category', 'categories')})"
        for column, names in found[:n_named]
    )
    return listed + (f" and {len(found) - n_named} more" if len(found) > n_named else "")
