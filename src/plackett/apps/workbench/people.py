"""Judging with others: information needs and notes, disagreements and the grades that settle them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import sqlalchemy as sa
from fastapi import Query
from pydantic import StringConstraints

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench import tables
from plackett.apps.workbench.agreement import Agreement, agreement_of, disputes
from plackett.apps.workbench.api import Bench, Caller, missing, new_router
from plackett.apps.workbench.store import Store, is_one_of
from plackett.apps.workbench.values import (
    MAX_NEED,
    NO_NULL,
    Docid,
    Grade,
    PageRequest,
    QueryText,
    RequestModel,
)

Words = Annotated[str, StringConstraints(max_length=MAX_NEED, pattern=NO_NULL)]
router = new_router("queue")
NEEDS, NOTES, SETTLEMENTS, QUERIES, USERS = tables.needs, tables.notes, tables.settlements, tables.queries, tables.users


class Settlement(NamedTuple):
    """The grade that settles a disagreement, and the user who settled it."""

    query: str
    docid: str
    grade: float
    user: str
    time: datetime


class NotesUpdate(RequestModel):
    """The information need of a query, for everyone, and this user's note; null leaves one as it is."""

    query: QueryText
    need: Words | None = None
    note: Words | None = None


@dataclass(frozen=True)
class Notes:
    """The information need of a query, and this user's note; "" for none."""

    query: str
    need: str
    note: str


@dataclass(frozen=True)
class Disagreement:
    """A document that people graded differently, and the grade that settles it."""

    query: str
    docid: str
    title: str
    grades: dict[str, float]
    settled: float | None
    settled_by: str | None
    settled_at: datetime | None


@dataclass(frozen=True)
class Disagreements:
    """Disagreements, unsettled ones first, then the largest first."""

    total: int
    n_open: int
    agreement: Agreement
    rows: list[Disagreement]


class SettleRequest(RequestModel):
    """The grade of a document for everyone; null withdraws it."""

    query: QueryText
    docid: Docid
    grade: Grade | None


@router.get("/notes")
def notes(bench: Bench, caller: Caller, q: Annotated[QueryText, Query()]) -> Notes:
    """Return the information need of a query, and this user's note."""
    return notes_of(bench, caller.user, q)


def notes_of(bench: Bench, user: str, text: str) -> Notes:
    """Return the information need of a query, and a user's note."""
    with client_errors():
        query, user_id = bench.store.find_query(bench.key, text), bench.user_id(user)
    if query is None:
        return Notes(text, "", "")
    need = bench.store.value(sa.select(NEEDS.c.text).where(NEEDS.c.query_id == query.id))
    note = sa.select(NOTES.c.text).where(NOTES.c.query_id == query.id, NOTES.c.user_id == user_id)
    return Notes(text, need or "", bench.store.value(note) or "")


@router.post("/notes")
def save_notes(bench: Bench, caller: Caller, request: NotesUpdate) -> Notes:
    """Save the information need of a query, for everyone, or this user's note, or both."""
    with client_errors():
        query = bench.store.find_query(bench.key, request.query)
        query = query or bench.store.query(bench.key, request.query, bench.collection.base_name())
        row = {"query_id": query.id, "user_id": bench.store.user(caller.user).id}
    for table, text in ((NEEDS, request.need), (NOTES, request.note)):
        if text is None:
            continue
        with bench.store.writing() as connection:
            this = [column == row[column.name] for column in table.primary_key.columns]
            connection.execute(sa.delete(table).where(*this))
            if text.strip():
                connection.execute(sa.insert(table).values(**row, text=text.strip(), time=datetime.now(UTC)))
    return notes_of(bench, caller.user, request.query)


@router.get("/disagreements")
def disagreements(bench: Bench, page: Annotated[PageRequest, Query()]) -> Disagreements:
    """Return documents that people graded differently, unsettled ones first, and the agreement of people."""
    judged = list(bench.store.of(bench.key))
    settled, found = settlements(bench.store, bench.key), disputes(judged)
    found.sort(key=lambda one: (one.query, one.docid) in settled)  # stable: the largest stay first
    rows = []
    for one in found[page.offset : page.offset + page.limit]:
        end = settled.get((one.query, one.docid))
        ended = (None, None, None) if end is None else (end.grade, end.user, end.time)
        rows.append(
            Disagreement(one.query, one.docid, bench.collection.title(one.docid) or one.docid, one.grades, *ended)
        )
    n_open = sum((one.query, one.docid) not in settled for one in found)
    return Disagreements(len(found), n_open, agreement_of(judged), rows)


@router.post("/settlements")
def settle(bench: Bench, caller: Caller, request: SettleRequest) -> Disagreements:
    """Settle the grade of a document; exports, training and scores use it instead of the mean of people."""
    judged = [one for one in bench.store.lists(bench.key).get(request.query, ()) if one.user.is_person]
    if not judged:
        raise missing("nothing was judged for this query yet.")
    if request.grade is not None and not any(request.docid in one.state.grades for one in judged):
        raise missing(f"nobody has judged {request.docid!r} for this query yet.", "Only judged documents are settled.")
    with client_errors():
        user_id = bench.store.user(caller.user).id
    said = {"query_id": judged[0].query.id, "docid": request.docid, "grade": request.grade, "user_id": user_id}
    bench.store.add(SETTLEMENTS, **said, time=datetime.now(UTC))
    return disagreements(bench, PageRequest())


def needs(store: Store, collection: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the needs of queries by their text; queries without one are left out."""
    wanted = sa.select(QUERIES.c.text, NEEDS.c.text).join(NEEDS, NEEDS.c.query_id == QUERIES.c.id)
    return {row[0]: row[1] for row in store.rows(wanted.where(is_one_of(collection, texts)))}


def settlements(store: Store, collection: str) -> dict[tuple[str, str], Settlement]:
    """Return the settled grades of a collection by query and document."""
    of = SETTLEMENTS.c
    wanted = sa.select(QUERIES.c.text, of.docid, of.grade, USERS.c.name, of.time)
    wanted = wanted.join(SETTLEMENTS, of.query_id == QUERIES.c.id).join(USERS, USERS.c.id == of.user_id)
    last = {row[:2]: row for row in store.rows(wanted.where(QUERIES.c.collection == collection).order_by(of.id))}
    return {pair: Settlement(*row) for pair, row in last.items() if row.grade is not None}
