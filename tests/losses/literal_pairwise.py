"""Pairwise losses of one list as slow loops over pairs, straight from their definitions."""

from __future__ import annotations

import math

import numpy as np


def hinge(m):
    return max(0.0, 1 - m), -1.0 * (m < 1)


def squared_hinge(m):
    return max(0.0, 1 - m) ** 2, -2.0 * max(0.0, 1 - m)


def logistic(m):
    if m > 0:
        return math.log1p(math.exp(-m)), -math.exp(-m) / (1 + math.exp(-m))
    return -m + math.log1p(math.exp(m)), -1 / (1 + math.exp(m))


def exponential(m):
    return math.exp(-m), -math.exp(-m)


def psi(m):
    return min(1.0, max(0.0, 1 - m)), -1.0 * (0 <= m < 1)


def smoothed_hinge(width):
    def function(m):
        z = 1 - m
        if z <= 0:
            return 0.0, 0.0
        return (z * z / (2 * width), -z / width) if z <= width else (z - width / 2, -1.0)

    return function


def pairs(labels):
    """Places (i, j) with labels[i] > labels[j]."""
    return [(i, j) for i in range(len(labels)) for j in range(len(labels)) if labels[i] > labels[j]]


def pair_sums(function, scores, labels, normalize="pairs"):
    """Loss and slope of one list; ``function`` gives both for a margin."""
    met, n = pairs(labels), len(labels)
    value, slope = [], np.zeros(n)
    for i, j in met:
        cost, pull = function(scores[i] - scores[j])
        value.append(cost)
        slope[i] += pull
        slope[j] -= pull
    if not met:
        return 0.0, slope
    divisor = {"pairs": len(met), "all": n * (n - 1) / 2, "none": 1}[normalize]
    return math.fsum(value) / divisor, slope / divisor


def query_sums(function, scores, lists, normalize="pairs"):
    """Losses of all queries, and the slope."""
    values, slope = np.zeros(lists.n_queries), np.zeros(lists.n_docs)
    for q in range(lists.n_queries):
        docs = slice(lists.indptr[q], lists.indptr[q + 1])
        values[q], slope[docs] = pair_sums(function, scores[docs], lists.labels[docs], normalize)
    return values, slope
