"""Ranked documents of each query, with their scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett.data.grouping import group_rows, ranked_rows
from plackett.data.peek import lists_html
from plackett.data.trec.ids import as_text_ids
from plackett.data.trec.run import Run
from plackett.validation import check_positive_int, check_scores, count_of, plain


class Ranking:
    """Documents of each query, the best first, with their scores; returned by ``rank`` of every ranker.

    Iterating gives a pair for each query: its id, and a list of (document id, score) pairs. Indexing with a query id
    gives that list.

    Parameters
    ----------
    qid : iterable of hashable ids, one per row, or one id for all rows
    scores : array-like of shape (n_docs,)
        Higher is better.
    docid : array-like of shape (n_docs,), default=None
        Document ids; None takes the row numbers, from 0.
    k : int, default=None
        Documents per query; None keeps all.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        Query ids, in order of first appearance.
    indptr : ndarray of shape (n_queries + 1,)
        The documents of query ``ids[q]`` are ``indptr[q]:indptr[q + 1]`` of the arrays below.
    docid, scores : ndarray
        Id and score of each document, the best of each query first; without ids, the row numbers.
    rows : ndarray of int
        The row of each document in the input.

    Examples
    --------
    >>> from plackett.data.ranking import Ranking
    >>> ranking = Ranking([7, 7, 8], [0.2, 0.9, 0.5], docid=["a", "b", "c"])
    >>> ranking
    Ranking(2 queries, 3 documents)
    >>> dict(ranking)
    {7: [('b', 0.9), ('a', 0.2)], 8: [('c', 0.5)]}
    """

    def __init__(self, qid: Any, scores: Any, docid: Any = None, k: int | None = None):
        values = check_scores(scores).astype(np.float64, copy=False)
        names = None if docid is None else np.asarray(docid)
        if names is not None and names.shape != values.shape:
            raise ValueError(f"docid has shape {names.shape} but there are {count_of(values.size, 'row')}.")
        groups = group_rows(qid, values.size)
        query = np.repeat(np.arange(groups.ids.size), np.diff(groups.indptr))
        if groups.order is not None:
            query = query[np.argsort(groups.order)]
        rows, start = ranked_rows(query, values, names), groups.indptr[:-1]
        if k is not None:
            rows = rows[np.arange(rows.size) - start[query[rows]] < check_positive_int(k, "k")]
        self.ids, self.rows, self.scores = groups.ids, rows, values[rows]
        self.docid = rows if names is None else names[rows]
        self.indptr = np.searchsorted(query[rows], np.arange(groups.ids.size + 1))

    def __len__(self) -> int:
        return self.ids.size

    def __iter__(self) -> Iterator[tuple[Any, list[tuple[Any, float]]]]:
        for place, qid in enumerate(self.ids.tolist()):
            yield qid, self._documents(place)

    def __getitem__(self, qid: Any) -> list[tuple[Any, float]]:
        for place, one in enumerate(self.ids.tolist()):
            if one == qid:
                return self._documents(place)
        raise KeyError(f"no query has the id {plain(qid)!r}.")

    def _documents(self, place: int) -> list[tuple[Any, float]]:
        documents = slice(self.indptr[place], self.indptr[place + 1])
        return list(zip(self.docid[documents].tolist(), self.scores[documents].tolist(), strict=True))

    @property
    def qid(self) -> np.ndarray:
        """The query of each document."""
        return np.repeat(self.ids, np.diff(self.indptr))

    @property
    def rank(self) -> np.ndarray:
        """The place of each document in its query, from 1."""
        return np.arange(self.rows.size) - np.repeat(self.indptr[:-1], np.diff(self.indptr)) + 1

    def to_frame(self):
        """Return a pandas data frame with the columns qid, docid, score and rank, in ranked order."""
        pandas = import_optional("pandas", extra=None, needed_for="Ranking.to_frame")
        columns = {"qid": self.qid, "docid": self.docid, "score": self.scores, "rank": self.rank}
        return pandas.DataFrame(columns)

    def to_run(self, tag: str | None = None) -> Run:
        """Return the same documents as a ``Run``, which ``write_trec_run`` writes and ``compare_runs`` compares."""
        return Run(as_text_ids(self.qid, "qid"), as_text_ids(self.docid, "docid"), self.scores, self.rank, tag)

    def __repr__(self) -> str:
        documents = count_of(self.rows.size, "document")
        named = "" if self.docid is not self.rows else " by their row numbers"
        return f"Ranking({count_of(len(self), 'query', 'queries')}, {documents}{named})"

    def _repr_html_(self) -> str:
        return lists_html(repr(self), self, "row" if self.docid is self.rows else "document")
