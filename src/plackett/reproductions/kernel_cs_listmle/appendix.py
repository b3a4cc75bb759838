"""The R code in the appendix of olinto2016, statement by statement, with arrays of all queries instead of its loops.

It is not a description of cost-sensitive ListMLE: for that see ``plackett.losses``. Deviations from the text of the
thesis are kept and marked "sic", since the printed numbers come from this code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plackett.data.queries import Queries

START, BEFORE_START = 0.05, 0.048  # of all coefficients
LEAST_CHANGE = 1e-3  # of a coefficient; iterations end when all change by less
MAX_ITER = 200


class FirstRows(NamedTuple):
    """The first k rows of every query: features (queries, k, features) and labels (queries, k)."""

    X: np.ndarray
    y: np.ndarray


class Descent(NamedTuple):
    """The final coefficients, the number of iterations, and the number of steps of queries that were not finite."""

    coef: np.ndarray
    n_iter: int
    n_left_out: int


def first_rows(queries: Queries, k: int) -> FirstRows:
    """``checksizek``: the first k rows in the order of the file, columns scaled to unit length within them.

    Shorter queries get rows of zeros with label 0.
    """
    places = queries.indptr[:-1, None] + np.arange(k)
    is_there = places < queries.indptr[1:, None]
    rows = np.where(is_there, places, 0)
    X = np.where(is_there[..., None], np.asarray(queries.X)[rows].astype(np.float64), 0.0)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return FirstRows(X / np.where(lengths == 0.0, 1.0, lengths), np.where(is_there, queries.labels[rows], 0.0))


def kernel_values(
    X: np.ndarray, kernel: str, *, b: float = 1.0, d: float = 1.0, sigma: float = 1.0, gama: float = 1.0
) -> np.ndarray:
    """``kxxi``: kernel values between the documents of each query, for offset 0.

    The Gaussian and the Laplace kernel take distances between rows of XXᵀ, not of X, and both square them (sic).
    """
    products = X @ X.transpose(0, 2, 1)
    if kernel == "polynomial":
        return (b * products) ** d
    if kernel == "tanh":
        return np.tanh(b * products)
    distances = ((products[:, :, None, :] - products[:, None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-distances / (2.0 * sigma**2)) if kernel == "gaussian" else np.exp(-gama * distances)


def descend(values: np.ndarray, labels: np.ndarray, *, is_kernel: bool, norm: float = 1.0) -> Descent:
    """The ``while`` loop around ``grad_listMLE_plain`` or ``grad_listMLE_kernel``.

    ``values``, queries × k × coefficients, are features, or kernel values with the documents of the same query; with
    the latter, the score of a document in training is its *own* coefficient times the sum of its kernel values (sic).
    ``norm`` is that of the coefficients after every step.

    A coefficient's step is the mean over the queries of all iterations so far (sic: they are never cleared). R stops
    with an error at a step that is not finite, since it cannot compare NaN; here such a step is ignored.
    """
    n_queries, _, n_coefs = values.shape
    coef, before = np.full(n_coefs, START), np.full(n_coefs, BEFORE_START)
    total, n_iter, n_left_out = np.zeros(n_coefs), 0, 0
    while np.any(np.abs(coef - before) >= LEAST_CHANGE) and n_iter < MAX_ITER:
        n_iter += 1
        before = coef
        with np.errstate(all="ignore"):  # kernel values may underflow, exp(scores) may overflow
            steps = _newton_steps(values, labels, values.sum(axis=2) * coef if is_kernel else values @ coef)
            is_finite = np.isfinite(steps)
            n_left_out += int((~is_finite.all(axis=1)).sum())
            total += np.where(is_finite, steps, 0.0).sum(axis=0)
            coef = before - total / (n_iter * n_queries)
            coef = norm * coef / np.linalg.norm(coef)
    return Descent(coef, n_iter, n_left_out)


def _newton_steps(values: np.ndarray, labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the first over the second "derivative" of each query by each coefficient; the DCG in both cancels.

    Only documents that come after the better one count (sic). ``x - x[i,]`` goes down the columns of x in R, so the
    entries of row i are subtracted from x in the wrong places (sic). The derivative's denominator also contains the
    inner derivative (sic), so it may be 0.
    """
    n_queries, k, n_coefs = values.shape
    recycled = (np.arange(k)[:, None] + k * np.arange(n_coefs)) % n_coefs
    first, second = np.zeros((n_queries, n_coefs)), np.zeros((n_queries, n_coefs))
    sums = labels.sum(axis=1)
    for i in range(k - 1):
        own, later = labels[:, i, None], labels[:, i + 1 :]
        alpha = np.where(own > later, (own - later) / np.where(own > 0.0, own, 1.0), 0.0)
        beta = (labels[:, i] / np.where(sums > 0.0, sums, 1.0))[:, None]
        weights = alpha * np.exp(scores[:, i + 1 :] - scores[:, i, None])
        differences = values[:, i + 1 :] - values[:, i][:, recycled[i + 1 :]]
        inner = np.einsum("qt,qtp->qp", weights, differences)
        first += beta * inner / (1.0 + inner)
        second += beta * np.einsum("qt,qtp->qp", weights, differences**2) / (1.0 + inner) ** 2
    return np.where((first == 0.0) & (second == 0.0), 0.0, first / second)


def ranked_labels(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the labels of each query by decreasing score; equal scores keep the order of the rows."""
    return np.take_along_axis(labels, np.argsort(-scores, axis=1, kind="stable"), axis=1)


def ndcg_of_own_top(ranked: np.ndarray, k: int) -> np.ndarray:
    """``nDCG_k``: the DCG of the first k documents over that of the best order *of these same k* (sic).

    A ranking whose first k documents have the same label above 0 gets 1, however low that label is; k documents of
    label 0 give 0.
    """
    gains, discounts = 2.0 ** ranked[:, :k] - 1.0, np.log2(np.arange(2, k + 2))
    best = (-np.sort(-gains, axis=1) / discounts).sum(axis=1)
    return np.divide((gains / discounts).sum(axis=1), best, out=np.zeros(len(ranked)), where=best > 0.0)
