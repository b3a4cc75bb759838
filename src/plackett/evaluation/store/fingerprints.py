"""Hashes of data, by which stored results are found again."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett._threads import query_blocks
from plackett.data.queries import Queries
from plackett.validation import is_sparse

NAMES_AT_ONCE = 1 << 16


def data_fingerprint(queries: Queries | None) -> str:
    """Return a hash of everything that a ranker or a measure can read from the queries."""
    digest = hashlib.sha256()
    if queries is None:
        return "none"
    if not queries.is_grouped:  # stored scores are in the order of the rows
        _add_array(digest, queries.row_order)
    queries = queries.grouped
    X = queries.X
    for part in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
        _add_array(digest, part)
    _add_array(digest, np.array(X.shape))
    _add_array(digest, queries.indptr)
    _add_array(digest, queries.ids)
    if queries.y is not None:
        _add_array(digest, queries.y)
    if queries.subtopics is not None:
        for part in (queries.subtopics.indptr, queries.subtopics.codes, queries.subtopics.labels):
            _add_array(digest, part)
    _add_names(digest, queries)
    _add_text(digest, json.dumps(queries.feature_names))
    if queries.categories is not None:
        _add_text(digest, json.dumps([[column, names.tolist()] for column, names in queries.categories.items()]))
    return digest.hexdigest()


def _add_names(digest, queries: Queries) -> None:
    """Hash document ids, by which some conventions break ties; in blocks of queries, to limit the memory for text."""
    if queries.document_ids is None and queries.comments is None:
        return
    for first, last in query_blocks(queries.indptr, NAMES_AT_ONCE):
        names = np.asarray(queries[first:last].docid)
        texts = names.tolist()
        if all(type(text) is str for text in texts):
            _add_array(digest, np.array([len(text) for text in texts]))
            _add_text(digest, "".join(texts))
        else:
            _add_array(digest, names)


def array_fingerprint(*arrays: np.ndarray) -> str:
    """Return a hash of the types, shapes and values of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        _add_array(digest, array)
    return digest.hexdigest()


def _add_array(digest, array: np.ndarray) -> None:
    array = np.asarray(array)
    _add_text(digest, f"{array.dtype.str} {array.shape}")
    if array.dtype.kind == "O":  # ids of several types: "7" is not 7
        _add_text(digest, json.dumps([[type(value).__name__, str(value)] for value in array.tolist()]))
    elif array.dtype.kind in "mM":  # dates have no buffer
        digest.update(array.tobytes())
    else:
        digest.update(np.ascontiguousarray(array).data)


def _add_text(digest, text: str) -> None:
    content = text.encode("utf-8", "surrogateescape")
    digest.update(struct.pack("<q", len(content)))
    digest.update(content)


def key_fingerprint(parts: Mapping[str, Any]) -> str:
    """Return one hash of plain values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
