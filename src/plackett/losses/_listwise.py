"""Kernels of ListNet and RankCosine: values per query and slopes, in passes over each list that vectorise.

Sums may be taken in any order (``ANY_ORDER``); ``exp`` may not, its rounding steps would be lost, so it has loops of
its own.
"""

import numpy as np
from numba import njit

from plackett.losses._exp import exp

ANY_ORDER = {"reassoc", "contract", "nsz", "arcp"}
SMALLEST = 1e-300  # a vector shorter than this counts as zero: its slope would not be a number


@njit(cache=True, nogil=True, fastmath=ANY_ORDER | {"nnan"})
def _largest(values):
    largest = -np.inf
    for i in range(values.size):
        largest = max(largest, values[i])
    return largest


@njit(cache=True, nogil=True, fastmath={"contract"})
def _exp_below(values, top, out):
    """exp(values − top); where that is less than 1e-307 it is about that."""
    for i in range(values.size):
        out[i] = exp(values[i] - top)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum(values):
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _mean_below(values, top, weights):
    """Mean of top − values; the weights have the sum 1."""
    total = 0.0
    for i in range(values.size):
        total += weights[i] * (top - values[i])
    return total


@njit(cache=True, nogil=True)
def _softmax(values, out):
    """Write the softmax; returns the largest value and the sum of the exponentials below it."""
    top = _largest(values)
    _exp_below(values, top, out)
    total = _sum(out)
    share = 1.0 / total
    for i in range(values.size):
        out[i] *= share
    return top, total


@njit(cache=True, nogil=True)
def softmax(values, indptr, out):
    """The softmax of each query."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        if values[docs].size > 0:
            _softmax(values[docs], out[docs])


@njit(cache=True, nogil=True)
def cross_entropy(logs, target, indptr, losses, slope):
    """−Σ target · log softmax(logs) of each query; the slope is by ``logs``."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        here, wanted, slope_here = logs[docs], target[docs], slope[docs]
        losses[q] = 0.0
        if here.size == 0:
            continue
        top, total = _softmax(here, slope_here)
        losses[q] = np.log(total) + _mean_below(here, top, wanted)
        for i in range(here.size):
            slope_here[i] -= wanted[i]


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def softmax_product(share, direction, indptr, out):
    """(diag(share) − share shareᵀ) direction, query by query."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        here, along, out_here = share[docs], direction[docs], out[docs]
        mean = 0.0
        for i in range(here.size):
            mean += here[i] * along[i]
        for i in range(here.size):
            out_here[i] = here[i] * (along[i] - mean)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True, fastmath=ANY_ORDER | {"nnan"})
def _scale_to_one(values):
    """Divide by the largest absolute value, which is returned, so that squares neither overflow nor vanish."""
    largest = 0.0
    for i in range(values.size):
        largest = max(largest, abs(values[i]))
    if largest < SMALLEST:
        return 0.0
    for i in range(values.size):
        values[i] /= largest
    return largest


@njit(cache=True, nogil=True)
def to_unit_length(values, indptr, lengths):
    """Scale each query to length 1, in place; ``lengths`` takes those of before. Zero vectors become exactly 0."""
    for q in range(indptr.size - 1):
        here = values[indptr[q] : indptr[q + 1]]
        largest = _scale_to_one(here)
        length = np.sqrt(_dot(here, here)) if largest > 0.0 else 0.0
        lengths[q] = largest * length
        for i in range(here.size):
            here[i] = here[i] / length if length > 0.0 else 0.0


@njit(cache=True, nogil=True)
def exp_below_largest(logs, indptr, out):
    """The exponentials of each query over the largest of them."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        if logs[docs].size > 0:
            _exp_below(logs[docs], _largest(logs[docs]), out[docs])


@njit(cache=True, nogil=True)
def cosine(unit, target, indptr, losses, slope):
    """½ (1 − cos) of each query, from vectors of length 1 or 0.

    The slope is by the vector that ``unit`` was before it was scaled, times its length.
    """
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        here, wanted, slope_here = unit[docs], target[docs], slope[docs]
        if here.size < 2:
            losses[q] = 0.0
            slope_here[:] = 0.0
            continue
        if _dot(here, here) == 0.0 or _dot(wanted, wanted) == 0.0:
            losses[q] = 0.5
            slope_here[:] = 0.0
            continue
        agreement = _dot(here, wanted)
        apart = 0.0  # 2 − 2 cos, without the difference
        for i in range(here.size):
            apart += (here[i] - wanted[i]) ** 2
            slope_here[i] = 0.5 * (agreement * here[i] - wanted[i])
        losses[q] = 0.25 * apart


@njit(cache=True, nogil=True)
def cosine_of_linear(scores, a, b, target, indptr, losses, slope):
    """``cosine`` of ``a scores + b``, the slope by the scores: all in one pass over each query."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        here, slope_here = scores[docs], slope[docs]
        for i in range(here.size):
            slope_here[i] = a * here[i] + b
        largest = _scale_to_one(slope_here)
        length = np.sqrt(_dot(slope_here, slope_here)) if largest > 0.0 else 0.0
        losses[q] = _cosine(slope_here, target[docs], length, a / max(largest * length, SMALLEST))


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _cosine(slope, wanted, length, inner):
    """½ (1 − cos) of one query, from a vector of this length in ``slope``, which takes the slope times ``inner``."""
    if slope.size < 2 or length == 0.0 or _dot(wanted, wanted) == 0.0:
        slope[:] = 0.0
        return 0.0 if slope.size < 2 else 0.5
    agreement = _dot(slope, wanted) / length
    apart = 0.0  # 2 − 2 cos, without the difference
    for i in range(slope.size):
        unit = slope[i] / length
        apart += (unit - wanted[i]) ** 2
        slope[i] = 0.5 * inner * (agreement * unit - wanted[i])
    return 0.25 * apart


@njit(cache=True, nogil=True)
def cosine_diagonal(unit, target, indptr, second):
    """Second derivatives to the slope of ``cosine``, times the squared length; 0 where the slope is 0 by definition."""
    for q in range(indptr.size - 1):
        docs = slice(indptr[q], indptr[q + 1])
        here, wanted, second_here = unit[docs], target[docs], second[docs]
        agreement = _dot(here, wanted)
        is_counted = here.size > 1 and _dot(here, here) > 0.0 and _dot(wanted, wanted) > 0.0
        for i in range(here.size):
            bend = here[i] * wanted[i] + 0.5 * agreement * (1.0 - 3.0 * here[i] * here[i])
            second_here[i] = bend if is_counted else 0.0
