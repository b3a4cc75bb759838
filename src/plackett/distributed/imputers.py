"""Filling missing values over partitions: statistics of each part, merged, then every part is filled."""

from __future__ import annotations

from typing import Any

from plackett.data.column_statistics import ColumnStatistics
from plackett.data.preprocessing.missing import MERGEABLE, MissingValues, shown_rule
from plackett.distributed.loading import LoadedPart


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
