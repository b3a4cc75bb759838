"""Second derivatives of the hinge losses: which pairs are active, found once, and products with that.

The second derivative of the squared hinge is a constant times D - A: A joins the active pairs, those with z > 0, and D
counts them for each document. For the bent hinge the active pairs are those on the parabola, 0 < z <= w. Crossings keep
the sorted order of both halves and, for each document, where its active partners begin and end in the other half; a
product is then one running sum per half and two look-ups per document, without a branch. Pairs within leaves are met
directly, as in ``_pair_sums``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from plackett.losses._pair_sums import (
    FAST,
    PAD,
    group_size,
    load,
    longest,
    make_room,
    make_walk,
    merge,
    sort_leaf,
    split,
    take_walk,
)


@njit(inline="always")
def _active_rows(values, direction, out, first, last, t0, t1, t2, t3, d0, d1, d2, d3):
    """Add A times the direction for four better documents at t0 to t3: to ``out`` of the worse; gives the others'."""
    s0 = s1 = s2 = s3 = 0.0
    for j in range(first, last):
        x, d = values[j], direction[j]
        s0 += d if x > t0 else 0.0
        s1 += d if x > t1 else 0.0
        s2 += d if x > t2 else 0.0
        s3 += d if x > t3 else 0.0
        out[j] += ((d0 if x > t0 else 0.0) + (d1 if x > t1 else 0.0)) + (
            (d2 if x > t2 else 0.0) + (d3 if x > t3 else 0.0)
        )
    return s0, s1, s2, s3


@njit(inline="always")
def _band_rows(values, direction, out, first, last, t0, t1, t2, t3, f0, f1, f2, f3, d0, d1, d2, d3):
    """As ``_active_rows``, with active partners up to f0 to f3 only."""
    s0 = s1 = s2 = s3 = 0.0
    for j in range(first, last):
        x, d = values[j], direction[j]
        a0 = (1.0 if x > t0 else 0.0) - (1.0 if x > f0 else 0.0)
        a1 = (1.0 if x > t1 else 0.0) - (1.0 if x > f1 else 0.0)
        a2 = (1.0 if x > t2 else 0.0) - (1.0 if x > f2 else 0.0)
        a3 = (1.0 if x > t3 else 0.0) - (1.0 if x > f3 else 0.0)
        s0 += a0 * d
        s1 += a1 * d
        s2 += a2 * d
        s3 += a3 * d
        out[j] += (a0 * d0 + a1 * d1) + (a2 * d2 + a3 * d3)
    return s0, s1, s2, s3


@njit(inline="always")
def _rows(is_band, width, values, direction, out, i, n_rows, first, last):
    t0, d0 = values[i] - 1.0, direction[i]
    t1 = t2 = t3 = np.inf
    d1 = d2 = d3 = 0.0
    if n_rows > 1:
        t1, d1 = values[i + 1] - 1.0, direction[i + 1]
    if n_rows > 2:
        t2, d2 = values[i + 2] - 1.0, direction[i + 2]
    if n_rows > 3:
        t3, d3 = values[i + 3] - 1.0, direction[i + 3]
    if is_band:
        f0 = values[i] - (1.0 - width)
        f1 = values[i + 1] - (1.0 - width) if n_rows > 1 else np.inf
        f2 = values[i + 2] - (1.0 - width) if n_rows > 2 else np.inf
        f3 = values[i + 3] - (1.0 - width) if n_rows > 3 else np.inf
        s0, s1, s2, s3 = _band_rows(values, direction, out, first, last, t0, t1, t2, t3, f0, f1, f2, f3, d0, d1, d2, d3)
    else:
        s0, s1, s2, s3 = _active_rows(values, direction, out, first, last, t0, t1, t2, t3, d0, d1, d2, d3)
    out[i] += s0
    if n_rows > 1:
        out[i + 1] += s1
    if n_rows > 2:
        out[i + 2] += s2
    if n_rows > 3:
        out[i + 3] += s3


@njit(cache=True, nogil=True, fastmath=FAST)
def _leaf(is_band, width, values, run_end, start, stop, direction, own, own_direction, own_out, out):
    """Add A times the direction for the pairs within ``start:stop``, in a copy with bad documents behind it."""
    n = stop - start
    ends = run_end[start:stop]
    if ends[0] >= stop:
        return
    given, given_direction = values[start:stop], direction[start:stop]
    for k in range(given.size):
        own[k] = given[k]
        own_direction[k] = given_direction[k]
        own_out[k] = 0.0
    for k in range(n, n + PAD):
        own[k] = -np.inf
        own_direction[k] = own_out[k] = 0.0
    i = 0
    while i < n and ends[i] < stop:
        n_rows = group_size(ends, i, stop)
        common = min(ends[i + n_rows - 1], stop) - start
        for r in range(n_rows - 1):
            at, flat = own[i + r] - 1.0, own[i + r] - (1.0 - width)
            for j in range(ends[i + r] - start, common):
                is_active = own[j] > at and not (is_band and own[j] > flat)
                own_out[i + r] += own_direction[j] if is_active else 0.0
                own_out[j] += own_direction[i + r] if is_active else 0.0
        whole = (n - common + PAD - 1) // PAD * PAD
        _rows(is_band, width, own, own_direction, own_out, i, n_rows, np.uint64(common), np.uint64(common + whole))
        i += n_rows
    for k in range(n):
        out[start + k] += own_out[k]


@njit(cache=True, nogil=True)
def find_active(
    is_band, width, scores, order, indptr, run_end, steps, step_indptr, values, counts, places, begins, ends
):
    """Scores and numbers of active pairs, both in label order, and what the crossings keep.

    A crossing's entries are its documents in sorted order: their ``places`` in the query, and the part of the other
    half that is active with them, from ``begins`` to ``ends`` (which only bands need).
    """
    n = longest(indptr)
    sorted_values, current, ones = np.empty(n), np.empty(n, np.int32), np.ones(n)
    own, own_direction, own_out = np.empty(n + PAD), np.empty(n + PAD), np.empty(n + PAD)
    room, walk = make_room(n), make_walk(n)
    for q in range(indptr.size - 1):
        first, last = indptr[q], indptr[q + 1]
        own_values, own_counts, own_ends = values[first:last], counts[first:last], run_end[first:last]
        load(scores, order[first:last], own_values)
        for k in range(own_counts.size):
            own_counts[k] = 0.0
        for s in range(step_indptr[q], step_indptr[q + 1]):
            start, middle, stop, store = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3]
            is_whole = s == step_indptr[q + 1] - 1
            if middle == start:
                _leaf(is_band, width, own_values, own_ends, start, stop, ones, own, own_direction, own_out, own_counts)
                if not is_whole:
                    sort_leaf(own_values, start, stop, sorted_values, current, room)
                continue
            n_better, n_worse = middle - start, stop - middle
            for k in range(stop - start):
                places[store + k] = current[start + k]
            split(sorted_values, start, middle, stop, 1.0, room)
            take_walk(n_better, n_worse, room, walk)
            for k in range(n_better):
                own_counts[current[start + k]] += walk.better_count[k + 1]
                begins[store + k] = n_worse - walk.better_count[k + 1]
            for k in range(n_worse):
                own_counts[current[middle + k]] += walk.worse_count[k + 1]
                begins[store + n_better + k] = walk.worse_count[k + 1]
            if is_band:
                split(sorted_values, start, middle, stop, 1.0 - width, room)
                take_walk(n_better, n_worse, room, walk)
                for k in range(n_better):
                    own_counts[current[start + k]] -= walk.better_count[k + 1]
                    ends[store + k] = n_worse - walk.better_count[k + 1]
                for k in range(n_worse):
                    own_counts[current[middle + k]] -= walk.worse_count[k + 1]
                    ends[store + n_better + k] = walk.worse_count[k + 1]
            if not is_whole:
                split(sorted_values, start, middle, stop, 0.0, room)
                merge(sorted_values, current, start, middle, stop, room)


@njit(cache=True, nogil=True)
def _running_sums(direction, places, n_better, better, worse):
    """Sums over the first documents of either half; both at once, since each sum waits for the one before."""
    n_worse = places.size - n_better
    of_better, of_worse = places[:n_better], places[n_better:]
    sum_better = sum_worse = 0.0
    better[0] = worse[0] = 0.0
    n_both = min(n_better, n_worse)
    for k in range(n_both):
        sum_better += direction[of_better[k]]
        better[k + 1] = sum_better
        sum_worse += direction[of_worse[k]]
        worse[k + 1] = sum_worse
    for k in range(n_both, n_better):
        sum_better += direction[of_better[k]]
        better[k + 1] = sum_better
    for k in range(n_both, n_worse):
        sum_worse += direction[of_worse[k]]
        worse[k + 1] = sum_worse


@njit(cache=True, nogil=True)
def product(
    is_band, width, direction, order, indptr, run_end, steps, step_indptr, weights, answer, values, counts, places,
    begins, ends,
):  # fmt: skip
    """Each query's weight times D - A, times the direction."""
    n = longest(indptr)
    along, out = np.empty(n), np.empty(n)
    own, own_direction, own_out = np.empty(n + PAD), np.empty(n + PAD), np.empty(n + PAD)
    better, worse = np.empty(n + 1), np.empty(n + 1)
    for q in range(indptr.size - 1):
        first, last = indptr[q], indptr[q + 1]
        rows, own_values, own_ends = order[first:last], values[first:last], run_end[first:last]
        for k in range(rows.size):
            along[k] = direction[rows[k]]
            out[k] = 0.0
        if weights[q] > 0.0:
            for s in range(step_indptr[q], step_indptr[q + 1]):
                start, middle, stop, store = steps[s, 0], steps[s, 1], steps[s, 2], steps[s, 3]
                if middle == start:
                    _leaf(is_band, width, own_values, own_ends, start, stop, along, own, own_direction, own_out, out)
                    continue
                n_better, size = middle - start, stop - start
                of_better, of_worse = places[store : store + n_better], places[store + n_better : store + size]
                begin_better, begin_worse = begins[store : store + n_better], begins[store + n_better : store + size]
                _running_sums(along, places[store : store + size], n_better, better, worse)
                if is_band:
                    end_better, end_worse = ends[store : store + n_better], ends[store + n_better : store + size]
                    for k in range(of_better.size):
                        out[of_better[k]] += worse[end_better[k]] - worse[begin_better[k]]
                    for k in range(of_worse.size):
                        out[of_worse[k]] += better[begin_worse[k]] - better[end_worse[k]]
                else:
                    total = worse[stop - middle]
                    for k in range(of_better.size):
                        out[of_better[k]] += total - worse[begin_better[k]]
                    for k in range(of_worse.size):
                        out[of_worse[k]] += better[begin_worse[k]]
        own_counts = counts[first:last]
        for k in range(rows.size):
            answer[rows[k]] = weights[q] * (own_counts[k] * along[k] - out[k])
