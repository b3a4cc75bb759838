"""The log of judgements: users, queries, and what each user said about the documents of a query."""

from __future__ import annotations

import hashlib
import reprlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, pairwise
from os import PathLike
from statistics import median
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from plackett.apps.workbench import tables
from plackett.apps.workbench.db import SCHEMA_LOCK, Database, advisory_lock, columns_of
from plackett.apps.workbench.values import MAX_DOCID, MAX_QUERY, Record


class User(Record):
    """A person who judges, or an imported annotator such as a click model; the name is unique."""

    id: int
    name: str
    is_person: bool
    created: datetime


class Query(Record):
    """A query of a collection; ``base`` is the base ranker that it was last searched with."""

    id: int
    collection: str
    text: str
    base: str
    created: datetime


class Event(NamedTuple):
    """One entry in the log of a user's list.

    ``kind`` is ``"judge"`` (``docid`` got ``grade``; None removes the grade), ``"prefer"`` (``docid`` is preferred to
    ``other``), ``"reset"``, or ``"undo"`` (of the event ``target``). ``undone`` is True if a later undo cancelled it.
    """

    id: int
    time: datetime
    user_id: int
    query_id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    target: int | None
    undone: bool


class Judged(NamedTuple):
    """The judgements of a list: the grade of each judged document, and pairs (preferred, other)."""

    labels: dict[str, float]
    pairs: list[tuple[str, str]]


class ListState(NamedTuple):
    """The current judgements of a list, in the order in which documents and pairs first appeared.

    ``grades`` has by document the current grade and its time, ``pairs`` by the two documents (preferred, other, time),
    and ``changed`` the documents whose grade replaced a different one.
    """

    grades: dict[str, tuple[float, datetime]]
    pairs: dict[frozenset[str], tuple[str, str, datetime]]
    changed: set[str]
    can_undo: bool

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> ListState:
        """Return the state after the events of one list, oldest first and with ``undone`` filled in.

        Undone events are skipped. A grade replaces the document's earlier grade, and a grade of None removes it. A
        preference replaces an earlier one between the same two documents. A reset clears the list in one event, so
        that undoing it restores everything.
        """
        grades: dict[str, tuple[float, datetime]] = {}
        pairs: dict[frozenset[str], tuple[str, str, datetime]] = {}
        changed: set[str] = set()
        can_undo = False
        for event in events:
            if event.undone or event.kind == "undo":
                continue
            can_undo = True
            if event.kind == "reset":
                grades, pairs, changed = {}, {}, set()
                continue
            assert event.docid is not None
            if event.kind == "prefer":
                assert event.other is not None
                pairs[frozenset((event.docid, event.other))] = (event.docid, event.other, event.time)
            elif event.grade is None:
                grades.pop(event.docid, None)
                changed.discard(event.docid)
            else:
                if event.docid in grades and grades[event.docid][0] != event.grade:
                    changed.add(event.docid)
                grades[event.docid] = (event.grade, event.time)
        return cls(grades, pairs, changed, can_undo)

    @property
    def n_judgements(self) -> int:
        """Grades and pairs."""
        return len(self.grades) + len(self.pairs)

    @property
    def judged(self) -> Judged:
        """The judgements without their times."""
        return Judged(
            {docid: grade for docid, (grade, _) in self.grades.items()},
            [(docid, other) for docid, other, _ in self.pairs.values()],
        )


class QuerySummary(Record):
    """A judged query with the current numbers of users, grades and pairs, and the time of the last event."""

    query_id: int
    query: str
    base: str
    n_users: int
    n_judged: int
    n_pairs: int
    last: datetime


class JudgedList(NamedTuple):
    """The judgements of one user on one query, with the id and the time of the last event."""

    user: User
    query: Query
    state: ListState
    last: tuple[int, datetime]


Lists = dict[str, list[JudgedList]]  # by the text of the query
USERS, QUERIES, EVENTS = tables.users, tables.queries, tables.events
UNDOS = EVENTS.alias("undos")
# imports take turns: two of them that lock the same queries in different orders would deadlock
IMPORT_LOCK = SCHEMA_LOCK + 1
PAGE = 200  # queries per statement
MAX_PAUSE, MIN_GAPS = 120.0, 5  # seconds between judgements; how many give a pace
Value = TypeVar("Value")


class Store(Database):
    """Judgements of several users, in a database. Thread-safe.

    A write is on disk when its method returns. Judgements are an append-only log; ``ListState.from_events`` has its
    rules. Values are checked where they come from: requests by their models, rows of files by ``import_judgements``.
    Database failures raise a ``StoreError``; nothing is written then.
    """

    def __init__(self, url: str | PathLike[str], *, timeout: float = 10.0):
        super().__init__(url, timeout=timeout)
        self._lists: dict[str, tuple[tuple[int, int], Lists]] = {}  # by collection, with the last event and the number
        self._lists_lock = threading.Lock()

    # users and queries

    def user(self, name: str, *, is_person: bool = True) -> User:
        """Return the user, or the imported annotator, of that name, and create it if needed."""
        found = self.find_user(name)
        if found is None:
            with self.writing() as connection:
                row = {"name": name, "is_person": is_person, "created": datetime.now(UTC)}
                connection.execute(self.insert_new(USERS).values(row))
            (found,) = self.records(User, USERS, USERS.c.name == name)
        if found.is_person != is_person:
            kind = "a user" if found.is_person else "an imported annotator"
            raise ValueError(f'"{name}" is the name of {kind}. Choose another name.')
        return found

    def find_user(self, name: str) -> User | None:
        """Return the user of that name, or None."""
        return next(iter(self.records(User, USERS, USERS.c.name == name)), None)

    def users(self) -> list[User]:
        """Return all people, oldest first."""
        return self.records(User, USERS, USERS.c.is_person, order=USERS.c.id)

    def annotators(self, collection: str) -> list[User]:
        """Return the imported annotators with judgements of a collection, oldest first."""
        found = {one.user for of in self.lists(collection).values() for one in of if not one.user.is_person}
        return sorted(found, key=lambda user: user.id)

    def delete_judgements(self, collection: str, annotator_id: int) -> None:
        """Delete the judgements of an imported annotator."""
        own = select(QUERIES.c.id).where(QUERIES.c.collection == collection)
        self.delete(EVENTS, EVENTS.c.user_id == annotator_id, EVENTS.c.query_id.in_(own))

    def query(self, collection: str, text: str, base: str) -> Query:
        """Return the query of that collection and text, and create it if needed.

        A query with another base ranker is the same query with the same judgements; the last base ranker is stored.
        """
        found = self.find_query(collection, text)
        if found is None or found.base != base:
            this = QUERIES.c.key == query_key(collection, text)
            with self.writing() as connection:
                self._create_queries(connection, collection, [text], base)
                connection.execute(update(QUERIES).where(this, QUERIES.c.base != base).values(base=base))
            (found,) = self.records(Query, QUERIES, this)
        return found

    def find_query(self, collection: str, text: str) -> Query | None:
        """Return the query of that collection and text, or None."""
        return next(iter(self.records(Query, QUERIES, QUERIES.c.key == query_key(collection, text))), None)

    def create_queries(self, collection: str, texts: Sequence[str], base: str) -> dict[str, int]:
        """Return the ids of queries by text; new ones are created with ``base``, and the others stay as they are."""
        with self.writing() as connection:
            advisory_lock(connection, IMPORT_LOCK)
            return self._create_queries(connection, collection, texts, base) if texts else {}

    def _create_queries(
        self, connection: Connection, collection: str, texts: Iterable[str], base: str
    ) -> dict[str, int]:
        """Return the ids of queries by text; create new ones, and lock all as ``_lock_list`` does."""
        by_key = {query_key(collection, text): text for text in texts}
        known = {"collection": collection, "base": base, "created": datetime.now(UTC)}
        rows = [{"key": key, "text": text, **known} for key, text in by_key.items()]
        connection.execute(self.insert_new(QUERIES), rows)
        ids = {}
        keys = list(by_key)
        for first in range(0, len(keys), PAGE):
            locked = select(QUERIES.c.id, QUERIES.c.key).where(QUERIES.c.key.in_(keys[first : first + PAGE]))
            for query_id, key in connection.execute(locked.with_for_update(key_share=True)):
                ids[by_key[key]] = query_id
        return ids

    # judging

    # an event with a ``key`` is written once, and returned again if the request is repeated

    def judge(self, user_id: int, query_id: int, docid: str, grade: float | None, key: str | None = None) -> Event:
        """Set the grade of a document; None removes it."""
        return self._write(user_id, query_id, "judge", key, docid=docid, grade=grade)

    def prefer(self, user_id: int, query_id: int, docid: str, other: str, key: str | None = None) -> Event:
        """Prefer ``docid`` to ``other``, which replaces an earlier preference between the two."""
        _check_pair(docid, other)
        return self._write(user_id, query_id, "prefer", key, docid=docid, other=other)

    def _write(self, user_id: int, query_id: int, kind: str, key: str | None, **values: Any) -> Event:
        with self.writing() as connection:
            _lock_list(connection, query_id)
            again = _events(connection, EVENTS.c.user_id == user_id, EVENTS.c.key == key) if key else []
            return again[0] if again else _insert_event(connection, user_id, query_id, kind, key=key, **values)

    def undo(self, user_id: int, query_id: int, key: str | None = None) -> Event | None:
        """Cancel and return the last event of the user's list that is not undone; None without such an event.

        A reset is one event: undoing it restores what it cleared. Further undos go further back.
        """
        with self.writing() as connection:
            _lock_list(connection, query_id)
            again = EVENTS.c.id.in_(select(EVENTS.c.target).where(EVENTS.c.key == key, EVENTS.c.user_id == user_id))
            if key and (undone := _events(connection, again)):
                return undone[0]
            events = _events(connection, EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id)
            last = next((one for one in reversed(events) if one.kind != "undo" and not one.undone), None)
            if last is None:
                return None
            _insert_event(connection, user_id, query_id, "undo", target=last.id, key=key)
        return last._replace(undone=True)

    def reset(self, user_id: int, query_id: int) -> int:
        """Clear the user's list and return how many grades and pairs that removed. One undo restores them."""
        with self.writing() as connection:
            _lock_list(connection, query_id)
            events = _events(connection, EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id)
            n_cleared = ListState.from_events(events).n_judgements
            if n_cleared:
                _insert_event(connection, user_id, query_id, "reset")
        return n_cleared

    def import_judgements(
        self,
        user_id: int,
        collection: str,
        rows: Iterable[tuple[str, str, float]],
        *,
        preferences: Iterable[tuple[str, str, str]] = (),
        base: str = "bm25",
    ) -> int:
        """Write (query, docid, grade) and (query, docid, other) rows for the user, all or nothing; return their number.

        New queries are created with ``base``. Each row is one event, which can be undone individually.
        """
        entries: list[tuple[str, dict[str, Any]]] = []  # the text of the query, and the values of the event
        for text, docid, grade in rows:
            entries.append((text, {"kind": "judge", "docid": check_docid(docid), "other": None, "grade": grade}))
        for text, docid, other in preferences:
            _check_pair(check_docid(docid), check_docid(other))
            entries.append((text, {"kind": "prefer", "docid": docid, "other": other, "grade": None}))
        texts = dict.fromkeys(check_query(text) for text, _ in entries)
        if entries:
            with self.writing() as connection:
                advisory_lock(connection, IMPORT_LOCK)
                ids = self._create_queries(connection, collection, texts, base)
                known = {"user_id": user_id, "time": datetime.now(UTC), "target": None}
                events = [{"query_id": ids[text], **values, **known} for text, values in entries]
                connection.execute(insert(EVENTS), events)
        return len(entries)

    # current judgements

    def state(self, user_id: int | None, query_id: int | None) -> ListState:
        """Return the current judgements of the user's list; None for a user or a query that is not stored."""
        return ListState.from_events(self.events(user_id, query_id))

    def events(self, user_id: int | None, query_id: int | None) -> list[Event]:
        """Return the log of a user's list, oldest first, with undone events and undos."""
        with self.reading() as connection:
            return _events(connection, EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id)

    def pace(self, user_id: int | None) -> float | None:
        """Return the median seconds between the last judgements of a user, breaks left out; None for too few."""
        wanted = select(EVENTS.c.time).where(EVENTS.c.user_id == user_id, EVENTS.c.kind == "judge")
        times = [time for (time,) in self.rows(wanted.order_by(EVENTS.c.id.desc()).limit(50))]
        gaps = [(later - earlier).total_seconds() for later, earlier in pairwise(times)]
        gaps = [gap for gap in gaps if 0 < gap < MAX_PAUSE]
        return median(gaps) if len(gaps) >= MIN_GAPS else None

    def lists(self, collection: str) -> Lists:
        """Return the judged lists of all users by query, in the order of their ids. They are not modified later.

        Only queries with events since the last call are read. In PostgreSQL an event may appear after one of a higher
        number, and annotators can be deleted; the number of events reveals both, and all queries are read again.
        """
        counted = select(func.coalesce(func.max(EVENTS.c.id), 0), func.count(EVENTS.c.id))
        queries_of = select(QUERIES.c.id).where(QUERIES.c.collection == collection)
        with self._lists_lock, self.reading() as connection:
            known, lists = self._lists.get(collection, ((0, 0), {}))
            last, n_events = connection.execute(counted).one()
            if (last, n_events) == known:
                return lists
            newer = EVENTS.c.id.between(known[0] + 1, last)
            if known[1] + connection.execute(counted.where(newer)).one()[1] == n_events:
                queries_of = queries_of.where(QUERIES.c.id.in_(select(EVENTS.c.query_id).where(newer)))
            else:
                lists = {}
            wanted = select(*columns_of(Query, QUERIES)).where(QUERIES.c.id.in_(queries_of))
            queries = {row.id: Query(*row) for row in connection.execute(wanted)}
            users = {row.id: User(*row) for row in connection.execute(select(*columns_of(User, USERS)))}
            rows = _events(connection, EVENTS.c.query_id.in_(queries_of), EVENTS.c.id <= last)
            rows.sort(key=lambda event: (event.query_id, event.user_id))
            fresh: Lists = {}
            for (query_id, user_id), of in groupby(rows, key=lambda event: (event.query_id, event.user_id)):
                events, query = list(of), queries[query_id]
                last_event = events[-1].id, events[-1].time
                own = JudgedList(users[user_id], query, ListState.from_events(events), last_event)
                fresh.setdefault(query.text, []).append(own)
            lists = dict(sorted({**lists, **fresh}.items(), key=lambda item: item[1][0].query.id))
            self._lists[collection] = (last, n_events), lists
            return lists

    def of(self, collection: str, user_id: int | None = None) -> Iterator[JudgedList]:
        """Yield the lists of all people, or of one user or annotator."""
        for of in self.lists(collection).values():
            yield from (one for one in of if (one.user.is_person if user_id is None else one.user.id == user_id))

    def queries(self, collection: str, user_id: int | None = None) -> list[QuerySummary]:
        """Return queries with events, of all people or of one user, those with the latest events first."""
        found = []
        for query, of in groupby(self.of(collection, user_id), key=lambda one: one.query):
            own = list(of)
            states, last = [one.state for one in own], max(one.last for one in own)
            n_users = sum(state.n_judgements > 0 for state in states)
            n_judged = sum(len(state.grades) for state in states)
            n_pairs = sum(len(state.pairs) for state in states)
            found.append((last, QuerySummary(query.id, query.text, query.base, n_users, n_judged, n_pairs, last[1])))
        return [summary for _, summary in sorted(found, key=lambda one: one[0], reverse=True)]

    def graded(self, collection: str, texts: Sequence[str], user_id: int | None) -> dict[str, dict[str, float]]:
        """Return the grades of queries by text and document, of one user; empty for a user who does not exist."""
        own = {} if user_id is None else {one.query.text: one.state for one in self.of(collection, user_id)}
        return {text: own[text].judged.labels if text in own else {} for text in texts}


def is_one_of(collection: str, texts: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a query of a collection has one of these texts."""
    return QUERIES.c.key.in_([query_key(collection, text) for text in texts])


def _check_pair(docid: str, other: str) -> None:
    if docid == other:
        raise ValueError("a document cannot be preferred to itself.")


def _lock_list(connection: Connection, query_id: int) -> None:
    """Lock the query until the transaction ends, so that its events are written in turn."""
    connection.execute(select(QUERIES.c.id).where(QUERIES.c.id == query_id).with_for_update(key_share=True))


def _insert_event(connection: Connection, user_id: int, query_id: int, kind: str, **values: Any) -> Event:
    row = {"time": datetime.now(UTC), "user_id": user_id, "query_id": query_id, "kind": kind, **values}
    event_id = connection.execute(insert(EVENTS).values(row).returning(EVENTS.c.id)).scalar_one()
    return Event._make((event_id, *(row.get(name) for name in Event._fields[1:-1]), False))


def _events(connection: Connection, *conditions: ColumnElement[bool]) -> list[Event]:
    """Return events, oldest first."""
    columns = [EVENTS.c[name] for name in Event._fields[:-1]]
    with_undos = EVENTS.outerjoin(UNDOS, UNDOS.c.target == EVENTS.c.id)
    wanted = select(*columns, UNDOS.c.id.is_not(None)).select_from(with_undos).where(*conditions)
    return [Event._make(row) for row in connection.execute(wanted.order_by(EVENTS.c.id))]


def check_text(text: str, what: str, max_length: int) -> str:
    """Return a text from a file if both databases can store it unchanged."""
    if not text:
        raise ValueError(f"{what} is empty.")
    if len(text) > max_length:
        raise ValueError(f"{what} has {len(text):,} characters; the store keeps up to {max_length:,}.")
    if "\x00" in text:
        raise ValueError(f"{what} contains a null character: {reprlib.repr(text)}. Remove it.")
    return text


check_query = partial(check_text, what="a query", max_length=MAX_QUERY)
check_docid = partial(check_text, what="a docid", max_length=MAX_DOCID)


def query_key(collection: str, text: str) -> str:
    """Return the digest that identifies a query of a collection; neither part can contain the separator."""
    return hashlib.sha256(f"{collection}\x00{text}".encode()).hexdigest()
