"""Fits of linear rankers to data in parts: from what was given to an objective, and the attributes of a local fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plackett.data.list_checks import nothing_to_learn
from plackett.data.preprocessing.scaling import QueryNormalizer
from plackett.data.queries import Queries
from plackett.distributed.facts import Facts, check_columns, facts_of, ids_of_keys, shared_keys
from plackett.distributed.given import Given
from plackett.distributed.normalizers import check_normalizer, fitted_to, learns, merged
from plackett.distributed.objective import SGD_REFUSED, PartitionedObjective
from plackett.distributed.partition import Plan, partition_of
from plackett.exceptions import NothingToLearnWarning, warn
from plackett.losses import get_loss
from plackett.losses.base import Loss
from plackett.objective.penalties import L2
from plackett.rankers.fitting import choose_solver

if TYPE_CHECKING:
    from plackett.rankers.linear.ranker import LinearRanker


def prepare_parts(ranker: LinearRanker, given: Given) -> PartitionedObjective:
    """The objective over all parts; the ranker learns what a local fit learns before its solver starts."""
    loss = get_loss(ranker.loss)
    _refuse_sgd(ranker, loss)
    normalizer = check_normalizer(ranker.normalize)
    holder = given.holder()
    facts: list[Facts] = holder.each(facts_of)
    places = [place for place, fact in enumerate(facts) if fact.n_docs]
    if not places:
        raise ValueError("there are no rows in any partition.")
    _check_whole_queries(facts, holder)
    n_features, names = check_columns([facts[place] for place in places])
    first_index = facts[places[0]].first_index
    total_weight = sum(facts[place].weight for place in places)
    if not 0.0 < total_weight < np.inf:
        raise ValueError(f"sample_weight adds up to {total_weight:g} over all queries; a number above 0 is needed.")

    _remember_columns(ranker, n_features, names, first_index, is_frame=given.has_frames)
    ranker.n_queries_ = sum(fact.n_queries for fact in facts)
    _warn_of_labels([facts[place] for place in places], loss)
    fitted = holder.each(fitted_to, normalizer, n_features) if learns(normalizer) else []
    ranker.normalizer_ = merged(normalizer, [one for one in fitted if one is not None], n_features)
    if isinstance(ranker.normalizer_, QueryNormalizer):
        ranker.normalizer_.n_queries_ = ranker.n_queries_
    has_intercept = not loss.ignores_shifts
    plan = Plan(loss, has_intercept, n_features, ranker.normalizer_, total_weight)
    holder.change(places, partition_of, plan)
    penalty = L2(0.0 if loss.is_scale_free else ranker.l2, n_free=int(has_intercept))
    return PartitionedObjective(
        loss, holder, penalty, n_features=n_features, n_queries=ranker.n_queries_, has_intercept=has_intercept
    )


def _warn_of_labels(facts: list[Facts], loss: Loss) -> None:
    """Warn where the labels of all parts together order nothing."""
    if any(fact.has_pairs for fact in facts):
        return
    ends = {label for fact in facts for label in fact.labels or ()}
    if loss.is_pointwise and len(ends) > 1:
        return
    n_queries, n_docs = sum(fact.n_queries for fact in facts), sum(fact.n_docs for fact in facts)
    warn(nothing_to_learn(n_queries, n_docs, is_pointwise=loss.is_pointwise), NothingToLearnWarning)


def _refuse_sgd(ranker: LinearRanker, loss: Loss) -> None:
    if loss.is_random:
        raise ValueError(f"{loss!r} draws anew at every look, which partitions cannot do together. {SGD_REFUSED}")
    if choose_solver(ranker.solver, loss).name == "sgd":
        raise ValueError(SGD_REFUSED)


def _check_whole_queries(facts: list[Facts], holder: Any) -> None:
    """Refuse a query with rows in two partitions: its loss is not a sum over them."""
    shared = shared_keys(facts)
    if shared is None:
        return
    ids = [holder.one(place, ids_of_keys, shared.keys) for place in (shared.first, shared.second)]
    common = [one for one in ids[0] if one in ids[1]]
    if common:  # else two ids have the same hash, once in a very long while
        more = f" (and {len(common) - 1:,} more)" if len(common) > 1 else ""
        raise ValueError(
            f"query {common[0]!r}{more} has rows in {facts[shared.first].name} and in {facts[shared.second].name}; a "
            "query must be whole in one partition. plackett.write_parquet arranges data so; in Dask, "
            "frame.set_index or shuffle by the query id does."
        )


def _remember_columns(
    ranker: LinearRanker, n_features: int, names: list[str] | None, first_index: int | None, *, is_frame: bool
) -> None:
    """Let the ranker learn the columns as if it had seen a row of them."""
    row: Any = np.zeros((1, n_features))
    if is_frame:
        from pandas import DataFrame

        ranker._check_queries(DataFrame(row, columns=names), None, None, needs_labels=False, reset=True)
        return
    one = Queries.from_groups(
        row, None, np.zeros(1, np.int64), np.array([0, 1]), feature_names=names, first_index=first_index
    )
    ranker._check_queries(one, None, None, needs_labels=False, reset=True)
