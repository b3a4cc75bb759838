"""Equal scores in the order of others, and rows recognised by what they hold."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def spread(order, starts, base, query_of, most, scores):
    """Move equal scores apart: group t owns places ``starts[t]:starts[t + 1]`` of ``order``, its base scores rise.

    Groups of a query rise too. A score of query q moves up by less than ``most[q]``, and by less than half of the way
    to the next group; what rounding leaves equal goes to the next number.
    """
    last = -np.inf
    n_groups = starts.size - 1
    for group in range(n_groups):
        first, end = starts[group], starts[group + 1]
        query = query_of[order[first]]
        if group == 0 or query_of[order[first - 1]] != query:
            last = -np.inf
        value = scores[order[first]]
        for place in range(first + 1, end):
            value = min(value, scores[order[place]])
        room = most[query]
        if end < order.size and query_of[order[end]] == query:
            ahead = scores[order[end]]
            for place in range(end + 1, starts[group + 2]):
                ahead = min(ahead, scores[order[place]])
            room = min(room, 0.5 * (ahead - value))
        step = room / (end - first)
        rank = 0
        score = max(value, np.nextafter(last, np.inf))
        for place in range(first, end):
            if place > first and base[order[place]] != base[order[place - 1]]:
                rank += 1
                score = max(value + rank * step, np.nextafter(score, np.inf))
            scores[order[place]] = score
        last = score


@njit(cache=True, nogil=True)
def row_keys(bits, keys):
    """A number for each row that depends on all its values and their columns (the mixing steps of SplitMix64)."""
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        place = np.uint64(0)
        for j in range(bits.shape[1]):
            place += np.uint64(0x9E3779B97F4A7C15)
            mixed = bits[i, j] + place
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            key += mixed ^ (mixed >> np.uint64(31))
        keys[i] = key
