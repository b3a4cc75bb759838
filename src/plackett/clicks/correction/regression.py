"""Relevance predicted from features, for the doubly robust estimate."""

from __future__ import annotations

from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett._threads import one_blas_thread
from plackett.clicks.correction.estimates import Bias
from plackett.clicks.propensities.counts import Counts
from plackett.validation import count_of, is_sparse

RIDGE = 1.0  # per standardised column, for rows of mean weight 1


def predicted_relevance(
    features: Any, query: np.ndarray, counts: Counts, bias: Bias, model: Any, n_folds: int | None, seed: int
) -> np.ndarray:
    """Return the relevance of each pair by a regression of clicks on features.

    It minimises ``Σ (c - b - a R)²`` over the impressions, which is a regression on one target for each pair, with a
    weight. With folds, pairs of a query are predicted by a fit on the queries of the other folds.
    """
    a, b = bias.a[counts.rank], bias.b[counts.rank]
    weight = counts.by_pair(counts.shown * a**2)
    target = counts.by_pair(a * (counts.clicks - counts.shown * b)) / np.where(weight > 0, weight, 1.0)
    groups = np.zeros(query.size, dtype=np.int64) if n_folds is None else _folds(query, n_folds, seed)
    predicted = np.empty(query.size)
    with one_blas_thread():
        for group in range(int(groups.max(initial=0)) + 1):
            held = groups == group
            used = (held if n_folds is None else ~held) & (weight > 0)
            share = weight[used] / weight[used].mean()
            fit = _ridge if model is None else _own(model)
            predicted[held] = fit(features[used], target[used], share, features[held])
    return predicted


def _folds(query: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each pair; queries are drawn in the order of their names."""
    different, place = np.unique(query, return_inverse=True)
    if different.size < 2:
        raise ValueError(
            'method="dr" predicts the pairs of a query by a regression on other queries, but the log has '
            f"{count_of(different.size, 'query', 'queries')}. Set folds=None."
        )
    order = np.random.default_rng(seed).permutation(different.size)
    return (order % min(n_folds, different.size))[place]


def _ridge(features: Any, target: np.ndarray, weight: np.ndarray, held: Any) -> np.ndarray:
    """Return predictions of a ridge regression on standardised columns; a missing value counts as the mean."""
    with importing:
        from sklearn.linear_model import Ridge
        from sklearn.preprocessing import StandardScaler

    if not is_sparse(features):
        n_known = np.count_nonzero(~np.isnan(features), axis=0)
        means = np.nansum(features, axis=0, dtype=np.float64) / np.maximum(n_known, 1)
        features, held = (np.where(np.isnan(part), means, part) for part in (features, held))
    scaler = StandardScaler(with_mean=not is_sparse(features)).fit(features)
    fitted = Ridge(RIDGE).fit(scaler.transform(features), target, sample_weight=weight)
    return fitted.predict(scaler.transform(held))


def _own(model: Any) -> Any:
    with importing:
        from sklearn.base import clone

    def fit(features: Any, target: np.ndarray, weight: np.ndarray, held: Any) -> np.ndarray:
        fitted = clone(model).fit(features, target, sample_weight=weight)
        values = np.asarray(fitted.predict(held), dtype=np.float64)
        if values.shape != (held.shape[0],) or not np.isfinite(values).all():
            raise ValueError(
                f"{type(model).__name__}.predict returned shape {values.shape}; one finite number for each of the "
                f"{held.shape[0]:,} rows is needed."
            )
        return values

    return fit
