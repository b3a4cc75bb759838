"""Fits of linear rankers to data in parts: the objective over all parts, and the attributes of a local fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plackett.data.column_statistics import ColumnStatistics
from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.distributed.inputs import PartitionedInput
from plackett.distributed.metadata import PartMetadata
from plackett.distributed.objective import SGD_REFUSED, PartitionedObjective
from plackett.distributed.partition import Plan, partition_of
from plackett.distributed.preparation import (
    check_imputer,
    check_normalizer,
    filled,
    fitted_to,
    learns,
    merged,
    statistics_of,
)
from plackett.losses import get_loss
from plackett.losses.base import Loss
from plackett.objective.penalties import L2
from plackett.rankers.linear.solve import choose_solver
from plackett.rankers.partitioned import checked_parts
from plackett.rankers.preparation import fills_missing

if TYPE_CHECKING:
    from plackett.rankers.linear.ranker import LinearRanker


def prepare_parts(ranker: LinearRanker, parts: PartitionedInput) -> PartitionedObjective:
    """Return the objective over all parts; set the attributes that a local fit sets before its solver starts."""
    loss = get_loss(ranker.loss)
    _refuse_sgd(ranker, loss)
    imputer = check_imputer(ranker.missing, bool(ranker.missing_indicator)) if fills_missing(ranker) else None
    normalizer = check_normalizer(ranker.normalize)
    checked = checked_parts(ranker, parts, loss)
    partitions, n_features = checked.partitions, checked.n_features
    _check_missing(checked.metadata, imputer)
    if imputer is not None:
        statistics = ColumnStatistics.merged(partitions.map(statistics_of, n_features))
        imputer.fit_statistics(statistics, n_features, ranker.n_queries_)
        ranker.imputer_, n_features = imputer, imputer.n_columns_out_
        partitions.replace(filled, imputer)
    fitted = partitions.map(fitted_to, normalizer, n_features) if learns(normalizer) else []
    ranker.normalizer_ = merged(normalizer, fitted, n_features)
    if isinstance(ranker.normalizer_, QueryNormalizer):
        ranker.normalizer_.n_queries_ = ranker.n_queries_
    has_intercept = not loss.ignores_shifts
    plan = Plan(loss, has_intercept, n_features, ranker.normalizer_, checked.total_weight, is_penalised=ranker.l2 > 0)
    partitions.replace(partition_of, plan)
    penalty = L2(0.0 if loss.is_scale_free else ranker.l2, n_free=int(has_intercept))
    return PartitionedObjective(
        loss, partitions, penalty, n_features=n_features, n_queries=ranker.n_queries_, has_intercept=has_intercept
    )


def _check_missing(metadata: list[PartMetadata], imputer: Any) -> None:
    """Raise for missing values without a rule."""
    for part in metadata if imputer is None else ():
        if part.missing is not None:
            raise ValueError(
                f'{part.name}: {part.missing} Set missing="zero", "mean" or "min". Other rules need all rows in one '
                "process."
            )


def _refuse_sgd(ranker: LinearRanker, loss: Loss) -> None:
    if loss.is_random:
        raise ValueError(f"{loss!r} is random, which does not work over partitions. {SGD_REFUSED}")
    if choose_solver(ranker.solver, loss).name == "sgd":
        raise ValueError(SGD_REFUSED)
