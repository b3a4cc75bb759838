"""Text ids of queries and documents, and rows that repeat one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from plackett.data.grouping import Groups, is_missing
from plackett.data.text_table import as_words
from plackett.validation import plain


def grouped_rows(groups: Groups) -> np.ndarray:
    return np.arange(groups.indptr[-1]) if groups.order is None else groups.order


def check_ids(qid: object, docid: object) -> tuple[np.ndarray, np.ndarray]:
    queries, docs = as_text_ids(qid, "qid"), as_text_ids(docid, "docid")
    check_length(docs, "docid", queries.size)
    return queries, docs


def check_length(values: np.ndarray, name: str, n_rows: int) -> None:
    if values.size != n_rows:
        raise ValueError(f"{name} has {values.size:,} values but qid has {n_rows:,}.")


def as_text_ids(ids: object, name: str) -> np.ndarray:
    """Return the ids as a vector of text."""
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"{name} is a single string, {ids!r}; one id per row is needed.")
    values = ids if isinstance(ids, np.ndarray) else list(ids)  # type: ignore[call-overload]
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{name} has shape {values.shape}; it must be a vector with one id per row.")
        if values.dtype.kind in "U":
            return values
        values = values.tolist()
    texts = [value if type(value) is str else str(plain(value)) for value in values]
    for row, value in enumerate(values):
        if type(value) is not str and is_missing(value):
            raise ValueError(f"{name} is {value!r} in row {row}. Every row needs an id.")
    return as_words(texts) if texts else np.zeros(0, dtype="U1")


def rows_of_dict(queries: Mapping[str, Mapping[str, float]]) -> tuple[list, list, list]:
    qid = [query for query, docs in queries.items() for _ in docs]
    docid = [doc for docs in queries.values() for doc in docs]
    return qid, docid, [value for docs in queries.values() for value in docs.values()]


def dict_of_rows(groups: Groups, docid: np.ndarray, values: np.ndarray) -> dict:
    rows = grouped_rows(groups)
    docs, numbers, bounds = docid[rows].tolist(), values[rows].tolist(), groups.indptr.tolist()
    parts = zip(groups.ids.tolist(), bounds[:-1], bounds[1:], strict=True)
    return {qid: dict(zip(docs[start:stop], numbers[start:stop], strict=True)) for qid, start, stop in parts}


def find_repeat(groups: Groups, docid: np.ndarray) -> tuple[int, int] | None:
    """Return the first two rows of a query with the same document, or None."""
    rows = grouped_rows(groups)
    docs, bounds = docid[rows].tolist(), groups.indptr.tolist()
    for start, stop in pairwise(bounds):
        if len(set(docs[start:stop])) == stop - start:
            continue
        seen: dict = {}
        for place in range(start, stop):
            if docs[place] in seen:
                return int(rows[seen[docs[place]]]), int(rows[place])
            seen[docs[place]] = place
    return None


def check_repeats(groups: Groups, docid: np.ndarray, verb: str) -> None:
    repeat = find_repeat(groups, docid)
    if repeat is not None:
        earlier, later = repeat
        query = _query_of_row(groups, later)
        raise ValueError(f"query {query!r} {verb} document {str(docid[later])!r} twice: rows {earlier} and {later}.")


def _query_of_row(groups: Groups, row: int) -> str:
    place = row if groups.order is None else int(np.flatnonzero(groups.order == row)[0])
    return str(groups.ids[np.searchsorted(groups.indptr, place, side="right") - 1])
