"""Kernels of trees that stand in flat arrays: the way of every row from the root to a leaf of each tree.

A node with feature -1 is a leaf; from any other a row goes left where ``x[feature] <= threshold``, both in double
precision, and its children have larger numbers than itself. Callers have checked all that.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROWS_IN_CACHE = 256  # that go through a tree before the next tree's nodes are needed


@njit(cache=True, nogil=True)
def _leaf(values, node, features, thresholds, left, right):
    while features[node] >= 0:
        node = left[node] if np.float64(values[features[node]]) <= thresholds[node] else right[node]
    return node


@njit(cache=True, nogil=True)
def add_scores(X, starts, features, thresholds, left, right, outputs, scores):
    """Add to ``scores`` what each tree gives each row, tree after tree."""
    for first in range(0, X.shape[0], ROWS_IN_CACHE):
        last = min(first + ROWS_IN_CACHE, X.shape[0])
        for tree in range(starts.size - 1):
            for row in range(first, last):
                scores[row] += outputs[_leaf(X[row], starts[tree], features, thresholds, left, right)]


@njit(cache=True, nogil=True)
def add_scores_sparse(data, indices, indptr, n_features, starts, features, thresholds, left, right, outputs, scores):
    """As ``add_scores`` for rows of a CSR matrix, one of which is dense at a time."""
    values = np.zeros(n_features)
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            values[indices[place]] += data[place]
        for tree in range(starts.size - 1):
            scores[row] += outputs[_leaf(values, starts[tree], features, thresholds, left, right)]
        for place in range(indptr[row], indptr[row + 1]):
            values[indices[place]] = 0.0


@njit(cache=True, nogil=True)
def depths(starts, features, left, right, out):
    """How far each node is from the root of its tree, and how often the children of others lead to it."""
    visits = np.zeros(features.size, np.int64)
    out[:] = 0
    for node in range(features.size):
        if features[node] >= 0:
            for child in (left[node], right[node]):
                out[child] = out[node] + 1
                visits[child] += 1
    return visits
