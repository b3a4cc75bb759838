"""Measures of whole orders: Kendall distance, mis-ranking error, persistence of the top, exactness, AUC, average rank.

Documents that a run did not retrieve are ranked below all others, in random order: the expectation is taken.
"""

from __future__ import annotations

import numpy as np

from plackett import _native
from plackett.metrics.judged_lists import JudgedLists, check_cutoff, fill_empty, judge
from plackett.metrics.registry import measure_kind


def _misordered(lists: JudgedLists, ties: str) -> np.ndarray:
    return lists.run(_native.metrics.misordered, *lists.ranked_whole(ties), lists.indptr)


@measure_kind("kendall", cutoff="none", higher_is_better=False)
def kendall(labels, scores, *, qid=None, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the Kendall distance of each query: the share of all pairs that labels and scores order oppositely.

    There are ``n (n − 1) / 2`` pairs. A pair with equal labels is never discordant; one with equal scores counts half,
    the expectation over its orders, so that constant scores are as far from the labels as a random order. Kendall's own
    distance does not count such pairs (``ties="best"``). 0 is a perfect order; lower is better. O(n log n).

    Parameters
    ----------
    empty : {0, 1, "skip"}, default=0
        The value of a list with fewer than two documents; "skip" gives NaN.
    labels, scores, qid, ties, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import kendall
    >>> kendall([3, 2, 1], [0.9, 0.1, 0.4], qid=[7, 7, 7]).round(4)  # one pair of three
    array([0.3333])
    """
    return fill_empty(_misordered(judge(labels, scores, qid, docid), ties), empty)


@measure_kind("mre", cutoff="none", higher_is_better=False)
def mre(labels, scores, *, qid=None, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the mis-ranking error of each query: the share of all pairs that are ranked against their labels.

    The same as :func:`kendall`, except in conventions in which equal scores keep the order of the rows. Lower is
    better.

    Parameters
    ----------
    labels, scores, qid, ties, empty, docid
        As in :func:`kendall`.

    Examples
    --------
    >>> from plackett.metrics import mre
    >>> mre([1, 2], [0.5, 0.5], qid=[7, 7])  # in one of two orders
    array([0.5])
    """
    return fill_empty(_misordered(judge(labels, scores, qid, docid), ties), empty)


@measure_kind("persistence", cutoff="required")
def persistence(labels, scores, *, qid=None, k, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the share of the true top k of each query that the ranking keeps in its top k, divided by ``min(k, n)``.

    Where equal labels make the true top k ambiguous, the expectation over all choices is taken.

    Parameters
    ----------
    k : int
        Cut-off; required.
    empty
        Has no effect: every list has a value.
    labels, scores, qid, ties, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import persistence
    >>> persistence([4, 3, 2, 1], [0.9, 0.1, 0.2, 0.8], qid=[7] * 4, k=2)
    array([0.5])
    """
    lists = judge(labels, scores, qid, docid)
    if check_cutoff(k) is None:
        raise ValueError("persistence needs a cut-off, such as k=10: the whole list is always kept.")
    ranked, ideal = lists.ranked_whole(ties), lists.ideal(None).labels
    values = lists.run(_native.metrics.persistence, *ranked, lists.indptr, ideal, check_cutoff(k))
    return fill_empty(values, empty)


@measure_kind("exact", cutoff="none")
def exact(labels, scores, *, qid=None, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return 1 for each query whose whole order is right, else 0: one minus the permutation 0-1 loss.

    Documents with equal labels may be in any order. Equal scores count by the share of their orders that are right.

    Parameters
    ----------
    empty
        Has no effect: every list has a value.
    labels, scores, qid, ties, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import exact
    >>> exact([2, 1, 1], [0.9, 0.1, 0.4], qid=[7, 7, 7])
    array([1.])
    """
    lists = judge(labels, scores, qid, docid)
    return fill_empty(lists.run(_native.metrics.exact, *lists.ranked_whole(ties), lists.indptr), empty)


@measure_kind("auc", cutoff="none")
def auc(labels, scores, *, qid=None, relevant_from=1, ties="average", empty="skip", docid=None) -> np.ndarray:
    """Return the area under the ROC curve of each query.

    It is the share of the pairs of a relevant document and another one in which the relevant one is ranked higher.
    Equal scores count half.

    Parameters
    ----------
    empty : {0, 1, "skip"}, default="skip"
        The value of a query without a relevant document, or with relevant ones only; "skip" gives NaN. The default
        holds under every convention.
    labels, scores, qid, relevant_from, ties, docid
        As in :func:`precision`.

    Examples
    --------
    >>> from plackett.metrics import auc
    >>> auc([1, 0, 2, 0], [0.9, 0.4, 0.1, 0.1], qid=[7] * 4)  # 2 + 1/2 of 4 pairs
    array([0.625])
    """
    lists = judge(labels, scores, qid, docid)
    values = lists.run(_native.metrics.auc, *lists.ranked_whole(ties), lists.indptr, float(relevant_from))
    return fill_empty(values, empty)


@measure_kind("average-rank", "avg-rank", "mean-rank", cutoff="none", higher_is_better=False)
def average_rank(labels, scores, *, qid=None, relevant_from=1, ties="average", empty="skip", docid=None) -> np.ndarray:
    """Return the mean position, from 1, of the relevant documents of each query; lower is better.

    Relevant documents that a run did not retrieve are in random order below all others, together with the other judged
    documents that it did not retrieve.

    Parameters
    ----------
    empty : {0, 1, "skip"}, default="skip"
        The value of a query without a relevant document; "skip" gives NaN. The default holds under every convention,
        since 0 would be better than any position.
    labels, scores, qid, relevant_from, ties, docid
        As in :func:`precision`.

    Examples
    --------
    >>> from plackett.metrics import average_rank
    >>> average_rank([1, 0, 2], [0.9, 0.4, 0.1], qid=[7, 7, 7])  # (1 + 3) / 2
    array([2.])
    """
    lists = judge(labels, scores, qid, docid)
    values = lists.run(_native.metrics.average_rank, *lists.ranked_whole(ties), lists.indptr, float(relevant_from))
    return fill_empty(values, empty)
