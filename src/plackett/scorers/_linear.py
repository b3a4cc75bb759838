"""Loops over the rows of a block of X: scores, and the way back from slopes to a gradient.

Sums are float64 whatever X is. float32 sums would save a tenth of an evaluation, and leave fits to columns of large
scale stuck above their tolerance.
"""

from __future__ import annotations

from numba import njit

from plackett.scorers._prefetch import prefetch_row

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dot(row, coef):
    total = 0.0
    for j in range(coef.size):
        total += row[j] * coef[j]
    return total


@njit(cache=True, nogil=True)
def score_dense(X, coef, shift, scores):
    for i in range(X.shape[0]):
        prefetch_row(X, i)
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
        prefetch_row(X, i)
        prefetch_row(X, i + 1)
        s0, s1, m0, m1 = _dot_two(X[i], X[i + 1], coef, direction)
        scores[i], scores[i + 1], moved[i], moved[i + 1] = s0 + shift, s1 + shift, m0 + move, m1 + move
        i += 2
    if i < n:
        scores[i], moved[i] = _dot(X[i], coef) + shift, _dot(X[i], direction) + move


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _add_eight(x0, x1, x2, x3, x4, x5, x6, x7, slope, gradient):
    """Eight rows at a time: the gradient is loaded and stored once for all of them."""
    s0, s1, s2, s3, s4, s5, s6, s7 = slope[0], slope[1], slope[2], slope[3], slope[4], slope[5], slope[6], slope[7]
    for j in range(gradient.size):
        gradient[j] += (s0 * x0[j] + s1 * x1[j] + s2 * x2[j] + s3 * x3[j]) + (
            s4 * x4[j] + s5 * x5[j] + s6 * x6[j] + s7 * x7[j]
        )


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _add_one(row, slope, gradient):
    for j in range(gradient.size):
        gradient[j] += slope * row[j]


@njit(cache=True, nogil=True)
def pull_back_dense(X, slope, gradient):
    """Add ``X.T @ slope`` to the gradient."""
    n = X.shape[0]
    i = 0
    while i + 8 <= n:
        _add_eight(
            X[i], X[i + 1], X[i + 2], X[i + 3], X[i + 4], X[i + 5], X[i + 6], X[i + 7], slope[i : i + 8], gradient
        )  # fmt: skip
        i += 8
    while i < n:
        _add_one(X[i], slope[i], gradient)
        i += 1


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
