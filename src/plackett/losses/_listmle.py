"""Kernels of ListMLE and p-ListMLE, over label levels.

Levels of a query run from the best to the lowest. Level l has size d, weight w (0 for the lowest, which is censored)
and C = Σ e^f over its own and all lower documents. With Breslow's ties

    loss = Σ_l w [ d log C − Σ f ],        slope_k = e^{f_k} Σ_{levels l at or above k's} w d / C_l − w.

Efron's ties put Σ_r log(C − (r/d) s), r = 0..d−1, in the place of d log C, s being the level's own part of C. Relative
to C that changes the level's pull from w d to w Σ_r 1/(1 − (r/d) s/C), less on the level's own documents.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from plackett.losses._exp import exp, log

WIDEST = 600.0  # scores of a query that lie further apart than this go the slower way that no spread can overflow
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _range(scores):
    low, high = scores[0], scores[0]
    for score in scores:
        low = min(low, score)
        high = max(high, score)
    return low, high


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _exp_below(scores, top, out):
    for i in range(scores.size):
        out[i] = exp(scores[i] - top)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _weighted_logs(weights, sums):
    total = 0.0
    for i in range(sums.size):
        total += weights[i] * log(sums[i])
    return total


@njit(cache=True, nogil=True)
def _efron(size, share):
    """Σ_r of log(1 − c share), 1/(1 − c share) and c/(1 − c share), c = r/size, r = 0..size−1."""
    logs, pull, less = 0.0, 0.0, 0.0
    for r in range(size):
        c = r / size
        rest = 1.0 - c * share
        logs += np.log(rest)
        pull += 1.0 / rest
        less += c / rest
    return logs, pull, less


@njit(cache=True, nogil=True, error_model="numpy")
def _narrow(scores, top, order, bounds, weights, is_efron, slope, sums, masses):
    """One query whose scores lie close enough; ``slope`` holds e^f relative to its largest score, ``top``."""
    below = 0.0
    for level in range(weights.size - 1, -1, -1):
        own = 0.0
        for row in order[bounds[level] : bounds[level + 1]]:
            own += slope[row]
        below += own
        sums[level] = below
        masses[level] = own / below
    loss = 0.0
    pull = 0.0
    for level in range(weights.size):
        size, weight = bounds[level + 1] - bounds[level], weights[level]
        mass, less = weight * size, 0.0
        if is_efron and size > 1 and weight > 0.0:
            logs, mass, less = _efron(size, masses[level])
            loss += logs
            less /= sums[level]
        pull += mass / sums[level]
        masses[level] = weight * size
        lost = 0.0
        for row in order[bounds[level] : bounds[level + 1]]:
            lost += top - scores[row]
            slope[row] = slope[row] * (pull - less) - weight
        loss += weight * lost
    return loss + _weighted_logs(masses, sums)


@njit(cache=True, nogil=True, error_model="numpy")
def _narrow_strict(scores, top, order, weights, slope, sums):
    """As ``_narrow`` without ties: one document per level, so that no level needs a loop of its own."""
    below = 0.0
    for place in range(order.size - 1, -1, -1):
        below += slope[order[place]]
        sums[place] = below
    loss = _weighted_logs(weights, sums)
    for place in range(order.size):
        sums[place] = weights[place] / sums[place]
    pull = 0.0
    for place in range(order.size):
        row = order[place]
        pull += sums[place]
        loss += weights[place] * (top - scores[row])
        slope[row] = slope[row] * pull - weights[place]
    return loss


@njit(cache=True, nogil=True)
def log_sums(scores, order, bounds, logs, shares):
    """Log C of every level, and the level's own share of C, for any finite scores."""
    top, below = -np.inf, 0.0
    for level in range(bounds.size - 2, -1, -1):
        own_top, own = -np.inf, 0.0
        for row in order[bounds[level] : bounds[level + 1]]:
            if scores[row] > own_top:
                own = own * np.exp(own_top - scores[row]) + 1.0
                own_top = scores[row]
            else:
                own += np.exp(scores[row] - own_top)
        if own_top > top:
            below = below * np.exp(top - own_top)
            top = own_top
        own *= np.exp(own_top - top)
        below += own
        logs[level] = top + np.log(below)
        shares[level] = own / below


@njit(cache=True, nogil=True)
def _wide(scores, order, bounds, weights, is_efron, slope, logs, shares):
    """One query with any finite scores: each level relative to its own C, which falls from level to level."""
    log_sums(scores, order, bounds, logs, shares)
    loss, pull = 0.0, 0.0
    for level in range(weights.size):
        size, weight = bounds[level + 1] - bounds[level], weights[level]
        mass, less = weight * size, 0.0
        if is_efron and size > 1 and weight > 0.0:
            extra, mass, less = _efron(size, shares[level])
            loss += extra
        if level > 0:
            pull *= np.exp(logs[level] - logs[level - 1])
        pull += mass
        for row in order[bounds[level] : bounds[level + 1]]:
            loss += weight * (logs[level] - scores[row])
            slope[row] = np.exp(scores[row] - logs[level]) * (pull - less) - weight
    return loss


@njit(cache=True, nogil=True)
def most_levels(level_indptr, first, last):
    most = 0
    for q in range(first, last):
        most = max(most, level_indptr[q + 1] - level_indptr[q])
    return most


@njit(cache=True, nogil=True)
def value_and_slope(scores, indptr, order, bounds, level_indptr, weights, is_efron, slope, values, first, last):
    """Loss of queries ``first`` to ``last`` and the slope of their documents; ``weights`` per level, 0 for censored."""
    most = most_levels(level_indptr, first, last)
    sums, shares = np.empty(most), np.empty(most)
    for q in range(first, last):
        docs = slice(indptr[q], indptr[q + 1])
        begin, end = level_indptr[q], level_indptr[q + 1]
        if end - begin < 2:
            slope[docs] = 0.0
            values[q] = 0.0
            continue
        own_bounds, own_weights = bounds[begin : end + 1], weights[begin:end]
        own_sums, own_shares = sums[: end - begin], shares[: end - begin]
        low, high = _range(scores[docs])
        if high - low < WIDEST:
            _exp_below(scores[docs], high, slope[docs])
            if end - begin == docs.stop - docs.start:
                values[q] = _narrow_strict(scores, high, order[docs], own_weights, slope, own_sums)
            else:
                values[q] = _narrow(scores, high, order, own_bounds, own_weights, is_efron, slope, own_sums, own_shares)
        else:
            values[q] = _wide(scores, order, own_bounds, own_weights, is_efron, slope, own_sums, own_shares)


@njit(cache=True, nogil=True)
def _efron_curvature(size, share, mean, own_mean):
    """Sums over r of what the second derivative needs; ``mean`` is Σ e^f v / C, ``own_mean`` the level's part of it."""
    fall, own_fall = 0.0, 0.0
    for r in range(size):
        c = r / size
        rest = 1.0 - c * share
        slant = (mean - c * own_mean) / (rest * rest)
        fall += slant
        own_fall += c * slant
    return fall, own_fall


@njit(cache=True, nogil=True, error_model="numpy")
def _choices(scores, order, bounds, out, scale, shares):
    """e^f of each document into ``out``, relative to one number of its query, and 1/C of each level relative to it.

    Where the scores lie so far apart that 1/C might overflow, each document is relative to its own level's C, and
    ``scale`` is 1; True says so.
    """
    docs = slice(bounds[0], bounds[-1])
    low, high = _range(scores[docs])
    if high - low >= WIDEST / 2:  # half, because the diagonal squares them
        log_sums(scores, order, bounds, scale, shares)
        for level in range(scale.size):
            for row in order[bounds[level] : bounds[level + 1]]:
                out[row] = np.exp(scores[row] - scale[level])
        return True
    _exp_below(scores[docs], high, out[docs])
    below = 0.0
    for level in range(scale.size - 1, -1, -1):
        own = 0.0
        for row in order[bounds[level] : bounds[level + 1]]:
            own += out[row]
        below += own
        scale[level] = 1.0 / below
        shares[level] = own / below
    return False


@njit(cache=True, nogil=True)
def _shrink(logs, level, is_wide):
    """What sums relative to the C of the level above are multiplied with to be relative to this level's."""
    return np.exp(logs[level] - logs[level - 1]) if is_wide and level > 0 else 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def curvature_product(scores, direction, indptr, order, bounds, level_indptr, weights, is_efron, product, first, last):
    """The second derivative times ``direction``, for queries ``first`` to ``last``.

    Level by level Σ w d (p v − p (p·v)), p being e^f / C: with A = Σ w d / C and B = Σ w d (p·v) / C over the levels at
    or above a document's own, its entry is e^f (v A − B).
    """
    most = most_levels(level_indptr, first, last)
    scales, all_shares, means, own_means = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    for q in range(first, last):
        begin, end = level_indptr[q], level_indptr[q + 1]
        if end - begin < 2:
            product[indptr[q] : indptr[q + 1]] = 0.0
            continue
        own_bounds, scale, shares = bounds[begin : end + 1], scales[: end - begin], all_shares[: end - begin]
        is_wide = _choices(scores, order, own_bounds, product, scale, shares)
        mean = 0.0
        for level in range(scale.size - 1, -1, -1):
            own = 0.0
            for row in order[own_bounds[level] : own_bounds[level + 1]]:
                own += product[row] * direction[row]
            if is_wide and level + 1 < scale.size:
                mean *= np.exp(scale[level + 1] - scale[level])
            mean += own
            factor = 1.0 if is_wide else scale[level]
            means[level], own_means[level] = mean * factor, own * factor
        pull, fall = 0.0, 0.0
        for level in range(scale.size):
            size, weight = own_bounds[level + 1] - own_bounds[level], weights[begin + level]
            mass, less = weight * size, 0.0
            slant, own_slant = mass * means[level], 0.0
            if is_efron and size > 1 and weight > 0.0:
                _, mass, less = _efron(size, shares[level])
                slant, own_slant = _efron_curvature(size, shares[level], means[level], own_means[level])
            shrink, factor = _shrink(scale, level, is_wide), 1.0 if is_wide else scale[level]
            pull = pull * shrink + mass * factor
            fall = fall * shrink + slant * factor
            own_pull, own_fall = pull - less * factor, fall - own_slant * factor
            for row in order[own_bounds[level] : own_bounds[level + 1]]:
                product[row] *= direction[row] * own_pull - own_fall


@njit(cache=True, nogil=True)
def _efron_squares(size, share):
    """Σ_r of 1/(1 − c share)² and (1 − c)²/(1 − c share)²."""
    squares, own_squares = 0.0, 0.0
    for r in range(size):
        c = r / size
        rest = 1.0 - c * share
        squares += 1.0 / (rest * rest)
        own_squares += (1.0 - c) * (1.0 - c) / (rest * rest)
    return squares, own_squares


@njit(cache=True, nogil=True, error_model="numpy")
def curvature_diagonal(scores, indptr, order, bounds, level_indptr, weights, is_efron, is_bound, diagonal, first, last):
    """The diagonal of the second derivative, Σ w d (p − p²), or the bound Σ w d p."""
    most = most_levels(level_indptr, first, last)
    scales, all_shares = np.empty(most), np.empty(most)
    for q in range(first, last):
        begin, end = level_indptr[q], level_indptr[q + 1]
        if end - begin < 2:
            diagonal[indptr[q] : indptr[q + 1]] = 0.0
            continue
        own_bounds, scale, shares = bounds[begin : end + 1], scales[: end - begin], all_shares[: end - begin]
        is_wide = _choices(scores, order, own_bounds, diagonal, scale, shares)
        pull, square = 0.0, 0.0
        for level in range(scale.size):
            size, weight = own_bounds[level + 1] - own_bounds[level], weights[begin + level]
            mass, less = weight * size, 0.0
            squares, own_squares = mass, mass
            if is_efron and size > 1 and weight > 0.0:
                _, mass, less = _efron(size, shares[level])
                squares, own_squares = _efron_squares(size, shares[level])
            shrink, factor = _shrink(scale, level, is_wide), 1.0 if is_wide else scale[level]
            pull = pull * shrink + mass * factor
            above = square * shrink * shrink
            square = above + squares * factor * factor
            own_pull, own_square = pull - less * factor, above + own_squares * factor * factor
            if is_bound:
                own_square = 0.0
            for row in order[own_bounds[level] : own_bounds[level + 1]]:
                chance = diagonal[row]
                diagonal[row] = max(chance * (own_pull - chance * own_square), 0.0)


@njit(cache=True, nogil=True)
def shuffle_levels(order, bounds, draws, shuffled):
    """``order`` with the rows of each level in an order drawn anew; ``draws`` are uniform in [0, 1), one per row."""
    shuffled[:] = order
    for level in range(bounds.size - 1):
        start = bounds[level]
        for place in range(bounds[level + 1] - 1, start, -1):
            other = start + int(draws[place] * (place - start + 1))
            shuffled[place], shuffled[other] = shuffled[other], shuffled[place]
