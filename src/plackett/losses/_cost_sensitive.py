"""Kernels of cost-sensitive ListMLE, O(n) per query after the label sort.

A document j costs ``norm · log(1 + Σ_t w_jt exp(f_t − f_j) / norm)`` over the documents t with lower labels. The pair
weight is ``w = strength_j + sign · strength_t``, the same for all documents of a label level, and it changes from one
level to the next by as much for every partner:

- to the next better level, all partners below count ``strength_l − strength_{l+1}`` more (``_step_up``),
- to the next worse level, all partners above count ``sign · (strength_m − strength_{m−1})`` more (``_step_down``).

So sums over pairs are carried from level to level. ``bounds`` and ``level_indptr`` are those of the levels that cost
something and one more for all documents below them; a query that costs nothing has one or none. ``label_order`` holds
the rows of each query by falling label.

Names of what the derivatives are made of, for a document with score f in level l:

- ``weight``, exp(f) as seen from the levels above; ``mean``, Σ_t w exp(f_t) / norm over the documents below level l;
- ``rivalry``, 1 / (exp(f) + mean); ``stay``, exp(f) · rivalry, the probability of f against the documents below;
- ``pull``, Σ_j w · rivalry_j over the documents above, so that weight · pull is the slope by f as a rival.
"""

import math

import numpy as np
from numba import njit

from plackett.losses._exp import exp
from plackett.metrics._graded import EXPONENTIAL, gain

NDCG, LABEL = 1, -1  # also the sign in the pair weight
WIDEST = 300.0  # scores that lie less far apart are taken relative to the largest; others level by level
HUGE = 1e100
FAINT = 1e-200  # of the query's largest strength; weaker levels count nothing, or quotients would lose their digits
ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}
LN2 = math.log(2.0)


@njit(cache=True, nogil=True)
def weigh_levels(labels, label_order, indptr, bounds, level_indptr, kind, k, strength, norm, scale):
    """Strength and norm of each label level, and what each query's sum is multiplied with."""
    for q in range(indptr.size - 1):
        first, last = level_indptr[q], level_indptr[q + 1]
        scale[q] = 0.0
        if first == last:
            continue
        best = labels[label_order[bounds[first]]]
        largest = gain(best, best, EXPONENTIAL)
        ideal, total = 0.0, 0.0
        for level in range(first, last):
            label, place = labels[label_order[bounds[level]]], bounds[level] - indptr[q] + 1
            worth = gain(label, best, EXPONENTIAL) / largest if largest > 0.0 else 0.0
            size = bounds[level + 1] - bounds[level]
            strength[level], norm[level] = 0.0, 0.0
            if place <= k:
                ideal += size * worth / math.log2(1.0 + place)
            if kind == LABEL and best > 0.0:
                strength[level] = max(label, 0.0) / best
            elif kind == NDCG and place <= k:
                strength[level] = worth * LN2 / ((1.0 + place) * math.log(1.0 + place) ** 2)
            if strength[level] < FAINT:
                strength[level] = 0.0
            total += size * strength[level]
        if ideal == 0.0 or total == 0.0:
            continue
        scale[q] = 1.0 / (ideal * LN2)
        if kind == LABEL:
            scale[q] /= total * largest * 2.0**best  # gains are relative to the best label's, here they must not be
        strength_below = 0.0
        for level in range(last - 2, first - 1, -1):
            below = indptr[q + 1] - bounds[level + 1]
            strength_below += (bounds[level + 2] - bounds[level + 1]) * strength[level + 1]
            if strength[level] > 0.0:
                norm[level] = below * strength[level] + strength_below if kind == NDCG else strength[level]


@njit(cache=True, nogil=True)
def _longest(indptr):
    longest = 0
    for q in range(indptr.size - 1):
        longest = max(longest, indptr[q + 1] - indptr[q])
    return longest


@njit(cache=True, nogil=True, fastmath=ANY_ORDER | {"nnan"})
def _range(values):
    low, high = np.inf, -np.inf
    for i in range(values.size):
        low, high = min(low, values[i]), max(high, values[i])
    return low, high


@njit(cache=True, nogil=True, fastmath={"contract"})
def _exp_below(scores, top, out):
    for i in range(scores.size):
        out[i] = exp(scores[i] - top)


@njit(cache=True, nogil=True)
def _fill(values, number):
    for i in range(values.size):
        values[i] = number


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(cache=True, nogil=True)
def _step_up(inner, below, joining, strength, level, sign, change):
    """Σ w · x and Σ x over the documents below a level, from those of the level after and its own Σ x, ``joining``."""
    inner = (inner + (strength[level] - strength[level + 1]) * below) * change
    return inner + (strength[level] + sign * strength[level + 1]) * joining, below * change + joining


@njit(cache=True, nogil=True)
def _step_down(pull, above, joining, strength, level, sign, change):
    """Σ w · x and Σ x over the documents above a level, from those of the level before and its own Σ x, ``joining``."""
    pull = (pull + sign * (strength[level] - strength[level - 1]) * above) * change
    return pull + (strength[level - 1] + sign * strength[level]) * joining, above * change + joining


@njit(cache=True, nogil=True)
def _sum_of_rows(values, rows):
    """Sum in two strands, each of which waits for its last addition."""
    a, b = 0.0, 0.0
    for p in range(rows.size // 2):
        a += values[rows[2 * p]]
        b += values[rows[2 * p + 1]]
    if rows.size % 2 == 1:
        a += values[rows[rows.size - 1]]
    return a + b


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _narrow_level(slope, rows, mean, pull, push):
    """Σ log(1 + mean / exp) and Σ rivalry of a level, whose exponentials in ``slope`` become its slopes."""
    joining, logs = 0.0, 0.0
    product = 0.0  # Π (1 + mean / exp) − 1: one logarithm for many documents, and small terms keep their digits
    for p in range(rows.size):
        weight = slope[rows[p]]
        rivalry = 1.0 / (weight + mean)
        joining += rivalry
        slope[rows[p]] = pull * weight - push * rivalry
        product += mean / weight * (1.0 + product)
        if product > HUGE:
            logs += math.log(product)
            product = 0.0
    return logs + math.log1p(product), joining


@njit(cache=True, nogil=True, error_model="numpy")
def _narrow(label_order, bounds, strength, norm, scale, sign, mean, slope):
    """A query whose scores lie close; ``slope`` holds the exponentials relative to the largest. Returns its loss."""
    n_levels = strength.size
    inner, below = 0.0, 0.0
    for level in range(n_levels - 2, -1, -1):
        joining = _sum_of_rows(slope, label_order[bounds[level + 1] : bounds[level + 2]])
        inner, below = _step_up(inner, below, joining, strength, level, sign, 1.0)
        mean[level] = inner / norm[level]
    loss, pull, above = 0.0, 0.0, 0.0
    for level in range(n_levels - 1):
        rows = label_order[bounds[level] : bounds[level + 1]]
        push = scale * norm[level] * mean[level]
        logs, joining = _narrow_level(slope, rows, mean[level], scale * pull, push)
        loss += scale * norm[level] * logs
        pull, above = _step_down(pull, above, joining, strength, level + 1, sign, 1.0)
    rows = label_order[bounds[n_levels - 1] : bounds[n_levels]]
    for p in range(rows.size):
        slope[rows[p]] *= scale * pull
    return loss


@njit(cache=True, nogil=True)
def value_and_slope(scores, label_order, indptr, bounds, level_indptr, strength, norm, scale, sign, losses, slope):
    """Losses and slopes; returns how many queries it left to ``wide_value_and_slope``, which have NaN as loss."""
    mean = np.empty(_longest(level_indptr))
    n_left = 0
    for q in range(indptr.size - 1):
        start, stop, first, last = indptr[q], indptr[q + 1], level_indptr[q], level_indptr[q + 1]
        if last - first < 2:
            losses[q] = 0.0
            _fill(slope[start:stop], 0.0)
            continue
        low, high = _range(scores[start:stop])
        if not high - low < WIDEST:
            losses[q] = np.nan
            n_left += 1
            continue
        _exp_below(scores[start:stop], high, slope[start:stop])
        losses[q] = _narrow(
            label_order, bounds[first : last + 1], strength[first:last], norm[first:last], scale[q], sign, mean, slope
        )
    return n_left


@njit(cache=True, nogil=True, error_model="numpy")
def _prepare(scores, bounds, strength, norm, sign, top, mean, change, pull, weight, rivalry, stay):
    """Everything that derivatives are made of, for one query with any finite scores, given in label order.

    Exponentials of the documents below level l are relative to ``top[l]``, the largest score below it;
    ``change[l]`` is the exponential of ``top[l]`` relative to ``top[l − 1]``.
    """
    n_levels, start = strength.size, bounds[0]
    highest = -np.inf
    for level in range(n_levels - 1, 0, -1):
        docs = slice(bounds[level] - start, bounds[level + 1] - start)
        _, high = _range(scores[docs])
        highest = max(highest, high)
        top[level - 1] = highest
        _exp_below(scores[docs], highest, weight[docs])
    _fill(change, 1.0)
    for level in range(1, n_levels - 1):
        change[level] = math.exp(top[level] - top[level - 1])
    _fill(weight[: bounds[1] - start], 0.0)
    _fill(rivalry[bounds[n_levels - 1] - start :], 0.0)
    _fill(stay[bounds[n_levels - 1] - start :], 0.0)
    mean[n_levels - 1] = 0.0
    inner, below = 0.0, 0.0
    for level in range(n_levels - 2, -1, -1):
        joining = _sum(weight[bounds[level + 1] - start : bounds[level + 2] - start])
        inner, below = _step_up(inner, below, joining, strength, level, sign, change[level + 1])
        mean[level] = inner / norm[level]
        for p in range(bounds[level] - start, bounds[level + 1] - start):
            own = exp(min(scores[p] - top[level], 700.0))
            rivalry[p] = 1.0 / (own + mean[level])
            stay[p] = own * rivalry[p]
    pull[0], above = 0.0, 0.0
    for level in range(1, n_levels):
        joining = _sum(rivalry[bounds[level - 1] - start : bounds[level] - start])
        pull[level], above = _step_down(pull[level - 1], above, joining, strength, level, sign, change[level - 1])


@njit(cache=True, nogil=True)
def prepare(
    scores, label_order, indptr, bounds, level_indptr, strength, norm, scale, sign,
    mean, change, pull, weight, rivalry, stay,
):  # fmt: skip
    """Names as above: one ``change``, ``mean`` and ``pull`` per level, the rest per document in label order."""
    ranked, top = np.empty(_longest(indptr)), np.empty(_longest(level_indptr))
    for q in range(indptr.size - 1):
        docs, levels = slice(indptr[q], indptr[q + 1]), slice(level_indptr[q], level_indptr[q + 1])
        if levels.stop - levels.start < 2:
            for zeros in (mean[levels], pull[levels], weight[docs], rivalry[docs], stay[docs]):
                _fill(zeros, 0.0)
            _fill(change[levels], 1.0)
            continue
        here = ranked[: docs.stop - docs.start]
        for p in range(here.size):
            here[p] = scores[label_order[docs.start + p]]
        _prepare(
            here, bounds[levels.start : levels.stop + 1], strength[levels], norm[levels], sign, top,
            mean[levels], change[levels], pull[levels], weight[docs], rivalry[docs], stay[docs],
        )  # fmt: skip


@njit(cache=True, nogil=True)
def _log_one_plus(mean, gap):
    """log(1 + mean · exp(gap)) for any gap."""
    return math.log(mean) + gap if gap > WIDEST else math.log1p(mean * math.exp(gap))


@njit(cache=True, nogil=True)
def wide_value_and_slope(
    scores, label_order, indptr, bounds, level_indptr, strength, norm, scale, sign,
    mean, change, pull, weight, rivalry, stay, losses, slope,
):  # fmt: skip
    """The queries that ``value_and_slope`` left, from what ``prepare`` wrote."""
    for q in range(indptr.size - 1):
        if not np.isnan(losses[q]):
            continue
        losses[q], highest = 0.0, -np.inf
        for level in range(level_indptr[q + 1] - 1, level_indptr[q] - 1, -1):
            push = norm[level] * mean[level]
            for p in range(bounds[level], bounds[level + 1]):
                row = label_order[p]
                if norm[level] > 0.0:
                    losses[q] += scale[q] * norm[level] * _log_one_plus(mean[level], highest - scores[row])
                slope[row] = scale[q] * (pull[level] * weight[p] - push * rivalry[p])
            for p in range(bounds[level], bounds[level + 1]):
                highest = max(highest, scores[label_order[p]])


@njit(cache=True, nogil=True)
def square_pulls(bounds, level_indptr, strength, norm, sign, change, rivalry, squares):
    """Σ_j w² · rivalry_j² / norm over the documents above each level."""
    for q in range(level_indptr.size - 1):
        square, pull, above = 0.0, 0.0, 0.0
        for level in range(level_indptr[q], level_indptr[q + 1]):
            if level > level_indptr[q]:
                joining = 0.0
                for p in range(bounds[level - 1], bounds[level]):
                    joining += rivalry[p] ** 2
                joining /= norm[level - 1]
                more, factor = sign * (strength[level] - strength[level - 1]), change[level - 1] ** 2
                square = (square + 2.0 * more * pull + more**2 * above) * factor
                square += (strength[level - 1] + sign * strength[level]) ** 2 * joining
                pull, above = _step_down(pull, above, joining, strength, level, sign, factor)
            squares[level] = square


@njit(cache=True, nogil=True)
def product(
    direction, label_order, indptr, bounds, level_indptr, strength, norm, scale, sign,
    change, pull, weight, rivalry, stay, out,
):  # fmt: skip
    """The second derivative times ``direction`` v: π v − π (π · v) of each term, π its choice probabilities."""
    ranked, mean = np.empty(_longest(indptr)), np.empty(_longest(level_indptr))
    for q in range(indptr.size - 1):
        start, first, last = indptr[q], level_indptr[q], level_indptr[q + 1]
        for p in range(start, indptr[q + 1]):
            ranked[p - start] = direction[label_order[p]]
        inner, below, joining = 0.0, 0.0, 0.0
        for level in range(last - 2, first - 1, -1):
            joining = 0.0
            for p in range(bounds[level + 1], bounds[level + 2]):
                joining += weight[p] * ranked[p - start]
            inner, below = _step_up(inner, below, joining, strength, level, sign, change[level + 1])
            mean[level - first] = inner / norm[level]
        above, crossed, joining = 0.0, 0.0, 0.0
        for level in range(first, last):
            if level > first:
                crossed, above = _step_down(crossed, above, joining, strength, level, sign, change[level - 1])
            joining = 0.0
            for p in range(bounds[level], bounds[level + 1]):
                along = ranked[p - start]
                bent = weight[p] * (along * pull[level] - crossed)
                if level < last - 1:
                    expected = stay[p] * along + rivalry[p] * mean[level - first]
                    joining += rivalry[p] * expected
                    bent += norm[level] * stay[p] * (along - expected)
                out[label_order[p]] = scale[q] * bent
