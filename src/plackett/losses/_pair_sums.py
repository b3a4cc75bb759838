"""Sums over the pairs that a threshold cuts: the hinge losses, in O(n log n) per query.

A pair of a better document i and a worse document j has the gap ``z = 1 - (f_i - f_j)``. Each loss here is a function
of z that is 0 below 0 and changes its form once more at a width w:

- ``HINGE``: z, ``SQUARED``: z²/2;
- ``RAMP``: min(z, w), which stays flat above w;
- ``BEND``: c (z - c/2) with c = min(z, w), a parabola that goes on as a straight line above w.

The plan (``_pair_plan``) says which pairs are met directly and which in a crossing. A crossing of two sorted halves is
one walk along the line on which the better documents stand at ``f_i - 1`` and the worse ones at ``f_j``: z is how far j
stands beyond i. The walk carries the number of documents passed, their summed distances and their summed squared
distances; each step adds only positive numbers, so nothing cancels however far apart the scores are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

HINGE, SQUARED, RAMP, BEND = 0, 1, 2, 3
FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums may be reordered into vectors; infinities keep their meaning
FARTHEST = 1e140  # scores are cut this far from the query's best, so that no square overflows
CHUNK = 64  # sorted by counting, which vectorises; longer runs are merged from such chunks
FEW = 64  # pairs within the width that a document of a crossing sums one by one
RAGGED = 8  # rows whose partners begin within this many places of each other are worked through together
PAD = 8  # places that a leaf has behind its documents, so that partners come in whole vectors
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@njit(cache=True, nogil=True)
def extremes(values):
    """Least and largest value, four at a time: one comparison would have to wait for the one before."""
    low0 = low1 = low2 = low3 = np.inf
    high0 = high1 = high2 = high3 = -np.inf
    for k in range(np.uint64(0), np.uint64(values.size // 4 * 4), np.uint64(4)):
        a, b, c, d = values[k], values[k + ONE], values[k + TWO], values[k + THREE]
        low0, low1, low2, low3 = min(low0, a), min(low1, b), min(low2, c), min(low3, d)
        high0, high1, high2, high3 = max(high0, a), max(high1, b), max(high2, c), max(high3, d)
    for k in range(values.size // 4 * 4, values.size):
        low0, high0 = min(low0, values[k]), max(high0, values[k])
    return min(min(low0, low1), min(low2, low3)), max(max(high0, high1), max(high2, high3))


@njit(cache=True, nogil=True)
def load(scores, rows, values):
    """Scores of one query in label order, relative to the largest: what follows does not depend on a shift."""
    for k in range(rows.size):
        values[k] = scores[rows[k]]
    _, top = extremes(values[: rows.size])
    for k in range(rows.size):
        values[k] = max(values[k] - top, -FARTHEST)


# ---- pairs met one by one ----------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, fastmath=FAST)
def _hinge_rows(values, pull, first, last, t0, t1, t2, t3):
    """Four better documents, at t0 to t3, against places ``first:last``: the loss, and the pull on each of the four."""
    loss = p0 = p1 = p2 = p3 = 0.0
    for j in range(first, last):
        x = values[j]
        z0, z1, z2, z3 = x - t0, x - t1, x - t2, x - t3
        a0 = 1.0 if z0 > 0.0 else 0.0
        a1 = 1.0 if z1 > 0.0 else 0.0
        a2 = 1.0 if z2 > 0.0 else 0.0
        a3 = 1.0 if z3 > 0.0 else 0.0
        loss += (max(z0, 0.0) + max(z1, 0.0)) + (max(z2, 0.0) + max(z3, 0.0))
        p0 += a0
        p1 += a1
        p2 += a2
        p3 += a3
        pull[j] += (a0 + a1) + (a2 + a3)
    return loss, p0, p1, p2, p3


@njit(cache=True, nogil=True, fastmath=FAST)
def _squared_rows(values, pull, first, last, t0, t1, t2, t3):
    """As ``_hinge_rows``; the loss is half of z², the pull z."""
    loss = p0 = p1 = p2 = p3 = 0.0
    for j in range(first, last):
        x = values[j]
        z0, z1, z2, z3 = max(x - t0, 0.0), max(x - t1, 0.0), max(x - t2, 0.0), max(x - t3, 0.0)
        loss += (z0 * z0 + z1 * z1) + (z2 * z2 + z3 * z3)
        p0 += z0
        p1 += z1
        p2 += z2
        p3 += z3
        pull[j] += (z0 + z1) + (z2 + z3)
    return 0.5 * loss, p0, p1, p2, p3


@njit(cache=True, nogil=True, fastmath=FAST)
def _ramp_rows(values, pull, first, last, t0, t1, t2, t3, f0, f1, f2, f3, width):
    """As ``_hinge_rows``, with a pull up to the second thresholds f0 to f3 only."""
    loss = p0 = p1 = p2 = p3 = 0.0
    for j in range(first, last):
        x = values[j]
        a0 = (1.0 if x > t0 else 0.0) - (1.0 if x > f0 else 0.0)
        a1 = (1.0 if x > t1 else 0.0) - (1.0 if x > f1 else 0.0)
        a2 = (1.0 if x > t2 else 0.0) - (1.0 if x > f2 else 0.0)
        a3 = (1.0 if x > t3 else 0.0) - (1.0 if x > f3 else 0.0)
        z0, z1, z2, z3 = max(x - t0, 0.0), max(x - t1, 0.0), max(x - t2, 0.0), max(x - t3, 0.0)
        loss += (min(z0, width) + min(z1, width)) + (min(z2, width) + min(z3, width))
        p0 += a0
        p1 += a1
        p2 += a2
        p3 += a3
        pull[j] += (a0 + a1) + (a2 + a3)
    return loss, p0, p1, p2, p3


@njit(cache=True, nogil=True, fastmath=FAST)
def _bend_rows(values, pull, first, last, t0, t1, t2, t3, width):
    """As ``_hinge_rows``; the loss is c (z - c/2) and the pull c, with c = min(z, width)."""
    loss = p0 = p1 = p2 = p3 = 0.0
    for j in range(first, last):
        x = values[j]
        z0, z1, z2, z3 = max(x - t0, 0.0), max(x - t1, 0.0), max(x - t2, 0.0), max(x - t3, 0.0)
        c0, c1, c2, c3 = min(z0, width), min(z1, width), min(z2, width), min(z3, width)
        loss += c0 * (z0 - 0.5 * c0) + c1 * (z1 - 0.5 * c1) + c2 * (z2 - 0.5 * c2) + c3 * (z3 - 0.5 * c3)
        p0 += c0
        p1 += c1
        p2 += c2
        p3 += c3
        pull[j] += (c0 + c1) + (c2 + c3)
    return loss, p0, p1, p2, p3


@njit(cache=True, nogil=True)
def _rows(kind, width, values, pull, i, n_rows, first, last):
    """Rows ``i`` to ``i + n_rows``, at most four, against places ``first:last``; the pull is added on both sides."""
    t0 = values[i] - 1.0
    t1 = values[i + 1] - 1.0 if n_rows > 1 else np.inf  # nobody stands beyond infinity
    t2 = values[i + 2] - 1.0 if n_rows > 2 else np.inf
    t3 = values[i + 3] - 1.0 if n_rows > 3 else np.inf
    if kind == SQUARED:
        loss, p0, p1, p2, p3 = _squared_rows(values, pull, first, last, t0, t1, t2, t3)
    elif kind == HINGE:
        loss, p0, p1, p2, p3 = _hinge_rows(values, pull, first, last, t0, t1, t2, t3)
    elif kind == RAMP:
        f0 = values[i] - (1.0 - width)
        f1 = values[i + 1] - (1.0 - width) if n_rows > 1 else np.inf
        f2 = values[i + 2] - (1.0 - width) if n_rows > 2 else np.inf
        f3 = values[i + 3] - (1.0 - width) if n_rows > 3 else np.inf
        loss, p0, p1, p2, p3 = _ramp_rows(values, pull, first, last, t0, t1, t2, t3, f0, f1, f2, f3, width)
    else:
        loss, p0, p1, p2, p3 = _bend_rows(values, pull, first, last, t0, t1, t2, t3, width)
    pull[i] -= p0
    if n_rows > 1:
        pull[i + 1] -= p1
    if n_rows > 2:
        pull[i + 2] -= p2
    if n_rows > 3:
        pull[i + 3] -= p3
    return loss


@njit(cache=True, nogil=True)
def _pair(kind, width, values, pull, i, j):
    at, x = values[i] - 1.0, values[j]
    z = max(x - at, 0.0)
    if kind == SQUARED:
        loss, drawn = 0.5 * z * z, z
    elif kind == HINGE:
        loss, drawn = z, (1.0 if x > at else 0.0)
    elif kind == RAMP:
        loss, drawn = min(z, width), (1.0 if x > at else 0.0) - (1.0 if x > values[i] - (1.0 - width) else 0.0)
    else:
        drawn = min(z, width)
        loss = drawn * (z - 0.5 * drawn)
    pull[i] -= drawn
    pull[j] += drawn
    return loss


@njit(cache=True, nogil=True)
def group_size(run_end, i, stop):
    """How many rows from ``i`` on, at most four, have partners that begin nearly at the same place."""
    n_rows = 1
    while n_rows < 4 and run_end[i + n_rows - 1] < stop and run_end[i + n_rows] - run_end[i] <= RAGGED:
        n_rows += 1
    return n_rows


@njit(cache=True, nogil=True)
def leaf(kind, width, values, run_end, start, stop, room, pull):
    """The loss of all pairs within ``start:stop``; their pull is added.

    Work happens in a copy with ``PAD`` places behind it, whose score of minus infinity makes them nobody's partner.
    """
    n = stop - start
    own, own_pull = room.leaf_values[: n + PAD], room.leaf_pull[: n + PAD]
    given, ends = values[start:stop], run_end[start:stop]
    for k in range(n):
        own[k] = given[k]
    for k in range(n, n + PAD):
        own[k] = -np.inf
    for k in range(own_pull.size):
        own_pull[k] = 0.0
    loss = 0.0
    i = 0
    while i < n and ends[i] < stop:
        n_rows = group_size(ends, i, stop)
        common = min(ends[i + n_rows - 1], stop) - start
        for r in range(n_rows - 1):
            for j in range(ends[i + r] - start, common):
                loss += _pair(kind, width, own, own_pull, i + r, j)
        whole = (n - common + PAD - 1) // PAD * PAD
        loss += _rows(kind, width, own, own_pull, i, n_rows, np.uint64(common), np.uint64(common + whole))
        i += n_rows
    for k in range(n):
        pull[start + k] += own_pull[k]
    return loss


# ---- sorting -----------------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, fastmath=FAST)
def _count_ranks(values, ranks):
    """Place of each value in ascending order; equal values keep their order."""
    n = values.size
    for i in range(n):
        ranks[i] = 0.0
    for j in range(n):
        x = values[j]
        before, ranks_before = values[:j], ranks[:j]
        after, ranks_after = values[j + 1 :], ranks[j + 1 :]
        for i in range(before.size):
            ranks_before[i] += 1.0 if x < before[i] else 0.0
        for i in range(after.size):
            ranks_after[i] += 1.0 if x <= after[i] else 0.0


@njit(cache=True, nogil=True)
def sort_leaf(values, start, stop, sorted_values, places, room):
    """Write the values of ``start:stop`` in ascending order, and where each comes from."""
    ranks = room.ranks
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        _count_ranks(values[first:last], ranks)
        for k in range(last - first):
            place = first + int(ranks[k])
            sorted_values[place] = values[first + k]
            places[place] = first + k
    half = CHUNK
    while half < stop - start:
        for first in range(start, stop - half, 2 * half):
            last = min(first + 2 * half, stop)
            split(sorted_values, first, first + half, last, 0.0, room)
            merge(sorted_values, places, first, first + half, last, room)
        half *= 2


# ---- crossings ---------------------------------------------------------------------------------------------------


class Room(NamedTuple):
    """Work space for the two halves of a crossing, from place 1 on, with an infinity at either end."""

    better: np.ndarray
    worse: np.ndarray
    better_places: np.ndarray
    worse_places: np.ndarray
    ranks: np.ndarray
    leaf_values: np.ndarray
    leaf_pull: np.ndarray


class Walk(NamedTuple):
    """What a walk leaves at each document: how many partners it has beyond the threshold, their z and half their z²."""

    better_count: np.ndarray
    better_gap: np.ndarray
    better_square: np.ndarray
    worse_count: np.ndarray
    worse_gap: np.ndarray
    worse_square: np.ndarray


@njit(cache=True, nogil=True)
def make_room(n):
    return Room(
        np.empty(n + 2), np.empty(n + 2), np.empty(n + 2, np.int32), np.empty(n + 2, np.int32), np.empty(CHUNK),
        np.empty(n + PAD), np.empty(n + PAD),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def make_walk(n):
    return Walk(
        np.empty(n + 2, np.int32), np.empty(n + 2), np.empty(n + 2), np.empty(n + 2, np.int32), np.empty(n + 2),
        np.empty(n + 2),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def longest(indptr):
    n = 0
    for q in range(indptr.size - 1):
        n = max(n, indptr[q + 1] - indptr[q])
    return n


@njit(cache=True, nogil=True)
def split(values, start, middle, stop, threshold, room):
    """Copy two sorted halves into the work space, the better one moved down by the threshold."""
    better, worse = room.better[1 : middle - start + 1], room.worse[1 : stop - middle + 1]
    first, second = values[start:middle], values[middle:stop]
    for k in range(better.size):
        better[k] = first[k] - threshold
    for k in range(worse.size):
        worse[k] = second[k]
    room.better[0], room.worse[0] = -np.inf, -np.inf
    room.better[middle - start + 1], room.worse[stop - middle + 1] = np.inf, np.inf


@njit(cache=True, nogil=True)
def merge(values, places, start, middle, stop, room):
    """Merge two sorted halves, copied by ``split`` with threshold 0, from both ends at once and without branches."""
    n = stop - start
    better, worse, better_places, worse_places = room.better, room.worse, room.better_places, room.worse_places
    for k in range(middle - start):
        better_places[k + 1] = places[start + k]
    for k in range(stop - middle):
        worse_places[k + 1] = places[middle + k]
    out_values, out_places = values[start:stop], places[start:stop]
    i, j = ONE, ONE  # unsigned: numba asks of a signed index whether it counts from the end
    last_i, last_j = np.uint64(middle - start), np.uint64(stop - middle)
    for k in range(n // 2):
        x, y = better[i], worse[j]
        is_worse = y < x
        out_values[k] = y if is_worse else x
        out_places[k] = worse_places[j] if is_worse else better_places[i]
        j += np.uint64(is_worse)
        i += ONE - np.uint64(is_worse)
        x, y = better[last_i], worse[last_j]
        is_better = y < x
        out_values[n - 1 - k] = x if is_better else y
        out_places[n - 1 - k] = better_places[last_i] if is_better else worse_places[last_j]
        last_i -= np.uint64(is_better)
        last_j -= ONE - np.uint64(is_better)
    if n % 2:
        is_worse = worse[j] < better[i]
        out_values[n // 2] = worse[j] if is_worse else better[i]
        out_places[n // 2] = worse_places[j] if is_worse else better_places[i]


@njit(cache=True, nogil=True, fastmath={"contract"})
def take_walk(n_better, n_worse, room, walk):
    """Walk up for the worse documents and down for the better ones, both at once, without branches.

    Where both stand at the same point, z is 0 and the pair does not count. A document's entry is written at every step
    until it is passed; the last writing counts.
    """
    better, worse = room.better, room.worse
    worse_count, worse_gap, worse_square = walk.worse_count, walk.worse_gap, walk.worse_square
    better_count, better_gap, better_square = walk.better_count, walk.better_gap, walk.better_square
    i, j = ONE, ONE
    here = min(better[1], worse[1])
    passed, gap, square = np.int64(0), 0.0, 0.0
    last_i, last_j = np.uint64(n_better), np.uint64(n_worse)
    there = max(better[last_i], worse[last_j])
    passed_down, gap_down, square_down = np.int64(0), 0.0, 0.0
    for _ in range(n_better + n_worse):
        x, y = better[i], worse[j]
        is_worse = y <= x
        point = min(x, y)
        step = point - here
        here = point
        square += step * (gap + 0.5 * passed * step)
        gap += passed * step
        worse_count[j], worse_gap[j], worse_square[j] = passed, gap, square
        passed += 1 - np.int64(is_worse)
        j += np.uint64(is_worse)
        i += ONE - np.uint64(is_worse)

        x, y = better[last_i], worse[last_j]
        is_better = y <= x
        point = max(x, y)
        step = there - point
        there = point
        square_down += step * (gap_down + 0.5 * passed_down * step)
        gap_down += passed_down * step
        better_count[last_i], better_gap[last_i], better_square[last_i] = passed_down, gap_down, square_down
        passed_down += 1 - np.int64(is_better)
        last_i -= np.uint64(is_better)
        last_j -= ONE - np.uint64(is_better)


@njit(cache=True, nogil=True)
def _collect(kind, places, start, middle, stop, walk, pull):
    """Add to the pull what a walk found; gives the loss."""
    loss = 0.0
    better_places, worse_places = places[start:middle], places[middle:stop]
    if kind == HINGE:
        better_counts, worse_counts, losses = walk.better_count[1:], walk.worse_count[1:], walk.worse_gap[1:]
        for k in range(better_places.size):
            pull[better_places[k]] -= better_counts[k]
        for k in range(worse_places.size):
            pull[worse_places[k]] += worse_counts[k]
            loss += losses[k]
    else:
        better_gaps, worse_gaps, losses = walk.better_gap[1:], walk.worse_gap[1:], walk.worse_square[1:]
        for k in range(better_places.size):
            pull[better_places[k]] -= better_gaps[k]
        for k in range(worse_places.size):
            pull[worse_places[k]] += worse_gaps[k]
            loss += losses[k]
    return loss


@njit(cache=True, nogil=True)
def _crossing(kind, width, values, places, start, middle, stop, room, walk, second, pull):
    n_better, n_worse = middle - start, stop - middle
    split(values, start, middle, stop, 1.0, room)
    take_walk(n_better, n_worse, room, walk)
    if kind in (HINGE, SQUARED):
        return _collect(kind, places, start, middle, stop, walk, pull)
    split(values, start, middle, stop, 1.0 - width, room)
    take_walk(n_better, n_worse, room, second)
    if kind == RAMP:
        return _collect_ramp(width, values, places, start, middle, stop, walk, second, pull)
    return _collect_bend(width, values, places, start, middle, stop, walk, second, pull)


@njit(cache=True, nogil=True)
def _collect_ramp(width, values, places, start, middle, stop, walk, second, pull):
    """As ``_collect``. Pairs within the width are summed one by one where they are few.

    The difference of the two walks is the same sum, but at a small width it is the difference of nearly equal numbers.
    """
    loss = 0.0
    for k in range(middle - start):
        pull[places[start + k]] -= walk.better_count[k + 1] - second.better_count[k + 1]
    for k in range(stop - middle):
        beyond, inside = second.worse_count[k + 1], walk.worse_count[k + 1] - second.worse_count[k + 1]
        pull[places[middle + k]] += inside
        if inside > FEW:
            loss += walk.worse_gap[k + 1] - second.worse_gap[k + 1]
        else:
            at = values[middle + k] + 1.0
            loss += width * beyond
            for p in range(start + beyond, start + beyond + inside):
                loss += min(at - values[p], width)
    return loss


@njit(cache=True, nogil=True)
def _collect_bend(width, values, places, start, middle, stop, walk, second, pull):
    """As ``_collect_ramp``; within the width is on the parabola."""
    loss = 0.0
    for k in range(middle - start):
        beyond, inside = second.better_count[k + 1], walk.better_count[k + 1] - second.better_count[k + 1]
        if inside > FEW:
            bent = walk.better_gap[k + 1] - second.better_gap[k + 1]
        else:
            at, bent = values[start + k] - 1.0, width * beyond
            for p in range(stop - beyond - inside, stop - beyond):
                bent += min(values[p] - at, width)
        pull[places[start + k]] -= bent
    for k in range(stop - middle):
        beyond, inside = second.worse_count[k + 1], walk.worse_count[k + 1] - second.worse_count[k + 1]
        if inside > FEW:
            bent = walk.worse_gap[k + 1] - second.worse_gap[k + 1]
            loss += walk.worse_square[k + 1] - second.worse_square[k + 1]
        else:
            at, bent = values[middle + k] + 1.0, width * beyond
            loss += width * (second.worse_gap[k + 1] + 0.5 * bent)
            for p in range(start + beyond, start + beyond + inside):
                z = min(at - values[p], width)
                bent += z
                loss += 0.5 * z * z
        pull[places[middle + k]] += bent
    return loss


@njit(cache=True, nogil=True)
def _query(kind, width, values, run_end, steps, sorted_values, places, room, walk, second, pull):
    loss = 0.0
    for s in range(steps.shape[0]):
        start, middle, stop = steps[s, 0], steps[s, 1], steps[s, 2]
        is_whole = s == steps.shape[0] - 1  # nothing follows that would want it sorted
        if middle == start:
            loss += leaf(kind, width, values, run_end, start, stop, room, pull)
            if not is_whole:
                sort_leaf(values, start, stop, sorted_values, places, room)
        else:
            loss += _crossing(kind, width, sorted_values, places, start, middle, stop, room, walk, second, pull)
            if not is_whole:
                split(sorted_values, start, middle, stop, 0.0, room)
                merge(sorted_values, places, start, middle, stop, room)
    return loss


@njit(cache=True, nogil=True)
def pair_sums(kind, width, scores, order, indptr, run_end, steps, step_indptr, weights, losses, slope):
    """The loss of each query and its slope, times the query's weight."""
    n = longest(indptr)
    values, pull, sorted_values, places = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.int32)
    room, walk, second = make_room(n), make_walk(n), make_walk(n)
    for q in range(indptr.size - 1):
        start, stop = indptr[q], indptr[q + 1]
        rows, weight = order[start:stop], weights[q]
        for k in range(rows.size):
            pull[k] = 0.0
        losses[q] = 0.0
        if weight > 0.0:
            load(scores, rows, values)
            losses[q] = weight * _query(
                kind, width, values, run_end[start:stop], steps[step_indptr[q] : step_indptr[q + 1]],
                sorted_values, places, room, walk, second, pull,
            )  # fmt: skip
        for k in range(rows.size):
            slope[rows[k]] = weight * pull[k]
