"""Kernels of the measures that read graded labels: DCG and kin, ERR, weighted pairwise disagreement.

All take labels in ranked order. Where ties are averaged, ``own_groups`` of a list says where the tie group of each
place ends, and every place of a group gets the group's expectation; it is empty where each document stands alone.
An empty query is NaN. ``first``, ``last`` and ``values`` come last: queries to work through, and where results go.
"""

import numpy as np
from numba import njit

from plackett.metrics._ranking import own_groups

EXPONENTIAL, LINEAR = 0, 1
_POWERS = 2.0 ** -np.arange(1075.0)
_LOG_OF_2 = np.log(2.0)


@njit(cache=True, nogil=True)
def _power_of_two(exponent):
    """2**exponent; whole negative exponents, which are nearly all, come from a table."""
    if -1074.0 <= exponent <= 0.0 and exponent == np.floor(exponent):
        return _POWERS[np.uint64(-exponent)]
    return 2.0**exponent


@njit(cache=True, nogil=True)
def gain(label, best, kind):
    """Gain of a label over 2**best (exponential) or over best (linear, 1 if best is 0), so that nothing overflows."""
    if label <= 0.0:
        return 0.0
    if kind == LINEAR:
        return label / best if best > 0.0 else label
    if label < 1.0:  # 2**label − 1 without the cancellation
        return np.expm1(label * _LOG_OF_2) * _power_of_two(-best)
    return _power_of_two(label - best) - _power_of_two(-best)


@njit(cache=True, nogil=True)
def group_stop(groups, place):
    """Where the tie group of ``place`` ends, by the ``own_groups`` of a list."""
    return groups[place] if groups.size > 0 else place + 1


@njit(cache=True, nogil=True)
def _discounted_gain(ranked, groups, start, limit, best, gain_kind, discounts):
    total = 0.0
    if groups.size == 0:
        for p in range(limit):
            total += gain(ranked[start + p], best, gain_kind) * discounts[p]
        return total
    place = 0
    while place < limit:
        stop = group_stop(groups, place)
        gains = 0.0
        for p in range(place, stop):
            gains += gain(ranked[start + p], best, gain_kind)
        weight = 0.0
        for p in range(place, min(stop, limit)):
            weight += discounts[p]
        total += gains / (stop - place) * weight
        place = stop
    return total


@njit(cache=True, nogil=True)
def dcg(ranked, group_end, indptr, n_ranked, k, gain_kind, discounts, first, last, values):
    for q in range(first, last):
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        limit = min(k, n_ranked[q])
        values[q] = _discounted_gain(ranked, groups, indptr[q], limit, 0.0, gain_kind, discounts)


@njit(cache=True, nogil=True)
def ndcg(
    ranked,
    group_end,
    indptr,
    n_ranked,
    ideal,
    ideal_indptr,
    k,
    gain_kind,
    discounts,
    zero_if_short,
    first,
    last,
    values,
):
    for q in range(first, last):
        best_labels = ideal[ideal_indptr[q] : ideal_indptr[q + 1]]
        if best_labels.size == 0 or best_labels[0] <= 0.0:
            continue
        best = best_labels[0]
        best_dcg = 0.0
        for p in range(best_labels.size):
            best_dcg += gain(best_labels[p], best, gain_kind) * discounts[p]
        if best_dcg == 0.0:  # a label so small that its gain is none
            continue
        if zero_if_short and indptr[q + 1] - indptr[q] < k:
            values[q] = 0.0
            continue
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        limit = min(k, n_ranked[q])
        found = _discounted_gain(ranked, groups, indptr[q], limit, best, gain_kind, discounts)
        values[q] = found / best_dcg


@njit(cache=True, nogil=True)
def mean_ndcg(ranked, group_end, indptr, n_ranked, ideal, gain_kind, discounts, first, last, values):
    """The mean of NDCG@1, NDCG@2, …, NDCG@n."""
    for q in range(first, last):
        start, n_docs = indptr[q], indptr[q + 1] - indptr[q]
        if n_docs == 0 or ideal[start] <= 0.0:
            continue
        best = ideal[start]
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        found = best_dcg = total = mean_gain = 0.0
        stop = 0
        for p in range(n_docs):
            if p < n_ranked[q]:
                if p == stop:
                    stop = group_stop(groups, p)
                    mean_gain = 0.0
                    for member in range(p, stop):
                        mean_gain += gain(ranked[start + member], best, gain_kind) / (stop - p)
                found += mean_gain * discounts[p]
            best_dcg += gain(ideal[start + p], best, gain_kind) * discounts[p]
            total += found / best_dcg if best_dcg > 0.0 else 0.0
        if best_dcg > 0.0:
            values[q] = total / n_docs


@njit(cache=True, nogil=True)
def err(ranked, group_end, indptr, n_ranked, best_labels, k, max_label, first, last, values):
    """Expected reciprocal rank: Σ R_i / i · Π_{j<i} (1 − R_j), R = gain over 2**max_label."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, n_ranked[q])
    passed = np.empty(min(longest, k) + 2)  # expected product of (1 − R) over any r of the group's documents
    for q in range(first, last):
        if not best_labels[q] > 0.0:
            continue
        start, limit = indptr[q], min(k, n_ranked[q])
        groups = own_groups(group_end, indptr, q, n_ranked[q])
        total, reached, place = 0.0, 1.0, 0
        while place < limit and reached > 0.0:
            stop = group_stop(groups, place)
            if stop == place + 1:
                stops_here = gain(ranked[start + place], max_label, EXPONENTIAL)
                total += reached * stops_here / (place + 1)
                reached *= 1.0 - stops_here
            else:
                depth = min(stop, limit) - place
                all_passed = _mean_products(ranked[start + place : start + stop], max_label, depth, passed)
                for r in range(depth):
                    total += reached * (passed[r] - passed[r + 1]) / (place + r + 1)
                reached *= all_passed
            place = stop
        values[q] = total


@njit(cache=True, nogil=True)
def _mean_products(labels, max_label, depth, passed):
    """passed[r] = mean, over all choices of r documents, of the product of their 1 − R; returns that of all of them.

    With one more document x the mean over r of t + 1 is (1 − r/(t+1)) · old[r] + r/(t+1) · (1 − R_x) · old[r − 1]:
    only sums of numbers between 0 and 1.
    """
    passed[0] = 1.0
    everything = 1.0
    for t in range(labels.size):
        stays = 1.0 - gain(labels[t], max_label, EXPONENTIAL)
        everything *= stays
        for r in range(min(depth, t + 1), 0, -1):
            share = r / (t + 1)
            older = passed[r] if r <= t else 0.0
            passed[r] = (1.0 - share) * older + share * stays * passed[r - 1]
    return everything


@njit(cache=True, nogil=True)
def relative_gains(ideal, indptr, gain_kind, first, last, worth):
    """Gain of every label of the ideal order over the query's largest gain."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        if stop > start:
            best = ideal[start]
            largest = gain(best, best, gain_kind)
            for p in range(start, stop):
                worth[p] = gain(ideal[p], best, gain_kind) / largest if largest > 0.0 else 0.0


@njit(cache=True, nogil=True)
def level_means(ideal, indptr, weights, first, last, worth):
    """Mean of the position weights over each level of equal labels."""
    for q in range(first, last):
        place = indptr[q]
        while place < indptr[q + 1]:
            stop = place + 1
            while stop < indptr[q + 1] and ideal[stop] == ideal[place]:
                stop += 1
            worth[place:stop] = weights[place:stop].mean()
            place = stop


@njit(cache=True, nogil=True)
def _worth_of(label, ideal, worth):
    """The worth of ``label``, which stands somewhere in the falling ``ideal``."""
    low, high = 0, ideal.size - 1
    while low < high:
        middle = (low + high) // 2
        if ideal[middle] <= label:
            high = middle
        else:
            low = middle + 1
    return worth[low]


@njit(cache=True, nogil=True)
def disagreement(ranked, group_end, indptr, ideal, worth, is_ratio, normalize, first, last, values):
    """Σ (n − position) · worth in ranked order over the same in ideal order; or, not is_ratio, the ideal minus it.

    The difference is Σ_{y_i > y_j} (worth_i − worth_j) · 1[i stands below j], pair by pair: Theorem 3 of p-ListMLE.
    """
    for q in range(first, last):
        start, n_docs = indptr[q], indptr[q + 1] - indptr[q]
        own_ideal, own_worth = ideal[start : start + n_docs], worth[start : start + n_docs]
        best = 0.0
        for p in range(n_docs):
            best += (n_docs - 1 - p) * own_worth[p]
        if not best > 0.0:
            continue
        groups = own_groups(group_end, indptr, q, n_docs)
        found = 0.0
        place = 0
        while place < n_docs:
            stop = group_stop(groups, place)
            total = 0.0
            for p in range(place, stop):
                total += _worth_of(ranked[start + p], own_ideal, own_worth)
            found += total * (n_docs - 1 - 0.5 * (place + stop - 1))
            place = stop
        if is_ratio:
            values[q] = found / best
        else:
            values[q] = max(best - found, 0.0) / (best if normalize else 1.0)
