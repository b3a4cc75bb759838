"""Computing on queries that may not fit into memory, some whole queries at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plackett._threads import query_blocks
from plackett.data.queries import Queries
from plackett.storage.mapped import BLOCK_BYTES, folder_of, is_large, n_bytes, spilled


def blocks_of(queries: Queries) -> list[tuple[int, int]]:
    """Return ranges of whole queries that fit into memory one at a time; they depend on the data alone."""
    width = max(1, n_bytes(queries.X) // max(1, queries.n_docs))
    return query_blocks(queries.indptr, max(1, BLOCK_BYTES // width))


def rows_from(queries: Queries, compute: Callable[[Queries], Any]) -> Any:
    """Return ``compute(queries)``, a matrix with one row per document that depends on each query separately.

    If X is large and mapped from a file, so is the result, computed for some queries at a time.
    """
    if not is_large(queries.X):
        return compute(queries)
    blocks = (compute(queries[first:last]) for first, last in blocks_of(queries))
    return spilled(blocks, folder_of(queries.X))


def values_from(queries: Queries, compute: Callable[[Queries], np.ndarray]) -> np.ndarray:
    """Return ``compute(queries)``, one value per row; as ``rows_from``, but in memory."""
    if not is_large(queries.X):
        return compute(queries)
    return np.concatenate([compute(queries[first:last]) for first, last in blocks_of(queries)])
