"""Scaling the columns of queries that may not go into memory: in blocks of whole queries, to the same last bit.

What a transformer of scikit-learn sums up over all rows it sums up block by block, in memory or not, so that both give
the same; below ``BLOCK_BYTES`` there is one block, and all is as scikit-learn does it.
"""

from __future__ import annotations

from typing import Any

from plackett.data.mapped import blocks_of, is_large, rows_from
from plackett.data.normalize import QueryNormalizer
from plackett.data.queries import Queries
from plackett.validation import is_sparse

# transformers of scikit-learn that learn from one part of the rows after the other
_BY_PARTS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")
# those that look at one row at a time once they have learned
_BY_ROWS = (*_BY_PARTS, "QuantileTransformer", "RobustScaler", "PowerTransformer", "Normalizer", "Binarizer")


def fit_transform(normalizer: Any, queries: Queries) -> Any:
    """Let a fresh normalizer learn from X, and scale it."""
    name, X = _name_in_sklearn(normalizer), queries.X
    if name in _BY_PARTS and not is_sparse(X):
        for first, last in blocks_of(queries):
            normalizer.partial_fit(queries[first:last].X)
        return transform(normalizer, queries)
    if isinstance(normalizer, QueryNormalizer):
        if not is_large(X):
            return normalizer.fit_transform(X, qid=queries.qid)
        normalizer.fit(X[:1])  # it learns the number of columns
        return transform(normalizer, queries)
    if name in _BY_ROWS and is_large(X):
        normalizer.fit(X)
        return transform(normalizer, queries)
    return normalizer.fit_transform(X)


def transform(normalizer: Any, queries: Queries) -> Any:
    """X scaled by a normalizer that has learned; mapped from a file where X is."""
    if isinstance(normalizer, QueryNormalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X, qid=part.qid))
    if goes_by_query(normalizer):
        return rows_from(queries, lambda part: normalizer.transform(part.X))
    return normalizer.transform(queries.X)


def goes_by_query(normalizer: Any) -> bool:
    """Whether scaled rows depend on no other query; whatever we do not know sees all rows at once."""
    return normalizer is None or isinstance(normalizer, QueryNormalizer) or _name_in_sklearn(normalizer) in _BY_ROWS


def _name_in_sklearn(normalizer: Any) -> str | None:
    kind = type(normalizer)
    return kind.__name__ if kind.__module__.startswith("sklearn.preprocessing.") else None
