"""Snapshots: the frozen rankings of a query set, and the judgements that they were measured on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import sqlalchemy as sa
from fastapi import Query

from plackett.apps.workbench import query_sets, runs, tables
from plackett.apps.workbench.api import Bench, Caller, PathId, invalid, missing, new_router
from plackett.apps.workbench.jobs import Job, Report
from plackett.apps.workbench.rankings import chosen_rankers
from plackett.apps.workbench.values import MAX_SNAPSHOTS, Id, Name, Record
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.metrics.measure import Measure

router = new_router("scoreboard")
SNAPSHOTS, LISTS = tables.snapshots, tables.snapshot_lists


class Snapshot(Record):
    """A snapshot; the summary has its query set, judgements, and the measure with the means of that time."""

    id: int
    name: str
    rankers: list[str]
    n_queries: int
    summary: dict[str, Any]
    created: datetime


class Snapshots(Record):
    """Snapshots, newest first."""

    snapshots: list[Snapshot]


class SnapshotRequest(runs.BoardRequest):
    """Rankings to freeze, with the judgements that they are measured on."""

    name: Name


@router.get("/snapshots")
def snapshots(bench: Bench) -> Snapshots:
    """Return the snapshots, newest first."""
    return Snapshots(bench.newest(Snapshot, SNAPSHOTS))


@router.get("/snapshots/{snapshot_id}")
def snapshot(bench: Bench, snapshot_id: PathId) -> Snapshot:
    """Return a snapshot with its means at that time."""
    return bench.find(Snapshot, SNAPSHOTS, snapshot_id, "snapshot")


@router.post("/snapshots", status_code=202)
def freeze(bench: Bench, caller: Caller, request: SnapshotRequest) -> Job:
    """Start a job that freezes the rankings of a query set with their judgements; once done, they are on disk."""
    made, queries = query_sets.find(bench, request.set_id)
    measures = runs.parse_measures(request.measure, request.convention)
    labels, names = bench.labels.get(request.judgements, caller.user), chosen_rankers(bench, request.ranker)
    for name in names:
        bench.rankings.key(name)  # unknown rankers are refused now
    if len(snapshots(bench).snapshots) >= MAX_SNAPSHOTS:
        raise invalid(f"there are {MAX_SNAPSHOTS:,} snapshots, which is the limit. Delete one first.")

    def work(job_id: int, report: Report) -> dict[str, Any]:
        lists: dict[str, dict[str, runs.Ranking]] = {name: {} for name in names}
        for number, query in enumerate(queries, 1):
            report(0.9 * number / len(queries), f"Ranking query {number} of {len(queries)}")
            for name in names:
                found = bench.rankings.now(name, query)
                if found.error is not None:
                    raise ValueError(f"{query!r} cannot be ranked: {found.error} Leave the query or the ranker out.")
                lists[name][query] = found.ranking
        report(0.9, "Measuring")
        of_query, measure = {query: labels.of(query) for query in queries}, str(measures[0])
        compared = (
            runs.compare_rankings(of_query, lists, measures, request.convention) if any(of_query.values()) else None
        )
        summary = {
            "set_id": made.id,
            "set": made.name,
            "judgements": labels.words,
            "n_labels": sum(map(len, of_query.values())),
            "measure": measure,
            "convention": request.convention,
            "means": {
                name: runs.total_of(compared, name, measure, runs.share_judged(of_query, of))
                for name, of in lists.items()
            },
        }
        saved = save(bench.store, bench.key, request.name, names, of_query, lists, summary)
        words = f"{count_of(len(queries), 'query', 'queries')} × {count_of(len(names), 'ranker')}"
        return {"snapshot_id": saved, "name": request.name, "frozen": words}

    return bench.jobs.start("snapshot", request.model_dump(), work)


@router.delete("/snapshots")
def delete_snapshot(bench: Bench, snapshot_id: Annotated[Id, Query()]) -> Snapshots:
    """Delete a snapshot."""
    snapshot(bench, snapshot_id)
    with bench.store.writing() as connection:
        connection.execute(sa.delete(LISTS).where(LISTS.c.snapshot_id == snapshot_id))
        connection.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.id == snapshot_id))
    return snapshots(bench)


def save(
    store: Store,
    collection: str,
    name: str,
    names: Sequence[str],
    labels: dict[str, dict[str, float]],
    lists: dict[str, dict[str, runs.Ranking]],
    summary: dict[str, Any],
) -> int:
    """Save a snapshot, all or nothing, and return its id."""
    about = {"name": name, "rankers": list(names), "n_queries": len(labels), "summary": summary, "labels": labels}
    rows = [{"ranker": place, "lists": lists[one]} for place, one in enumerate(names)]
    return store.add(SNAPSHOTS, **about, collection=collection, created=datetime.now(UTC), parts=(LISTS, rows))


# frozen labels and rankings


def frozen_labels(bench: Bench, of: Snapshot) -> dict[str, dict[str, float]]:
    """Return the frozen labels by query."""
    wanted = sa.select(SNAPSHOTS.c.labels).where(SNAPSHOTS.c.id == of.id)
    return bench.cache.now(("labels", of.id), partial(bench.store.value, wanted))


def frozen_rankings(bench: Bench, of: Snapshot, name: str) -> dict[str, runs.Ranking]:
    """Return the frozen rankings of a ranker by query."""
    if name not in of.rankers:
        raise missing(f"the snapshot {of.name!r} has no ranker {name!r}.")
    this = (LISTS.c.snapshot_id == of.id) & (LISTS.c.ranker == of.rankers.index(name))

    def read() -> dict[str, runs.Ranking]:
        found = bench.store.value(sa.select(LISTS.c.lists).where(this))
        return {query: runs.Ranking(*ranking) for query, ranking in found.items()}

    return bench.cache.now(("rankings", of.id, name), read)


def known_values(bench: Bench, of: Snapshot, measure: Measure, convention: str) -> dict[str, dict[str, float]] | None:
    """Return the values of that time by ranker and query, None while they are computed in the background."""

    def compute() -> dict[str, dict[str, float]]:
        labels = frozen_labels(bench, of)
        if not any(labels.values()):
            return {}
        lists = {name: frozen_rankings(bench, of, name) for name in of.rankers}
        values = runs.values_of(runs.compare_rankings(labels, lists, [measure], convention), labels, str(measure))
        return {
            name: {query: own[place] for query, own in values.items() if not math.isnan(own[place])}
            for place, name in enumerate(lists)
        }

    return bench.cache.get(("values", of.id, str(measure), convention), compute)
