"""The API of the scoreboard: query sets, measures of rankers, snapshots and comparisons."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from plackett.apps.workbench.api import Bench, Caller, PathId, as_json, new_router
from plackett.apps.workbench.schemas.query_sets import (
    QuerySetId,
    QuerySetRequest,
    QuerySetResponse,
    QuerySetsResponse,
    SetQueriesRequest,
    SetQueriesResponse,
)
from plackett.apps.workbench.schemas.scoreboard import ScoreboardRequest, ScoreboardResponse
from plackett.apps.workbench.schemas.snapshots import (
    ComparedLists,
    ComparedListsRequest,
    ComparisonRequest,
    ComparisonResponse,
    SnapshotId,
    SnapshotRequest,
    SnapshotResponse,
    SnapshotsResponse,
)
from plackett.apps.workbench.schemas.training import JobResponse

router = new_router()


@router.get("/query-sets", response_model=QuerySetsResponse, tags=["scoreboard"])
def query_sets(bench: Bench):
    """Return the query sets, newest first."""
    return as_json(bench.query_sets.sets())


@router.post("/query-sets", response_model=QuerySetResponse, tags=["scoreboard"])
def make_query_set(bench: Bench, request: QuerySetRequest):
    """Save a query set: from a text, a judged file, a log, or the queries judged here."""
    return as_json(bench.query_sets.make(request))


@router.delete("/query-sets", response_model=QuerySetsResponse, tags=["scoreboard"])
def delete_query_set(bench: Bench, request: Annotated[QuerySetId, Query()]):
    """Delete a query set; snapshots of it stay."""
    return as_json(bench.query_sets.delete(request.set_id))


@router.get("/query-sets/queries", response_model=SetQueriesResponse, tags=["scoreboard"])
def set_queries(bench: Bench, request: Annotated[SetQueriesRequest, Query()]):
    """Return the queries of a set."""
    return as_json(bench.query_sets.queries(request.set_id, request.limit, request.offset))


@router.get("/scoreboard", response_model=ScoreboardResponse, tags=["scoreboard"])
def scoreboard(bench: Bench, caller: Caller, request: Annotated[ScoreboardRequest, Query()]):
    """Return the measure of every query for several rankers. Repeat the request until ``is_complete``."""
    return as_json(bench.scoreboard.board(caller.user, request))


@router.get("/snapshots", response_model=SnapshotsResponse, tags=["scoreboard"])
def snapshots(bench: Bench):
    """Return the snapshots, newest first."""
    return as_json(bench.snapshots.snapshots())


@router.post("/snapshots", response_model=JobResponse, status_code=202, tags=["scoreboard"])
def freeze(bench: Bench, caller: Caller, request: SnapshotRequest):
    """Start a job that freezes the rankings of a query set with their judgements; once done, they are on disk."""
    return as_json(bench.snapshots.freeze(caller.user, request, bench.scoreboard.rankers(request.ranker)), 202)


@router.delete("/snapshots", response_model=SnapshotsResponse, tags=["scoreboard"])
def delete_snapshot(bench: Bench, request: Annotated[SnapshotId, Query()]):
    """Delete a snapshot."""
    return as_json(bench.snapshots.delete(request.snapshot_id))


@router.get("/snapshots/{snapshot_id}", response_model=SnapshotResponse, tags=["scoreboard"])
def snapshot(bench: Bench, snapshot_id: PathId):
    """Return a snapshot with its means at that time."""
    return as_json(SnapshotResponse(**bench.snapshots.find(snapshot_id)._asdict()))


@router.get("/comparison", response_model=ComparisonResponse, tags=["scoreboard"])
def comparison(bench: Bench, caller: Caller, request: Annotated[ComparisonRequest, Query()]):
    """Return the differences between rankers now and in snapshots, with intervals and corrected p-values."""
    return as_json(bench.comparing.compare(caller.user, request))


@router.get("/comparison/lists", response_model=ComparedLists, tags=["scoreboard"])
def compared_lists(bench: Bench, caller: Caller, request: Annotated[ComparedListsRequest, Query()]):
    """Return the first documents of every side for one query, with labels and places."""
    return as_json(bench.comparing.lists(caller.user, request))
