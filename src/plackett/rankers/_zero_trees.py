"""Kernel of trees by which a 0 goes its own way: as ``_flat_trees``, with one more rule at every split."""

from __future__ import annotations

from numba import njit

ROUNDS_TO_ZERO = 2.0**-150  # in single precision, and so does every smaller number


@njit(cache=True, nogil=True)
def _leaf(values, node, features, thresholds, left, right, zeros_left):
    while features[node] >= 0:
        value = values[features[node]]
        goes_left = zeros_left[node] if abs(value) <= ROUNDS_TO_ZERO else value <= thresholds[node]
        node = left[node] if goes_left else right[node]
    return node


@njit(cache=True, nogil=True)
def add_scores_sparse(
    data, indices, indptr, values, starts, features, thresholds, left, right, zeros_left, outputs, scores
):
    """Add to ``scores`` what each tree gives each row of a CSR matrix; ``values`` is room for one row, all 0."""
    for row in range(indptr.size - 1):
        for place in range(indptr[row], indptr[row + 1]):
            values[indices[place]] += data[place]
        for tree in range(starts.size - 1):
            scores[row] += outputs[_leaf(values, starts[tree], features, thresholds, left, right, zeros_left)]
        for place in range(indptr[row], indptr[row + 1]):
            values[indices[place]] = 0.0
