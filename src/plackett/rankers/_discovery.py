"""Kernels of the discovery of a feature's ranking: centres, ranks within lists, and pairs in right and wrong order.

Ranks are kept twice as large, as whole numbers: documents that tie share the mean of their places. Callers have checked
everything and own the outputs.
"""

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic

TIE = 1e-10  # sums of ranks closer than this are tied; values of features tie only where they are equal
_RUN = 12


@intrinsic
def _bits_set(typing_context, word):
    """How many bits of a uint64 are 1."""

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@njit(inline="always")
def _add(total, rest, value):
    """Total and rest after adding a value: what rounding takes from the total goes to the rest."""
    longer = total + value
    part = longer - total
    rest += (total - (longer - part)) + (value - part)
    return longer, rest


@njit(cache=True, nogil=True)
def _chosen(start, stop, centre):
    """The places of a part that count for its centre; 0 all, 1 the most, 2 the middling, 3 the least relevant third."""
    size = stop - start
    third = (size + 2) // 3
    if centre == 0 or size < 3:
        return start, stop
    if centre == 1:
        return stop - third, stop
    if centre == 2:
        return start + (size - third) // 2, start + (size - third) // 2 + third
    return start, start + third


@njit(cache=True, nogil=True)
def add_to_centres(X, order, level_start, indptr, weights, centre, first, last, totals, rests, sizes):
    """Sums of the features over each part of the queries; the last column is the sum of the weights.

    ``order`` has the rows of each query by falling label; X begins with the row ``indptr[first]``. Documents of a level
    share its places, so that a part gets the level's mean for each of the places that it takes from it. Sums keep what
    rounding would lose: they do not depend on the order of the rows. ``sizes`` are sums of absolute values, which bound
    the rounding error.
    """
    n_features, n_parts = X.shape[1], totals.shape[0]
    total, rest, absolute = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    for q in range(first, last):
        start, n = indptr[q], indptr[q + 1] - indptr[q]
        stop = n
        while stop > 0 and weights[q] > 0.0:
            begin = level_start[start + stop - 1]
            size = stop - begin
            total[:] = 0.0
            rest[:] = 0.0
            absolute[:] = 0.0
            for i in range(begin, stop):
                row = X[order[start + i] - indptr[first]]
                for f in range(n_features):
                    total[f], rest[f] = _add(total[f], rest[f], np.float64(row[f]))
                    absolute[f] += abs(np.float64(row[f]))
            low, high = n - stop, n - begin  # its places by rising relevance
            part = low * n_parts // n
            while part < n_parts:
                # part k has the places p with k n <= p K < (k + 1) n
                part_start, part_stop = -(-part * n // n_parts), -(-(part + 1) * n // n_parts)
                if part_start >= high:
                    break
                chosen_start, chosen_stop = _chosen(part_start, part_stop, centre)
                n_places = min(high, chosen_stop) - max(low, chosen_start)
                if n_places > 0:
                    share = weights[q] * n_places
                    totals[part, n_features], rests[part, n_features] = _add(
                        totals[part, n_features], rests[part, n_features], share
                    )
                    for f in range(n_features):
                        mean = (total[f] + rest[f]) / size
                        totals[part, f], rests[part, f] = _add(totals[part, f], rests[part, f], share * mean)
                        sizes[part, f] += share * (absolute[f] / size)
                part += 1
            stop = begin


@njit(cache=True, nogil=True)
def _insert(keys, order, start, stop):
    """Sort a few keys, and with them ``order``, by insertion."""
    for i in range(start + 1, stop):
        key, doc, j = keys[i], order[i], i
        while j > start and keys[j - 1] > key:
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, doc


@njit(cache=True, nogil=True)
def _merge(keys, order, spare_keys, spare_order):
    """The same for many keys, by merging."""
    n = keys.size
    for start in range(0, n, _RUN):
        _insert(keys, order, start, min(start + _RUN, n))
    a, b, c, d = keys, order, spare_keys, spare_order
    half, is_swapped = _RUN, False
    while half < n:
        for start in range(0, n, 2 * half):
            middle, stop = min(start + half, n), min(start + 2 * half, n)
            left, right = start, middle
            for place in range(start, stop):
                if left < middle and (right >= stop or a[left] <= a[right]):
                    c[place], d[place] = a[left], b[left]
                    left += 1
                else:
                    c[place], d[place] = a[right], b[right]
                    right += 1
        a, b, c, d = c, d, a, b
        is_swapped = not is_swapped
        half *= 2
    if is_swapped:
        for i in range(n):
            keys[i], order[i] = spare_keys[i], spare_order[i]


@njit(cache=True, nogil=True)
def argsort(keys, order, spare_keys, spare_order):
    """Sort ``keys`` in place, rising; ``order`` becomes the places where they stood.

    As many buckets as keys, of equal width: ranks and their sums are spread so evenly that few share a bucket. Where
    many do, they are merged.
    """
    n = keys.size
    for i in range(n):
        order[i] = i
    if n <= _RUN:
        _insert(keys, order, 0, n)
        return
    low, high = keys[0], keys[0]
    for i in range(n):
        low, high = min(low, keys[i]), max(high, keys[i])
    if low == high:
        return
    scale = (n - 1) / (high - low)
    if not (scale > 0.0 and scale < 1e300):  # the range overflows, or is next to nothing
        _merge(keys, order, spare_keys, spare_order)
        return
    ends = np.zeros(n + 1, np.int64)
    for i in range(n):
        bucket = min(int((keys[i] - low) * scale), n - 1)
        spare_order[i] = bucket
        spare_keys[i] = keys[i]
        ends[bucket + 1] += 1
    for bucket in range(n):
        ends[bucket + 1] += ends[bucket]
    for i in range(n):
        place = ends[spare_order[i]]
        ends[spare_order[i]] = place + 1
        keys[place], order[place] = spare_keys[i], i
    start = 0
    for bucket in range(n):
        stop = ends[bucket]
        if stop - start > 2 * _RUN:
            _merge(keys[start:stop], order[start:stop], spare_keys[start:stop], spare_order[start:stop])
        elif stop - start > 1:
            _insert(keys, order, start, stop)
        start = stop


@njit(cache=True, nogil=True)
def _rank_run(values, order, start, stop, sign, base, tie, sequence, ranks):
    """Ranks of the sorted values from start to stop, the next places after ``base``; equal for all if the sign is 0.

    Neighbours tie if they are equal or closer than ``tie``.
    """
    step = -1 if sign < 0 else 1
    i, end = (stop - 1, start - 1) if sign < 0 else (start, stop)
    while i != end:
        j = i + step
        while j != end and (sign == 0 or values[j] == values[j - step] or abs(values[j] - values[j - step]) < tie):
            j += step
        size = abs(j - i)
        while i != j:
            ranks[order[i]] = 2 * base + size + 1
            sequence[base + abs(j - i) - 1] = order[i]
            i += step
        base += size
    return base


@njit(cache=True, nogil=True)
def rank(values, order, sequence, ranks):
    """Twice the ranks of sorted sums of ranks, larger is larger; ``sequence`` becomes the documents by rising rank."""
    _rank_run(values, order, 0, values.size, 1, 0, TIE, sequence, ranks)


@njit(cache=True, nogil=True)
def _rank_by_parts(values, order, centres, parts, signs, places, bounds, sequence, ranks):
    """Twice the ranks by key: first the part of the nearest centre, then the value times the sign of that part.

    Centres rise; ``places[k]`` is the centre of the k-th part from the lowest. Values are sorted, so that each centre
    has a run of them.
    """
    n_centres = centres.size
    now = 0
    bounds[0] = 0
    for i in range(values.size):
        value = values[i]
        while now + 1 < n_centres:
            if value < centres[now + 1]:
                ahead, behind = centres[now + 1] - value, value - centres[now]
                if behind < ahead or (behind == ahead and parts[now] < parts[now + 1]):
                    break
            now += 1
            bounds[now] = i
    for k in range(now + 1, n_centres + 1):
        bounds[k] = values.size
    base = 0
    for k in range(n_centres):
        c = places[k]
        base = _rank_run(values, order, bounds[c], bounds[c + 1], signs[c], base, 0.0, sequence, ranks)


@njit(inline="always")
def _seen_before(place, bits, below, groups):
    word = place >> 6
    mask = (np.uint64(1) << np.uint64(place & 63)) - np.uint64(1)
    return groups[word >> 3] + below[word] + np.int64(_bits_set(bits[word] & mask))  # type: ignore[call-arg]


@njit(cache=True, nogil=True)
def count_pairs(sequence, ranks, level_start, level_end, top, bits, below, groups):
    """Pairs of different labels, ``(right, wrong)``, that the ranks order as the labels do and the other way.

    Documents are in order of falling labels, of which ``level_start`` and ``level_end`` are the bounds of each one's
    level; only pairs whose better one is among the first ``top`` count. Documents are taken by rising rank. A set of
    bits says who was there before; ``groups`` how many of them stand in earlier groups of eight words, and ``below``
    how many in earlier words of the same group.
    """
    n = sequence.size
    n_groups = (n >> 9) + 1
    for w in range(8 * n_groups):
        bits[w] = np.uint64(0)
        below[w] = 0
    for g in range(n_groups):
        groups[g] = 0
    right = wrong = 0
    i = 0
    while i < n:
        j, tied = i, ranks[sequence[i]]
        while j < n and ranks[sequence[j]] == tied:
            doc = sequence[j]
            above = _seen_before(min(level_start[doc], top), bits, below, groups)
            wrong += above
            if doc < top:
                if level_end[doc] - level_start[doc] > 1:
                    above = _seen_before(level_end[doc], bits, below, groups)
                right += i - above
            j += 1
        while i < j:
            doc = sequence[i]
            word = doc >> 6
            bits[word] |= np.uint64(1) << np.uint64(doc & 63)
            for v in range(word + 1, (word | 7) + 1):
                below[v] += 1
            for g in range((word >> 3) + 1, n_groups):
                groups[g] += 1
            i += 1
    return right, wrong


@njit(cache=True, nogil=True)
def room_for_bits(longest):
    """Arrays for ``count_pairs``."""
    n_groups = (longest >> 9) + 1
    return np.empty(8 * n_groups, np.uint64), np.empty(8 * n_groups, np.int64), np.empty(n_groups, np.int64)


@njit(cache=True, nogil=True)
def longest_of(indptr, first, last):
    longest = 0
    for q in range(first, last):
        longest = max(longest, indptr[q + 1] - indptr[q])
    return longest


@njit(cache=True, nogil=True)
def rank_features(
    X, order, indptr, centres, parts, signs, places, n_centres, is_counted, level_start, level_end, first, last,
    ranks, right, wrong,
):  # fmt: skip
    """Twice the ranks of every feature, and the pairs that they order right and wrong where ``is_counted``.

    X begins with the row ``indptr[first]``; the ranks, one row per feature, with the query 0. Their documents are in
    the order of ``order``.
    """
    longest = longest_of(indptr, first, last)
    n_features = X.shape[1]
    columns = np.empty((n_features, longest))
    spare = np.empty(longest)
    own, spare_own, sequence = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    bits, below, groups = room_for_bits(longest)
    bounds = np.empty(centres.shape[1] + 2, np.int64)
    for q in range(first, last):
        start, stop = indptr[q], indptr[q + 1]
        n = stop - start
        for i in range(n):
            row = X[order[start + i] - indptr[first]]
            for f in range(n_features):
                columns[f, i] = row[f]
        for f in range(n_features):
            values = columns[f, :n]
            argsort(values, own[:n], spare[:n], spare_own[:n])
            k = n_centres[f]
            answer = ranks[f, start:stop]
            _rank_by_parts(
                values, own[:n], centres[f, :k], parts[f, :k], signs[f, :k], places[f, :k], bounds, sequence[:n], answer
            )
            if is_counted:
                right[q, f], wrong[q, f] = count_pairs(
                    sequence[:n], answer, level_start[start:stop], level_end[start:stop], n, bits, below, groups
                )
