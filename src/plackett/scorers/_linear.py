"""Loops over rows ``start`` to ``stop`` of X.

Sums are float64 whatever X is: reading X costs more than adding it up, and fits reach tight tolerances.
"""

from __future__ import annotations

from numba import njit

FASTMATH = {"reassoc", "contract", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def _dot(row, coef):
    total = 0.0
    for j in range(coef.size):
        total += row[j] * coef[j]
    return total


@njit(cache=True, nogil=True)
def score_dense(X, coef, shift, start, stop, scores):
    for i in range(start, stop):
        scores[i] = _dot(X[i], coef) + shift


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
def pull_back_dense(X, slope, start, stop, gradient):
    i = start
    while i + 8 <= stop:
        _add_eight(
            X[i], X[i + 1], X[i + 2], X[i + 3], X[i + 4], X[i + 5], X[i + 6], X[i + 7], slope[i : i + 8], gradient
        )  # fmt: skip
        i += 8
    while i < stop:
        _add_one(X[i], slope[i], gradient)
        i += 1


@njit(cache=True, nogil=True)
def square_dense(X, weights, start, stop, diagonal):
    """Add ``Σ_i weights_i x_ij²`` to each column's place."""
    for i in range(start, stop):
        weight = weights[i]
        row = X[i]
        for j in range(diagonal.size):
            diagonal[j] += weight * row[j] * row[j]


@njit(cache=True, nogil=True)
def score_sparse(data, indices, row_ptr, coef, shift, start, stop, scores):
    for i in range(start, stop):
        total = shift
        for place in range(row_ptr[i], row_ptr[i + 1]):
            total += data[place] * coef[indices[place]]
        scores[i] = total


@njit(cache=True, nogil=True)
def pull_back_sparse(data, indices, row_ptr, slope, start, stop, gradient):
    for i in range(start, stop):
        pull = slope[i]
        for place in range(row_ptr[i], row_ptr[i + 1]):
            gradient[indices[place]] += pull * data[place]


@njit(cache=True, nogil=True)
def square_sparse(data, indices, row_ptr, weights, start, stop, diagonal):
    for i in range(start, stop):
        weight = weights[i]
        for place in range(row_ptr[i], row_ptr[i + 1]):
            diagonal[indices[place]] += weight * data[place] * data[place]
