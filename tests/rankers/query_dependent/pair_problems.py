"""Small lists of documents, and the problems of query-dependent ranking on them by loops."""

import itertools

import numpy as np
from scipy.special import expit

from plackett.rankers.query_dependent.neighbors import Neighbors

VALUES = {
    "hinge": lambda m: max(0.0, 1.0 - m),
    "logistic": lambda m: np.log(1.0 + np.exp(-m)),
    "psi": lambda m: min(1.0, max(0.0, 1.0 - m)),
}


class Lists:
    """Queries in label order: rows, labels, bounds. Labels follow a hidden direction, with noise and ties."""

    def __init__(self, lengths=(5, 6, 4, 5), n_features=3, seed=0, noise=0.7):
        rng = np.random.default_rng(seed)
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = rng.normal(size=(self.indptr[-1], n_features))
        labels = np.clip(np.round(X @ rng.normal(size=n_features) + noise * rng.normal(size=len(X))), -1, 2)
        order = np.lexsort((-labels, np.repeat(np.arange(len(lengths)), lengths)))
        self.X, self.labels = X[order], labels[order]

    @property
    def n_queries(self):
        return self.indptr.size - 1

    def pairs(self, queries, weights, shares=None):
        """(better, worse, weight) of every pair, by the equation."""
        found = []
        for query, weight in zip(queries, weights, strict=True):
            start, stop = self.indptr[query], self.indptr[query + 1]
            share = 1.0 / self.n_queries if shares is None else shares[query]
            for i in range(start, stop):
                for j in range(start, stop):
                    if self.labels[i] > self.labels[j]:
                        found.append((i, j, weight * share * 2.0 / ((stop - start) * (stop - start - 1))))
        better, worse, counts = zip(*found, strict=True) if found else ((), (), ())
        return np.array(better, dtype=int), np.array(worse, dtype=int), np.array(counts)


def neighbors(*targets):
    """Of each target its queries and their weights."""
    sizes = [len(queries) for queries, _ in targets]
    queries = np.concatenate([np.array(queries, dtype=np.int64) for queries, _ in targets])
    weights = np.concatenate([np.array(weights, dtype=np.float64) for _, weights in targets])
    return Neighbors(np.concatenate([[0], np.cumsum(sizes)]), queries, weights, np.full(queries.size, np.nan))


def everybody(n):
    return neighbors((range(n), np.ones(n)))


def score_objective(X, pairs, w, l2, loss):
    """(3.7) at the scores w·x."""
    total = 0.5 * l2 * sum(value**2 for value in w)
    for i, j, weight in zip(*pairs, strict=True):
        total += weight * VALUES[loss](X[i] @ w - X[j] @ w)
    return total


def preference_objective(f, squared_norm, pairs, l2, loss):
    """(3.1): both orders of each pair with half its weight, at any function f of two places."""
    total = 0.5 * l2 * squared_norm
    for i, j, weight in zip(*pairs, strict=True):
        total += 0.5 * weight * (VALUES[loss](f(i, j)) + VALUES[loss](-f(j, i)))
    return total


def in_both_orders(pairs):
    """First places, second places, signs and weights of all ordered pairs."""
    better, worse, weights = pairs
    return np.r_[better, worse], np.r_[worse, better], np.repeat([1.0, -1.0], better.size), np.r_[weights, weights] / 2


def least_squares_scores(f, places):
    """(3.6) as it is written: one equation ``s_j - s_l = f(j, l)`` for each two documents."""
    equations, values = [], []
    for a, j in enumerate(places):
        for b, k in enumerate(places):
            row = np.zeros(len(places))
            row[a] += 1.0
            row[b] -= 1.0
            equations.append(row)
            values.append(f(j, k))
    return np.linalg.lstsq(np.array(equations), np.array(values), rcond=None)[0]


def assert_same_order(scores, others, indptr):
    """The same order in each list, but for documents whose scores differ by less than a thousandth of all.

    Such are common under the hinge: two documents that both just keep their distance of 1 from a third are equal.
    """
    for start, stop in itertools.pairwise(indptr):
        ranked = others[start:stop][np.argsort(scores[start:stop])]
        assert (np.diff(ranked) >= -1e-3 * np.ptp(ranked)).all()


def logistic_minimum(features, signs, weights, l2, n_free=0):
    """The exact minimum of a logistic problem by Newton's method, written down: w and its value."""
    M = signs[:, None] * features
    held = np.r_[np.full(M.shape[1] - n_free, l2), np.zeros(n_free)]
    w = np.zeros(M.shape[1])

    def value(w):
        return weights @ np.logaddexp(0.0, -M @ w) + 0.5 * (held * w) @ w

    for _ in range(200):
        pulls = expit(-M @ w)
        gradient = -M.T @ (weights * pulls) + held * w
        hessian = (M * (weights * pulls * (1.0 - pulls))[:, None]).T @ M + np.diag(held)
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        length = 1.0
        while value(w - length * step) > value(w) * (1 + 1e-12):
            length /= 2
        w = w - length * step
        if np.abs(step).max() < 1e-9:
            break
    return w, value(w)
