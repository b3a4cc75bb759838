"""Query sets: the queries of a scoreboard, from a text, a judged file, the judgements here, or a collection's lists."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Query
from pydantic import Field, StringConstraints, model_validator

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench import tables
from plackett.apps.workbench.api import Bench, invalid, new_router
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.store import check_query
from plackett.apps.workbench.values import (
    MAX_IMPORT,
    MAX_QUERY,
    MAX_SET_QUERIES,
    MAX_SETS,
    Id,
    Name,
    PageRequest,
    Record,
    RequestModel,
)

QuerySource = Literal["text", "judged-file", "judged", "lists"]
router = new_router("scoreboard")
SETS = tables.query_sets
HEADS = ("# plackett order: ", "# judged before: ")  # the first lines of the lists of plackett judge next


class QuerySet(Record):
    """A query set without its queries; it never changes: a corrected set is a new one."""

    id: int
    name: str
    source: str
    n_queries: int
    created: datetime


class QuerySets(Record):
    """Query sets, newest first."""

    sets: list[QuerySet]


class SetQueries(Record):
    """Queries of a set in their order."""

    set: QuerySet
    queries: list[str]


class QuerySetRequest(RequestModel):
    """A new query set.

    ``source`` is "text" (one query per line of ``text``), "judged-file" (the queries of ``text``, a file that
    ``/import`` reads), "judged" (the queries that people judged here) or "lists" (those of a collection with labels).
    """

    name: Name
    source: QuerySource = "text"
    text: Annotated[str, StringConstraints(max_length=MAX_IMPORT)] = ""
    limit: int = Field(default=50, ge=1, le=MAX_SET_QUERIES, description="Maximum queries; a text is never cut.")

    @model_validator(mode="after")
    def _check_text(self):
        if bool(self.text.strip()) != (self.source in ("text", "judged-file")):
            raise ValueError('the sources "text" and "judged-file" need text, and the others must not have it')
        return self


class SetQueriesRequest(PageRequest):
    """A page of the queries of a set."""

    set_id: Id


@router.get("/query-sets")
def query_sets(bench: Bench) -> QuerySets:
    """Return the query sets, newest first."""
    return QuerySets(bench.newest(QuerySet, SETS))


@router.post("/query-sets")
def make_query_set(bench: Bench, request: QuerySetRequest) -> QuerySet:
    """Save a query set: from a text, a judged file, or the queries judged here."""
    with client_errors():
        queries, source = _collected(bench, request)
    if not queries:
        raise invalid(f"there are no queries in this source ({source}). Paste some, or choose another source.")
    if len(query_sets(bench).sets) >= MAX_SETS:
        raise invalid(f"there are {MAX_SETS} query sets, which is the limit. Delete one first.")
    about: dict[str, Any] = {
        "name": request.name,
        "source": source,
        "n_queries": len(queries),
        "created": datetime.now(UTC),
    }
    made = bench.store.add(SETS, **about, collection=bench.key, queries=queries)
    return find(bench, made)[0]


@router.delete("/query-sets")
def delete_query_set(bench: Bench, set_id: Annotated[Id, Query()]) -> QuerySets:
    """Delete a query set; snapshots of it stay."""
    bench.find(QuerySet, SETS, set_id, "query set")
    bench.store.delete(SETS, SETS.c.id == set_id)
    return query_sets(bench)


@router.get("/query-sets/queries")
def set_queries(bench: Bench, request: Annotated[SetQueriesRequest, Query()]) -> SetQueries:
    """Return the queries of a set."""
    found, queries = find(bench, request.set_id)
    return SetQueries(found, queries[request.offset : request.offset + request.limit])


def find(bench: Bench, set_id: int) -> tuple[QuerySet, list[str]]:
    """Return a set and its queries."""
    found = bench.find(QuerySet, SETS, set_id, "query set")
    return found, bench.store.value(sa.select(SETS.c.queries).where(SETS.c.id == set_id))


def _collected(bench: Bench, request: QuerySetRequest) -> tuple[list[str], str]:
    """Return the queries, and a description of their source."""
    if request.source == "text":
        lines = request.text.removeprefix("\ufeff").splitlines()
        queries = _checked(line for line in lines if not line.startswith(HEADS))
        if len(queries) > MAX_SET_QUERIES:
            raise invalid(f"the text has {len(queries):,} queries; a set has at most {MAX_SET_QUERIES:,}.")
        return queries, "pasted text"
    if request.source == "judged-file":
        from plackett.apps.workbench.files import read_judgements

        found = read_judgements(request.text)
        queries = _checked([row[0] for row in found.rows] + [pair[0] for pair in found.preferences])
        n_all, source = len(queries), "queries in a judged file"
    elif request.source == "judged":
        queries = [one.query for one in bench.store.queries(bench.key)]
        n_all, source = len(queries), "queries judged here"
    else:
        queries, source = list_queries(bench), "lists of the collection"
        n_all = len(queries)
    if n_all <= request.limit:
        return queries, source.removeprefix("queries ").removeprefix("in a ")
    order = "latest" if request.source == "judged" else "first"
    return queries[: request.limit], f"{order} {request.limit:,} of {n_all:,} {source}"


def list_queries(bench: Bench) -> list[str]:
    """Return the queries of a collection with labels, in its order."""
    if not isinstance(bench.collection, LetorCollection):
        raise invalid(f"{bench.collection.name} is a collection of texts, without lists.", "Paste queries.")
    return list(bench.collection.rows)


def _checked(texts: Iterable[str]) -> list[str]:
    """Return different queries without surrounding space, in their order."""
    queries = [text for text in dict.fromkeys(text.strip() for text in texts) if text]
    for number, text in enumerate(queries, 1):
        if len(text) > MAX_QUERY:
            raise invalid(f"query {number} has {len(text):,} characters; the limit is {MAX_QUERY:,}.")
        check_query(text)
    return queries
