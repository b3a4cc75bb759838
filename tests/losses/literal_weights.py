"""Pair losses times rank weights of one list, by loops over pairs and over all orders of tied documents."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.losses import literal_pairwise as loops


def soft_zero_one(m):
    e = math.exp(-abs(m))
    return (e if m > 0 else 1.0) / (1 + e), -e / (1 + e) ** 2


def squared(m):
    return m * m, 2 * m


LOSSES = {
    "hinge": loops.hinge,
    "smoothed-hinge": loops.smoothed_hinge(0.5),
    "squared-hinge": loops.squared_hinge,
    "logistic": loops.logistic,
    "exponential": loops.exponential,
    "psi": loops.psi,
    "soft-zero-one": soft_zero_one,
    "squared": squared,
}
WEIGHTS = (
    "uniform", "label-difference", "gain-difference", "label", "lambdarank", "ndcg-loss1", "ndcg-loss2", "ndcg-loss2++",
    "precision",
)  # fmt: skip
ONE_SIDED = ("label", "ndcg-loss1")


def inverse_discount(r):
    return 1 / math.log2(1 + r)


def weight_at(weight, ranks, i, j, labels, gains, k, mu):
    """The weight of the pair in which i should be above j, at ranks from 1 without ties."""
    r, s = ranks[i], ranks[j]
    if weight == "precision":
        return float((r <= k) != (s <= k))
    if k is not None and min(r, s) > k:
        return 0.0
    step = abs(inverse_discount(r) - inverse_discount(s))
    distance = abs(r - s)
    delta = abs(inverse_discount(distance) - inverse_discount(distance + 1))
    gain = abs(gains[i] - gains[j])
    return {
        "uniform": 1.0,
        "label-difference": labels[i] - labels[j],
        "gain-difference": gain,
        "label": labels[i],
        "lambdarank": gain * step,
        "ndcg-loss1": gains[i] * inverse_discount(r),
        "ndcg-loss2": gain * delta,
        "ndcg-loss2++": gain * (step + mu * delta),
    }[weight]


def orders(scores):
    """All rankings of a list that its scores allow, as ranks from 1 by document."""
    groups = [np.flatnonzero(scores == s) for s in np.unique(scores)[::-1]]
    for order in itertools.product(*(itertools.permutations(group) for group in groups)):
        ranks = np.empty(len(scores), dtype=int)
        ranks[list(itertools.chain(*order))] = np.arange(1, len(scores) + 1)
        yield ranks


def pair_weights(weight, scores, labels, gains, *, k=None, mu=10.0, score_norm=False, has_equal_labels=False):
    """The matrix of expected weights; 0 for what is no pair. ``has_equal_labels``: each pair of equal labels counts."""
    n = len(scores)
    total, n_orders = np.zeros((n, n)), 0
    for ranks in orders(np.asarray(scores)):
        n_orders += 1
        for i, j in itertools.permutations(range(n), 2):
            is_equal = has_equal_labels and i < j and labels[i] == labels[j]
            if weight in ONE_SIDED or labels[i] > labels[j] or is_equal:
                total[i, j] += weight_at(weight, ranks, i, j, labels, gains, k, mu)
    total /= max(n_orders, 1)
    if score_norm and n and np.ptp(scores) > 0:
        total /= 0.01 + np.abs(np.subtract.outer(scores, scores))
    return total


def weighted_sums(loss, weights, scores, labels, *, sigma=1.0, score_norm=False, held=None):
    """Loss and slope of one list for given weights, with the factor of ``score_norm`` at the scores ``held``."""
    value, slope, strength = _sums(loss, weights, scores, labels, sigma)
    if score_norm:
        if held is not None:
            strength = _sums(loss, weights, held, labels, sigma)[2]
        total = 2 * strength
        norm = (math.log1p(total) / total if total > 1e-200 else 1.0) / math.log(2)
        value, slope = norm * value, norm * slope
    return value, slope


def _sums(loss, weights, scores, labels, sigma):
    value, slope, strength = [], np.zeros(len(scores)), 0.0
    for i, j in itertools.permutations(range(len(scores)), 2):
        if weights[i, j] != 0:
            margin = sigma * (scores[i] - scores[j])
            if loss == "squared":
                margin -= labels[i] - labels[j]
            cost, pull = LOSSES[loss](margin)
            value.append(weights[i, j] * cost)
            slope[i] += sigma * weights[i, j] * pull
            slope[j] -= sigma * weights[i, j] * pull
            strength += abs(sigma * weights[i, j] * pull)
    return math.fsum(value), slope, strength
