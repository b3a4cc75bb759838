"""The rows to explain, and their lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.data.grouping import group_rows
from plackett.data.queries import Queries
from plackett.validation import is_sparse


class ChosenRows(NamedTuple):
    """The rows to explain, and their lists."""

    rows: np.ndarray
    qid: np.ndarray
    docid: list | None
    place: np.ndarray  # of the list of each row
    sizes: np.ndarray  # of the lists
    adder: Any  # sparse matrix that sums the rows of each list

    def named(self, numbers: np.ndarray | None) -> dict[str, Any]:
        """Return the rows by their ``numbers``, with their query and document ids."""
        return {"rows": self.rows if numbers is None else numbers[self.rows], "qid": self.qid, "docid": self.docid}

    def means(self, X: Any) -> Any:
        """Return the mean row of each list in float64, sparse if X is."""
        sums = self.adder @ X
        return sums.multiply(1.0 / self.sizes[:, None]).tocsr() if is_sparse(X) else sums / self.sizes[:, None]


def choose_rows(n_docs: int, qid: Any, rows: Any, docid: Any) -> ChosenRows:
    """Return the rows of ``rows`` (all for None), with their lists and ids."""
    with importing:
        from scipy import sparse

    groups = group_rows(qid, n_docs)
    chosen, names = _checked(rows, n_docs), _checked_names(docid, n_docs)
    list_of_row = np.empty(n_docs, dtype=np.int64)
    order = slice(None) if groups.order is None else groups.order
    list_of_row[order] = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
    lists, place = np.unique(list_of_row[chosen], return_inverse=True)
    docs = np.flatnonzero(np.isin(list_of_row, lists))
    entries = np.ones(docs.size), (np.searchsorted(lists, list_of_row[docs]), docs)
    return ChosenRows(
        rows=chosen,
        qid=groups.ids[list_of_row[chosen]],
        docid=None if names is None else [names[row] for row in chosen.tolist()],
        place=place,
        sizes=np.diff(groups.indptr)[lists],
        adder=sparse.csr_array(entries, shape=(lists.size, n_docs)),
    )


class NeededLists(NamedTuple):
    """The complete lists of the rows to explain, without other lists."""

    queries: Queries
    places: np.ndarray  # of their rows among all grouped rows
    numbers: np.ndarray  # of their rows in the order given
    rows: np.ndarray  # those to explain, by their position in ``queries``
    docid: list | None

    def named(self) -> dict[str, Any]:
        """Return the arguments of ``explain_linear`` and ``explain_additive`` that describe the rows."""
        return {"qid": self.queries.qid, "rows": self.rows, "numbers": self.numbers, "docid": self.docid}


def needed_lists(queries: Queries, rows: Iterable[int] | None, docid: Iterable[Any] | None) -> NeededLists:
    """Return the lists of ``rows``; ``rows`` and ``docid`` are in the order given."""
    chosen, names = _checked(rows, queries.n_docs), _checked_names(docid, queries.n_docs)
    numbers = np.arange(queries.n_docs) if queries.row_order is None else queries.row_order
    place_of = queries.in_row_order(np.arange(numbers.size))
    wanted = place_of[chosen] if chosen.size else np.zeros(min(1, numbers.size), dtype=np.int64)  # for the normalizer
    is_needed = np.zeros(queries.n_queries, dtype=bool)
    is_needed[np.searchsorted(queries.indptr, wanted, side="right") - 1] = True
    places = np.flatnonzero(np.repeat(is_needed, np.diff(queries.indptr)))
    return NeededLists(
        queries=queries if is_needed.all() else queries[is_needed],
        places=places,
        numbers=numbers[places],
        rows=np.searchsorted(places, place_of[chosen]),
        docid=None if names is None else [names[number] for number in numbers[places].tolist()],
    )


def _checked_names(docid: Iterable[Any] | None, n_docs: int) -> list | None:
    names = None if docid is None else list(docid)
    if names is not None and len(names) != n_docs:
        raise ValueError(f"docid has {len(names):,} ids but X has {n_docs:,} rows.")
    return names


def _checked(rows: Iterable[int] | None, n_docs: int) -> np.ndarray:
    if rows is None:
        return np.arange(n_docs)
    chosen = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if chosen.size == 0:
        return np.zeros(0, dtype=np.int64)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"rows must be row numbers, not {chosen.dtype} of shape {chosen.shape}.")
    outside = (chosen < 0) | (chosen >= n_docs)
    if outside.any():
        raise ValueError(f"rows contains {int(chosen[outside][0])}, but X has rows 0 to {n_docs - 1:,}.")
    if np.unique(chosen).size < chosen.size:
        raise ValueError("rows contains a row twice.")
    return chosen.astype(np.int64)
