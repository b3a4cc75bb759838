"""Text ids of queries and documents, and rows of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from plackett.data.grouping import Groups, group_rows, is_missing
from plackett.data.text_table import as_words
from plackett.validation import plain


class RowsOfQueries:
    """Rows of a query and a document each, their ids as text: what ``Qrels`` and ``Run`` have in common."""

    qid: np.ndarray
    docid: np.ndarray
    _columns: ClassVar[tuple[str, ...]]

    def _set_ids(self, qid: object, docid: object, verb: str) -> None:
        self.qid, self.docid = as_text_ids(qid, "qid"), as_text_ids(docid, "docid")
        check_length(self.docid, "docid", self.qid.size)
        repeat = find_repeat(self.groups, self.docid)
        if repeat is not None:
            query, document = str(self.qid[repeat[1]]), str(self.docid[repeat[1]])
            raise ValueError(f"query {query!r} {verb} document {document!r} twice: rows {repeat[0]} and {repeat[1]}.")

    @classmethod
    def _of_checked(cls, *columns: Any) -> Self:
        """Return rows of the columns ``_columns``."""
        rows = cls.__new__(cls)
        vars(rows).update(zip(cls._columns, columns, strict=True))
        return rows

    @cached_property
    def groups(self) -> Groups:
        """The rows by query, queries in order of first appearance."""
        return group_rows(self.qid, self.qid.size)

    def of_queries(self, ids: Sequence[str] | np.ndarray) -> Self:
        """Return the rows of these queries, in the same order."""
        rows, columns = np.isin(self.qid, ids), [getattr(self, name) for name in self._columns]
        return self._of_checked(*(one if one is None or isinstance(one, str) else one[rows] for one in columns))

    def _by_query(self, values: np.ndarray) -> dict[str, dict[str, Any]]:
        rows = grouped_rows(self.groups)
        docs, numbers, bounds = self.docid[rows].tolist(), values[rows].tolist(), pairwise(self.groups.indptr.tolist())
        parts = zip(self.groups.ids.tolist(), bounds, strict=True)
        return {qid: dict(zip(docs[first:last], numbers[first:last], strict=True)) for qid, (first, last) in parts}

    def __len__(self) -> int:
        return self.qid.size


def grouped_rows(groups: Groups) -> np.ndarray:
    return np.arange(groups.indptr[-1]) if groups.order is None else groups.order


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
