"""A literal LambdaRank: a loss whose pair weights follow the ranks of the current scores."""

from itertools import pairwise

import numpy as np

from plackett.losses import Loss


class LiteralLambda(Loss):
    """Logistic pairs, weighted by the change of DCG if the two change places; by a loop."""

    has_moving_weights = True

    def value_and_slope(self, scores, queries):
        return _Held(pair_weights(scores, queries.labels)).value_and_slope(scores, queries)

    def held_at(self, scores, lists):
        return _Held(*[
            pair_weights(scores[start:stop], lists.labels[start:stop])
            for start, stop in pairwise(lists.indptr)
        ])  # fmt: skip

    def curvature_at(self, scores, lists):
        return self.held_at(scores, lists).curvature_at(scores, lists)


class _Held(Loss):
    def __init__(self, *weights):
        self.weights = weights

    def query_values(self, scores, lists, slope):
        values = np.zeros(lists.n_queries)
        for query, weights in enumerate(self.weights):
            rows = slice(lists.indptr[query], lists.indptr[query + 1])
            margins = np.subtract.outer(scores[rows], scores[rows])
            values[query] = np.sum(weights * np.logaddexp(0, -margins))
            pull = weights * np.exp(-np.logaddexp(0, margins))
            slope[rows] = pull.sum(axis=0) - pull.sum(axis=1)
        return values

    def curvature_at(self, scores, lists):
        matrices = []
        for query, weights in enumerate(self.weights):
            part = scores[lists.indptr[query] : lists.indptr[query + 1]]
            margins = np.subtract.outer(part, part)
            bend = weights * np.exp(-np.logaddexp(0, margins) - np.logaddexp(0, -margins))
            bend = bend + bend.T
            matrices.append(np.diag(bend.sum(axis=1)) - bend)
        bounds = lists.indptr[1:-1]
        return lambda direction: np.concatenate(
            [matrix @ part for matrix, part in zip(matrices, np.split(direction, bounds), strict=True)]
        )


def pair_weights(scores, labels):
    """Return w[i, j] for label i above label j: the mean of |G_i − G_j| |1/D(p) − 1/D(p′)| over the orders of ties."""
    order = np.argsort(-scores, kind="stable")
    discounts = 1 / np.log2(np.arange(scores.size) + 2)
    places = [discounts[scores[order] == score] for score in scores]
    weights = np.zeros((scores.size, scores.size))
    for i, j in np.argwhere(np.greater.outer(labels, labels)):
        gaps = np.abs(np.subtract.outer(places[i], places[j]))
        n_orders = gaps.size - (places[i].size if scores[i] == scores[j] else 0)
        weights[i, j] = (2.0 ** labels[i] - 2.0 ** labels[j]) * gaps.sum() / n_orders
    return weights
