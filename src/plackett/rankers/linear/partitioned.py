"""Fits of linear rankers to data in parts: the objective over all parts, and the attributes of a local fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._lazy import importing
from plackett.data.list_warnings import nothing_to_learn
from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.data.queries import Queries
from plackett.distributed.imputers import check_imputer, filled, statistics_of
from plackett.distributed.imputers import fitted as fitted_imputer
from plackett.distributed.inputs import PartitionedInput
from plackett.distributed.metadata import PartMetadata, check_columns, ids_of_keys, metadata_of, shared_keys
from plackett.distributed.normalizers import check_normalizer, fitted_to, learns, merged
from plackett.distributed.objective import SGD_REFUSED, PartitionedObjective
from plackett.distributed.partition import Plan, partition_of
from plackett.exceptions import NothingToLearnWarning, warn
from plackett.losses import get_loss
from plackett.losses.base import Loss
from plackett.objective.penalties import L2
from plackett.rankers.linear.solve import choose_solver
from plackett.rankers.preparation import fills_missing

if TYPE_CHECKING:
    from plackett.rankers.linear.ranker import LinearRanker


def prepare_parts(ranker: LinearRanker, parts: PartitionedInput) -> PartitionedObjective:
    """Return the objective over all parts; set the attributes that a local fit sets before its solver starts."""
    loss = get_loss(ranker.loss)
    _refuse_sgd(ranker, loss)
    imputer = check_imputer(ranker.missing, bool(ranker.missing_indicator)) if fills_missing(ranker) else None
    normalizer = check_normalizer(ranker.normalize)
    partitions = parts.load()
    metadata: list[PartMetadata] = partitions.map(metadata_of)
    places = [place for place, one in enumerate(metadata) if one.n_docs]
    if not places:
        raise ValueError("there are no rows in any partition.")
    _check_whole_queries(metadata, partitions)
    n_features, names = check_columns([metadata[place] for place in places])
    first_index = metadata[places[0]].first_index
    total_weight = sum(metadata[place].weight for place in places)
    if not 0.0 < total_weight < np.inf:
        raise ValueError(f"sample_weight adds up to {total_weight:g} over all queries; a number above 0 is needed.")

    _check_missing([metadata[place] for place in places], imputer)
    _remember_columns(ranker, n_features, names, first_index, is_frame=parts.has_frames)
    ranker.n_queries_ = sum(one.n_queries for one in metadata)
    _warn_of_labels([metadata[place] for place in places], loss)
    if imputer is not None:
        statistics = partitions.map(statistics_of, n_features)
        known = [statistics[place] for place in places]
        ranker.imputer_ = fitted_imputer(imputer, known, n_features, ranker.n_queries_)
        partitions.replace(places, filled, imputer)
        places, n_features = list(range(len(places))), imputer.n_columns_out_
    fitted = partitions.map(fitted_to, normalizer, n_features) if learns(normalizer) else []
    ranker.normalizer_ = merged(normalizer, [one for one in fitted if one is not None], n_features)
    if isinstance(ranker.normalizer_, QueryNormalizer):
        ranker.normalizer_.n_queries_ = ranker.n_queries_
    has_intercept = not loss.ignores_shifts
    plan = Plan(loss, has_intercept, n_features, ranker.normalizer_, total_weight, is_penalised=ranker.l2 > 0)
    partitions.replace(places, partition_of, plan)
    penalty = L2(0.0 if loss.is_scale_free else ranker.l2, n_free=int(has_intercept))
    return PartitionedObjective(
        loss, partitions, penalty, n_features=n_features, n_queries=ranker.n_queries_, has_intercept=has_intercept
    )


def _check_missing(metadata: list[PartMetadata], imputer: Any) -> None:
    """Raise for missing values without a rule."""
    for one in metadata if imputer is None else ():
        if one.missing is not None:
            raise ValueError(
                f'{one.name}: {one.missing} Set missing="zero", "mean" or "min". Other rules need all rows in one '
                "process."
            )


def _warn_of_labels(metadata: list[PartMetadata], loss: Loss) -> None:
    """Warn if no query of any part has documents with different labels."""
    if any(one.has_pairs for one in metadata):
        return
    ends = {label for one in metadata for label in one.labels or ()}
    if loss.is_pointwise and len(ends) > 1:
        return
    n_queries, n_docs = sum(one.n_queries for one in metadata), sum(one.n_docs for one in metadata)
    warn(nothing_to_learn(n_queries, n_docs, is_pointwise=loss.is_pointwise), NothingToLearnWarning)


def _refuse_sgd(ranker: LinearRanker, loss: Loss) -> None:
    if loss.is_random:
        raise ValueError(f"{loss!r} is random, which does not work over partitions. {SGD_REFUSED}")
    if choose_solver(ranker.solver, loss).name == "sgd":
        raise ValueError(SGD_REFUSED)


def _check_whole_queries(metadata: list[PartMetadata], partitions: Any) -> None:
    """Reject a query with rows in two partitions: its loss is not a sum over them."""
    shared = shared_keys(metadata)
    if shared is None:
        return
    ids = [partitions.apply(place, ids_of_keys, shared.keys) for place in (shared.first, shared.second)]
    common = [one for one in ids[0] if one in ids[1]]
    if common:  # else two ids have the same hash
        more = f" (and {len(common) - 1:,} more)" if len(common) > 1 else ""
        raise ValueError(
            f"query {common[0]!r}{more} has rows in {metadata[shared.first].name} and in "
            f"{metadata[shared.second].name}. All rows of a query must be in one partition. plackett.write_parquet "
            "does this; in Dask, use frame.set_index or frame.shuffle by the query id."
        )


def _remember_columns(
    ranker: LinearRanker, n_features: int, names: list[str] | None, first_index: int | None, *, is_frame: bool
) -> None:
    """Set the attributes about columns, as a fit to a row of them does."""
    row: Any = np.zeros((1, n_features))
    if is_frame:
        with importing:
            from pandas import DataFrame

        ranker._check_queries(DataFrame(row, columns=names), None, None, needs_labels=False, reset=True)
        return
    one = Queries.from_groups(
        row, None, np.zeros(1, np.int64), np.array([0, 1]), feature_names=names, first_index=first_index
    )
    ranker._check_queries(one, None, None, needs_labels=False, reset=True)
