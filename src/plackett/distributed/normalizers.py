"""Scaling of columns over partitions: what each learned from its own rows, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.preprocessing.blocks import refuse_to_fill
from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer
from plackett.distributed.piece import Piece


def check_normalizer(normalize: Any) -> Any:
    """An unfitted transformer for what was asked for, if it can be fitted over partitions; None for None."""
    if normalize is None:
        return None
    from sklearn.base import clone
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    normalizer = clone(get_normalizer(normalize))
    is_mergeable = type(normalizer) in (MinMaxScaler, MaxAbsScaler) or (
        type(normalizer) is StandardScaler and normalizer.with_std
    )
    if not is_mergeable and not isinstance(normalizer, QueryNormalizer):
        raise ValueError(
            f"normalize={normalize!r} needs all rows in one place. Over partitions there are those within queries "
            '("query-minmax", "query-zscore", "query-unit", "query-rank"), "minmax", "maxabs" and "zscore".'
        )
    return normalizer


def learns(normalizer: Any) -> bool:
    """Whether a transformer has to see the rows before it can scale any."""
    return normalizer is not None and not isinstance(normalizer, QueryNormalizer)


def fitted_to(piece: Piece, normalizer: Any, n_features: int) -> Any:
    """A copy of the transformer, fitted to the rows of one piece; None where it has none."""
    from sklearn.base import clone

    if not piece.queries.n_docs:
        return None
    rows = piece.rows(n_features)
    refuse_to_fill(normalizer, rows)
    return clone(normalizer).fit(rows)


def merged(normalizer: Any, fitted: Sequence[Any], n_features: int) -> Any:
    """The transformer, fitted to all rows by what others like it learned from some of them each."""
    if normalizer is None:
        return None
    if not learns(normalizer):
        return normalizer.fit(np.zeros((1, n_features)))
    extremes = [name for name in ("data_min_", "data_max_", "max_abs_") if hasattr(fitted[0], name)]
    if extremes:
        rows = np.array([getattr(one, name) for one in fitted for name in extremes])
        whole = normalizer.fit(rows)
        whole.n_samples_seen_ = sum(int(one.n_samples_seen_) for one in fitted)
        return whole
    return _merged_moments(normalizer, fitted)


def _merged_moments(normalizer: Any, fitted: Sequence[Any]) -> Any:
    """A StandardScaler from the means and variances of some rows each (Chan, Golub and LeVeque 1983)."""
    counts = np.array([int(one.n_samples_seen_) for one in fitted])
    means, variances = (np.array([getattr(one, name) for one in fitted]) for name in ("mean_", "var_"))
    n_docs, weights = int(counts.sum()), counts[:, None] / counts.sum()
    mean = (weights * means).sum(axis=0)
    variance = (weights * (variances + (means - mean) ** 2)).sum(axis=0)
    spread = np.sqrt(variance)
    # two rows with the same mean, variance and weight as all: which columns are constant is decided by scikit-learn
    whole = normalizer.fit(np.array([mean - spread, mean + spread]), sample_weight=np.full(2, 0.5 * n_docs))
    is_constant = (whole.scale_ == 1.0) & (spread < 0.5)
    # where a mean is large, the two rows are too coarse for the rest
    whole.mean_, whole.var_, whole.scale_ = mean, variance, np.where(is_constant, 1.0, spread)
    return whole
