"""Scaling and filling over partitions: statistics or transformers of each part, merged, then applied to every part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.data.column_statistics import ColumnStatistics
from plackett.data.preprocessing.blocks import reject_densifying
from plackett.data.preprocessing.missing import MERGEABLE, MissingValues, shown_rule
from plackett.data.preprocessing.scaling import QueryNormalizer, get_normalizer
from plackett.distributed.loading import LoadedPart


def check_normalizer(normalize: Any) -> Any:
    """Return an unfitted transformer; raise if it cannot be fitted over partitions. None for None."""
    if normalize is None:
        return None
    with importing:
        from sklearn.base import clone
        from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    normalizer = clone(get_normalizer(normalize))
    is_mergeable = type(normalizer) in (MinMaxScaler, MaxAbsScaler) or (
        type(normalizer) is StandardScaler and normalizer.with_std
    )
    if not is_mergeable and not isinstance(normalizer, QueryNormalizer):
        raise ValueError(
            f"normalize={normalize!r} needs all rows in one process. Over partitions, choose one within queries "
            '("query-minmax", "query-zscore", "query-unit", "query-rank"), "minmax", "maxabs" or "zscore".'
        )
    return normalizer


def learns(normalizer: Any) -> bool:
    """Return whether a transformer must be fitted to rows."""
    return normalizer is not None and not isinstance(normalizer, QueryNormalizer)


def fitted_to(part: LoadedPart, normalizer: Any, n_features: int) -> Any:
    """Return a copy of the transformer fitted to the rows of one part."""
    with importing:
        from sklearn.base import clone

    rows = part.rows(n_features)
    reject_densifying(normalizer, rows)
    return clone(normalizer).fit(rows)


def merged(normalizer: Any, fitted: Sequence[Any], n_features: int) -> Any:
    """Return the transformer fitted to all rows, from its copies fitted to one part each."""
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
    """Merge the means and variances of the parts (Chan, Golub and LeVeque 1983)."""
    counts = np.array([int(one.n_samples_seen_) for one in fitted])
    means, variances = (np.array([getattr(one, name) for one in fitted]) for name in ("mean_", "var_"))
    n_docs, weights = int(counts.sum()), counts[:, None] / counts.sum()
    mean = (weights * means).sum(axis=0)
    variance = (weights * (variances + (means - mean) ** 2)).sum(axis=0)
    spread = np.sqrt(variance)
    # Two rows with the mean, variance and weight of all rows let scikit-learn decide which columns are constant.
    whole = normalizer.fit(np.array([mean - spread, mean + spread]), sample_weight=np.full(2, 0.5 * n_docs))
    is_constant = (whole.scale_ == 1.0) & (spread < 0.5)
    # For large means the two rows are too inaccurate for the other attributes.
    whole.mean_, whole.var_, whole.scale_ = mean, variance, np.where(is_constant, 1.0, spread)
    # a fit without weights counts rows; with weights, older versions of scikit-learn sum them as floats
    whole.n_samples_seen_ = np.asarray(fitted[0].n_samples_seen_).dtype.type(n_docs)
    return whole


# --- Missing values ---------------------------------------------------------------------------------------------------


def check_imputer(rule: Any, indicator: bool) -> MissingValues:
    """Return an unfitted imputer; raise if its rule needs all rows in one process."""
    if not isinstance(rule, str) or rule not in MERGEABLE:
        raise ValueError(
            f"missing={shown_rule(rule)} needs all rows in one process. Over partitions, choose "
            f"{', '.join(map(repr, MERGEABLE[:-1]))} or {MERGEABLE[-1]!r}."
        )
    return MissingValues(rule, indicator)


def statistics_of(part: LoadedPart, n_features: int) -> ColumnStatistics:
    """Return the statistics of the columns of a part."""
    return ColumnStatistics.of(part.rows(n_features))


def filled(part: LoadedPart, imputer: MissingValues) -> LoadedPart:
    """Return a part without missing values."""
    queries = part.queries.replace(X=part.rows(imputer.n_features_in_))
    X = imputer.transform_queries(queries, part.has_missing)
    names = None if queries.feature_names is None else imputer.labels(queries.feature_names)
    return LoadedPart(queries.replace(X=X, feature_names=names), part.weights, part.name, may_widen=False)
