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

    Query ``q`` owns rows ``indptr[q]:indptr[q + 1]``; the first ``n_retrieved[q]`` of them were retrieved, in the order
    of the run; the others are judged documents that the run lacks, in the order of the qrels.

    Attributes
    ----------
    ids : ndarray of shape (n_queries,)
        The queries of the qrels, in their order.
    indptr : ndarray of shape (n_queries + 1,)
    labels : ndarray of shape (n_rows,)
        0 for a document that was not judged.
    scores : ndarray of shape (n_rows,)
        0 for a document that was not retrieved.
    docid : ndarray of shape (n_rows,)
    is_judged : ndarray of bool of shape (n_rows,)
        Whether the document is in the qrels, with any label.
    n_retrieved : ndarray of shape (n_queries,)
        0 for a query that the run does not answer.
    n_ignored_queries : int
        Queries of the run that have no judgements.
    subtopics : Subtopics or None
        Those of the rows, if the qrels have them; a document that was not judged has none.
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
    run_rows, qrels_rows, n_retrieved, lengths = _pair_rows(qrels, run)
    is_retrieved, is_listed = run_rows >= 0, qrels_rows >= 0
    labels, scores = np.zeros(run_rows.size), np.zeros(run_rows.size)
    labels[is_listed] = qrels.labels[qrels_rows[is_listed]]
    is_judged = is_listed & ~np.isnan(labels)
    labels[~is_judged] = 0.0
    scores[is_retrieved] = run.scores[run_rows[is_retrieved]]
    docid = np.empty(run_rows.size, dtype=np.result_type(qrels.docid, run.docid))
    docid[is_listed] = qrels.docid[qrels_rows[is_listed]]
    docid[is_retrieved] = run.docid[run_rows[is_retrieved]]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_ignored = run.groups.ids.size - int((n_retrieved > 0).sum())
    subtopics = None if qrels.subtopics is None else qrels.subtopics[qrels_rows]
    return Judged(qrels.groups.ids, indptr, labels, scores, docid, is_judged, n_retrieved, n_ignored, subtopics)


class PooledRuns:
    """Runs as columns over the documents of each query that a run retrieved or the qrels hold.

    Query ``q`` owns rows ``indptr[q]:indptr[q + 1]``: the documents of the qrels, then the other ones in the order in
    which they are found. Queries are those of the qrels, then the other ones of the runs.

    Parameters
    ----------
    runs : mapping of str to Run
    qrels : Qrels, default=None

    Attributes
    ----------
    names : list of str
    ids : ndarray of shape (n_queries,)
    indptr : ndarray of shape (n_queries + 1,)
    docid, query : ndarray of shape (n_rows,)
        The document of each row, and its query as a place in ``ids``.
    scores : ndarray of shape (n_runs, n_rows)
        NaN where the run did not retrieve the document.
    lengths : ndarray of shape (n_runs, n_queries)
        Numbers of retrieved documents.
    labels : ndarray of shape (n_rows,)
        NaN for documents without a judgement.

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
        query = np.concatenate([_query_of_row(part.groups, place_of) for part in parts])
        docid = np.concatenate([part.docid for part in parts])
        self.ids = as_text_ids(list(place_of), "qid")
        row, first, self.indptr = (np.empty(n, dtype=np.int64) for n in (docid.size, docid.size, self.ids.size + 1))
        order, lengths = np.argsort(query, kind="stable"), np.bincount(query, minlength=self.ids.size)
        n_rows = _native.data.number_texts(_letters(docid), order, _bounds(lengths), row, first, self.indptr)
        self.docid, self.query = docid[first[:n_rows]], query[first[:n_rows]]
        ends = np.cumsum([part.qid.size for part in parts])
        rows = np.split(row, ends)[:-1]
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
    def ranks(self) -> np.ndarray:
        """Ranks from 1, of shape (n_runs, n_rows), 0 where the run lacks the document.

        Equal scores are ordered by document id as text, descending, as trec_eval orders them.
        """
        ranks = np.zeros(self.scores.shape, dtype=np.int64)
        for place, lengths in enumerate(self.lengths):
            rows = self._ranked(np.flatnonzero(self.is_retrieved[place]), self.scores[place], lengths)
            ranks[place, rows] = _ranks(lengths)
        return ranks

    def first(self, window: int | None) -> PooledRuns:
        """Return the same rows with the first ``window`` documents of each run; None means all."""
        if window is None:
            return self
        cut, is_kept = copy(self), (self.ranks > 0) & (self.ranks <= window)
        cut.scores, cut.lengths = np.where(is_kept, self.scores, np.nan), np.minimum(self.lengths, window)
        cut.ranks, cut.is_retrieved = np.where(is_kept, self.ranks, 0), is_kept
        return cut

    def best_first(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that any run retrieved, query by query and the best first, and their ranks from 1."""
        rows = np.flatnonzero(self.is_retrieved.any(axis=0))
        lengths = np.bincount(self.query[rows], minlength=self.ids.size)
        return self._ranked(rows, scores, lengths), _ranks(lengths)

    def run_of(self, scores: np.ndarray, tag: str) -> Run:
        """Return the run of these scores, with the documents that any run retrieved, the best first."""
        rows, ranks = self.best_first(scores)
        return Run._of_checked(self.ids[self.query[rows]], self.docid[rows], scores[rows], ranks, tag)

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


def _pair_rows(qrels: Qrels, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for every row of the result its row in ``run`` and in ``qrels``, -1 if missing; per query two counts.

    The counts are of the retrieved documents and of all rows. One dictionary per query keeps lookups in the cache.
    """
    place_in_run = {qid: place for place, qid in enumerate(run.groups.ids.tolist())}
    rows_of_run, rows_of_qrels = grouped_rows(run.groups), grouped_rows(qrels.groups)
    run_docs, qrels_docs = run.docid[rows_of_run].tolist(), qrels.docid[rows_of_qrels].tolist()
    run_bounds, qrels_bounds = run.groups.indptr.tolist(), qrels.groups.indptr.tolist()
    in_run: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    in_qrels: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
    n_queries = len(qrels_bounds) - 1
    n_retrieved, lengths = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.int64)
    for q, qid in enumerate(qrels.groups.ids.tolist()):
        start, stop = qrels_bounds[q : q + 2]
        place = place_in_run.get(qid)
        first, last = (0, 0) if place is None else run_bounds[place : place + 2]
        row_of = dict(zip(qrels_docs[start:stop], range(start, stop), strict=True))
        judged = np.array([row_of.pop(doc, -1) for doc in run_docs[first:last]], dtype=np.int64)
        lacking = np.fromiter(row_of.values(), dtype=np.int64, count=len(row_of))
        in_run += [rows_of_run[first:last], np.full(lacking.size, -1)]
        in_qrels += [np.where(judged >= 0, rows_of_qrels[judged], -1), rows_of_qrels[lacking]]
        n_retrieved[q], lengths[q] = last - first, last - first + lacking.size
    return np.concatenate(in_run), np.concatenate(in_qrels), n_retrieved, lengths
