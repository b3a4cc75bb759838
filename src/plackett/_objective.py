"""One pass over X per evaluation: a few queries are scored, the loss gives their slope, and the slope is pulled back
while their rows are still in the cache.

The loss comes as a compiled function of fixed type (``losses/fused.py``), so that one driver serves every loss and is
compiled once; a function of numba's own would be compiled into it anew for every loss and in every process.
"""

from __future__ import annotations

from numba import njit

from plackett.scorers._linear import pull_back_dense, score_dense


@njit(cache=True, nogil=True)
def _few_queries(indptr, first, last, rows_at_once):
    """The end of a run of queries from ``first`` with about ``rows_at_once`` rows, at least one query."""
    limit = indptr[first] + rows_at_once
    stop = first + 1
    while stop < last and indptr[stop + 1] <= limit:
        stop += 1
    return stop


@njit(cache=True, nogil=True)
def _weigh(slope, indptr, weights, first, last):
    if weights.size:
        for q in range(first, last):
            for i in range(indptr[q], indptr[q + 1]):
                slope[i] *= weights[q]


@njit(cache=True, nogil=True)
def evaluate(X, coef, shift, loss, labels, weights, first, last, rows_at_once, scores, slope, values, gradient):
    """Scores, losses, slopes and gradient of queries ``first`` to ``last``, in one pass over their rows."""
    indptr, order, bounds, level_indptr, constants = labels
    while first < last:
        stop = _few_queries(indptr, first, last, rows_at_once)
        score_dense(X, coef, shift, indptr[first], indptr[stop], scores)
        loss(scores, indptr, order, bounds, level_indptr, constants, slope, values, first, stop)
        _weigh(slope, indptr, weights, first, stop)
        pull_back_dense(X, slope, indptr[first], indptr[stop], gradient)
        first = stop


@njit(cache=True, nogil=True)
def multiply(X, coef, shift, loss, labels, weights, first, last, rows_at_once, scores, moved, slope, gradient):
    """The curvature product in one pass: rows times ``coef``, the loss's product with that, and back."""
    indptr, order, bounds, level_indptr, constants = labels
    while first < last:
        stop = _few_queries(indptr, first, last, rows_at_once)
        score_dense(X, coef, shift, indptr[first], indptr[stop], moved)
        loss(scores, moved, indptr, order, bounds, level_indptr, constants, slope, first, stop)
        _weigh(slope, indptr, weights, first, stop)
        pull_back_dense(X, slope, indptr[first], indptr[stop], gradient)
        first = stop
