"""Kernels of the measures that compare whole orders. Conventions as in ``_graded``."""

import numpy as np
from numba import njit

from plackett.metrics._graded import group_stop
from plackett.metrics._ranking import own_groups

DIRECT_LIMIT = 1536  # up to here counting every pair, which vectorises, beats merging
_RUN = 32


@njit(cache=True, nogil=True)
def _rises_direct(values, lower):
    """Pairs i < j with values[i] < values[j], counted one by one, eight i at a time; ``lower`` is room for counts."""
    n = values.size
    total = 0
    for j in range(n):
        lower[j] = 0
    i = 0
    while i + 8 <= n:
        v0, v1, v2, v3 = values[i], values[i + 1], values[i + 2], values[i + 3]
        v4, v5, v6, v7 = values[i + 4], values[i + 5], values[i + 6], values[i + 7]
        rest, counts = values[i + 8 :], lower[i + 8 :]
        for j in range(rest.size):  # a count per j instead of one sum: this form becomes vector instructions
            x = rest[j]
            counts[j] += (
                np.int32(v0 < x) + np.int32(v1 < x) + np.int32(v2 < x) + np.int32(v3 < x)
                + np.int32(v4 < x) + np.int32(v5 < x) + np.int32(v6 < x) + np.int32(v7 < x)
            )  # fmt: skip
        for a in range(i, i + 8):
            for b in range(a + 1, i + 8):
                total += values[a] < values[b]
        i += 8
    for a in range(i, n):
        for b in range(a + 1, n):
            total += values[a] < values[b]
    for j in range(n):
        total += lower[j]
    return total


@njit(cache=True, nogil=True)
def _rises_by_level(values, counts):
    """The same for whole numbers from 0 to 7, in one pass; -1 where there are others."""
    for level in range(8):
        counts[level] = 0
    total = 0
    for i in range(values.size):
        level = int(min(max(values[i], -1.0), 8.0))
        if level != values[i] or level < 0 or level > 7:
            return -1
        for lower in range(8):  # always all eight, which become one vector
            total += counts[lower] if lower < level else 0
        counts[level] += 1
    return total


@njit(cache=True, nogil=True)
def _rises_merge(values, spare, lower):
    """The same by merge sort, O(n log n); ``values`` and ``spare`` are overwritten."""
    n = values.size
    total = 0
    for start in range(0, n, _RUN):
        run = values[start : min(start + _RUN, n)]
        total += _rises_direct(run, lower)
        for i in range(1, run.size):  # by insertion: falling
            value, j = run[i], i
            while j > 0 and run[j - 1] < value:
                run[j] = run[j - 1]
                j -= 1
            run[j] = value
    half = _RUN
    while half < n:
        for start in range(0, n, 2 * half):
            middle, stop = min(start + half, n), min(start + 2 * half, n)
            left, right = start, middle
            for place in range(start, stop):
                if left < middle and (right >= stop or values[left] >= values[right]):
                    spare[place] = values[left]
                    left += 1
                else:  # it rises above all that is left of the left half
                    spare[place] = values[right]
                    total += middle - left
                    right += 1
        values, spare = spare, values
        half *= 2
    return total


@njit(cache=True, nogil=True)
def _pairs_of_different_labels(labels):
    """Pairs with different labels in a run of falling labels."""
    n = labels.size
    equal = 0
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and labels[stop] == labels[start]:
            stop += 1
        equal += (stop - start) * (stop - start - 1) // 2
        start = stop
    return n * (n - 1) // 2 - equal


@njit(cache=True, nogil=True)
def misordered(ranked, group_end, indptr, first, last, values):
    """Share of all pairs in which the later document has the larger label; pairs in a tie group count half.

    Tie groups come with falling labels, so that nothing rises inside them.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    coarse = np.empty(longest, np.float32)
    copy, spare, lower = np.empty(longest), np.empty(longest), np.empty(longest, np.int32)
    levels = np.zeros(8, np.int64)
    for q in range(first, last):
        start, n_docs = indptr[q], indptr[q + 1] - indptr[q]
        if n_docs < 2:
            continue
        own = ranked[start : start + n_docs]
        rises = float(_rises_by_level(own, levels))
        if rises >= 0.0:
            pass
        elif n_docs <= DIRECT_LIMIT:
            is_exact = True
            for i in range(n_docs):
                coarse[i] = own[i]
                is_exact = is_exact and coarse[i] == own[i]
            rises = float(_rises_direct(coarse[:n_docs], lower) if is_exact else _rises_direct(own, lower))
        else:
            copy[:n_docs] = own
            rises = float(_rises_merge(copy[:n_docs], spare[:n_docs], lower))
        groups = own_groups(group_end, indptr, q, n_docs)
        place = 0
        while groups.size > 0 and place < n_docs:
            stop = group_stop(groups, place)
            if stop - place > 1:
                rises += 0.5 * _pairs_of_different_labels(own[place:stop])
            place = stop
        values[q] = rises / (0.5 * n_docs * (n_docs - 1))


@njit(cache=True, nogil=True)
def persistence(ranked, group_end, indptr, ideal, k, first, last, values):
    """Expected share of the true top k among the first k."""
    for q in range(first, last):
        start, n_docs = indptr[q], indptr[q + 1] - indptr[q]
        limit = min(k, n_docs)
        if limit == 0:
            continue
        border = ideal[start + limit - 1]
        above = level = 0
        for p in range(n_docs):
            above += ideal[start + p] > border
            level += ideal[start + p] == border
        share = (limit - above) / level  # chance of a document at the border to belong to the true top k
        groups = own_groups(group_end, indptr, q, n_docs)
        total = 0.0
        place = 0
        while place < limit:
            stop = group_stop(groups, place)
            inside = 0.0
            for p in range(place, stop):
                label = ranked[start + p]
                inside += 1.0 if label > border else (share if label == border else 0.0)
            total += inside * (min(stop, limit) - place) / (stop - place)
            place = stop
        values[q] = total / limit


@njit(cache=True, nogil=True)
def exact(ranked, group_end, indptr, first, last, values):
    """Probability that no document stands above one with a larger label; tie groups come with falling labels."""
    for q in range(first, last):
        start, n_docs = indptr[q], indptr[q + 1] - indptr[q]
        if n_docs == 0:
            continue
        groups = own_groups(group_end, indptr, q, n_docs)
        chance = 1.0
        for p in range(1, n_docs):
            if ranked[start + p] > ranked[start + p - 1]:
                chance = 0.0
                break
        place = 0
        while chance > 0.0 and groups.size > 0 and place < n_docs:
            stop = group_stop(groups, place)
            run = 0
            for p in range(place, stop):  # (product of the levels' factorials) / (the group's factorial), bit by bit
                run = run + 1 if p > place and ranked[start + p] == ranked[start + p - 1] else 1
                chance *= run / (p - place + 1)
            place = stop
        values[q] = chance
