"""Ranking refinement as the equations say, with matrices over all pairs."""

from itertools import pairwise

import numpy as np

SAME = 1e-12  # of sums, relative to all of γ


def base_matrix(base, confidence=None):
    if confidence is None:
        best = np.sort(base)[::-1][:10]
        spread = best.std()
        confidence = 1.0 / spread if best.max() > best.min() else 0.0
    n = base.size
    W = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            with np.errstate(over="ignore"):
                W[i, j] = 1.0 / (1.0 + np.exp(-confidence * (base[i] - base[j])))
    return W


def pairs_of_labels(labels):
    n = len(labels)
    return [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]  # false for NaN


def feedback_matrix(n, pairs, eta):
    T = np.full((n, n), eta / 2)
    for i, j in pairs:
        T[i, j] = 1 - eta / 2
    return T


def all_stumps(X):
    """Features in turn, thresholds rising, ``above`` first."""
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature].astype(float))
        for low, high in pairwise(values):
            middle = 0.5 * low + 0.5 * high
            middle = middle if middle < high else low
            for is_above in (True, False):
                yield feature, middle, is_above, (X[:, feature] > middle) == is_above


def refine(X, base, pairs, *, n_rounds, eta, confidence=None, gamma=None):
    """The rounds; ``gamma`` None is the multiplicative objective. Returns F and a dict of lists."""
    n = X.shape[0]
    W, T = base_matrix(base, confidence), feedback_matrix(n, pairs, eta)
    F = np.zeros(n)
    rounds = {name: [] for name in ("stump", "alpha", "theta", "mu", "nu", "loss", "err_w", "err_t")}
    for _ in range(n_rounds):
        E = np.exp(F[None, :] - F[:, None])
        A, B = W * E, T * E
        weights = A / A.sum() + B / B.sum() if gamma is None else gamma * A + B
        w = weights.sum(axis=1) - weights.sum(axis=0)
        candidates = list(all_stumps(X))
        if not candidates:
            break
        thetas = np.array([w[f].sum() for *_, f in candidates])
        if thetas.max() <= SAME * weights.sum():
            break
        best = int(np.argmax(thetas >= thetas.max() - SAME * weights.sum()))
        feature, threshold, is_above, f = candidates[best]
        mu, nu = weights[np.ix_(f, ~f)].sum(), weights[np.ix_(~f, f)].sum()
        alpha = 0.5 * np.log(mu / nu)
        if alpha <= 0:
            break
        F = F + alpha * f
        E = np.exp(F[None, :] - F[:, None])
        err_w, err_t = (W * E).sum(), (T * E).sum()
        loss = err_w * err_t if gamma is None else gamma * err_w + err_t
        found = ((feature, threshold, is_above), alpha, thetas[best], mu, nu, loss, err_w, err_t)
        for name, value in zip(rounds, found, strict=True):
            rounds[name].append(value)
    return F, rounds
