"""One pass over X per evaluation: a few queries are scored, the loss gives their slope, and the slope is pulled back
while their rows are still in the cache.

The loss comes as a compiled function of fixed type (``losses/fused.py``), so that one driver serves every loss and is
compiled once; a function of numba's own would be compiled into it anew for every loss and in every process.
"""

from __future__ import annotations

from numba import njit

from plackett.scorers._linear import pull_back_dense, score_dense, score_two_dense


@njit(cache=True, nogil=True)
def _few_queries(indptr, first, rows_at_once):
    """The end of a run of queries from ``first`` with about ``rows_at_once`` rows, at least one query."""
    limit = indptr[first] + rows_at_once
    stop = first + 1
    while stop < indptr.size - 1 and indptr[stop + 1] <= limit:
        stop += 1
    return stop


@njit(cache=True, nogil=True)
def _weigh(slope, indptr, weights, first, last):
    if weights.size:
        for q in range(first, last):
            for i in range(indptr[q], indptr[q + 1]):
                slope[i] *= weights[q]


@njit(cache=True, nogil=True)
def evaluate(X, coef, shift, loss, labels, weights, rows_at_once, scores, slope, values, gradient):
    """Losses and gradient of the queries that ``labels`` describes, X being their rows; all others are scratch."""
    indptr, order, bounds, level_indptr, constants = labels
    first = 0
    while first < indptr.size - 1:
        stop = _few_queries(indptr, first, rows_at_once)
        rows = slice(indptr[first], indptr[stop])
        score_dense(X[rows], coef, shift, scores[rows])
        loss(scores, indptr, order, bounds, level_indptr, constants, slope, values, first, stop)
        _weigh(slope, indptr, weights, first, stop)
        pull_back_dense(X[rows], slope[rows], gradient)
        first = stop


@njit(cache=True, nogil=True)
def multiply(
    X, coef, shift, direction, move, loss, labels, weights, rows_at_once, scores, moved, slope, gradient
):  # fmt: skip
    """The curvature product at ``coef``: rows times ``direction``, the loss's product with that, and back.

    Scores are computed anew, for the rows are at hand; keeping them would cost memory.
    """
    indptr, order, bounds, level_indptr, constants = labels
    first = 0
    while first < indptr.size - 1:
        stop = _few_queries(indptr, first, rows_at_once)
        rows = slice(indptr[first], indptr[stop])
        score_two_dense(X[rows], coef, shift, direction, move, scores[rows], moved[rows])
        loss(scores, moved, indptr, order, bounds, level_indptr, constants, slope, first, stop)
        _weigh(slope, indptr, weights, first, stop)
        pull_back_dense(X[rows], slope[rows], gradient)
        first = stop
