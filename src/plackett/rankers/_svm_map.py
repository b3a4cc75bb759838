"""The ranking of each query that violates the margin of average precision most, found exactly.

A ranking is fixed by how many relevant documents stand above each other document, as both kinds are best sorted by
score. Let the k-th relevant document and the j-th other one have scores s_k and t_j (R and N of them, counted from 1).
With j others above it instead of j - 1, the k-th relevant document adds
``gain_j(k) = (k / (k + j - 1) - k / (k + j)) / R - 2 (s_k - t_j) / (R N)`` to the loss and margin violation, whatever
else is done. So each other document finds its place alone: below the i relevant documents for which
``Σ_{k > i} gain_j(k)`` is largest. As gain_j(k) falls with j, places rise with j, and halving the others and the places
in turn takes O(n log n).
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST_HALVINGS = 128  # one range waits per halving


@njit(cache=True, nogil=True)
def _gain(k, j, relevant, others):
    """What it adds that the j-th other document stands above the k-th relevant one; both counted from 1."""
    precision = k / ((k + j - 1.0) * (k + j))
    return (precision - 2.0 * (relevant[k - 1] - others[j - 1]) / others.size) / relevant.size


@njit(cache=True, nogil=True)
def find_places(relevant, others, places):
    """For each other document, how many relevant ones stand above it; both kinds of scores fall."""
    n_others = others.size
    stack = np.empty((MOST_HALVINGS, 4), dtype=np.int64)  # ranges of others and of places still to be halved
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n_others, 0, relevant.size
    depth = 1
    while depth > 0:
        depth -= 1
        first, last, low, high = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        middle = (first + last) // 2
        best, best_total, total = high, 0.0, 0.0
        for place in range(high - 1, low - 1, -1):
            total += _gain(place + 1, middle + 1, relevant, others)
            if total > best_total:  # of equal places the lowest: the fewest pairs inverted
                best, best_total = place, total
        places[middle] = best
        if first < middle:
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = first, middle, low, best
            depth += 1
        if middle + 1 < last:
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = middle + 1, last, best, high
            depth += 1


@njit(cache=True, nogil=True)
def _share_among_ties(scores, pulls):
    """Give documents of equal score the mean of their pulls, so that the order of rows makes no difference."""
    start = 0
    while start < scores.size:
        stop = start + 1
        while stop < scores.size and scores[stop] == scores[start]:
            stop += 1
        if stop - start > 1:
            pulls[start:stop] = pulls[start:stop].mean()
        start = stop


@njit(cache=True, nogil=True)
def _worst_of_query(scores, is_relevant, pulls):
    """Loss of the worst ranking, 1 - average precision; ``pulls`` are the slopes of the violation by the scores."""
    rows_relevant, rows_others = np.flatnonzero(is_relevant), np.flatnonzero(~is_relevant)
    n_relevant, n_others = rows_relevant.size, rows_others.size
    pulls[:] = 0.0
    if n_relevant == 0 or n_others == 0:
        return 0.0
    rows_relevant = rows_relevant[np.argsort(-scores[rows_relevant], kind="mergesort")]
    rows_others = rows_others[np.argsort(-scores[rows_others], kind="mergesort")]
    relevant, others = scores[rows_relevant], scores[rows_others]
    places = np.empty(n_others, dtype=np.int64)
    find_places(relevant, others, places)
    per_pair = 2.0 / (n_relevant * n_others)
    of_relevant, precision, above = np.empty(n_relevant), 0.0, 0
    for k in range(n_relevant):
        while above < n_others and places[above] <= k:
            above += 1
        of_relevant[k] = -per_pair * above
        precision += (k + 1) / (k + 1 + above)
    of_others = per_pair * (n_relevant - places)
    _share_among_ties(relevant, of_relevant)
    _share_among_ties(others, of_others)
    pulls[rows_relevant] = of_relevant
    pulls[rows_others] = of_others
    return 1.0 - precision / n_relevant


@njit(cache=True, nogil=True)
def most_violated(scores, is_relevant, indptr, losses, pulls):
    """Of each query, the loss of its most violated ranking and the slope of the violation by each score.

    The violation itself is ``losses[q] + pulls · scores`` over the rows of the query.
    """
    for q in range(indptr.size - 1):
        start, stop = indptr[q], indptr[q + 1]
        losses[q] = _worst_of_query(scores[start:stop], is_relevant[start:stop], pulls[start:stop])
