"""Measures of binary relevance: precision, recall, success, average precision, reciprocal rank, RBP."""

from __future__ import annotations

import numpy as np

from plackett import _native
from plackett.metrics.graded import SHORT_LISTS
from plackett.metrics.judged_lists import JudgedLists, fill_empty, judge
from plackett.metrics.registry import measure_kind
from plackett.metrics.ties import TIES
from plackett.validation import check_choice


def _n_relevant(lists: JudgedLists, relevant_from: float) -> np.ndarray:
    threshold = float(relevant_from)
    return lists.cached(
        ("relevant", threshold),
        lambda: lists.run(_native.metrics.count_relevant, lists.labels, lists.indptr, threshold),
    )


def _hits(lists: JudgedLists, limits: np.ndarray | int, relevant_from: float, ties: str) -> np.ndarray:
    """Return the number of relevant documents among the first ``limits`` of each query."""
    within = np.minimum(limits, lists.n_ranked).astype(np.int64, copy=False)
    columns = (*lists.ranked(ties), lists.indptr, lists.n_ranked, within)
    return lists.run(_native.metrics.hits, *columns, float(relevant_from))


def _over(sums: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the sums over numbers of relevant documents; NaN where there are none."""
    return np.divide(sums, relevant, out=np.full_like(sums, np.nan), where=relevant > 0)


@measure_kind("p", "precision", "prec", cutoff="optional")
def precision(
    labels, scores, *, qid=None, k=None, relevant_from=1, ties="average", empty=0, short_lists="pad", docid=None
) -> np.ndarray:
    """Return the share of relevant documents among the first k of each query.

    A list shorter than k is divided by k, unless ``short_lists`` says otherwise.

    Parameters
    ----------
    relevant_from : float, default=1
        The smallest label that counts as relevant.
    short_lists : {"pad", "zero", "cut"}, default="pad"
        A list shorter than k is divided by k, counts 0 (LETOR 3.0's script), or is divided by its length (XGBoost).
    labels, scores, qid, k, ties, empty, docid
        As in :func:`ndcg`. ``k=None`` divides by the length of the list.

    Examples
    --------
    >>> from plackett.metrics import precision
    >>> precision([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7], k=2)
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    check_choice(short_lists, "short_lists", (*SHORT_LISTS, "cut"))
    hits = _hits(lists, lists.limit(k), relevant_from, ties)
    depth = lists.n_ranked if k is None else np.full(lists.n_queries, lists.limit(k))
    if short_lists == "cut":
        depth = np.minimum(depth, lists.n_ranked)
    values = np.divide(hits, depth, out=np.zeros_like(hits), where=depth > 0)
    if short_lists == "zero" and k is not None:
        values[lists.lengths < depth] = 0.0
    return fill_empty(np.where(_n_relevant(lists, relevant_from) > 0, values, np.nan), empty)


@measure_kind("recall", "r", cutoff="optional")
def recall(labels, scores, *, qid=None, k=None, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the share of each query's relevant documents that are among the first k.

    Parameters
    ----------
    labels, scores, qid, k, relevant_from, ties, empty, docid
        As in :func:`precision`. ``k=None`` counts the whole list.

    Examples
    --------
    >>> from plackett.metrics import recall
    >>> recall([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7], k=2)
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    relevant = _n_relevant(lists, relevant_from)
    return fill_empty(_over(_hits(lists, lists.limit(k), relevant_from, ties), relevant), empty)


@measure_kind("map", "ap", "average-precision", cutoff="optional")
def average_precision(
    labels, scores, *, qid=None, k=None, relevant_from=1, ties="average", empty=0, denominator="relevant", docid=None
) -> np.ndarray:
    """Return the mean precision at the positions of the relevant documents of each query.

    The precision at positions beyond k counts 0.

    Parameters
    ----------
    denominator : {"relevant", "reachable"}, default="relevant"
        Divide by the number of relevant documents, or by at most k, as LightGBM and XGBoost do.
    ties : as in :func:`ndcg`, and "together"
        "together": tied documents arrive at once, as in scikit-learn's ``average_precision_score``.
    labels, scores, qid, k, relevant_from, empty, docid
        As in :func:`precision`. ``k=None`` counts the whole list.

    Examples
    --------
    >>> from plackett.metrics import average_precision
    >>> average_precision([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7]).round(4)  # (1/1 + 2/3) / 2
    array([0.8333])
    """
    lists = judge(labels, scores, qid, docid)
    check_choice(denominator, "denominator", ("relevant", "reachable"))
    check_choice(ties, "ties", (*TIES, "together"))
    ranked = lists.ranked("average" if ties == "together" else ties)
    limit, relevant = lists.limit(k), _n_relevant(lists, relevant_from)
    sums = lists.run(
        _native.metrics.average_precision, *ranked, lists.indptr, lists.n_ranked, relevant, limit,
        float(relevant_from), ties == "together",
    )  # fmt: skip
    if denominator == "reachable":
        relevant = np.minimum(relevant, limit)
    return fill_empty(_over(sums, relevant), empty)


@measure_kind("mrr", "rr", "reciprocal-rank", cutoff="optional")
def reciprocal_rank(
    labels, scores, *, qid=None, k=None, relevant_from=1, ties="average", empty=0, docid=None
) -> np.ndarray:
    """Return one over the position of the first relevant document of each query; 0 if it is beyond k.

    Parameters
    ----------
    labels, scores, qid, k, relevant_from, ties, empty, docid
        As in :func:`precision`. ``k=None`` counts the whole list.

    Examples
    --------
    >>> from plackett.metrics import reciprocal_rank
    >>> reciprocal_rank([0, 1, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7])
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    ranked, relevant, limit = lists.ranked(ties), _n_relevant(lists, relevant_from), lists.limit(k)
    values = lists.run(
        _native.metrics.reciprocal_rank, *ranked, lists.indptr, lists.n_ranked, relevant, limit, float(relevant_from)
    )
    return fill_empty(values, empty)


@measure_kind("success", "hit", "hit-rate", cutoff="optional")
def success(labels, scores, *, qid=None, k=None, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return 1 for each query with a relevant document among the first k, else 0; also called hit rate.

    With averaged ties it is a probability.

    Parameters
    ----------
    labels, scores, qid, k, relevant_from, ties, empty, docid
        As in :func:`precision`. ``k=None`` counts all ranked documents.

    Examples
    --------
    >>> from plackett.metrics import success
    >>> success([0, 1, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7], k=2)
    array([1.])
    >>> success([1, 0, 0, 0], [0, 0, 0, 0], k=2)  # all are tied: it is among the first two in half of the orders
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    values = lists.run(
        _native.metrics.success, *lists.ranked(ties), lists.indptr, lists.n_ranked, _n_relevant(lists, relevant_from),
        lists.limit(k), float(relevant_from),
    )  # fmt: skip
    return fill_empty(values, empty)


@measure_kind("r-precision", "rprec", "r-prec", cutoff="none")
def r_precision(labels, scores, *, qid=None, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the share of relevant documents among the first R of each query, R being its number of relevant ones.

    Parameters
    ----------
    labels, scores, qid, relevant_from, ties, empty, docid
        As in :func:`precision`.

    Examples
    --------
    >>> from plackett.metrics import r_precision
    >>> r_precision([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7])
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    relevant = _n_relevant(lists, relevant_from)
    return fill_empty(_over(_hits(lists, relevant, relevant_from, ties), relevant), empty)


@measure_kind("rbp", cutoff="optional")
def rbp(labels, scores, *, qid=None, k=None, p=0.8, relevant_from=1, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the rank-biased precision of each query: ``(1 − p) Σ_i p^(i − 1)`` over relevant positions i.

    A reader continues from one document to the next with probability p. Documents beyond the ranking, or beyond k,
    count as not relevant: the value is a lower bound, and p to the power of the number of ranked documents is the
    largest possible error.

    Parameters
    ----------
    p : float, default=0.8
        Persistence of the reader, from 0 (included) to 1 (excluded).
    labels, scores, qid, k, relevant_from, ties, empty, docid
        As in :func:`precision`. ``k=None`` counts the whole list.

    Examples
    --------
    >>> from plackett.metrics import rbp
    >>> rbp([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7], p=0.5)  # 0.5 · (1 + 0.25)
    array([0.625])
    """
    lists = judge(labels, scores, qid, docid)
    if not 0.0 <= p < 1.0:
        raise ValueError(f"p={p:g}; the persistence of rbp must be at least 0 and below 1.")
    weights = (1.0 - p) * float(p) ** np.arange(min(lists.limit(k), lists.limit(None)))
    values = lists.run(
        _native.metrics.weighted_hits, *lists.ranked(ties), lists.indptr, lists.n_ranked,
        _n_relevant(lists, relevant_from), weights, float(relevant_from),
    )  # fmt: skip
    return fill_empty(values, empty)
