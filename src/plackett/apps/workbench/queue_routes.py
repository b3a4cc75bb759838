"""The API of queues of queries to judge, and of judging with others."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from plackett.apps.workbench.api import Bench, Caller, as_json, new_router
from plackett.apps.workbench.schemas.base import PageRequest
from plackett.apps.workbench.schemas.queue import (
    AssignRequest,
    AssignResponse,
    DisagreementsResponse,
    NextRequest,
    NextResponse,
    NotesRequest,
    NotesResponse,
    NotesUpdate,
    QueueRequest,
    QueueResponse,
    SettleRequest,
)

router = new_router()


@router.get("/queue", response_model=QueueResponse, tags=["queue"])
def queue(bench: Bench, caller: Caller, request: Annotated[QueueRequest, Query()]):
    """Return queries to judge, with this user's progress on the first results of each."""
    return as_json(
        bench.queues.queue(caller.user, request.queue, request.base, request.depth, request.limit, request.offset)
    )


@router.get("/queue/next", response_model=NextResponse, tags=["queue"])
def next_query(bench: Bench, caller: Caller, request: Annotated[NextRequest, Query()]):
    """Return the next query with a result that this user has not judged."""
    return as_json(bench.queues.next(caller.user, request))


@router.get("/notes", response_model=NotesResponse, tags=["queue"])
def notes(bench: Bench, caller: Caller, request: Annotated[NotesRequest, Query()]):
    """Return the information need of a query, and this user's note."""
    return as_json(bench.team.notes(caller.user, request.q))


@router.post("/notes", response_model=NotesResponse, tags=["queue"])
def save_notes(bench: Bench, caller: Caller, request: NotesUpdate):
    """Save the information need of a query, for everyone, or this user's note, or both."""
    return as_json(bench.team.save_notes(caller.user, request))


@router.post("/assignments", response_model=AssignResponse, tags=["queue"])
def assign(bench: Bench, caller: Caller, request: AssignRequest):
    """Assign the queries of a queue to people in turn; this replaces earlier assignments of these queries."""
    return as_json(bench.team.assign(caller.user, request))


@router.get("/disagreements", response_model=DisagreementsResponse, tags=["queue"])
def disagreements(bench: Bench, page: Annotated[PageRequest, Query()]):
    """Return documents that people graded differently, unsettled ones first, and the agreement of people."""
    return as_json(bench.team.disagreements(page.limit, page.offset))


@router.post("/settlements", response_model=DisagreementsResponse, tags=["queue"])
def settle(bench: Bench, caller: Caller, request: SettleRequest):
    """Settle the grade of a document; exports, training and scores use it instead of the mean of people."""
    bench.team.settle(caller.user, request)
    return as_json(bench.team.disagreements(50, 0))
