"""Kernels of RankBoost: weights of pairs that factorise, and sums over all thresholds of a feature.

The pair of a better document i and a worse j of query q weighs ``w_q exp(H_j - H_i)``, so that sums over the pairs of a
document are products with sums over label levels. Documents stand in label order, the best first; scores are taken
relative to the middle of their range within the query.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FARTHEST = 340.0  # from the middle; products of exponentials stay finite, also when summed over all pairs


@njit(cache=True, nogil=True)
def potentials(scores, order, indptr, bounds, of_queries, weights, up, down, pulls, sums):
    """Of each document: weight of the pairs in which it is better less that of those in which it is worse.

    ``up`` and ``down``, one per place of the label order, are e to the score and to its negative; ``sums`` gets the
    summed weight of the pairs of each query. Nothing is divided by the total yet.
    """
    for q in range(indptr.size - 1):
        sums[q] = 0.0
        start, stop = indptr[q], indptr[q + 1]
        for place in range(start, stop):
            pulls[order[place]] = 0.0
        low, high = np.inf, -np.inf
        for place in range(start, stop):
            low = min(low, scores[order[place]])
            high = max(high, scores[order[place]])
        middle = 0.5 * (low + high)
        for place in range(start, stop):
            centred = min(max(scores[order[place]] - middle, -FARTHEST), FARTHEST)
            up[place] = np.exp(centred)
            down[place] = np.exp(-centred)
        better = 0.0  # sum of ``down`` over the levels above
        for level in range(of_queries[q], of_queries[q + 1]):
            here = 0.0
            for place in range(bounds[level], bounds[level + 1]):
                pulls[order[place]] -= weights[q] * up[place] * better
                here += down[place]
            better += here
        worse = 0.0  # sum of ``up`` over the levels below
        for level in range(of_queries[q + 1] - 1, of_queries[q] - 1, -1):
            here = 0.0
            for place in range(bounds[level], bounds[level + 1]):
                mass = weights[q] * down[place] * worse
                pulls[order[place]] += mass
                sums[q] += mass
                here += up[place]
            worse += here


@njit(cache=True, nogil=True)
def sweep(codes, starts, pulls, first, last, edges):
    """The sum of ``pulls`` above each threshold of features ``first:last``.

    ``codes`` (feature × document) counts the thresholds below a value; feature f owns ``edges[starts[f]:starts[f+1]]``.
    """
    longest = 0
    for f in range(first, last):
        longest = max(longest, starts[f + 1] - starts[f])
    bins = np.empty(longest + 1)
    for f in range(first, last):
        n = starts[f + 1] - starts[f]
        edge = edges[starts[f] : starts[f + 1]]
        code = codes[f]
        bins[: n + 1] = 0.0
        for i in range(pulls.size):
            bins[code[i]] += pulls[i]
        total = 0.0
        for k in range(n - 1, -1, -1):
            total += bins[k + 1]
            edge[k] = total


@njit(cache=True, nogil=True)
def first_of_size(edges, size):
    """The first place where an edge, of either sign, has at least this size."""
    for k in range(edges.size):
        if abs(edges[k]) >= size:
            return k
    return -1


@njit(cache=True, nogil=True)
def split(code, k, order, indptr, bounds, of_queries, weights, up, down):
    """Summed weight of the pairs that ``code > k`` orders rightly, and of those that it orders wrongly."""
    right = wrong = 0.0
    for q in range(indptr.size - 1):
        above, below = 0.0, 0.0  # sums of ``down`` over the levels above, of documents with 1 and with 0
        for level in range(of_queries[q], of_queries[q + 1]):
            one, zero = 0.0, 0.0
            for place in range(bounds[level], bounds[level + 1]):
                if code[order[place]] > k:
                    wrong += weights[q] * up[place] * below
                    one += down[place]
                else:
                    right += weights[q] * up[place] * above
                    zero += down[place]
            above += one
            below += zero
    return right, wrong
