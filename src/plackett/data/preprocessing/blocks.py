"""Scaling the columns of queries that may not go into memory: in blocks of whole queries, to the same last bit.

What a transformer of scikit-learn sums up over all rows it sums up block by block, in memory or not, so that both give
the same; below ``BLOCK_BYTES`` there is one block, and all is as scikit-learn does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.data.queries import Queries, as_rows
from plackett.data.query_blocks import blocks_of, rows_from
from plackett.storage.mapped import is_large
from plackett.validation import check_finite, is_sparse

# transformers of scikit-learn that learn from one part of the rows after the other
_BY_PARTS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")
# those that look at one row at a time once they have learned
_BY_ROWS = (*_BY_PARTS, "QuantileTransformer", "RobustScaler", "PowerTransformer", "Normalizer", "Binarizer")
_WAY_OUT = 'Use "maxabs", which only divides, or give dense rows: X.toarray().'


def fit_transform(normalizer: Any, queries: Queries) -> Any:
    """Let a fresh normalizer learn from X, and scale it."""
    refuse_to_fill(normalizer, queries.X)
    return _checked(normalizer, _fit_transform(normalizer, queries), queries.n_docs)


def _fit_transform(normalizer: Any, queries: Queries) -> Any:
    name, X = _name_in_sklearn(normalizer), queries.X
    if name in _BY_PARTS and not is_sparse(X):
        for first, last in blocks_of(queries):
            normalizer.partial_fit(queries[first:last].X)
        return _transform(normalizer, queries)
    if isinstance(normalizer, QueryNormalizer):
        if not is_large(X):
            return normalizer.fit_transform(X, qid=queries.qid)
        normalizer.fit(X[:1])  # it learns the number of columns, and that of queries
        normalizer.n_queries_ = queries.n_queries
        return _transform(normalizer, queries)
    if name in _BY_ROWS and is_large(X):
        normalizer.fit(X)
        return _transform(normalizer, queries)
    return normalizer.fit_transform(X)


def transform(normalizer: Any, queries: Queries) -> Any:
    """X scaled by a normalizer that has learned; mapped from a file where X is."""
    refuse_to_fill(normalizer, queries.X)
    return _checked(normalizer, _transform(normalizer, queries), queries.n_docs)


def _transform(normalizer: Any, queries: Queries) -> Any:
    if isinstance(normalizer, QueryNormalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X, qid=part.qid))
    if goes_by_query(normalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X))
    return normalizer.transform(queries.X)


def refuse_to_fill(normalizer: Any, X: Any) -> None:
    """Refuse sparse rows where zeros would not stay zeros."""
    name = _name_in_sklearn(normalizer)
    moves = name == "MinMaxScaler" or (name == "StandardScaler" and normalizer.with_mean)
    if moves and is_sparse(X):
        shown = "minmax" if name == "MinMaxScaler" else "zscore"
        raise ValueError(
            f'X is sparse, and normalize="{shown}" ({name}) would fill it: zeros do not stay zeros. {_WAY_OUT}'
        )
    if name == "QuantileTransformer" and is_sparse(X) and X.nnz and X.data.min() < 0:
        raise ValueError(
            'X is sparse and has negative values, and normalize="quantile" (QuantileTransformer) would fill it: zeros '
            f"do not stay zeros. {_WAY_OUT}"
        )


def _checked(normalizer: Any, X: Any, n_docs: int) -> Any:
    """Return what a transformer gave as rows that kernels can trust: finite floats or CSR, one row per document."""
    try:
        rows, _ = as_rows(X)
        if rows.shape[0] != n_docs:
            raise ValueError(f"{n_docs:,} rows went in and {rows.shape[0]:,} came out; rankers need one per document.")
        check_finite(rows)
    except ValueError as error:
        raise ValueError(f"normalize={type(normalizer).__name__} returned rows that cannot be used: {error}") from error
    return rows if is_sparse(rows) else np.ascontiguousarray(rows)


def goes_by_query(normalizer: Any) -> bool:
    """Whether scaled rows depend on no other query; whatever we do not know sees all rows at once."""
    return normalizer is None or isinstance(normalizer, QueryNormalizer) or _name_in_sklearn(normalizer) in _BY_ROWS


def _name_in_sklearn(normalizer: Any) -> str | None:
    kind = type(normalizer)
    return kind.__name__ if kind.__module__.startswith("sklearn.preprocessing.") else None
