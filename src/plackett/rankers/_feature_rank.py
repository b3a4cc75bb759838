"""Kernel of FeatureRank and BL-FeatureRank: one step on a block of queries.

Documents stand in order of falling labels while a ranker learns, in any order while it predicts. Ranks are twice as
large, as in ``_discovery``.
"""

import numpy as np
from numba import njit

from plackett.rankers._discovery import argsort, count_pairs, longest_of, rank, room_for_bits

FEATURE, MIXTURE, BEFORE = 0, 1, 2  # what enters a step of BL-FeatureRank


@njit(inline="always")
def _entering(twice_feature, twice_before, choice, beta):
    """What a step adds to the ranking so far: the feature's ranks, a mixture, or the ranking itself."""
    if choice == MIXTURE:
        return beta * (0.5 * twice_before) + (1.0 - beta) * (0.5 * twice_feature)
    return 0.5 * (twice_before if choice == BEFORE else twice_feature)


@njit(cache=True, nogil=True)
def rank_step(feature, before, is_mixture, weight, choices, betas, is_counted, level_start, level_end, indptr,
              first, last, after, right, wrong):  # fmt: skip
    """Rank each list by the ranking before plus the weighted entering one, or by the mixture alone; count its pairs."""
    longest = longest_of(indptr, first, last)
    keys, spare = np.empty(longest), np.empty(longest)
    order, spare_order, sequence = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    bits, below, groups = room_for_bits(longest)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        own, old = feature[start:stop], before[start:stop]
        for i in range(n):
            if is_mixture:
                keys[i] = _entering(own[i], old[i], MIXTURE, betas[q])
            else:
                keys[i] = 0.5 * old[i] + weight * _entering(own[i], old[i], choices[q], betas[q])
        argsort(keys[:n], order[:n], spare[:n], spare_order[:n])
        rank(keys[:n], order[:n], sequence[:n], after[start:stop])
        if is_counted:
            right[q], wrong[q] = count_pairs(
                sequence[:n], after[start:stop], level_start[start:stop], level_end[start:stop], n, bits, below, groups
            )
