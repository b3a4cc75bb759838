"""Kernels that put the documents of every query into the order of their scores.

Callers have checked everything and own the outputs. A kernel works through queries ``first`` to ``last`` on one core.
"""

import numpy as np
from numba import njit

STABLE, TREC, WORST, BEST, AVERAGE, QUICKSORT = range(6)

# Counting, for every document, how many score higher is quadratic but vectorises fully: up to about this length it
# beats any sort. Longer lists come with their order, sorted by numpy.
COUNT_LIMIT = 512
_PAD = 16


@njit(cache=True, nogil=True)
def _count_above(buffer, n_padded, n_docs, above):
    """above[i] = number of documents with a higher score. Pads are -inf: they count for nothing."""
    for i in range(n_padded):
        above[i] = 0
    for j in range(0, n_docs, 8):
        t0, t1, t2, t3 = buffer[j], buffer[j + 1], buffer[j + 2], buffer[j + 3]
        t4, t5, t6, t7 = buffer[j + 4], buffer[j + 5], buffer[j + 6], buffer[j + 7]
        for i in range(n_padded):
            x = buffer[i]
            above[i] += (
                np.int32(t0 > x) + np.int32(t1 > x) + np.int32(t2 > x) + np.int32(t3 > x)
                + np.int32(t4 > x) + np.int32(t5 > x) + np.int32(t6 > x) + np.int32(t7 > x)
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _count(scores, buffer, above):
    """Fill ``above`` for one list; True when no two documents tie."""
    n_docs = scores.size
    n_padded = (n_docs + _PAD - 1) // _PAD * _PAD
    for i in range(n_docs):
        buffer[i] = scores[i]
    for i in range(n_docs, n_padded):
        buffer[i] = -np.inf
    _count_above(buffer, n_padded, n_docs, above)
    total = 0
    for i in range(n_docs):
        total += above[i]
    return total == n_docs * (n_docs - 1) // 2


@njit(cache=True, nogil=True)
def _order_by_counts(above, n_docs, taken, order):
    """Documents by falling score from ``above``; ties keep the order of the rows."""
    for i in range(n_docs):
        taken[i] = 0
    for i in range(n_docs):
        place = above[i]
        order[place + taken[place]] = i
        taken[place] += 1


@njit(cache=True, nogil=True)
def _settle_ties(order, start, stop, labels, docid_rank, ties):
    """Arrange the tied documents ``order[start:stop]``, which come in any order, as the rule says."""
    tied = np.sort(order[start:stop])
    if ties == TREC:
        keys = -docid_rank[tied].astype(np.float64)
    elif ties == WORST:
        keys = labels[tied]
    elif ties in (BEST, AVERAGE):
        keys = -labels[tied]
    else:
        order[start:stop] = tied
        return
    order[start:stop] = tied[np.argsort(keys, kind="mergesort")]


@njit(cache=True, nogil=True)
def _settle_all_ties(scores, order, labels, docid_rank, ties, group_end):
    """Settle every run of equal scores; under AVERAGE also write where each run ends."""
    n_docs = scores.size
    start = 0
    while start < n_docs:
        stop = start + 1
        while stop < n_docs and scores[order[stop]] == scores[order[start]]:
            stop += 1
        if stop - start > 1:
            _settle_ties(order, start, stop, labels, docid_rank, ties)
        if ties == AVERAGE:
            for place in range(start, stop):
                group_end[place] = stop
        start = stop


@njit(cache=True, nogil=True)
def rank_labels(scores, labels, docid_rank, indptr, n_ranked, long_order, ties, first, last, ranked, group_end):
    """Labels in the order of the scores, query by query, into ``ranked``.

    Only the first ``n_ranked[q]`` rows of a query are ranked; what follows was not retrieved. ``long_order`` holds the
    documents of lists beyond COUNT_LIMIT by falling score, ties in any order. ``group_end`` is written under AVERAGE:
    places ``group_end[p - 1]`` to ``group_end[p]`` tie.
    """
    size = COUNT_LIMIT + _PAD
    coarse, fine = np.empty(size, np.float32), np.empty(size, np.float64)
    above, taken = np.empty(size, np.int32), np.empty(size, np.int32)
    short_order = np.empty(size, np.int64)
    for q in range(first, last):
        start, n_docs = indptr[q], n_ranked[q]
        own_scores, own_labels = scores[start : start + n_docs], labels[start : start + n_docs]
        own_ranked = ranked[start : start + n_docs]
        if ties == QUICKSORT:
            order = np.argsort(-own_scores)  # numba's own, as ranx calls it
            for place in range(n_docs):
                own_ranked[place] = own_labels[order[place]]
            continue
        if n_docs <= COUNT_LIMIT:
            # Rounding to float32 keeps the order but for ties: when it shows none there are none
            is_strict = _count(own_scores, coarse, above)
            if not is_strict:
                is_strict = _count(own_scores, fine, above)
            if is_strict and ties != AVERAGE:
                for i in range(n_docs):
                    own_ranked[np.uint32(above[i])] = own_labels[i]
                continue
            _order_by_counts(above, n_docs, taken, short_order)
            order = short_order[:n_docs]
        else:
            order = long_order[start : start + n_docs]
            is_strict = False
        own_groups = group_end[start : start + n_docs] if ties == AVERAGE else group_end
        own_docids = docid_rank[start : start + n_docs] if ties == TREC else docid_rank
        if not (is_strict and ties != AVERAGE):
            _settle_all_ties(own_scores, order, own_labels, own_docids, ties, own_groups)
        for place in range(n_docs):
            own_ranked[place] = own_labels[order[place]]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest_below(labels, limit):
    """The largest label below ``limit``, -inf when there is none."""
    best = -np.inf
    for i in range(labels.size):
        best = max(best, labels[i] if labels[i] < limit else -np.inf)
    return best


@njit(cache=True, nogil=True)
def _count_equal(labels, level):
    n = 0
    for i in range(labels.size):
        n += int(labels[i] == level)
    return n


@njit(cache=True, nogil=True)
def sort_labels(labels, indptr, top_indptr, first, last, top):
    """The best labels of every query, falling, into ``top[top_indptr[q]:top_indptr[q + 1]]``."""
    for q in range(first, last):
        own = labels[indptr[q] : indptr[q + 1]]
        best = top[top_indptr[q] : top_indptr[q + 1]]
        level, place, n_levels = np.inf, 0, 0
        while place < best.size and n_levels < 8:  # few levels, the usual case, are counted; each pass vectorises
            level = _largest_below(own, level)
            stop = min(place + _count_equal(own, level), best.size)
            for p in range(place, stop):
                best[p] = level
            place = stop
            n_levels += 1
        if place < best.size:
            falling = -np.sort(-own)
            best[:] = falling[: best.size]
