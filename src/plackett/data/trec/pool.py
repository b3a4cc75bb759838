"""Joining qrels with runs, for evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np

from plackett import _native
from plackett.data.grouping import Groups
from plackett.data.queries import Queries
from plackett.data.subtopics import Subtopics
from plackett.data.trec.ids import as_text_ids, grouped_rows
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run


class Judged(NamedTuple):
    """A run with its judgements, query by query, for an evaluation.

    Query ``q`` of ``ids``, those of the qrels in their order, owns rows ``indptr[q]:indptr[q + 1]``. The first
    ``n_retrieved[q]`` of them were retrieved, in the order of the run; the others are judged documents that the run
    lacks, in the order of the qrels, with score 0. ``labels`` are 0 for documents that were not judged; ``is_judged``
    is whether the document is in the qrels, with any label. ``n_ignored_queries`` of the run have no judgements.
    """

    ids: np.ndarray
    indptr: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    docid: np.ndarray
    is_judged: np.ndarray
    n_retrieved: np.ndarray
    n_ignored_queries: int
    subtopics: Subtopics | None


def join(qrels: Qrels, run: Run) -> Judged:
    """Return, for every query of the qrels, its retrieved documents, then the judged ones that the run lacks.

    Examples
    --------
    >>> judged = join(Qrels([1, 1], ["a", "b"], [1, 2]), Run([1, 1, 2], ["c", "b", "a"], [0.9, 0.4, 0.1]))
    >>> judged.docid, judged.labels, judged.n_retrieved, judged.n_ignored_queries
    (array(['c', 'b', 'a'], dtype='<U1'), array([0., 2., 1.]), array([2]), 1)
    """
    place_of: dict[str, int] = {}
    query_of_judgement, query_of_result = (_query_of_row(part.groups, place_of) for part in (qrels, run))
    ids = qrels.groups.ids
    is_known = query_of_result < ids.size
    parts = [run.docid[is_known], qrels.docid], [query_of_result[is_known], query_of_judgement]
    docid, _, indptr, (retrieved, listed) = _numbered(*parts, ids.size)
    labels, scores, is_judged = np.zeros(docid.size), np.zeros(docid.size), np.zeros(docid.size, dtype=bool)
    is_judged[listed] = ~np.isnan(qrels.labels)
    labels[listed] = np.where(np.isnan(qrels.labels), 0.0, qrels.labels)
    scores[retrieved] = run.scores[is_known]
    subtopics = None
    if qrels.subtopics is not None:
        row_in_qrels = np.full(labels.size, -1)
        row_in_qrels[listed] = np.arange(listed.size)
        subtopics = qrels.subtopics[row_in_qrels]
    n_retrieved = np.bincount(query_of_result[is_known], minlength=ids.size)
    n_ignored = run.groups.ids.size - int((n_retrieved > 0).sum())
    return Judged(ids, indptr, labels, scores, docid, is_judged, n_retrieved, n_ignored, subtopics)


def _numbered(docids: list[np.ndarray], queries: list[np.ndarray], n_queries: int) -> tuple:
    """Return one row for each document of each query, in the order of their first appearance in some parts.

    The answer is the document and the query of each row, the bounds of the queries, and the row of each document of
    each part.
    """
    docid, query = np.concatenate(docids), np.concatenate(queries)
    row, first, indptr = (np.empty(n, dtype=np.int64) for n in (docid.size, docid.size, n_queries + 1))
    order, lengths = np.argsort(query, kind="stable"), np.bincount(query, minlength=n_queries)
    n_rows = _native.data.number_texts(_letters(docid), order, _bounds(lengths), row, first, indptr)
    rows_of_parts = np.split(row, np.cumsum([part.size for part in docids])[:-1])
    return np.take(docid, first[:n_rows]), query[first[:n_rows]], indptr, rows_of_parts


class PooledRuns:
    """Runs as columns over the documents of each query that a run retrieved or the qrels hold.

    Query ``q`` of ``ids``, those of the qrels and then the other ones of the runs, owns rows ``indptr[q]:indptr[q +
    1]``: the documents of the qrels, then the others in the order in which they are found. ``query`` has places in
    ``ids``. ``scores``, of shape (n_runs, n_rows), is NaN where the run did not retrieve the document, ``lengths``, of
    shape (n_runs, n_queries), counts retrieved documents, and ``labels`` is NaN for documents without a judgement.

    Examples
    --------
    >>> runs = {"a": Run([1, 1], ["c", "b"], [0.9, 0.4]), "b": Run([1, 2], ["a", "a"], [0.5, 0.1])}
    >>> pooled = PooledRuns(runs, Qrels([1, 1], ["a", "b"], [1, 2]))
    >>> pooled.docid, pooled.labels, pooled.scores[0]
    (array(['a', 'b', 'c', 'a'], dtype='<U1'), array([ 1.,  2., nan, nan]), array([nan, 0.4, 0.9, nan]))
    """

    def __init__(self, runs: Mapping[str, Run], qrels: Qrels | None = None):
        self.names, self._qrels = list(runs), qrels
        parts: list[Run | Qrels] = [*([] if qrels is None else [qrels]), *runs.values()]
        place_of: dict[str, int] = {}
        queries = [_query_of_row(part.groups, place_of) for part in parts]
        self.ids = as_text_ids(list(place_of), "qid")
        docids = [part.docid for part in parts]
        self.docid, self.query, self.indptr, rows = _numbered(docids, queries, self.ids.size)
        n_rows = self.docid.size
        self.scores = np.full((len(runs), n_rows), np.nan)
        self.lengths = np.empty((len(runs), self.ids.size), dtype=np.int64)
        for place, (run, own) in enumerate(zip(runs.values(), rows[len(parts) - len(runs) :], strict=True)):
            self.scores[place, own] = run.scores
            self.lengths[place] = np.bincount(self.query[own], minlength=self.ids.size)
        self._judged_rows = rows[0] if qrels is not None else np.zeros(0, dtype=np.int64)
        self.labels = np.full(n_rows, np.nan)
        if qrels is not None:
            self.labels[self._judged_rows] = qrels.labels

    @cached_property
    def is_retrieved(self) -> np.ndarray:
        """Whether a run retrieved the document, of shape (n_runs, n_rows)."""
        return ~np.isnan(self.scores)

    @cached_property
    def ranked(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each run the rows that it retrieved, query by query and the best first, and their ranks from 1.

        Equal scores are ordered by document id as text, descending, as trec_eval orders them.
        """
        columns = zip(self.is_retrieved, self.scores, self.lengths, strict=True)
        return [(self._ranked(np.flatnonzero(own), *rest), _ranks(rest[1])) for own, *rest in columns]

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks from 1, of shape (n_runs, n_rows), 0 where the run lacks the document."""
        ranks = np.zeros(self.scores.shape, dtype=np.int64)
        for place, (rows, own) in enumerate(self.ranked):
            ranks[place, rows] = own
        return ranks

    def first(self, window: int | None) -> PooledRuns:
        """Return the same rows with the first ``window`` documents of each run; None means all."""
        if window is None:
            return self
        cut, is_kept = copy(self), (self.ranks > 0) & (self.ranks <= window)
        cut.scores, cut.lengths = np.where(is_kept, self.scores, np.nan), np.minimum(self.lengths, window)
        cut.ranks, cut.is_retrieved = np.where(is_kept, self.ranks, 0), is_kept
        cut.ranked = [(rows[ranks <= window], ranks[ranks <= window]) for rows, ranks in self.ranked]
        return cut

    def best_first(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that any run retrieved, query by query and the best first, and their ranks from 1."""
        rows = np.flatnonzero(self.is_retrieved.any(axis=0))
        lengths = np.bincount(self.query[rows], minlength=self.ids.size)
        return self._ranked(rows, scores, lengths), _ranks(lengths)

    def run_of(self, scores: np.ndarray, tag: str) -> Run:
        """Return the run of these scores, with the documents that any run retrieved, the best first."""
        rows, ranks = self.best_first(scores)
        return Run._of_checked(self.ids[self.query[rows]], np.take(self.docid, rows), scores[rows], ranks, tag)

    def to_queries(self) -> Queries:
        """Return the rows as queries without features; the label of a document that is not judged is NaN."""
        subtopics = None if self._qrels is None else self._qrels.subtopics
        if subtopics is not None:
            judgement = np.full(self.docid.size, -1)
            judgement[self._judged_rows] = np.arange(self._judged_rows.size)
            subtopics = subtopics[judgement]
        X = np.zeros((self.docid.size, 0))
        return Queries.from_groups(X, self.labels, self.ids, self.indptr, docid=self.docid, subtopics=subtopics)

    def _ranked(self, rows: np.ndarray, scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Order rows, ``lengths[q]`` of them for query ``q``, by descending score and then by document id."""
        _native.data.order_rows(scores, _letters(self.docid), _bounds(lengths), rows)
        return rows


def _query_of_row(groups: Groups, place_of: dict[str, int]) -> np.ndarray:
    """Return the query of each row of a run or of qrels as a place; add new queries to ``place_of``."""
    places = np.array([place_of.setdefault(qid, len(place_of)) for qid in groups.ids.tolist()], dtype=np.int64)
    query = np.empty(int(groups.indptr[-1]), dtype=np.int64)
    query[grouped_rows(groups)] = np.repeat(places, np.diff(groups.indptr))
    return query


def _letters(texts: np.ndarray) -> np.ndarray:
    """Return texts as rows of code points; very long ones as their places in the order of all."""
    if texts.dtype.kind != "U":
        return (np.unique(texts, return_inverse=True)[1].astype(np.uint32) + 1).reshape(-1, 1)
    return np.ascontiguousarray(texts).view(np.uint32).reshape(texts.size, texts.dtype.itemsize // 4)


def _bounds(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _ranks(lengths: np.ndarray) -> np.ndarray:
    """Return 1, 2, … for each query."""
    return np.arange(1, int(lengths.sum()) + 1) - np.repeat(_bounds(lengths)[:-1], lengths)
