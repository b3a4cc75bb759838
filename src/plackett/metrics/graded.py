"""Measures of graded labels: DCG, NDCG, ERR, sharp-NDCG and weighted pairwise disagreement.

``ties.py`` has the rules for equal scores.
"""

from __future__ import annotations

import numpy as np

from plackett import _native
from plackett.metrics.discounts import discounts, position_weights
from plackett.metrics.judged_lists import JudgedLists, check_cutoff, fill_empty, judge
from plackett.metrics.registry import measure_kind
from plackett.validation import check_choice

GAINS = ("exponential", "linear")
SHORT_LISTS = ("pad", "zero")
LARGEST_EXPONENT = 1023


def _limits(lists: JudgedLists, k: int | None, discount: str) -> tuple[int, np.ndarray]:
    """Return the cut-off as a number, and the discounts up to it."""
    limit = lists.limit(k)
    return limit, discounts(discount, min(limit, lists.limit(None)))


def _is_linear(gain: str) -> bool:
    check_choice(gain, "gain", GAINS)
    return gain == "linear"


def _disagreement(lists: JudgedLists, gain, weights, ties: str, *, is_ratio: bool, normalize: bool) -> np.ndarray:
    ranked, ideal = lists.ranked_whole(ties), lists.ideal(None).labels
    worth = np.zeros_like(ideal)
    is_linear = _is_linear(gain)
    if weights is not None:
        alpha = np.concatenate([position_weights(weights, int(n)) for n in [1, *lists.lengths]])[1:]
        if lists.n_queries:
            _native.metrics.level_means(ideal, lists.indptr, alpha, 0, lists.n_queries, worth)
    elif lists.n_queries:
        _native.metrics.relative_gains(ideal, lists.indptr, is_linear, 0, lists.n_queries, worth)
    return lists.run(_native.metrics.disagreement, *ranked, lists.indptr, ideal, worth, is_ratio, bool(normalize))


def _best_label(lists: JudgedLists) -> np.ndarray:
    ideal = lists.ideal(1)
    best = np.full(lists.n_queries, -np.inf)
    best[lists.lengths > 0] = ideal.labels
    return best


@measure_kind("dcg", cutoff="optional")
def dcg(
    labels, scores, *, qid=None, k=None, gain="exponential", discount="log2", ties="average", empty=0, docid=None
) -> np.ndarray:
    """Return the discounted cumulative gain of each query.

    It has no denominator to scale by, so a label above 1023 raises an error with ``gain="exponential"``.

    Parameters
    ----------
    labels, scores, qid, k, gain, discount, ties, empty, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import dcg
    >>> dcg([2, 0, 1], [0.9, 0.4, 0.1], qid=[7, 7, 7])  # 3 + 1 / log2(4)
    array([3.5])
    """
    lists = judge(labels, scores, qid, docid)
    limit, weights = _limits(lists, k, discount)
    if gain == "exponential" and lists.labels.max(initial=0.0) > LARGEST_EXPONENT:
        raise ValueError(
            f"dcg with gain 2**label overflows: a label is {lists.labels.max():g}, above {LARGEST_EXPONENT}. "
            'Use ndcg, which divides first, or gain="linear".'
        )
    ranked = lists.ranked(ties)
    values = lists.run(_native.metrics.dcg, *ranked, lists.indptr, lists.n_ranked, limit, _is_linear(gain), weights)
    if np.isinf(values).any():
        raise ValueError('dcg overflows: the gains of a query are too large to be summed. Use ndcg, or gain="linear".')
    return fill_empty(np.where(_best_label(lists) > 0, values, np.nan), empty)


@measure_kind("ndcg", cutoff="optional")
def ndcg(
    labels,
    scores,
    *,
    qid=None,
    k=None,
    gain="exponential",
    discount="log2",
    ties="average",
    empty=0,
    short_lists="pad",
    docid=None,
) -> np.ndarray:
    """Return the normalised discounted cumulative gain of each query, by default with gain ``2**label - 1``.

    Ties are averaged over all their orders, so that the order of the rows does not matter. A query without relevant
    documents counts 0. The gain of a label of 0 or less is 0. Large labels do not overflow: gains are computed relative
    to the largest label of the query.

    Parameters
    ----------
    labels, scores : array-like of shape (n_docs,)
        Larger is better in both.
    qid : array-like of shape (n_docs,), default=None
        The query of each row, in any order; None means one list.
    k : int, default=None
        Top documents counted; None counts all.
    gain : {"exponential", "linear"}, default="exponential"
        ``2**label - 1``, or the label itself.
    discount : {"log2", "jarvelin"}, default="log2"
        ``1 / log2(i + 1)`` for position i, or 1, 1, ``1 / log2(i)``.
    ties : {"average", "stable", "worst", "best", "trec"}, default="average"
        How equal scores are ordered: the exact expectation over all orders; the order of the rows; the smallest or the
        largest label first; or descending document ids as in trec_eval, which needs ``docid``.
    empty : {0, 1, "skip"}, default=0
        The value of a query without a relevant document; "skip" gives NaN.
    short_lists : {"pad", "zero"}, default="pad"
        A list shorter than k is treated as if irrelevant documents followed, or counts 0 as in LETOR's scripts.
    docid : array-like of shape (n_docs,), default=None
        Document ids, needed for ``ties="trec"`` only.

    Returns
    -------
    ndarray of shape (n_queries,), queries in order of appearance

    Examples
    --------
    >>> from plackett.metrics import ndcg
    >>> ndcg([2, 0, 1], [0.9, 0.4, 0.1], qid=[7, 7, 7]).round(3)
    array([0.964])
    """
    lists = judge(labels, scores, qid, docid)
    limit, weights = _limits(lists, k, discount)
    check_choice(short_lists, "short_lists", SHORT_LISTS)
    ranked, ideal = lists.ranked(ties), lists.ideal(check_cutoff(k))
    values = lists.run(
        _native.metrics.ndcg, *ranked, lists.indptr, lists.n_ranked, *ideal, limit, _is_linear(gain), weights,
        k is not None and short_lists == "zero",
    )  # fmt: skip
    return fill_empty(values, empty)


@measure_kind("mean-ndcg", "meanndcg", cutoff="none")
def mean_ndcg(
    labels, scores, *, qid=None, gain="exponential", discount="log2", ties="average", empty=0, docid=None
) -> np.ndarray:
    """Return the mean over k = 1, 2, …, n of NDCG@k of each query: LETOR's "MeanNDCG".

    Parameters
    ----------
    labels, scores, qid, gain, discount, ties, empty, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import mean_ndcg
    >>> mean_ndcg([1, 0], [0.1, 0.2], qid=[7, 7]).round(3)  # (0 + 1 / log2(3)) / 2
    array([0.315])
    """
    lists = judge(labels, scores, qid, docid)
    _, weights = _limits(lists, None, discount)
    ranked, best = lists.ranked(ties), lists.ideal(None).labels
    values = lists.run(
        _native.metrics.mean_ndcg, *ranked, lists.indptr, lists.n_ranked, best, _is_linear(gain), weights
    )
    return fill_empty(values, empty)


@measure_kind("err", cutoff="optional")
def err(labels, scores, *, qid=None, k=None, max_label=None, ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the expected reciprocal rank of each query: the reader stops at a document with probability S.

    ``S(y) = (2^y − 1) / 2^y_max`` for the label y, and y_max is ``max_label``. Under ``ties="average"`` a group of
    d tied documents costs O(d · min(d, k)).

    Parameters
    ----------
    max_label : float, default=None
        The largest possible label; None takes the largest label of all queries.
    labels, scores, qid, k, ties, empty, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import err
    >>> err([2, 0, 1], [0.9, 0.4, 0.1], qid=[7, 7, 7]).round(4)  # 3/4 + 1/4 · 1/4 · 1/3
    array([0.7708])
    """
    lists = judge(labels, scores, qid, docid)
    limit, largest = lists.limit(k), lists.largest_label
    top = largest if max_label is None else float(max_label)
    if largest > top:
        raise ValueError(f"max_label={top:g} but a label is {largest:g}; err needs the largest possible label.")
    ranked, best = lists.ranked(ties), _best_label(lists)
    return fill_empty(lists.run(_native.metrics.err, *ranked, lists.indptr, lists.n_ranked, best, limit, top), empty)


@measure_kind("sharp-ndcg", cutoff="none")
def sharp_ndcg(labels, scores, *, qid=None, gain="exponential", ties="average", empty=0, docid=None) -> np.ndarray:
    """Return the sum of ``(n − i) G(y_i)`` over positions i, divided by its best value: NDCG with a linear discount.

    A query with no relevant document, or with a single document, is empty.

    Parameters
    ----------
    labels, scores, qid, gain, ties, empty, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import sharp_ndcg
    >>> sharp_ndcg([2, 0, 1], [0.9, 0.4, 0.1], qid=[7, 7, 7]).round(4)  # (2 · 3) / (2 · 3 + 1 · 1)
    array([0.8571])
    """
    lists = judge(labels, scores, qid, docid)
    return fill_empty(_disagreement(lists, gain, None, ties, is_ratio=True, normalize=True), empty)


@measure_kind("wpd", cutoff="none", higher_is_better=False)
def wpd(
    labels,
    scores,
    *,
    qid=None,
    gain="exponential",
    weights=None,
    normalize=False,
    ties="average",
    empty=0,
    docid=None,
) -> np.ndarray:
    """Return the weighted pairwise disagreement of each query: the sum of the costs of its misordered pairs.

    A pair is misordered if ``y_i > y_j`` but i does not score above j. It costs ``(G(y_i) − G(y_j)) / G(y_max)``, where
    G is the gain and y_max the largest label of the query. Where i and j have the same score, half of it counts: the
    expectation over their orders. The paper counts all of it (``ties="worst"``). Lower is better.

    Parameters
    ----------
    weights : {"exp2", "dcg", "linear"} or callable(positions, n), default=None
        Position weights α instead of gains: a pair costs ``α(i) − α(j)`` for positions in the true order; equal labels
        share the mean weight of their positions.
    normalize : bool, default=False
        Divide by the ideal of :func:`sharp_ndcg`: the value is then ``1 - sharp_ndcg``.
    empty : {0, 1, "skip"}, default=0
        The value of a query with a single document or, without ``weights``, with no relevant one; "skip" gives NaN.
    labels, scores, qid, gain, ties, docid
        As in :func:`ndcg`.

    Examples
    --------
    >>> from plackett.metrics import wpd
    >>> wpd([2, 0, 1], [0.9, 0.4, 0.1], qid=[7, 7, 7]).round(4)  # the pair (1, 0): gain (1 − 0) / 3
    array([0.3333])
    """
    lists = judge(labels, scores, qid, docid)
    check_choice(normalize, "normalize", (True, False))
    return fill_empty(_disagreement(lists, gain, weights, ties, is_ratio=False, normalize=normalize), empty)
