"""Loops that scale columns within queries. Callers have checked everything and own the outputs.

``rows`` names the rows of X query by query; query ``q`` owns ``rows[indptr[q]:indptr[q + 1]]``. A kernel works through
queries ``first`` to ``last - 1`` and writes their rows of ``out``, which comes filled with zeros: a column that is
constant within a query is left at 0. Sums are kept in float64 whatever the features are.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _bounds(X, docs, low, high):
    for column in range(X.shape[1]):
        low[column] = high[column] = X[docs[0], column]
    for doc in docs[1:]:
        for column in range(X.shape[1]):
            value = X[doc, column]
            if value < low[column]:
                low[column] = value
            elif value > high[column]:
                high[column] = value


@njit(cache=True, nogil=True)
def _share(value, low, high):
    # halves, because the difference of two finite numbers may be infinite; half of the smallest number may be 0
    span = 0.5 * high - 0.5 * low
    return min((0.5 * value - 0.5 * low) / span, 1.0) if span > 0.0 else 0.0


@njit(cache=True, nogil=True)
def min_max(X, rows, indptr, first, last, out):
    low, high = np.empty(X.shape[1]), np.empty(X.shape[1])
    for q in range(first, last):
        docs = rows[indptr[q] : indptr[q + 1]]
        _bounds(X, docs, low, high)
        for doc in docs:
            for column in range(X.shape[1]):
                out[doc, column] = _share(X[doc, column], low[column], high[column])


@njit(cache=True, nogil=True)
def z_score(X, rows, indptr, first, last, out):
    # The score of the values between 0 and 1 that min_max makes: it is the same, and no square overflows or vanishes.
    n_columns = X.shape[1]
    low, high = np.empty(n_columns), np.empty(n_columns)
    mean, variance = np.empty(n_columns), np.empty(n_columns)
    for q in range(first, last):
        docs = rows[indptr[q] : indptr[q + 1]]
        _bounds(X, docs, low, high)
        mean[:] = 0.0
        variance[:] = 0.0
        for doc in docs:
            for column in range(n_columns):
                mean[column] += _share(X[doc, column], low[column], high[column]) / docs.size
        for doc in docs:
            for column in range(n_columns):
                distance = _share(X[doc, column], low[column], high[column]) - mean[column]
                variance[column] += distance * distance / docs.size
        for doc in docs:
            for column in range(n_columns):
                if variance[column] > 0.0:
                    distance = _share(X[doc, column], low[column], high[column]) - mean[column]
                    out[doc, column] = distance / np.sqrt(variance[column])


@njit(cache=True, nogil=True)
def unit_length(X, rows, indptr, first, last, out):
    n_columns = X.shape[1]
    unit, total = np.empty(n_columns), np.empty(n_columns)
    for q in range(first, last):
        docs = rows[indptr[q] : indptr[q + 1]]
        unit[:] = 0.0
        total[:] = 0.0
        for doc in docs:
            for column in range(n_columns):
                unit[column] = max(unit[column], abs(X[doc, column]))
        for doc in docs:
            for column in range(n_columns):
                if unit[column] > 0.0:
                    total[column] += (X[doc, column] / unit[column]) ** 2
        for doc in docs:
            for column in range(n_columns):
                if unit[column] > 0.0:
                    out[doc, column] = X[doc, column] / unit[column] / np.sqrt(total[column])


@njit(cache=True, nogil=True)
def unit_length_sparse(data, indices, row_bounds, rows, indptr, first, last, n_columns, out):
    """As ``unit_length`` for the stored values of a CSR matrix; only columns that a query has are looked at."""
    unit, total = np.zeros(n_columns), np.zeros(n_columns)
    for q in range(first, last):
        docs = rows[indptr[q] : indptr[q + 1]]
        for doc in docs:
            for place in range(row_bounds[doc], row_bounds[doc + 1]):
                unit[indices[place]] = max(unit[indices[place]], abs(data[place]))
        for doc in docs:
            for place in range(row_bounds[doc], row_bounds[doc + 1]):
                if unit[indices[place]] > 0.0:
                    total[indices[place]] += (data[place] / unit[indices[place]]) ** 2
        for doc in docs:
            for place in range(row_bounds[doc], row_bounds[doc + 1]):
                if unit[indices[place]] > 0.0:
                    out[place] = data[place] / unit[indices[place]] / np.sqrt(total[indices[place]])
        for doc in docs:
            for place in range(row_bounds[doc], row_bounds[doc + 1]):
                unit[indices[place]] = total[indices[place]] = 0.0


@njit(cache=True, nogil=True)
def rank(X, rows, indptr, first, last, out):
    for q in range(first, last):
        docs = rows[indptr[q] : indptr[q + 1]]
        values = np.empty(docs.size, dtype=X.dtype)
        for column in range(X.shape[1]):
            for place in range(docs.size):
                values[place] = X[docs[place], column]
            order = np.argsort(values)
            if values[order[0]] == values[order[-1]]:
                continue
            start = 0
            while start < docs.size:
                stop = start + 1
                while stop < docs.size and values[order[stop]] == values[order[start]]:
                    stop += 1
                # places start .. stop - 1, counted from 0, share their mean
                share = 0.5 * (start + stop - 1) / (docs.size - 1)
                for place in range(start, stop):
                    out[docs[order[place]], column] = share
                start = stop
