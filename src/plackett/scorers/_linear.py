"""Loops over the rows of a block of X: scores, and the way back from slopes to a gradient.

Scores are summed in float64 whatever X is: reading X costs more than adding it up. The way back runs while the rows are
in the cache, where adding counts, so the caller chooses its precision by the type of ``run``.
"""

from __future__ import annotations

from numba import njit

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
ROWS_PER_RUN = 256  # rows that are added up in the precision of ``run`` before they join the float64 gradient


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dot(row, coef):
    total = 0.0
    for j in range(coef.size):
        total += row[j] * coef[j]
    return total


@njit(cache=True, nogil=True)
def score_dense(X, coef, shift, scores):
    for i in range(X.shape[0]):  # one row after the other: several at a time come slower from memory
        scores[i] = _dot(X[i], coef) + shift


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dot_two(row, other, coef, direction):
    s0, s1, m0, m1 = 0.0, 0.0, 0.0, 0.0
    for j in range(coef.size):
        s0 += row[j] * coef[j]
        s1 += other[j] * coef[j]
        m0 += row[j] * direction[j]
        m1 += other[j] * direction[j]
    return s0, s1, m0, m1


@njit(cache=True, nogil=True)
def score_two_dense(X, coef, shift, direction, move, scores, moved):
    """Scores by two vectors of coefficients, two rows at a time."""
    n = X.shape[0]
    i = 0
    while i + 2 <= n:
        s0, s1, m0, m1 = _dot_two(X[i], X[i + 1], coef, direction)
        scores[i], scores[i + 1], moved[i], moved[i + 1] = s0 + shift, s1 + shift, m0 + move, m1 + move
        i += 2
    if i < n:
        scores[i], moved[i] = _dot(X[i], coef) + shift, _dot(X[i], direction) + move


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _add_eight(x0, x1, x2, x3, x4, x5, x6, x7, slope, run):
    """Eight rows at a time: the sum is loaded and stored once for all of them."""
    kind = run.dtype.type
    s0, s1, s2, s3 = kind(slope[0]), kind(slope[1]), kind(slope[2]), kind(slope[3])
    s4, s5, s6, s7 = kind(slope[4]), kind(slope[5]), kind(slope[6]), kind(slope[7])
    for j in range(run.size):
        run[j] += (s0 * x0[j] + s1 * x1[j] + s2 * x2[j] + s3 * x3[j]) + (
            s4 * x4[j] + s5 * x5[j] + s6 * x6[j] + s7 * x7[j]
        )


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _add_one(row, slope, run):
    pull = run.dtype.type(slope)
    for j in range(run.size):
        run[j] += pull * row[j]


@njit(cache=True, nogil=True)
def _flush(run, gradient):
    for j in range(run.size):
        gradient[j] += run[j]
        run[j] = 0


@njit(cache=True, nogil=True)
def pull_back_dense(X, slope, run, gradient):
    """Add ``X.T @ slope`` to the gradient; ``run`` is zeros before and after."""
    n = X.shape[0]
    start = 0
    while start < n:
        stop = min(start + ROWS_PER_RUN, n)
        i = start
        while i + 8 <= stop:
            _add_eight(
                X[i], X[i + 1], X[i + 2], X[i + 3], X[i + 4], X[i + 5], X[i + 6], X[i + 7], slope[i : i + 8], run
            )  # fmt: skip
            i += 8
        while i < stop:
            _add_one(X[i], slope[i], run)
            i += 1
        _flush(run, gradient)
        start = stop


@njit(cache=True, nogil=True)
def square_dense(X, weights, diagonal):
    """Add ``Σ_i weights_i x_ij²`` to each column's place."""
    for i in range(X.shape[0]):
        weight = weights[i]
        row = X[i]
        for j in range(diagonal.size):
            diagonal[j] += weight * row[j] * row[j]


@njit(cache=True, nogil=True)
def score_sparse(data, indices, row_ptr, coef, shift, scores):
    for i in range(scores.size):
        total = shift
        for place in range(row_ptr[i], row_ptr[i + 1]):
            total += data[place] * coef[indices[place]]
        scores[i] = total


@njit(cache=True, nogil=True)
def pull_back_sparse(data, indices, row_ptr, slope, gradient):
    for i in range(slope.size):
        pull = slope[i]
        for place in range(row_ptr[i], row_ptr[i + 1]):
            gradient[indices[place]] += pull * data[place]


@njit(cache=True, nogil=True)
def square_sparse(data, indices, row_ptr, weights, diagonal):
    for i in range(weights.size):
        weight = weights[i]
        for place in range(row_ptr[i], row_ptr[i + 1]):
            diagonal[indices[place]] += weight * data[place] * data[place]
