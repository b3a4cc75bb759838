"""Joining qrels with runs, for evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

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


def pool(qrels: Qrels, runs: Sequence[Run]) -> tuple[Queries, list[np.ndarray]]:
    """Return all documents of the judged queries that are judged or that a run retrieved, and the scores of each run.

    Returns
    -------
    queries : Queries
        Without features, queries in the order of the qrels: the judged documents of each, then the other ones in the
        order in which they are found. The label of a document that is not judged is NaN.
    scores : list of ndarray of shape (n_docs,)
        NaN for documents that the run did not retrieve.

    Examples
    --------
    >>> runs = [Run([1, 1], ["c", "b"], [0.9, 0.4]), Run([1, 2], ["a", "a"], [0.5, 0.1])]
    >>> queries, scores = pool(Qrels([1, 1], ["a", "b"], [1, 2]), runs)
    >>> queries.docid, queries.labels, scores[0], scores[1]
    (array(['a', 'b', 'c'], dtype='<U1'), array([ 1.,  2., nan]), array([nan, 0.4, 0.9]), array([0.5, nan, nan]))
    """
    n_queries = qrels.groups.ids.size
    judged = qrels.docid[grouped_rows(qrels.groups)].tolist()
    retrieved = [run.docid[grouped_rows(run.groups)].tolist() for run in runs]
    place_in = [{qid: place for place, qid in enumerate(run.groups.ids.tolist())} for run in runs]
    lengths = np.zeros(n_queries, dtype=np.int64)
    docid: list[str] = []
    rows: list[list[int]] = [[] for _ in runs]  # of the retrieved documents in the pool
    places: list[list[int]] = [[] for _ in runs]  # of the same documents in the run, grouped by query
    for q, (qid, (start, stop)) in enumerate(
        zip(qrels.groups.ids.tolist(), pairwise(qrels.groups.indptr.tolist()), strict=True)
    ):
        place_of = {doc: place for place, doc in enumerate(judged[start:stop], len(docid))}
        for number, run in enumerate(runs):
            if (place := place_in[number].get(qid)) is not None:
                first, last = run.groups.indptr[place : place + 2].tolist()
                found = [place_of.setdefault(doc, len(docid) + len(place_of)) for doc in retrieved[number][first:last]]
                rows[number] += found
                places[number] += range(first, last)
        lengths[q] = len(place_of)
        docid += place_of
    labels = np.full(len(docid), np.nan)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    n_judged = np.diff(qrels.groups.indptr)
    is_judged = np.arange(len(docid)) - np.repeat(indptr[:-1], lengths) < np.repeat(n_judged, lengths)
    labels[is_judged] = qrels.labels[grouped_rows(qrels.groups)]
    scores = []
    for run, in_pool, in_run in zip(runs, rows, places, strict=True):
        column = np.full(len(docid), np.nan)
        column[in_pool] = run.scores[grouped_rows(run.groups)[in_run]]
        scores.append(column)
    names, subtopics = as_text_ids(docid, "docid"), None
    if qrels.subtopics is not None:
        judgement = np.full(len(docid), -1)
        judgement[is_judged] = grouped_rows(qrels.groups)
        subtopics = qrels.subtopics[judgement]
    X = np.zeros((len(docid), 0))
    return Queries.from_groups(X, labels, qrels.groups.ids, indptr, docid=names, subtopics=subtopics), scores


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
