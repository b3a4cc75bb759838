"""Signed and resampled sums of per-query differences, several pairs of rankers side by side.

Random numbers are counted, not chained: the word at a place follows from the seed and the place alone. So draws may be
dealt to threads in any way, and every pair of a comparison sees the same draws.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BITS = 8  # queries whose signed sums stand in one table
TABLE = 1 << BITS
WORD = 64
DRAWS_TOGETHER = 64  # resamples whose sums are added up side by side

LOW_BITS = np.uint64(TABLE - 1)
HALF = np.uint64(WORD // 2)
LOW_HALF = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def random_word(seed, place):
    """64 random bits: output number ``place`` of the generator SplitMix64 that was started with ``seed``."""
    word = seed + (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def signed_sums(values, sums):
    """All sums of the rows of ``values`` under signs: in row ``p`` of ``sums``, bit ``i`` of p takes row i away."""
    sums[0] = 0.0
    n = 1
    for row in values:
        for place in range(n):
            for column in range(row.size):
                below = sums[place, column]
                sums[place, column] = below + row[column]
                sums[place + n, column] = below - row[column]
        n *= 2


@njit(cache=True, nogil=True)
def _add_signed(table, words, shift, sums):
    """Add to the sums of each draw the row of the table that its next bits choose."""
    for draw in range(words.size):
        signed, target = table[(words[draw] >> shift) & LOW_BITS], sums[draw]
        for column in range(signed.size):  # not a constant: numba vectorises only loops that it cannot unroll
            target[column] += signed[column]


@njit(cache=True, nogil=True)
def _count_beyond(sums, limits, counts):
    for row in sums:
        for column in range(row.size):
            counts[column] += abs(row[column]) >= limits[column]


@njit(cache=True, nogil=True)
def count_extreme(values, limits, seed, first, last):
    """For each column, how many of the draws ``first`` to ``last`` have a signed sum at or beyond its limit.

    ``values`` has one row per query and zeros below them up to a multiple of WORD, ``limits`` one number per column.
    A query's sign in a draw is a bit of the draw's random words.
    """
    n_words, n_columns = values.shape[0] // WORD, values.shape[1]
    words = np.empty(last - first, dtype=np.uint64)
    sums = np.zeros((last - first, n_columns))
    table = np.empty((TABLE, n_columns))
    for word in range(n_words):
        for draw in range(first, last):
            words[draw - first] = random_word(seed, np.uint64(draw * n_words + word))
        for shift in range(0, WORD, BITS):
            start = word * WORD + shift
            signed_sums(values[start : start + BITS], table)
            _add_signed(table, words, np.uint64(shift), sums)
    counts = np.zeros(n_columns, dtype=np.int64)
    _count_beyond(sums, limits, counts)
    return counts


@njit(cache=True, nogil=True)
def _count_chosen(seed, place, times):
    """How often each query comes when as many as there are are drawn with replacement, two from a random word."""
    times[:] = 0.0
    n = np.uint64(times.size)
    for pair in range((times.size + 1) // 2):
        word = random_word(seed, place + np.uint64(pair))
        # a 32-bit fraction times n: chances differ by less than n / 2**32
        times[(word & LOW_HALF) * n >> HALF] += 1.0
        if 2 * pair + 1 < times.size:
            times[(word >> HALF) * n >> HALF] += 1.0


@njit(cache=True, nogil=True)
def _add_times(times, values, sums):
    """Add each value to the sums of its column, as often as each draw has its query."""
    for column in range(values.shape[1]):
        target = sums[column]
        for query in range(values.shape[0]):
            value, row = values[query, column], times[query]
            for draw in range(row.size):
                target[draw] += value * row[draw]


@njit(cache=True, nogil=True)
def resampled_sums(values, seed, first, last):
    """For each column and each of the draws ``first`` to ``last``: the sum over n of the n queries, with replacement.

    ``values`` has one row per query; the answer has one row per column.
    """
    n_queries, n_columns = values.shape
    words_per_draw = (n_queries + 1) // 2
    answer = np.empty((n_columns, last - first))
    for start in range(first, last, DRAWS_TOGETHER):
        stop = min(start + DRAWS_TOGETHER, last)
        times = np.empty((n_queries, stop - start))
        for draw in range(start, stop):
            _count_chosen(seed, np.uint64(draw * words_per_draw), times[:, draw - start])
        sums = np.zeros((n_columns, stop - start))
        _add_times(times, values, sums)
        answer[:, start - first : stop - first] = sums
    return answer
