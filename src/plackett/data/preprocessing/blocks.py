"""Scaling queries that may not fit into memory, in blocks of whole queries, with bit-identical results.

Transformers of scikit-learn learn block by block whether X is in memory or not, so that results are equal; below
``BLOCK_BYTES`` there is one block, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.data.queries import Queries, as_rows
from plackett.data.query_blocks import blocks_of, rows_from
from plackett.storage.mapped import is_large
from plackett.validation import check_finite, is_sparse

# transformers of scikit-learn with partial_fit
_BY_PARTS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")
# those that transform each row separately
_BY_ROWS = (*_BY_PARTS, "QuantileTransformer", "RobustScaler", "PowerTransformer", "Normalizer", "Binarizer")
_ADVICE = 'Use "maxabs", which only divides, or pass dense rows: X.toarray().'


def fit_transform(normalizer: Any, queries: Queries) -> Any:
    """Fit a new normalizer to X, and return X scaled."""
    return _scaled(_fit_transform, normalizer, queries)


def transform(normalizer: Any, queries: Queries) -> Any:
    """Return X scaled by a fitted normalizer; mapped from a file if X is."""
    return _scaled(_transform, normalizer, queries)


def _scaled(scale: Callable[[Any, Queries], Any], normalizer: Any, queries: Queries) -> Any:
    reject_densifying(normalizer, queries.X)
    return usable_rows(scale(normalizer, queries), queries.n_docs, f"normalize={type(normalizer).__name__}")


def _fit_transform(normalizer: Any, queries: Queries) -> Any:
    name, X = _name_in_sklearn(normalizer), queries.X
    if name in _BY_PARTS and not is_sparse(X):
        for first, last in blocks_of(queries):
            normalizer.partial_fit(queries[first:last].X)
        return _transform(normalizer, queries)
    if isinstance(normalizer, QueryNormalizer):
        if not is_large(X):
            return normalizer.fit_transform(X, qid=queries.qid)
        normalizer.fit(X[:1])  # it learns only the number of columns and of queries
        normalizer.n_queries_ = queries.n_queries
        return _transform(normalizer, queries)
    if name in _BY_ROWS and is_large(X):
        normalizer.fit(X)
        return _transform(normalizer, queries)
    return normalizer.fit_transform(X)


def _transform(normalizer: Any, queries: Queries) -> Any:
    if isinstance(normalizer, QueryNormalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X, qid=part.qid))
    if scales_queries_separately(normalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X))
    return normalizer.transform(queries.X)


def reject_densifying(normalizer: Any, X: Any) -> None:
    """Reject sparse rows if zeros would not stay zeros."""
    name = _name_in_sklearn(normalizer)
    moves = name == "MinMaxScaler" or (name == "StandardScaler" and normalizer.with_mean)
    if moves and is_sparse(X):
        shown = "minmax" if name == "MinMaxScaler" else "zscore"
        raise ValueError(
            f'X is sparse, and normalize="{shown}" ({name}) would make it dense: zeros do not stay zeros. {_ADVICE}'
        )
    if name == "QuantileTransformer" and is_sparse(X) and X.nnz and X.data.min() < 0:
        raise ValueError(
            'X is sparse and has negative values, and normalize="quantile" (QuantileTransformer) would make it dense: '
            f"zeros do not stay zeros. {_ADVICE}"
        )


def usable_rows(X: Any, n_docs: int, setting: str) -> Any:
    """Return the result of a transformer as rows for kernels: finite floats or CSR, one row per document."""
    try:
        rows = as_rows(X)
        if rows.shape[0] != n_docs:
            raise ValueError(f"{n_docs:,} rows became {rows.shape[0]:,}; rankers need one per document.")
        check_finite(rows)
    except ValueError as error:
        raise ValueError(f"{setting} returned rows that cannot be used: {error}") from error
    return rows if is_sparse(rows) else np.ascontiguousarray(rows)


def scales_queries_separately(normalizer: Any) -> bool:
    """Return whether each query is scaled independently of the others; False for unknown transformers."""
    return normalizer is None or isinstance(normalizer, QueryNormalizer) or _name_in_sklearn(normalizer) in _BY_ROWS


def _name_in_sklearn(normalizer: Any) -> str | None:
    kind = type(normalizer)
    return kind.__name__ if kind.__module__.startswith("sklearn.preprocessing.") else None
