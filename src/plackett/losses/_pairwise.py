"""Kernels of the pairwise losses without kinks: logistic, which meets every pair, and exponential, which factorises.

Documents stand in label order, the best first. Scores are taken relative to the middle of their range within the query;
``up`` and ``down`` are e to the score and to its negative, so that a pair costs a product instead of an exponential.
Where the scores are too far apart for that (``NARROW``), exponentials are taken pair by pair, or level by level.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from plackett.losses._exp import exp
from plackett.losses._pair_sums import FARTHEST, FAST, PAD, extremes, group_size, longest

NARROW = 600.0  # range of scores within which products of exponentials neither overflow nor lose digits
BLOCK = 2048  # partners worked through at a time, so that they stay in the fastest cache
GROUPS = 100  # groups of four rows after which the running product, at most 16 a group, is turned into a logarithm
FULL = 1e150
SLOPE, PRODUCT, DIAGONAL = -1, 0, 1  # what ``exponential`` is asked for


@njit(cache=True, nogil=True)
def _centre(scores, rows, values):
    """Scores of one query in label order, relative to the middle of their range; gives half that range."""
    for k in range(rows.size):
        values[k] = scores[rows[k]]
    low, high = extremes(values[: rows.size])
    middle = 0.5 * low + 0.5 * high
    for k in range(rows.size):
        values[k] = min(max(values[k] - middle, -FARTHEST), FARTHEST)
    return 0.5 * high - 0.5 * low


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _exponentials(values, up, down):
    for k in range(values.size):
        up[k] = exp(min(max(values[k], -0.5 * NARROW), 0.5 * NARROW))
    for k in range(values.size):
        down[k] = 1.0 / up[k]


# ---- logistic ----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _loss_rows(f, u, d, pull, excess, first, last, i, n_rows):
    """Four better documents from ``i`` on against places ``first:last``; gives their summed positive parts.

    log(1 + e^-m) = max(-m, 0) + log(1 + w), w = e^-|m|. The factors 1 + w are multiplied up, less 1 so that small w
    keep their digits: ``excess``. Four reciprocals of them cost one division.
    """
    f0, u0, d0 = f[i], u[i], d[i]
    f1 = f2 = f3 = np.inf  # a row that is not there: nobody is near it, or above
    u1 = u2 = u3 = d1 = d2 = d3 = 0.0
    if n_rows > 1:
        f1, u1, d1 = f[i + 1], u[i + 1], d[i + 1]
    if n_rows > 2:
        f2, u2, d2 = f[i + 2], u[i + 2], d[i + 2]
    if n_rows > 3:
        f3, u3, d3 = f[i + 3], u[i + 3], d[i + 3]
    positive = p0 = p1 = p2 = p3 = 0.0
    for j in range(first, last):
        x, up, down = f[j], u[j], d[j]
        w0, w1, w2, w3 = (
            min(up * d0, down * u0),
            min(up * d1, down * u1),
            min(up * d2, down * u2),
            min(up * d3, down * u3),
        )
        e01, e23 = w0 + w1 + w0 * w1, w2 + w3 + w2 * w3
        e = e01 + e23 + e01 * e23
        inverse = 1.0 / (1.0 + e)
        i01, i23 = inverse * (1.0 + e23), inverse * (1.0 + e01)
        q0 = (1.0 if x > f0 else w0) * (i01 * (1.0 + w1))
        q1 = (1.0 if x > f1 else w1) * (i01 * (1.0 + w0))
        q2 = (1.0 if x > f2 else w2) * (i23 * (1.0 + w3))
        q3 = (1.0 if x > f3 else w3) * (i23 * (1.0 + w2))
        positive += (max(x - f0, 0.0) + max(x - f1, 0.0)) + (max(x - f2, 0.0) + max(x - f3, 0.0))
        excess[j] += e + excess[j] * e
        p0 += q0
        p1 += q1
        p2 += q2
        p3 += q3
        pull[j] += (q0 + q1) + (q2 + q3)
    pull[i] -= p0
    if n_rows > 1:
        pull[i + 1] -= p1
    if n_rows > 2:
        pull[i + 2] -= p2
    if n_rows > 3:
        pull[i + 3] -= p3
    return positive


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _loss_row(f, pull, excess, first, last, i):
    """The same for one document, with an exponential for each pair, which any range of scores allows."""
    positive, drawn, at = 0.0, 0.0, f[i]
    for j in range(first, last):
        above = f[j] - at
        w = exp(-abs(above))
        q = (1.0 if above > 0.0 else w) / (1.0 + w)
        positive += max(above, 0.0)
        excess[j] += w + excess[j] * w
        drawn += q
        pull[j] += q
    pull[i] -= drawn
    return positive


@njit(cache=True, nogil=True)
def _take_logs(excess):
    """The summed logarithms of 1 + excess; starts the products anew."""
    total, product = 0.0, 0.0
    for j in range(excess.size):
        product += excess[j] + product * excess[j]
        if product > FULL:
            total += np.log1p(product)
            product = 0.0
        excess[j] = 0.0
    return total + np.log1p(product)


@njit(cache=True, nogil=True)
def _loss_query(is_wide, f, u, d, run_end, pull, excess):
    """The loss of one query; arrays hold ``PAD`` places more than documents."""
    n = run_end.size
    loss = 0.0
    for block in range(0, n, BLOCK):
        stop = min(block + BLOCK, n)
        i, n_groups = 0, 0
        while i < n and run_end[i] < stop:
            n_rows = 1 if is_wide else group_size(run_end, i, stop)
            common = max(min(run_end[i + n_rows - 1], stop), block)
            for r in range(n_rows - 1):
                first = max(run_end[i + r], block)
                if first < common:
                    loss += _loss_row(f, pull, excess, np.uint64(first), np.uint64(common), i + r)
            if is_wide:
                loss += _loss_row(f, pull, excess, np.uint64(common), np.uint64(stop), i)
            else:
                last = common + (stop - common + PAD - 1) // PAD * PAD if stop == n else stop
                loss += _loss_rows(f, u, d, pull, excess, np.uint64(common), np.uint64(last), i, n_rows)
            i += n_rows
            n_groups += 1
            if n_groups % GROUPS == 0:
                loss += _take_logs(excess[block:stop])
        loss += _take_logs(excess[block:stop])
    return loss


@njit(cache=True, nogil=True)
def _prepare(is_wide, n, f, u, d):
    """Exponentials of one query, and behind it places that are nobody's partner."""
    for k in range(n, n + PAD):
        f[k] = -np.inf
        u[k] = d[k] = 0.0
    if not is_wide:
        _exponentials(f[:n], u[:n], d[:n])


@njit(cache=True, nogil=True)
def logistic(scores, order, indptr, run_end, weights, losses, slope):
    """The logistic loss of each query and its slope, times the query's weight."""
    size = longest(indptr) + PAD
    f, u, d, pull, excess = np.empty(size), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for q in range(indptr.size - 1):
        rows, n = order[indptr[q] : indptr[q + 1]], indptr[q + 1] - indptr[q]
        losses[q] = 0.0
        for k in range(n + PAD):
            pull[k] = 0.0
            excess[k] = 0.0
        if weights[q] > 0.0:
            is_wide = 2.0 * _centre(scores, rows, f) > NARROW
            _prepare(is_wide, n, f, u, d)
            losses[q] = weights[q] * _loss_query(is_wide, f, u, d, run_end[indptr[q] : indptr[q + 1]], pull, excess)
        for k in range(n):
            slope[rows[k]] = weights[q] * pull[k]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _curvature_rows(f, u, d, direction, out, first, last, i, n_rows):
    """As ``_loss_rows``: add to ``out``, on both sides, w / (1 + w)² times the partner's direction."""
    u0, d0, t0 = u[i], d[i], direction[i]
    u1 = u2 = u3 = d1 = d2 = d3 = t1 = t2 = t3 = 0.0
    if n_rows > 1:
        u1, d1, t1 = u[i + 1], d[i + 1], direction[i + 1]
    if n_rows > 2:
        u2, d2, t2 = u[i + 2], d[i + 2], direction[i + 2]
    if n_rows > 3:
        u3, d3, t3 = u[i + 3], d[i + 3], direction[i + 3]
    s0 = s1 = s2 = s3 = 0.0
    for j in range(first, last):
        up, down, t = u[j], d[j], direction[j]
        w0, w1, w2, w3 = (
            min(up * d0, down * u0),
            min(up * d1, down * u1),
            min(up * d2, down * u2),
            min(up * d3, down * u3),
        )
        a01, a23 = (1.0 + w0) * (1.0 + w1), (1.0 + w2) * (1.0 + w3)
        inverse = 1.0 / (a01 * a23)
        i01, i23 = inverse * a23, inverse * a01
        q0, q1, q2, q3 = i01 * (1.0 + w1), i01 * (1.0 + w0), i23 * (1.0 + w3), i23 * (1.0 + w2)
        c0, c1, c2, c3 = w0 * q0 * q0, w1 * q1 * q1, w2 * q2 * q2, w3 * q3 * q3
        s0 += c0 * t
        s1 += c1 * t
        s2 += c2 * t
        s3 += c3 * t
        out[j] += (c0 * t0 + c1 * t1) + (c2 * t2 + c3 * t3)
    out[i] += s0
    if n_rows > 1:
        out[i + 1] += s1
    if n_rows > 2:
        out[i + 2] += s2
    if n_rows > 3:
        out[i + 3] += s3


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _curvature_row(f, direction, out, first, last, i):
    total, at, own = 0.0, f[i], direction[i]
    for j in range(first, last):
        w = exp(-abs(f[j] - at))
        q = 1.0 / (1.0 + w)
        c = w * q * q
        total += c * direction[j]
        out[j] += c * own
    out[i] += total


@njit(cache=True, nogil=True)
def _curvature_query(is_wide, f, u, d, run_end, direction, out):
    n = run_end.size
    for block in range(0, n, BLOCK):
        stop = min(block + BLOCK, n)
        i = 0
        while i < n and run_end[i] < stop:
            n_rows = 1 if is_wide else group_size(run_end, i, stop)
            common = max(min(run_end[i + n_rows - 1], stop), block)
            for r in range(n_rows - 1):
                first = max(run_end[i + r], block)
                if first < common:
                    _curvature_row(f, direction, out, np.uint64(first), np.uint64(common), i + r)
            if is_wide:
                _curvature_row(f, direction, out, np.uint64(common), np.uint64(stop), i)
            else:
                last = common + (stop - common + PAD - 1) // PAD * PAD if stop == n else stop
                _curvature_rows(f, u, d, direction, out, np.uint64(common), np.uint64(last), i, n_rows)
            i += n_rows


@njit(cache=True, nogil=True)
def logistic_curvature(scores, order, indptr, run_end, weights, diagonal, direction, answer):
    """The second derivative times the direction, given its diagonal; with an empty diagonal: that diagonal."""
    size = longest(indptr) + PAD
    f, u, d, along, out = np.empty(size), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for q in range(indptr.size - 1):
        rows, n = order[indptr[q] : indptr[q + 1]], indptr[q + 1] - indptr[q]
        for k in range(n):
            along[k] = 1.0 if diagonal.size == 0 else direction[rows[k]]
        for k in range(n + PAD):
            out[k] = 0.0
        for k in range(n, n + PAD):
            along[k] = 0.0
        if weights[q] > 0.0:
            is_wide = 2.0 * _centre(scores, rows, f) > NARROW
            _prepare(is_wide, n, f, u, d)
            _curvature_query(is_wide, f, u, d, run_end[indptr[q] : indptr[q + 1]], along, out)
        if diagonal.size == 0:
            for k in range(n):
                answer[rows[k]] = weights[q] * out[k]
        else:
            for k in range(n):
                answer[rows[k]] = diagonal[rows[k]] * along[k] - weights[q] * out[k]


# ---- exponential -------------------------------------------------------------------------------------------------
#
# A pair costs e^(f_j - f_i) = to_worse_j * from_better_i, and as much written from_worse_j * to_better_i. Going down
# the levels, ``above`` sums from_better over the levels passed; going up, ``below`` sums from_worse. Within a narrow
# range both ways have the same factors, ``up`` and ``down``. In a wide one each level has its own reference: the least
# score above it on the way down, the largest below it on the way up; ``rescale`` moves the sums from one to the next.


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _wide_factors(f, bounds, to_worse, from_better, rescale_down, to_better, from_worse, rescale_up):
    """Factors with a reference for each level. Exponents are cut at ``NARROW``: beyond, a document's sum is e^600."""
    n_levels = bounds.size - 1
    least = np.inf
    for level in range(n_levels):
        inner = least
        for k in range(bounds[level], bounds[level + 1]):
            inner = min(inner, f[k])
        for k in range(bounds[level], bounds[level + 1]):
            to_worse[k] = exp(min(f[k] - least, NARROW)) if level > 0 else 0.0
            from_better[k] = exp(inner - f[k])
        rescale_down[level] = exp(inner - least) if level > 0 else 0.0
        least = inner
    largest = -np.inf
    for level in range(n_levels - 1, -1, -1):
        inner = largest
        for k in range(bounds[level], bounds[level + 1]):
            inner = max(inner, f[k])
        for k in range(bounds[level], bounds[level + 1]):
            to_better[k] = exp(min(largest - f[k], NARROW)) if level < n_levels - 1 else 0.0
            from_worse[k] = exp(f[k] - inner)
        rescale_up[level] = exp(largest - inner) if level < n_levels - 1 else 0.0
        largest = inner


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _exponential_query(
    bounds, to_worse, from_better, rescale_down, to_better, from_worse, rescale_up, sign, is_wide, out
):
    """Each document's sum over its better partners plus ``sign`` times that over its worse ones; gives the loss."""
    n_levels = bounds.size - 1
    loss, above, below = 0.0, 0.0, 0.0
    for level in range(n_levels):
        gained = 0.0
        spent = 0.0
        for k in range(np.uint64(bounds[level]), np.uint64(bounds[level + 1])):
            out[k] = to_worse[k] * above
            spent += to_worse[k]
            gained += from_better[k]
        loss += spent * above
        above = (above * rescale_down[level] if is_wide else above) + gained
    for level in range(n_levels - 1, -1, -1):
        gained = 0.0
        signed = sign * below
        for k in range(np.uint64(bounds[level]), np.uint64(bounds[level + 1])):
            out[k] += to_better[k] * signed
            gained += from_worse[k]
        below = (below * rescale_up[level] if is_wide else below) + gained
    return loss


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _exponential_product(
    bounds, to_worse, from_better, rescale_down, to_better, from_worse, rescale_up, is_wide, direction, out
):
    n_levels = bounds.size - 1
    above, above_along = 0.0, 0.0
    for level in range(n_levels):
        gained, along = 0.0, 0.0
        for k in range(np.uint64(bounds[level]), np.uint64(bounds[level + 1])):
            out[k] = to_worse[k] * (above * direction[k] - above_along)
            gained += from_better[k]
            along += from_better[k] * direction[k]
        rescale = rescale_down[level] if is_wide else 1.0
        above, above_along = above * rescale + gained, above_along * rescale + along
    below, below_along = 0.0, 0.0
    for level in range(n_levels - 1, -1, -1):
        gained, along = 0.0, 0.0
        for k in range(np.uint64(bounds[level]), np.uint64(bounds[level + 1])):
            out[k] += to_better[k] * (below * direction[k] - below_along)
            gained += from_worse[k]
            along += from_worse[k] * direction[k]
        rescale = rescale_up[level] if is_wide else 1.0
        below, below_along = below * rescale + gained, below_along * rescale + along


@njit(cache=True, nogil=True)
def exponential(what, scores, order, indptr, level_bounds, level_indptr, weights, direction, losses, answer):
    """The exponential loss of each query; the answer is its slope, or the second derivative's diagonal or product."""
    n = longest(indptr)
    f, up, down, out, along = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    to_better, from_worse, rescale_down, rescale_up = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    bounds = np.empty(n + 1, np.int64)
    for q in range(indptr.size - 1):
        rows, weight = order[indptr[q] : indptr[q + 1]], weights[q]
        losses[q] = 0.0
        if weight == 0.0:
            for k in range(rows.size):
                answer[rows[k]] = 0.0
            continue
        is_wide = 2.0 * _centre(scores, rows, f) > NARROW
        n_levels = level_indptr[q + 1] - level_indptr[q]
        for level in range(n_levels + 1):
            bounds[level] = level_bounds[level_indptr[q] + level] - indptr[q]
        own = bounds[: n_levels + 1]
        to, back = down, up
        if is_wide:
            to, back = to_better, from_worse
            _wide_factors(f, own, up, down, rescale_down, to, back, rescale_up)
        else:
            _exponentials(f[: rows.size], up, down)
        if what == PRODUCT:
            for k in range(rows.size):
                along[k] = direction[rows[k]]
            _exponential_product(own, up, down, rescale_down, to, back, rescale_up, is_wide, along, out)
        else:
            losses[q] = weight * _exponential_query(
                own, up, down, rescale_down, to, back, rescale_up, float(what), is_wide, out
            )
        for k in range(rows.size):
            answer[rows[k]] = weight * out[k]
