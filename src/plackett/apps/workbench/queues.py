"""Queues: queries to judge one after the other, the results of each that are to be judged, and who judges them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

import sqlalchemy as sa
from fastapi import Query
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench import comparing, people, query_sets, tables
from plackett.apps.workbench.api import Bench, Caller, invalid, missing, new_router
from plackett.apps.workbench.comparing import POOL
from plackett.apps.workbench.store import Store, is_one_of
from plackett.apps.workbench.values import (
    FIRST,
    MAX_K,
    MAX_SET_QUERIES,
    NO_NULL,
    Base,
    Name,
    PageRequest,
    Record,
    RequestModel,
)
from plackett.validation import count_of

MINE, JUDGED, LISTS, SET = "mine", "judged", "lists", "set-"
ASSIGNED = "assigned to you"
MAX_COUNTED = 200  # queries whose lists are searched for one response; about as many lists are cached
router = new_router("queue")
ASSIGNMENTS, QUERIES, USERS = tables.assignments, tables.queries, tables.users

QueueName = Annotated[
    str,
    StringConstraints(
        max_length=3000,
        pattern=rf"^(|mine|judged|lists|set-[1-9][0-9]{{0,17}}|{POOL}[0-9]{{1,18}}(/[\w.%~-]+){{1,8}})$",
    ),
    Field(
        description='"mine" (queries assigned to this user), "judged" (queries that someone judged), "lists" (those of '
        'a collection with labels), "set-ID" (a query set) or "pool-ID/SIDE/…" (what nobody judged of the first ten of '
        "compared rankers, as a comparison returns it); empty means mine if there are some, else judged."
    ),
]
Depth = Annotated[int, Field(ge=1, le=MAX_K, description="Results of each query that are to be judged.")]


class QueueChoice(RequestModel):
    """A queue, by the first results of a base ranker."""

    queue: QueueName = ""
    base: Base = ""
    depth: Depth = FIRST


class QueueRequest(QueueChoice, PageRequest):
    """A page of a queue."""


class NextRequest(QueueChoice):
    """A queue, and the query to continue after."""

    after: Annotated[str, StringConstraints(max_length=1000, pattern=NO_NULL)] = Field(
        default="", description="The current query; empty means the beginning."
    )


class AssignRequest(RequestModel):
    """People for the queries of a queue, ``per_query`` of them for each query; no people removes all assignments."""

    queue: QueueName
    users: Annotated[list[Name], Field(max_length=100)]
    per_query: int = Field(default=1, ge=1, le=100)


class Assigned(Record):
    """Queries by person, also in words."""

    n_queries: int
    by_user: dict[str, int]
    words: str


class QueueRow(Record):
    """A query of a queue; ``problem`` says why its list cannot be shown.

    ``n_judged`` counts the documents judged by this user, of the first results.
    """

    query: str
    need: str
    n_judged: int
    n_first: int
    assigned: list[str]
    problem: str | None


class Queue(Record):
    """A page of a queue, with this user's progress on it."""

    queue: str
    words: str
    base: str
    depth: int
    total: int
    rows: list[QueueRow]


class Next(Record):
    """The next query with a result to judge, from the current one on, wrapping around; null if all are judged.

    Places count from 1; ``place`` and ``current`` are 0 for a query that is not in the queue. ``previous`` and
    ``following`` are the queries around the current one, judged or not. ``n_done`` counts queries without a result to
    judge; it is null if the queue is too long to count.
    """

    query: str | None
    place: int
    total: int
    previous: str | None
    following: str | None
    current: int
    n_done: int | None


class Task(NamedTuple):
    """A document to judge, "" if all are judged, with the progress on its queue.

    ``n_open`` of ``n_all`` documents are to be judged, and take ``minutes`` at the pace of this user. ``next_docid`` is
    the next one of this query without a grade, and ``around`` are those before and after, judged or not.
    """

    queue: str
    base: str
    query: str
    docid: str
    grade: float | None
    place: int
    n_docs: int
    query_place: int
    n_queries: int
    n_open: int
    n_all: int
    minutes: int | None
    next_docid: str
    around: tuple[str, str]


def known_queue(text: str) -> str:
    """Return the name of a queue in an address, or "" if it is not one."""
    try:
        return TypeAdapter(QueueName).validate_python(text)
    except ValidationError:
        return ""


class UserQueue:
    """A queue with the documents that are to be judged of its queries, and a user's progress on them.

    ``graded`` has the user's grades by query. Documents of a query are searched when they are asked for.
    """

    def __init__(self, bench: Bench, user: str, choice: QueueChoice):
        self._bench, self._depth = bench, choice.depth
        self._found: dict[str, tuple[list[str], str | None]] = {}
        self.name, self.texts = queries(bench, user, choice.queue)
        if self.name.startswith(POOL):
            pooled = comparing.pooled(bench, user, self.name)
            self._found = {text: (docids, None) for text, docids in pooled.items()}
        with client_errors():
            self.base = bench.collection.base_name(choice.base)
        self.graded = bench.store.graded(bench.key, self.texts, bench.user_id(user))
        self.is_counted = len(self.texts) <= MAX_COUNTED

    def found(self, text: str) -> tuple[list[str], str | None]:
        """Return the documents of a query that are to be judged, and why there are none."""
        if text not in self._found:
            try:
                with client_errors():
                    hits = self._bench.collection.search(text, self.base, max(self._depth, 50))
                self._found[text] = hits.docid[: self._depth], None
            # such as a query that the base ranker cannot parse, or an engine that is down
            except RequestError as error:
                self._found[text] = [], error.message
        return self._found[text]

    def docids(self, text: str) -> list[str]:
        """Return the documents of a query that are to be judged."""
        return self.found(text)[0]

    def unjudged(self, text: str) -> list[str]:
        """Return the documents of a query that this user has not judged yet."""
        return [docid for docid in self.docids(text) if docid not in self.graded[text]]

    def next(self, first: int) -> str:
        """Return the next query with a document to judge from a place on, wrapping around; "" if there is none."""
        n_tried = 0
        for text in [*self.texts[first:], *self.texts[:first]]:
            n_tried += bool(self.graded[text])
            # of a long queue, only some of the queries with a judgement of this user are searched
            is_tried = self.is_counted or not self.graded[text] or n_tried <= MAX_COUNTED
            if is_tried and self.unjudged(text):
                return text
        return ""


@router.get("/queue")
def queue(bench: Bench, caller: Caller, request: Annotated[QueueRequest, Query()]) -> Queue:
    """Return queries to judge, with this user's progress on the first results of each."""
    own = UserQueue(bench, caller.user, request)
    shown = own.texts[request.offset : request.offset + request.limit]
    needs, assigned = people.needs(bench.store, bench.key, shown), assigned_users(bench.store, bench.key, shown)
    rows = []
    for text in shown:
        docids, problem = own.found(text)
        n_judged = len(docids) - len(own.unjudged(text))
        rows.append(QueueRow(text, needs.get(text, ""), n_judged, len(docids), assigned.get(text, []), problem))
    words = {MINE: ASSIGNED, **dict(choices(bench, caller.user))}.get(own.name, "what the compared rankers show first")
    return Queue(own.name, words, own.base, request.depth, len(own.texts), rows)


@router.get("/queue/next")
def next_query(bench: Bench, caller: Caller, request: Annotated[NextRequest, Query()]) -> Next:
    """Return the next query with a result that this user has not judged."""
    own = UserQueue(bench, caller.user, request)
    texts = own.texts
    current = texts.index(request.after) if request.after in texts else -1
    query = own.next(current + 1)
    return Next(
        query=query or None,
        place=texts.index(query) + 1 if query else 0,
        total=len(texts),
        previous=texts[current - 1] if current > 0 else None,
        following=texts[current + 1] if 0 <= current < len(texts) - 1 else None,
        current=current + 1,
        n_done=sum(not own.unjudged(text) for text in texts) if own.is_counted else None,
    )


@router.post("/assignments")
def assign(bench: Bench, caller: Caller, request: AssignRequest) -> Assigned:
    """Assign the queries of a queue to people in turn; this replaces earlier assignments of these queries."""
    _, texts = queries(bench, caller.user, request.queue)
    names = list(dict.fromkeys(name.strip() for name in request.users))
    if not all(names):
        raise invalid("a name is empty.")
    with client_errors():
        ids = bench.store.create_queries(bench.key, texts, bench.collection.base_name())
        users = {bench.store.user(name).id: name for name in names}
    chosen = dealt(texts, list(users), request.per_query) if users else {}
    now = datetime.now(UTC)
    rows = [{"query_id": ids[text], "user_id": one, "created": now} for text, of in chosen.items() for one in of]
    with bench.store.writing() as connection:
        connection.execute(sa.delete(ASSIGNMENTS).where(ASSIGNMENTS.c.query_id.in_(list(ids.values()))))
        if rows:
            connection.execute(sa.insert(ASSIGNMENTS), rows)
    counts = Counter(users[one] for own in chosen.values() for one in own)
    words = f"{count_of(len(texts), 'query', 'queries')} assigned. {', '.join(f'{n}: {counts[n]}' for n in names)}."
    by_user = {name: counts[name] for name in names}
    return Assigned(len(texts), by_user, words if names else "These queries are no longer assigned.")


def choices(bench: Bench, user: str) -> list[tuple[str, str]]:
    """Return (name, words) of all queues of a user, the default one first."""
    found = [(f"{SET}{one.id}", one.name) for one in query_sets.query_sets(bench).sets]
    if assigned_queries(bench.store, bench.key, bench.user_id(user)):
        found.insert(0, (MINE, ASSIGNED))
    if bench.collection.kind == "letor":
        found.append((LISTS, "the lists of the collection"))
    return [*found, (JUDGED, "queries that were judged")]


def queries(bench: Bench, user: str, name: str) -> tuple[str, list[str]]:
    """Return the name of a queue and its queries; "" means the first one of ``choices``."""
    name = name or choices(bench, user)[0][0]
    if name == MINE:
        return name, assigned_queries(bench.store, bench.key, bench.user_id(user))
    if name == LISTS:
        if bench.collection.kind != "letor":
            raise missing(f"{bench.collection.name} has no lists to browse.")
        return name, query_sets.list_queries(bench)[:MAX_SET_QUERIES]
    if name == JUDGED:
        return name, [one.query for one in bench.store.queries(bench.key)[:MAX_SET_QUERIES]][::-1]
    if name.startswith(POOL):
        return name, list(comparing.pooled(bench, user, name))
    return name, query_sets.find(bench, int(name.removeprefix(SET)))[1]


def task(bench: Bench, user: str, choice: QueueChoice, query: str, docid: str, after: str) -> Task:
    """Return the document to judge: the given one, or the next one of a query, or of the queries after another."""
    own = UserQueue(bench, user, choice)
    texts = own.texts
    if query not in texts or docid not in own.docids(query):
        query = own.next(texts.index(query) if query in texts else texts.index(after) + 1 if after in texts else 0)
        docid = own.unjudged(query)[0] if query else ""
    docids = own.docids(query) if query else []
    place = docids.index(docid) if docid else 0
    later = [one for one in (*docids[place + 1 :], *docids[:place]) if one not in own.graded[query]]
    pace = bench.store.pace(bench.user_id(user))
    if own.is_counted:
        n_all, n_open = (sum(len(of(text)) for text in texts) for of in (own.docids, own.unjudged))
    else:  # as if every query had as many documents
        n_all = FIRST * len(texts)
        n_open = n_all - sum(min(len(of), FIRST) for of in own.graded.values())
    return Task(
        queue=own.name,
        base=own.base,
        query=query,
        docid=docid,
        grade=own.graded[query].get(docid) if query else None,
        place=place + 1,
        n_docs=len(docids),
        query_place=texts.index(query) + 1 if query else 0,
        n_queries=len(texts),
        n_open=n_open,
        n_all=n_all,
        minutes=None if pace is None else math.ceil(n_open * pace / 60),
        next_docid=later[0] if later else "",
        around=(docids[place - 1] if place else "", docids[place + 1] if place + 1 < len(docids) else ""),
    )


def assigned_users(store: Store, collection: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of the users of queries by their text; queries without one are left out."""
    wanted = sa.select(QUERIES.c.text, USERS.c.name).join(ASSIGNMENTS, ASSIGNMENTS.c.query_id == QUERIES.c.id)
    wanted = wanted.join(USERS, USERS.c.id == ASSIGNMENTS.c.user_id).order_by(USERS.c.id)
    found: dict[str, list[str]] = {}
    for text, name in store.rows(wanted.where(is_one_of(collection, texts))):
        found.setdefault(text, []).append(name)
    return found


def assigned_queries(store: Store, collection: str, user_id: int | None) -> list[str]:
    """Return the queries of a user, in the order of their ids."""
    wanted = sa.select(QUERIES.c.text).join(ASSIGNMENTS, ASSIGNMENTS.c.query_id == QUERIES.c.id)
    own = (QUERIES.c.collection == collection) & (ASSIGNMENTS.c.user_id == user_id)
    return [text for (text,) in store.rows(wanted.where(own).order_by(QUERIES.c.id))]


def dealt(texts: Sequence[str], users: Sequence[int], per_query: int) -> dict[str, list[int]]:
    """Return ``per_query`` users for each query, dealt in turn, so that all users get nearly the same number.

    Examples
    --------
    >>> dealt(["a", "b", "c"], [1, 2, 3], 2)
    {'a': [1, 2], 'b': [3, 1], 'c': [2, 3]}
    """
    per_query = min(per_query, len(users))
    return {
        text: [users[(number * per_query + turn) % len(users)] for turn in range(per_query)]
        for number, text in enumerate(texts)
    }
