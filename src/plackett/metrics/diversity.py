"""Measures of diversity: α-NDCG and intent-aware ERR, for documents that belong to subtopics."""

from __future__ import annotations

import math

import numpy as np

from plackett import _native
from plackett._arrays import bounds, part_of_place
from plackett.data.subtopics import as_subtopics
from plackett.metrics.discounts import discounts
from plackett.metrics.judged_lists import JudgedLists, fill_empty, judge
from plackett.metrics.registry import measure_kind
from plackett.metrics.ties import tie_keys
from plackett.validation import check_choice, check_scores


def _judge(subtopics: object, scores: object, qid: object, docid: object) -> JudgedLists:
    if not isinstance(subtopics, JudgedLists):
        found = as_subtopics(subtopics, check_scores(scores).size)
        best = np.zeros(len(found))
        np.maximum.at(best, part_of_place(found.indptr), found.labels)
        return judge(best, scores, qid, docid, subtopics=found)
    if subtopics.subtopics is None and subtopics.n_queries:
        raise ValueError(
            "measures of diversity need the subtopics of the documents, but there are none. Pass them as "
            "Queries(..., subtopics=...), or read the qrels with read_qrels(path, subtopics=True)."
        )
    return subtopics


def _entries(lists: JudgedLists, relevant_from: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bounds, subtopics and labels of the entries that are relevant."""
    found = lists.subtopics
    if found is None:
        return np.zeros(lists.labels.size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    is_kept = found.labels >= relevant_from
    entries = bounds(is_kept)[found.indptr]
    return entries, found.codes[is_kept], found.labels[is_kept]


def _cascade(lists: JudgedLists, ties: str, entries, topics, stops, weights, *, has_unit_worth: bool) -> np.ndarray:
    rows = lists.ranked_values(np.arange(lists.labels.size, dtype=np.float64), ties)
    columns = (*rows, lists.indptr, lists.n_ranked, entries, topics, stops, _n_topics(lists), has_unit_worth, weights)
    return lists.run(_native.metrics.cascade, *columns)


def _n_topics(lists: JudgedLists) -> int:
    return 0 if lists.subtopics is None else lists.subtopics.names.size


@measure_kind("alpha-ndcg", cutoff="optional", needs_subtopics=True)
def alpha_ndcg(
    subtopics, scores, *, qid=None, k=None, alpha=0.5, relevant_from=1, ties="average", empty=0, docid=None
) -> np.ndarray:
    """Return α-NDCG of each query: a document gains ``(1 − α)^c`` for each of its subtopics that c earlier ones have.

    Gains are discounted by ``1 / log2(i + 1)`` and divided by the sum for an ideal order. Finding that order is
    NP-hard: as usual, it is chosen greedily, document by document, so that in rare cases a ranking exceeds 1. Among
    documents with equal gains, the one whose subtopics come first is chosen, or with ``ties="trec"`` the one with the
    largest id, as in ndeval.

    Parameters
    ----------
    subtopics : array or scipy sparse matrix of shape (n_docs, n_subtopics), or Subtopics
        Labels of the documents by subtopic.
    alpha : float, default=0.5
        Between 0 (a second document of a subtopic gains as much as the first) and 1 (it gains nothing).
    relevant_from : float, default=1
        The smallest label with which a document belongs to a subtopic.
    empty : {0, 1, "skip"}, default=0
        The value of a query in which no document belongs to a subtopic; "skip" gives NaN.
    scores, qid, k, ties, docid
        As in :func:`ndcg`. Ties are averaged exactly; a group of d tied documents costs O(d · min(d, k)) for each
        subtopic.

    Examples
    --------
    >>> from plackett.metrics import alpha_ndcg
    >>> alpha_ndcg([[1, 0], [1, 0], [0, 1]], [3, 2, 1], k=2).round(4)  # (1 + 0.5 / log2(3)) / (1 + 1 / log2(3))
    array([0.8066])
    """
    lists = _judge(subtopics, scores, qid, docid)
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha={alpha:g}; it must be between 0 and 1.")
    entries, topics, _ = _entries(lists, float(relevant_from))
    weights = discounts("log2", min(lists.limit(k), lists.limit(None)))
    stops = np.full(topics.size, float(alpha))
    found = _cascade(lists, ties, entries, topics, stops, weights, has_unit_worth=True)
    keys = tie_keys(lists, ties) if ties == "trec" else np.zeros(0)
    ideal = lists.run(
        _native.metrics.greedy_cascade, lists.indptr, entries, topics, _n_topics(lists), float(alpha), keys, weights
    )
    return fill_empty(np.divide(found, ideal, out=np.full_like(found, np.nan), where=ideal > 0), empty)


@measure_kind("err-ia", cutoff="optional", needs_subtopics=True)
def err_ia(
    subtopics,
    scores,
    *,
    qid=None,
    k=None,
    max_label=None,
    is_graded=True,
    normalize=False,
    ties="average",
    empty=0,
    docid=None,
) -> np.ndarray:
    """Return the intent-aware expected reciprocal rank of each query: the mean of :func:`err` over its subtopics.

    The subtopics of a query are those to which one of its documents belongs, equally likely.

    Parameters
    ----------
    subtopics : array or scipy sparse matrix of shape (n_docs, n_subtopics), or Subtopics
        Labels of the documents by subtopic.
    max_label : float, default=None
        The largest possible label; None takes the largest one of all queries.
    is_graded : bool, default=True
        Whether a larger label stops more readers; otherwise every label above 0 stops half of them, as in ndeval.
    normalize : bool, default=False
        Divide by the value of a list in which every document has the largest label for every subtopic, as ndeval does.
    empty : {0, 1, "skip"}, default=0
        The value of a query in which no document belongs to a subtopic; "skip" gives NaN.
    scores, qid, k, ties, docid
        As in :func:`alpha_ndcg`.

    Examples
    --------
    >>> from plackett.metrics import err_ia
    >>> err_ia([[1, 0], [1, 0], [0, 1]], [3, 2, 1], qid=[7, 7, 7])  # ((1/2 + 1/4 · 1/2) + 1/2 · 1/3) / 2
    array([0.39583333])
    """
    lists = _judge(subtopics, scores, qid, docid)
    for name, value in {"is_graded": is_graded, "normalize": normalize}.items():
        check_choice(value, name, (True, False))
    entries, topics, labels = _entries(lists, np.nextafter(0.0, 1.0))
    if not is_graded:
        labels, largest = np.ones_like(labels), 1.0
    else:
        largest = lists.largest_subtopic_label
    top = largest if max_label is None else float(max_label)
    if largest > top:
        raise ValueError(f"max_label={top:g} but a label is {largest:g}; err-ia needs the largest possible label.")
    stops = np.exp2(labels - top) - np.exp2(-top)
    limit = lists.limit(k)
    weights = 1.0 / np.arange(1.0, min(limit, lists.limit(None)) + 1.0)
    values = _cascade(lists, ties, entries, topics, stops, weights, has_unit_worth=False)
    n_topics = lists.run(_native.metrics.count_topics, lists.indptr, entries, topics, _n_topics(lists))
    values = np.divide(values, n_topics, out=np.full_like(values, np.nan), where=n_topics > 0)
    if normalize and top > 0.0:
        values /= _largest_err(1.0 - math.exp2(-top), None if k is None else limit)
    return fill_empty(values, empty)


def _largest_err(stop: float, limit: int | None) -> float:
    """Return Σ stop · (1 − stop)^(i − 1) / i up to a limit, or of all positions."""
    passed = 1.0 - stop
    if limit is None or limit > 10_000:
        return -stop * math.log(stop) / passed if passed > 0.0 else 1.0
    places = np.arange(limit)
    return float((stop * passed**places / (places + 1.0)).sum())
