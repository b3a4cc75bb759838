"""Fits of trees to parts on a Dask cluster: what all workers share, and the validation measure over all parts."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett.data.queries import Queries
from plackett.distributed import loading
from plackett.distributed.boosting import ClusterTrees, TreePlan, one_fit_at_a_time, trimmed
from plackett.distributed.cluster import ClusterPartitions
from plackett.distributed.inputs import PartitionedInput
from plackett.distributed.loading import LoadedPart
from plackett.distributed.local import DelayedPart
from plackett.distributed.metadata import check_columns
from plackett.losses import get_loss
from plackett.metrics.judged_lists import mean_of_counted
from plackett.metrics.measure import Measure
from plackett.rankers.monitor import FitMonitor, ValidationSet
from plackett.rankers.partitioned import CheckedParts, with_rows
from plackett.rankers.trees.base import NO_SPLIT, whole_labels

if TYPE_CHECKING:
    from plackett.rankers.trees.ranker import TreeRanker

SAMPLE_BYTES = 1 << 28  # of the rows that the bins are found from
SAMPLE_ROWS = 200_000  # bin_construct_sample_cnt of LightGBM


class HeldParts:
    """Validation queries in parts, and the measure that is computed from the values of each part."""

    def __init__(self, partitions: ClusterPartitions, measure: Measure):
        self.partitions, self.measure = partitions, measure

    def mean(self, values: np.ndarray) -> float:
        """Return the mean of the values of the queries."""
        return mean_of_counted(values) if np.isfinite(values).any() else np.nan


def whole(given: PartitionedInput) -> Queries:
    """Return the queries of all parts, read into this process."""
    parts = [part.make(*part.arguments) for part in given.parts]
    n_features = max(part.queries.n_features for part in parts)
    return Queries.concat([part.queries.replace(X=part.rows(n_features)) for part in parts if part.queries.n_docs])


def load_held(training: CheckedParts, validation: Queries | PartitionedInput) -> ClusterPartitions:
    """Return validation queries on the workers of a cluster, with the columns and categories of training."""
    client = training.partitions.client
    if isinstance(validation, Queries):  # checked by the ranker
        edges = np.linspace(0, validation.n_queries, min(len(client.nthreads()), validation.n_queries) + 1).astype(int)
        pieces = [validation[first:last] for first, last in itertools.pairwise(edges)]
        parts = [DelayedPart(loading.from_queries, (piece, "eval_set")) for piece in pieces]
        held = ClusterPartitions(client, parts)
    else:
        held = ClusterPartitions(client, validation.parts)
        n_features, _ = check_columns([*training.metadata, *with_rows(held, "in any partition of eval_set")])
        if n_features > training.n_features:
            raise ValueError(f"eval_set has {n_features:,} features but X has {training.n_features:,}.")
    held.replace(trimmed, training.n_features, training.categories, True)
    return held


def learn_from_parts(ranker: TreeRanker, training: CheckedParts, monitor: FitMonitor) -> None:
    """Grow the trees of a ranker on the workers that hold the parts."""
    partitions, n_docs, n_queries = training.partitions, training.total("n_docs"), training.total("n_queries")
    ranker.has_missing_ = any(part.missing is not None for part in training.metadata)
    loss = get_loss(ranker.loss) if ranker.takes_loss_objects else None
    ranker.intercept_ = ranker._intercept(training.total("label_sum") / training.total("doc_weight"))
    params = ranker._own_params(0.0 if loss is not None else max(partitions.map(_largest_label)))
    n_sampled = min(
        int(params.get("bin_construct_sample_cnt", SAMPLE_ROWS)), SAMPLE_BYTES * n_docs // training.total("n_bytes")
    )
    if n_sampled < n_docs:  # LightGBM would leave out columns that are rare in the sample
        params = {"feature_pre_filter": False} | params
    # several machines estimate the rows of a leaf from curvatures; LightGBM fails for a leaf with an estimate of 0
    params["min_data_in_leaf"] = max(1, params["min_data_in_leaf"])
    partitions.replace(trimmed, training.n_features, training.categories)
    held: Any = monitor.validation
    plan = TreePlan(
        params, loss, ranker.intercept_, training.total_weight / n_queries, tuple(training.categories or ()), n_docs,
        n_sampled, None if held is None else functools.partial(ValidationSet, metric=held.measure),
    )  # fmt: skip
    values: dict[int, float] = {}  # mean loss by the number of trees
    last: dict[int, np.ndarray] = {}

    def grow_one() -> bool:
        nonlocal last
        one = trees.grow()
        values[monitor.n_iter], last = one.value / n_queries, one.values
        return one.tree is not None

    def held_values() -> np.ndarray:
        return np.concatenate([last[number] for number in sorted(last)])

    with one_fit_at_a_time():
        trees = ClusterTrees(partitions, None if held is None else held.partitions, plan, ranker.worker_timeout)
        try:
            with ranker._running(monitor):
                if trees.has_splits():
                    ranker._grow_rounds(monitor, grow_one, held_values)
                else:
                    monitor.stop(NO_SPLIT)
            ranker.n_rounds_ = monitor.n_kept
            ranker._keep_trees(monitor, trees, values, n_queries, training.n_features)
        finally:
            trees.close()


def _largest_label(part: LoadedPart) -> float:
    """Return the largest label of a part; raise if LightGBM's own objective does not take one of them."""
    return float(whole_labels(part.queries.labels, "LightGBM's lambdarank").max(initial=0.0))
