"""Judging: a judgement is on disk before the refined list is returned."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import Bench, Caller, missing, new_router
from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.lists import ListOptions, RankedList, hits_of, ranked_list
from plackett.apps.workbench.store import QUERIES, Event, Query
from plackett.apps.workbench.values import NO_NULL, Docid, Grade, Id, QueryText, Record

router = new_router("judging")


class ListRequest(ListOptions):
    """A list, by the text or the id of its query."""

    query: QueryText | None = None
    query_id: Id | None = None
    with_list: bool = Field(default=True, description="Whether the response has the refined list.")
    key: Annotated[str, StringConstraints(min_length=8, max_length=100, pattern=NO_NULL)] | None = Field(
        default=None, description="A random text: a request that is sent again with the same one is written once."
    )

    @model_validator(mode="after")
    def _check_query(self):
        if (self.query is None) == (self.query_id is None):
            raise ValueError("give either query or query_id")
        return self


class JudgementRequest(ListRequest):
    """A grade for a document; null removes it. 1 and more is relevant, 0 is not."""

    docid: Docid
    grade: Grade | None


class PreferenceRequest(ListRequest):
    """A preference of ``docid`` to ``other``."""

    docid: Docid
    other: Docid


class Written(Record):
    """A judgement in the log."""

    id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    time: datetime


class JudgementResponse(Record):
    """The judgement that is now on disk, and the refined list."""

    query_id: int
    event: Written | None
    n_cleared: int
    list: RankedList | None


@router.post("/judgements")
def judge(bench: Bench, caller: Caller, request: JudgementRequest) -> JudgementResponse:
    """Set the grade of a document. It is on disk before the response is sent."""
    with client_errors():
        query, hits = _judged_query(bench, request, request.docid)
        user_id = bench.store.user(caller.user).id
        event = bench.store.judge(user_id, query.id, request.docid, request.grade, request.key)
    return _response(bench, request, user_id, query, event, hits=hits)


@router.post("/preferences")
def prefer(bench: Bench, caller: Caller, request: PreferenceRequest) -> JudgementResponse:
    """Prefer a document to another. It is on disk before the response is sent."""
    with client_errors():
        query, hits = _judged_query(bench, request, request.docid, request.other)
        user_id = bench.store.user(caller.user).id
        event = bench.store.prefer(user_id, query.id, request.docid, request.other, request.key)
    return _response(bench, request, user_id, query, event, hits=hits)


@router.post("/undo")
def undo(bench: Bench, caller: Caller, request: ListRequest) -> JudgementResponse:
    """Undo this user's last judgement of a list; further calls go further back."""
    query, user_id = _known_query(bench, request), bench.user_id(caller.user)
    event = None if user_id is None else bench.store.undo(user_id, query.id, request.key)
    return _response(bench, request, user_id, query, event)


@router.post("/reset")
def reset(bench: Bench, caller: Caller, request: ListRequest) -> JudgementResponse:
    """Clear this user's judgements of a list; one undo restores them."""
    query, user_id = _known_query(bench, request), bench.user_id(caller.user)
    n_cleared = 0 if user_id is None else bench.store.reset(user_id, query.id)
    return _response(bench, request, user_id, query, None, n_cleared)


def _judged_query(bench: Bench, request: ListRequest, *docids: str) -> tuple[Query, Hits | None]:
    """Return the query, created if it is new and can be searched, and its list if it was searched."""
    for docid in docids:
        if docid not in bench.collection:
            raise missing(f"{bench.collection.name} has no document {docid!r}.")
    if request.query is None:
        return _known_query(bench, request), None
    hits = bench.collection.search(request.query, request.base, request.k)
    return bench.store.query(bench.key, request.query, hits.base), hits


def _known_query(bench: Bench, request: ListRequest) -> Query:
    if request.query_id is not None:
        return bench.find(Query, QUERIES, request.query_id, "query")
    query = bench.store.find_query(bench.key, request.query or "")
    if query is None:
        raise missing("nothing was judged for this query yet.")
    return query


def _response(
    bench: Bench,
    request: ListRequest,
    user_id: int | None,
    query: Query,
    event: Event | None,
    n_cleared: int = 0,
    hits: Hits | None = None,
) -> JudgementResponse:
    ranked = None
    if request.with_list:
        hits = hits_of(bench, query, request) if hits is None else hits
        ranked = ranked_list(bench, user_id, query.id, query.text, hits, request)
    written = event and Written(event.id, event.kind, event.docid, event.other, event.grade, event.time)
    return JudgementResponse(query.id, written, n_cleared, ranked)
