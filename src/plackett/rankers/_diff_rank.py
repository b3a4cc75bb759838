"""Kernels of DiffRank: weights of pairs, of which only each document's share is ever computed.

Documents stand in order of falling labels. Ranks are twice as large, as in ``_discovery``.
"""

import numpy as np
from numba import njit

from plackett.losses._exp import exp
from plackett.losses._pair_sums import extremes
from plackett.rankers._discovery import argsort, count_pairs, longest_of, rank, room_for_bits

ONE = np.uint64(1)
WIDEST = 600.0  # of the exponents of a query, for which exp(a) · exp(b) neither overflows nor vanishes


@njit(cache=True, nogil=True, fastmath={"contract"})
def _weigh_pairs(scores, middle, spread, level_start, top, up, down, lost, net):
    """Total weight exp(−(H_i − H_j) / U) of the pairs of one query, and each document's own, as better less as worse.

    Weights are products, so that sums over pairs are sums over documents: of those below, of those above. Both sums run
    in one loop, from either end, since each addition has to wait for the one before.
    """
    n = scores.size
    per_unit = 1.0 / spread
    for i in range(n):
        up[i] = exp((middle - scores[i]) * per_unit)
    for i in range(n):
        down[i] = exp((scores[i] - middle) * per_unit)
    total, tail, of_level_below, level_below = 0.0, 0.0, 0.0, level_start[n - 1]
    head, of_level_above, level_above = 0.0, 0.0, np.int64(0)
    for j in range(np.uint64(0), np.uint64(n)):
        k = np.uint64(n) - ONE - j
        level = level_start[k]
        if level != level_below:
            tail += of_level_below
            of_level_below, level_below = 0.0, level
        gained = up[k] * tail if level < top else 0.0
        net[k] = gained
        total += gained
        of_level_below += down[k]

        level = level_start[j]
        if level != level_above:
            head += of_level_above
            of_level_above, level_above = 0.0, level
        lost[j] = down[j] * head
        of_level_above += up[j] if level < top else 0.0
    for j in range(n):
        net[j] -= lost[j]
    return total


@njit(cache=True, nogil=True)
def _weigh_wide_pairs(scores, spread, level_start, top, net):
    """The same where scores lie so far apart that the products have to be scaled: sums relative to their largest."""
    n = scores.size
    total, tail, tail_scale, head, head_scale = 0.0, 0.0, 0.0, 0.0, 0.0
    stop = n
    while stop > 0:
        start = level_start[stop - 1]
        for i in range(start, stop):
            net[i] = tail * np.exp(tail_scale - scores[i] / spread) if tail > 0.0 and start < top else 0.0
            total += net[i]
        for i in range(start, stop):
            x = scores[i] / spread
            if tail == 0.0 or x > tail_scale:
                tail = (tail * np.exp(tail_scale - x) if tail > 0.0 else 0.0) + 1.0
                tail_scale = x
            else:
                tail += np.exp(x - tail_scale)
        stop = start
    start = 0
    for i in range(n):
        if level_start[i] != start:
            if start < top:
                for j in range(start, i):
                    x = -scores[j] / spread
                    if head == 0.0 or x > head_scale:
                        head = (head * np.exp(head_scale - x) if head > 0.0 else 0.0) + 1.0
                        head_scale = x
                    else:
                        head += np.exp(x - head_scale)
            start = i
        if head > 0.0:
            net[i] -= head * np.exp(head_scale + scores[i] / spread)
    return total


@njit(cache=True, nogil=True)
def add_feature(feature, weight, scores):
    """Add the weighted ranks of a feature to the scores."""
    for i in range(scores.size):
        scores[i] += weight * (0.5 * feature[i])


@njit(cache=True, nogil=True)
def weigh_pairs(scores, level_start, top, n_pairs, indptr, first, last, totals, net):
    """Total weight of the pairs of each query, and each document's weight in them."""
    longest = longest_of(indptr, first, last)
    up, down, lost = np.empty(longest), np.empty(longest), np.empty(longest)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        totals[q] = 0.0
        if n_pairs[q] == 0:
            net[start:stop] = 0.0
            continue
        own, spread = scores[start:stop], float(stop - start - 1)
        low, high = extremes(own)
        if high - low <= WIDEST * spread:
            middle = 0.5 * (low + high)
            totals[q] = _weigh_pairs(own, middle, spread, level_start[start:stop], top, up, down, lost, net[start:stop])
        else:
            totals[q] = _weigh_wide_pairs(own, spread, level_start[start:stop], top, net[start:stop])


@njit(cache=True, nogil=True)
def pull(feature, net, n_pairs, indptr, first, last, pulls):
    """Sum over the pairs of each query of weight times difference in rank, relative to the largest difference."""
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        total = 0.0
        if n_pairs[q] > 0:
            for i in range(start, stop):
                total += net[i] * (0.5 * feature[i])
            total /= stop - start - 1
        pulls[q] = total


@njit(cache=True, nogil=True)
def count_wrong(scores, level_start, level_end, tops, n_pairs, indptr, first, last, wrong):
    """Pairs of each query that the scores order the other way; closer scores than 1e-10 are tied."""
    longest = longest_of(indptr, first, last)
    keys, spare = np.empty(longest), np.empty(longest)
    order, spare_order, sequence = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ranks = np.empty(longest, np.int32)
    bits, below, groups = room_for_bits(longest)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        wrong[q] = 0
        if n_pairs[q] > 0:
            keys[:n] = scores[start:stop]
            argsort(keys[:n], order[:n], spare[:n], spare_order[:n])
            rank(keys[:n], order[:n], sequence[:n], ranks[:n])
            _, wrong[q] = count_pairs(
                sequence[:n], ranks[:n], level_start[start:stop], level_end[start:stop], tops[q], bits, below, groups
            )
