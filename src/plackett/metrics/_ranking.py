"""Kernels that put the documents of every query into the order of their scores.

Callers have checked everything and own the outputs. A kernel works through queries ``first`` to ``last`` on one core.
"""

import numpy as np
from numba import njit

# Counting, for every document, how many score higher is quadratic but vectorises fully: up to about this length it
# beats any sort. Longer lists come with their order, sorted by numpy.
COUNT_LIMIT = 512
_PAD = 16
_RUN = 16
_LEVELS = 8


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
def _sort_by(order, keys, spare):
    """Sort ``order`` by rising ``keys[order]``, stably. By hand: numba's own sorts take seconds to compile."""
    n = order.size
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            document, key = order[i], keys[order[i]]
            j = i
            while j > start and keys[order[j - 1]] > key:
                order[j] = order[j - 1]
                j -= 1
            order[j] = document
    half = _RUN
    while half < n:
        for start in range(0, n, 2 * half):
            left, middle, stop = start, min(start + half, n), min(start + 2 * half, n)
            right = middle
            for place in range(start, stop):
                if left < middle and (right >= stop or keys[order[left]] <= keys[order[right]]):
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
        for place in range(n):
            order[place] = spare[place]
        half *= 2


@njit(cache=True, nogil=True)
def _has_ties(scores, order):
    """Whether two neighbours in ``order`` have the same score."""
    found = False
    before = np.nan
    for place in range(order.size):
        score = scores[np.uint64(order[place])]  # unsigned: numba checks signed numbers for being negative
        found |= score == before
        before = score
    return found


@njit(cache=True, nogil=True)
def _in_row_order(scores, order, spare):
    """Put every run of equal scores into the order of the rows."""
    n_docs = scores.size
    keys = np.zeros(0)
    start = 0
    for place in range(1, n_docs + 1):
        if place < n_docs and scores[order[place]] == scores[order[start]]:
            continue
        if place - start > 1:
            if keys.size == 0:
                keys = np.arange(n_docs).astype(np.float64)
            _sort_by(order[start:place], keys, spare[start:place])
        start = place


@njit(cache=True, nogil=True)
def _settle_ties(scores, order, tie_keys, is_averaged, group_end, spare):
    """Sort every run of equal scores by its keys; under averaging also write where each run ends."""
    n_docs = scores.size
    start = 0
    while start < n_docs:
        stop = start + 1
        while stop < n_docs and scores[order[stop]] == scores[order[start]]:
            stop += 1
        if stop - start > 1:
            _sort_by(order[start:stop], tie_keys, spare[start:stop])
        if is_averaged:
            for place in range(start, stop):
                group_end[place] = stop
        start = stop


@njit(cache=True, nogil=True)
def own_groups(group_end, indptr, q, n_docs):
    """Where the tie group of each place of list ``q`` ends; empty where ties are not averaged or the list has none.

    ``group_end`` holds a 1 for each list with ties and a 0 for others, then the group ends of all rows. Those of lists
    without ties are never touched: memory that is only reserved costs nothing.
    """
    if group_end.size == 0 or group_end[q] == 0:
        return group_end[:0]
    start = indptr.size - 1 + indptr[q]
    return group_end[start : start + n_docs]


@njit(cache=True, nogil=True)
def rank_labels(scores, labels, tie_keys, indptr, n_ranked, long_order, is_averaged, first, last, ranked, group_end):
    """Labels in the order of the scores, query by query, into ``ranked``.

    Only the first ``n_ranked[q]`` rows of a query are ranked; what follows was not retrieved. Documents with equal
    scores stand by rising ``tie_keys``, then as the rows do; without keys, as the rows do; averaged, by falling label.
    ``long_order`` holds the documents of lists beyond COUNT_LIMIT by falling score, ties in any order. ``group_end`` is
    written when ties are averaged; ``own_groups`` reads it.
    """
    longest = COUNT_LIMIT
    for q in range(first, last):
        longest = max(longest, n_ranked[q])
    size = COUNT_LIMIT + _PAD
    coarse, fine = np.empty(size, np.float32), np.empty(size, np.float64)
    above, taken = np.empty(size, np.int32), np.empty(size, np.int32)
    order, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for q in range(first, last):
        start, n_docs = indptr[q], n_ranked[q]
        own_scores, own_labels = scores[start : start + n_docs], labels[start : start + n_docs]
        own_ranked = ranked[start : start + n_docs]
        own_order = order[:n_docs]
        if is_averaged:
            group_end[q] = 0  # unless ties are found
        if n_docs <= COUNT_LIMIT:
            # rounding to float32 keeps the order but for ties: when it shows none there are none
            if _count(own_scores, coarse, above) or _count(own_scores, fine, above):
                for i in range(n_docs):
                    own_ranked[np.uint32(above[i])] = own_labels[i]
                continue
            _order_by_counts(above, n_docs, taken, own_order)
        else:
            for i in range(n_docs):
                own_order[i] = long_order[start + i]
            if not _has_ties(own_scores, own_order):
                for place in range(n_docs):
                    own_ranked[place] = own_labels[np.uint64(own_order[place])]
                continue
            _in_row_order(own_scores, own_order, spare)
        if is_averaged:
            group_end[q] = 1
            groups = own_groups(group_end, indptr, q, n_docs)
            _settle_ties(own_scores, own_order, -own_labels, is_averaged, groups, spare)
        elif tie_keys.size > 0:
            own_keys = tie_keys[start : start + n_docs]
            _settle_ties(own_scores, own_order, own_keys, is_averaged, group_end, spare)
        for place in range(n_docs):
            own_ranked[place] = own_labels[own_order[place]]


@njit(cache=True, nogil=True)
def rank_labels_by_quicksort(scores, labels, indptr, n_ranked, first, last, ranked):
    """The same with ties in the order that numba's own sort leaves them in, which is the one that ranx calls."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q] + n_ranked[q]
        order = np.argsort(-scores[start:stop])
        for place in range(stop - start):
            ranked[start + place] = labels[start + order[place]]


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
def top_labels(labels, indptr, top_indptr, first, last, top):
    """The best labels of every query, falling, into ``top[top_indptr[q]:top_indptr[q + 1]]``."""
    for q in range(first, last):
        own = labels[indptr[q] : indptr[q + 1]]
        best = top[top_indptr[q] : top_indptr[q + 1]]
        level, place, n_levels = np.inf, 0, 0
        while place < best.size and n_levels < _LEVELS:  # few levels, the usual case, are counted: vector loops
            level = _largest_below(own, level)
            stop = min(place + _count_equal(own, level), best.size)
            for p in range(place, stop):
                best[p] = level
            place = stop
            n_levels += 1
        if place < best.size:
            order = np.arange(own.size)
            _sort_by(order, -own, np.empty(own.size, np.int64))
            for p in range(best.size):
                best[p] = own[order[p]]


@njit(cache=True, nogil=True)
def append_rest(labels, indptr, n_ranked, groups, first, last, ranked, group_end):
    """Behind the ranked documents of every query, those that were not retrieved: one tie group, labels falling."""
    for q in range(first, last):
        start, n_docs, n_found = indptr[q], indptr[q + 1] - indptr[q], n_ranked[q]
        found = own_groups(groups, indptr, q, n_found)
        group_end[q] = 1
        own = own_groups(group_end, indptr, q, n_docs)
        for place in range(n_found):
            own[place] = found[place] if found.size > 0 else place + 1
        rest = labels[start + n_found : start + n_docs]
        order = np.arange(rest.size)
        _sort_by(order, -rest, np.empty(rest.size, np.int64))
        for i in range(rest.size):
            ranked[start + n_found + i] = rest[order[i]]
            own[n_found + i] = n_docs
