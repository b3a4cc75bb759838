"""Scaling features within each query, as scikit-learn transformers that take ``qid``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from plackett import _native
from plackett._lazy import importing
from plackett._threads import map_blocks, query_blocks
from plackett.data.grouping import check_is_no_column, group_rows
from plackett.data.list_warnings import naming_columns, warn_of_one_list
from plackett.validation import as_csr, check_choice, check_finite, check_not_masked, is_sparse

VALUES_PER_BLOCK = 1 << 18


class QueryNormalizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers that scale each column within each query.

    ``fit`` learns only the number and names of the columns: a query is scaled by its own documents, so a new query
    needs all of its documents, and ``transform`` needs ``qid`` if ``fit`` saw several queries (a single id applies to
    all rows: ``transform(X, qid=0)``). Rows may come in any order, and results have the same order. A column that is
    constant within a query becomes 0 there, as in the LETOR data sets, because it cannot rank the documents of the
    query (except in ``QueryUnitLength``, which does not shift columns). float32 stays float32, X is never changed, NaN
    and infinite values are rejected.

    Pipelines and searches pass ``qid`` on automatically once metadata routing is enabled
    (``sklearn.set_config(enable_metadata_routing=True)``).

    Attributes
    ----------
    n_queries_ : int
        Queries of ``fit``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Column names of X. Exists only after a fit to a data frame whose column names are all strings.

    Examples
    --------
    >>> from plackett.data.preprocessing.scaling import QueryNormalizer
    >>> from plackett import preprocessing
    >>> scaler = preprocessing.QueryMinMax().fit([[1.0], [3.0], [5.0], [9.0]], qid=[1, 1, 2, 2])
    >>> isinstance(scaler, QueryNormalizer), scaler.n_queries_
    (True, 2)
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__transform: ClassVar = {"qid": True}

    _accepts_sparse = False
    _kernel: str  # name of the compiled function that scales

    def fit(self, X: Any, y: Any = None, *, qid: Any = None) -> QueryNormalizer:
        """Check X and remember the number and names of its columns.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n_docs, n_features)
        y : ignored
        qid : iterable of hashable ids, one per row, default=None
        """
        self._check(X, qid, reset=True)
        return self

    def transform(self, X: Any, *, qid: Any = None) -> Any:
        """Return X with every column scaled within every query; a sparse X stays sparse.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n_docs, n_features)
        qid : iterable of hashable ids, one per row in any order, or one id for all rows; default=None
            None means that all rows are one query, as they were in ``fit``.
        """
        return self._scaled(*self._check(X, qid, reset=False))

    def fit_transform(self, X: Any, y: Any = None, *, qid: Any = None) -> Any:
        """Fit and transform, with one check of X."""
        return self._scaled(*self._check(X, qid, reset=True))

    def _check(self, X: Any, qid: Any, *, reset: bool) -> tuple:
        if is_sparse(X) and not self._accepts_sparse:
            raise ValueError(
                f"{type(self).__name__} would make a sparse X dense, because zeros do not stay zeros. "
                "Use QueryUnitLength, or pass a dense array: X.toarray()."
            )
        check_not_masked(X, "X")
        check_is_no_column(qid, X)
        kinds = {"accept_sparse": "csr" if self._accepts_sparse else False, "dtype": (np.float64, np.float32)}
        with naming_columns(X):  # infinite values and NaN are found below, with a message that names the row
            rows = as_csr(X) if is_sparse(X) else X
            checked = validate_data(self, rows, reset=reset, order="C", ensure_all_finite=False, **kinds)
        if not is_sparse(checked):
            checked = np.require(checked, requirements=["C", "A"])
        names = getattr(self, "feature_names_in_", None)
        check_finite(checked, None if names is None else [str(name) for name in names])
        groups = group_rows(qid, checked.shape[0])
        if reset:
            self.n_queries_ = groups.indptr.size - 1
            if qid is None:
                warn_of_one_list(checked.shape[0], "fit")
        elif qid is None and getattr(self, "n_queries_", 1) > 1:
            raise ValueError(
                f"qid is missing. This {type(self).__name__} was fitted on {self.n_queries_:,} queries and scales each "
                "by its own documents. Pass one id per row: transform(X, qid=qid). If all rows are one query: "
                "transform(X, qid=0). Pipelines pass qid on if metadata routing is enabled: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        return checked, groups

    def _scaled(self, X: Any, groups: Any) -> Any:
        out = np.zeros_like(X)
        rows = np.arange(X.shape[0]) if groups.order is None else groups.order
        kernel = getattr(_native.data, self._kernel)
        blocks = query_blocks(groups.indptr, max(1, VALUES_PER_BLOCK // max(1, X.shape[1])))
        map_blocks(lambda first, last: kernel(X, rows, groups.indptr, first, last, out), blocks)
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class QueryMinMax(QueryNormalizer):
    """Scale each column to the range 0 to 1 within each query, as in the LETOR data sets.

    A column that is constant within a query becomes 0 there. Sparse X is rejected: zeros do not stay zeros.

    Examples
    --------
    >>> from plackett import preprocessing
    >>> X, qid = [[2.0], [5.0], [4.0], [9.0]], ["a", "b", "a", "a"]
    >>> preprocessing.QueryMinMax().fit_transform(X, qid=qid).ravel().round(3)
    array([0.   , 0.   , 0.286, 1.   ])
    """

    _kernel = "min_max"


class QueryZScore(QueryNormalizer):
    """Scale each column to mean 0 and standard deviation 1 within each query (the deviation divides by n).

    A column that is constant within a query becomes 0 there. Sparse X is rejected: zeros do not stay zeros.

    Examples
    --------
    >>> from plackett import preprocessing
    >>> preprocessing.QueryZScore().fit_transform([[1.0], [7.0], [3.0]], qid=["a", "b", "a"]).ravel()
    array([-1.,  0.,  1.])
    """

    _kernel = "z_score"


class QueryUnitLength(QueryNormalizer):
    """Scale each column to Euclidean length 1 within each query.

    Columns are not shifted, so zeros stay zeros and a sparse X stays sparse (a constant column becomes
    ``1 / sqrt(n)``).

    Examples
    --------
    >>> from plackett import preprocessing
    >>> preprocessing.QueryUnitLength().fit_transform([[3.0], [7.0], [4.0]], qid=["a", "b", "a"]).ravel()
    array([0.6, 1. , 0.8])
    """

    _accepts_sparse, _kernel = True, "unit_length"

    def _scaled(self, X: Any, groups: Any) -> Any:
        if not is_sparse(X):
            return super()._scaled(X, groups)
        if not X.has_canonical_format:  # values stored in parts would be squared in parts
            X = X.copy()
            X.sum_duplicates()
        out = np.zeros_like(X.data)
        rows = np.arange(X.shape[0]) if groups.order is None else groups.order
        kernel: Any = _native.data.unit_length_sparse
        parts = (X.data, X.indices, X.indptr, rows, groups.indptr)
        blocks = query_blocks(groups.indptr, max(1, VALUES_PER_BLOCK * X.shape[0] // max(1, X.nnz)))
        map_blocks(lambda first, last: kernel(*parts, first, last, X.shape[1], out), blocks)
        return type(X)((out, X.indices.copy(), X.indptr.copy()), shape=X.shape)


class QueryRank(QueryNormalizer):
    """Replace each value by its rank within its query, scaled to the range 0 to 1.

    Of n values the smallest has rank 1, equal values share their mean rank, and rank r becomes ``(r - 1) / (n - 1)``:
    the share of the other documents that lie below, ties counting one half. A column that is constant within a query
    becomes 0 there, not one half. Sparse X is rejected: zeros do not stay zeros.

    Examples
    --------
    >>> from plackett import preprocessing
    >>> preprocessing.QueryRank().fit_transform([[10.0], [5.0], [30.0], [10.0]]).ravel()
    array([0.5, 0. , 1. , 0.5])
    """

    _kernel = "rank"


WITHIN_QUERIES: dict[str, type[QueryNormalizer]] = {
    "query-minmax": QueryMinMax,
    "query-zscore": QueryZScore,
    "query-unit": QueryUnitLength,
    "query-rank": QueryRank,
}
NAMES = (*WITHIN_QUERIES, "minmax", "maxabs", "zscore", "quantile")


def get_normalizer(normalizer: Any) -> Any:
    """Return the transformer of a name; a transformer is returned unchanged.

    Parameters
    ----------
    normalizer : str or transformer
        Within queries ``"query-minmax"``, ``"query-zscore"``, ``"query-unit"``, ``"query-rank"``; over all rows, fitted
        to the training data by scikit-learn, ``"minmax"``, ``"maxabs"``, ``"zscore"``, ``"quantile"``. Sparse rows are
        accepted by ``"query-unit"``, ``"maxabs"`` and ``"quantile"`` (without negative values). Above 10,000 rows
        ``"quantile"`` learns from a sample, which differs between dense and sparse X.

    Returns
    -------
    transformer
        Those within queries are ``QueryNormalizer`` objects, and only these take ``qid``.

    Examples
    --------
    >>> from plackett.data.preprocessing.scaling import get_normalizer
    >>> get_normalizer("query-zscore")
    QueryZScore()
    """
    if not isinstance(normalizer, str) and hasattr(normalizer, "transform"):
        _reject_hidden(normalizer)
        return normalizer
    name = check_choice(normalizer, "normalize", NAMES)
    if name in WITHIN_QUERIES:
        return WITHIN_QUERIES[name]()
    with importing:
        from sklearn import preprocessing

    if name == "quantile":
        return preprocessing.QuantileTransformer(random_state=0)  # deterministic, also if it samples rows
    scalers: dict[Any, Any] = {"minmax": preprocessing.MinMaxScaler, "maxabs": preprocessing.MaxAbsScaler}
    return scalers.get(name, preprocessing.StandardScaler)()


def _reject_hidden(transformer: Any) -> None:
    """Reject a normalizer of queries inside another transformer, where it would get no qid."""
    inside = transformer.get_params(deep=True).values() if hasattr(transformer, "get_params") else ()
    hidden = next((part for part in inside if isinstance(part, QueryNormalizer)), None)
    if hidden is not None:
        raise ValueError(
            f"normalize holds {hidden!r} inside {type(transformer).__name__}, where it gets no qid. Make a pipeline of "
            "the transformers and the ranker instead: make_pipeline(..., ranker), with "
            "sklearn.set_config(enable_metadata_routing=True)."
        )
