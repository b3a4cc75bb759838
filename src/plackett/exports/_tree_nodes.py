"""Kernel of exported trees: sums of leaves in the precision of the arrays that are given."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def add_leaves(X, starts, features, thresholds, left, right, values, is_strict, scores):
    """Add to ``scores`` the leaf of each tree, tree after tree.

    A row goes left where ``x < threshold`` (``is_strict``) or ``x <= threshold``. All numbers are float32, or all
    float64, and so is every sum.
    """
    for row in range(X.shape[0]):
        for tree in range(starts.size - 1):
            node = starts[tree]
            while features[node] >= 0:
                value = X[row, features[node]]
                goes_left = value < thresholds[node] if is_strict else value <= thresholds[node]
                node = left[node] if goes_left else right[node]
            scores[row] += values[node]
