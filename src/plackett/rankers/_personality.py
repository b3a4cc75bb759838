"""Loops of personality diagnosis: how like the others a user rates, and what those of like ratings gave an item.

Ratings come by cell, an item and a level: ``raters[cell_ptr[c]:cell_ptr[c + 1]]`` are the users who gave item
``c // n_levels`` the level ``c % n_levels``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

EXPECTED, MOST_PROBABLE = 0, 1
UNDERFLOWS = 1e-200  # weights whose sum is below this are taken anew, relative to the best rater of the item
TIED = 1e-12  # probabilities closer than this are equal, and the smaller rating is taken


@njit(cache=True, nogil=True)
def _log_likelihoods(items, ratings, log_p, cell_ptr, raters, log_like):
    """Sums of log p(own rating | the other's) over the items of one user, up to a constant.

    ``log_p[x, y]`` is relative to a missing rating, so that users who did not rate an item add nothing.
    """
    n_levels = log_p.shape[1]
    log_like[:] = 0.0
    for k in range(items.size):
        if items[k] < 0:  # unknown to all others
            continue
        first = items[k] * n_levels
        for y in range(n_levels):
            term = log_p[ratings[k], y]
            for i in raters[cell_ptr[first + y] : cell_ptr[first + y + 1]]:
                log_like[i] += term


@njit(cache=True, nogil=True)
def _weigh_levels(item, weights, log_like, cell_ptr, raters, sums):
    """Fill ``sums`` with the weight of the raters of each level; the total, 0 where nobody rated the item."""
    first = item * sums.size
    total = 0.0
    for y in range(sums.size):
        sums[y] = 0.0
        for i in raters[cell_ptr[first + y] : cell_ptr[first + y + 1]]:
            sums[y] += weights[i]
        total += sums[y]
    if total > UNDERFLOWS:
        return total
    best = -np.inf
    for i in raters[cell_ptr[first] : cell_ptr[first + sums.size]]:
        best = max(best, log_like[i])
    if best == -np.inf:
        return 0.0
    total = 0.0
    for y in range(sums.size):
        sums[y] = 0.0
        for i in raters[cell_ptr[first + y] : cell_ptr[first + y + 1]]:
            sums[y] += np.exp(log_like[i] - best)
        total += sums[y]
    return total


@njit(cache=True, nogil=True)
def _most_probable(sums, p):
    """The place of the level h with the largest sum over y of ``p[h, y] * sums[y]``."""
    best, chosen = -1.0, 0
    for h in range(sums.size):
        value = 0.0
        for y in range(sums.size):
            value += p[h, y] * sums[y]
        if value > best * (1.0 + TIED):
            best, chosen = value, h
    return chosen


@njit(cache=True, nogil=True)
def diagnose(
    first, last, who, starts, stops, targets, wanted, indptr, items, ratings, left_out, log_p, p, levels, expected,
    cell_ptr, raters, n_raters, answer, out,
):  # fmt: skip
    """Answers to requests ``first`` to ``last`` (exclusive); what cannot be diagnosed stays as it is in ``out``.

    Request ``r`` asks for items ``wanted[starts[r]:stops[r]]`` and active user ``who[r]``, -1 for one who is not known;
    its answers go to ``out`` from ``targets[r]`` on. Active user ``a`` has rated ``items[indptr[a]:indptr[a + 1]]``;
    ``left_out[a]`` is the rater that is this very user, or -1.
    """
    log_like, weights = np.empty(n_raters), np.empty(n_raters)
    sums = np.empty(levels.size)
    for r in range(first, last):
        a = who[r]
        if a < 0 or indptr[a] == indptr[a + 1]:
            continue
        own = slice(indptr[a], indptr[a + 1])
        _log_likelihoods(items[own], ratings[own], log_p, cell_ptr, raters, log_like)
        if left_out[a] >= 0:
            log_like[left_out[a]] = -np.inf
        best = log_like.max()
        if best == -np.inf:  # there is nobody else
            continue
        for i in range(n_raters):
            weights[i] = np.exp(log_like[i] - best)
        for place in range(starts[r], stops[r]):
            if wanted[place] < 0:
                continue
            total = _weigh_levels(wanted[place], weights, log_like, cell_ptr, raters, sums)
            if total == 0.0:
                continue
            target = targets[r] + place - starts[r]
            if answer == MOST_PROBABLE:
                out[target] = levels[_most_probable(sums, p)]
            else:
                value = 0.0
                for y in range(sums.size):
                    value += expected[y] * (sums[y] / total)
                out[target] = value
