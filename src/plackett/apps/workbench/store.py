"""The log of judgements: users, queries, and what each user said about the documents of a query."""

from __future__ import annotations

import hashlib
import math
import reprlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice, pairwise
from numbers import Real
from statistics import median
from typing import Any, NamedTuple, TypeVar

from cachetools import LRUCache
from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, func, insert, select, update

from plackett.apps.workbench import tables
from plackett.apps.workbench.db import SCHEMA_LOCK, Database, advisory_lock
from plackett.apps.workbench.values import MAX_BASE, MAX_DOCID, MAX_QUERY


class User(NamedTuple):
    """A person who judges, or an imported annotator such as a click model; the name is unique."""

    id: int
    name: str
    is_person: bool
    created: datetime


class Query(NamedTuple):
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


class Judgement(NamedTuple):
    """A current grade, with names and texts instead of ids."""

    user: str
    query: str
    docid: str
    grade: float
    time: datetime


class Preference(NamedTuple):
    """A current preference: ``docid`` is preferred to ``other``."""

    user: str
    query: str
    docid: str
    other: str
    time: datetime


@dataclass(frozen=True)
class QuerySummary:
    """A judged query with the current numbers of users, grades and pairs, and the time of the last event."""

    query_id: int
    query: str
    base: str
    n_users: int
    n_judged: int
    n_pairs: int
    last: datetime


USERS, QUERIES, EVENTS = tables.users, tables.queries, tables.events
UNDOS = EVENTS.alias("undos")
PEOPLE = select(USERS.c.id).where(USERS.c.is_person)
QUERY_COLUMNS = [QUERIES.c[name] for name in Query._fields]
# imports take turns: two of them that lock the same queries in different orders would deadlock
IMPORT_LOCK = SCHEMA_LOCK + 1
PAGE = 200  # queries per transaction when a whole collection is read
CACHED = 1024  # users, and queries
MAX_PAUSE, MIN_GAPS = 120.0, 5  # seconds between judgements; how many give a pace
Found = TypeVar("Found", User, Query)


class Store(Database):
    """Judgements of several users, in a database: ``Store.open(url)``. Thread-safe.

    A write is on disk when its method returns. Judgements are an append-only log; ``ListState.from_events`` has its
    rules. Unknown ids raise a ``LookupError``, invalid texts and numbers a ``ValueError`` or a ``TypeError``, and
    database failures a ``StoreError``; nothing is written then.
    """

    def __init__(self, engine: Engine, location: str, timeout: float):
        super().__init__(engine, location, timeout)
        # users and queries are never deleted, so their ids can be cached
        self._users: LRUCache[str, User] = LRUCache(CACHED)
        self._queries: LRUCache[str, Query] = LRUCache(CACHED)
        self._cache_lock = threading.Lock()

    # users and queries

    def user(self, name: str) -> User:
        """Return the user of that name, and create it if needed."""
        return self._created(name, is_person=True)

    def annotator(self, name: str) -> User:
        """Return the annotator of that name, which is not a person, and create it if needed."""
        return self._created(name, is_person=False)

    def _created(self, name: str, is_person: bool) -> User:
        found = self.find_user(name)
        if found is None:
            with self.writing() as connection:
                row = {"name": name, "is_person": is_person, "created": datetime.now(UTC)}
                connection.execute(self.insert_new(USERS).values(row))
                found = User(*connection.execute(select(USERS).where(USERS.c.name == name)).one())
        if found.is_person != is_person:
            kind = "a user" if found.is_person else "an imported annotator"
            raise ValueError(f'"{name}" is the name of {kind}. Choose another name.')
        return found

    def find_user(self, name: str) -> User | None:
        """Return the user of that name, or None."""
        check_text(name, "a user's name", max_length=MAX_BASE)
        return self._find(self._users, name, User, select(USERS).where(USERS.c.name == name))

    def users(self) -> list[User]:
        """Return all people, oldest first."""
        with self.reading() as connection:
            return [
                User(*row) for row in connection.execute(select(USERS).where(USERS.c.is_person).order_by(USERS.c.id))
            ]

    def annotators(self, collection: str) -> list[User]:
        """Return the imported annotators with judgements of a collection, oldest first."""
        own = select(EVENTS.c.user_id).join(QUERIES, QUERIES.c.id == EVENTS.c.query_id)
        own = own.where(QUERIES.c.collection == collection)
        wanted = select(USERS).where(~USERS.c.is_person, USERS.c.id.in_(own)).order_by(USERS.c.id)
        with self.reading() as connection:
            return [User(*row) for row in connection.execute(wanted)]

    def delete_judgements(self, collection: str, annotator_id: int) -> None:
        """Delete the judgements of an imported annotator."""
        own = select(QUERIES.c.id).where(QUERIES.c.collection == collection)
        annotator = select(USERS.c.id).where(USERS.c.id == annotator_id, ~USERS.c.is_person)
        with self.writing() as connection:
            connection.execute(delete(EVENTS).where(EVENTS.c.user_id.in_(annotator), EVENTS.c.query_id.in_(own)))

    def query(self, collection: str, text: str, base: str) -> Query:
        """Return the query of that collection and text, and create it if needed.

        A query with another base ranker is the same query with the same judgements; the last base ranker is stored.
        """
        check_text(base, "a base ranker's name", max_length=MAX_BASE)
        found = self.find_query(collection, text)
        if found is not None and found.base == base:
            return found
        key = query_key(collection, text)
        this = QUERIES.c.key == key
        with self.writing() as connection:
            self._create_queries(connection, collection, [text], base)
            connection.execute(update(QUERIES).where(this, QUERIES.c.base != base).values(base=base))
            query = Query(*connection.execute(select(*QUERY_COLUMNS).where(this)).one())
        with self._cache_lock:
            self._queries[key] = query
        return query

    def find_query(self, collection: str, text: str) -> Query | None:
        """Return the query of that collection and text, or None."""
        key = query_key(collection, text)
        return self._find(self._queries, key, Query, select(*QUERY_COLUMNS).where(QUERIES.c.key == key))

    def _find(
        self, cache: LRUCache[str, Found], key: str, record: Callable[..., Found], wanted: Select
    ) -> Found | None:
        """Return a record from the cache, or else from the database; None if it does not exist."""
        with self._cache_lock:
            known = cache.get(key)
        if known is None:
            with self.reading() as connection:
                row = connection.execute(wanted).first()
            if row is None:
                return None
            known = record(*row)
            with self._cache_lock:
                cache[key] = known
        return known

    def query_by_id(self, query_id: int) -> Query:
        """Return a query by its id; raise a LookupError if the id is unknown."""
        wanted = select(*QUERY_COLUMNS).where(QUERIES.c.id == query_id)
        with self.reading() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            raise LookupError(f"there is no query {query_id}.")
        return Query(*row)

    # judging

    def judge(self, user_id: int, query_id: int, docid: str, grade: float | None) -> Event:
        """Set the grade of a document; None removes it."""
        values = {"docid": check_docid(docid), "grade": check_grade(grade)}
        with self.writing() as connection:
            _lock_list(connection, user_id, query_id)
            return _insert_event(connection, user_id, query_id, "judge", **values)

    def prefer(self, user_id: int, query_id: int, docid: str, other: str) -> Event:
        """Prefer ``docid`` to ``other``, which replaces an earlier preference between the two."""
        _check_pair(docid, other)
        with self.writing() as connection:
            _lock_list(connection, user_id, query_id)
            return _insert_event(connection, user_id, query_id, "prefer", docid=docid, other=other)

    def undo(self, user_id: int, query_id: int) -> Event | None:
        """Cancel and return the last event of the user's list that is not undone; None without such an event.

        A reset is one event: undoing it restores what it cleared. Further undos go further back.
        """
        with self.writing() as connection:
            _lock_list(connection, user_id, query_id)
            last = _events(EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id)
            last = last.where(EVENTS.c.kind != "undo", UNDOS.c.id.is_(None)).order_by(None)
            row = connection.execute(last.order_by(EVENTS.c.id.desc()).limit(1)).first()
            if row is None:
                return None
            _insert_event(connection, user_id, query_id, "undo", target=row.id)
        return Event(*row)._replace(undone=True)

    def reset(self, user_id: int, query_id: int) -> int:
        """Clear the user's list and return how many grades and pairs that removed. One undo restores them."""
        with self.writing() as connection:
            _lock_list(connection, user_id, query_id)
            n_cleared = _state(connection, user_id, query_id).n_judgements
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
        check_text(base, "a base ranker's name", max_length=MAX_BASE)
        entries: list[tuple[str, dict[str, Any]]] = []  # the text of the query, and the values of the event
        for text, docid, grade in rows:
            values = {"kind": "judge", "docid": check_docid(docid), "other": None, "grade": check_grade(grade)}
            entries.append((text, values))
        for text, docid, other in preferences:
            _check_pair(docid, other)
            entries.append((text, {"kind": "prefer", "docid": docid, "other": other, "grade": None}))
        texts = dict.fromkeys(text for text, _ in entries)
        for text in texts:
            check_query(text)
        with self.writing() as connection:
            _check_user(connection, user_id)
            if entries:
                advisory_lock(connection, IMPORT_LOCK)
                ids = self._create_queries(connection, collection, texts, base)
                known = {"user_id": user_id, "time": datetime.now(UTC), "target": None}
                connection.execute(
                    insert(EVENTS), [{"query_id": ids[text], **values, **known} for text, values in entries]
                )
        return len(entries)

    # current judgements

    def state(self, user_id: int, query_id: int) -> ListState:
        """Return the current judgements of the user's list."""
        with self.reading() as connection:
            return _state(connection, user_id, query_id)

    def events(self, user_id: int, query_id: int) -> list[Event]:
        """Return the log of a user's list, oldest first, with undone events and undos."""
        own = EVENTS.c.user_id == user_id
        with self.reading() as connection:
            rows = connection.execute(_events(own, EVENTS.c.query_id == query_id))
            return [Event(*row) for row in rows]

    def pace(self, user_id: int | None) -> float | None:
        """Return the median seconds between the last judgements of a user, breaks left out; None for too few."""
        wanted = select(EVENTS.c.time).where(EVENTS.c.user_id == user_id, EVENTS.c.kind == "judge")
        with self.reading() as connection:
            times = connection.execute(wanted.order_by(EVENTS.c.id.desc()).limit(50)).scalars().all()
        gaps = [(later - earlier).total_seconds() for later, earlier in pairwise(times)]
        gaps = [gap for gap in gaps if 0 < gap < MAX_PAUSE]
        return median(gaps) if len(gaps) >= MIN_GAPS else None

    def n_queries(self, collection: str, *, user_id: int | None = None) -> int:
        """Return the number of queries that ``queries`` lists without a limit."""
        listed = _judged_queries(collection, user_id).with_only_columns(QUERIES.c.id).subquery()
        with self.reading() as connection:
            return connection.execute(select(func.count()).select_from(listed)).scalar_one()

    def queries(
        self, collection: str, *, user_id: int | None = None, limit: int = 50, offset: int = 0
    ) -> list[QuerySummary]:
        """Return queries with events, of all people or of one user, those with the latest events first."""
        latest = func.max(EVENTS.c.id)
        chosen = _judged_queries(collection, user_id).order_by(latest.desc()).limit(limit).offset(offset)
        with self.reading() as connection:
            rows = connection.execute(
                chosen.with_only_columns(QUERIES.c.id, QUERIES.c.text, QUERIES.c.base, latest)
            ).all()
            states: dict[int, list[ListState]] = {row.id: [] for row in rows}
            for query_id, _, _, state in _states(connection, states, user_id):
                states[query_id].append(state)
            last = select(EVENTS.c.id, EVENTS.c.time).where(EVENTS.c.id.in_([row[3] for row in rows]))
            times = {row.id: row.time for row in connection.execute(last)}
        return [
            QuerySummary(
                query_id,
                text,
                base,
                sum(state.n_judgements > 0 for state in states[query_id]),
                sum(len(state.grades) for state in states[query_id]),
                sum(len(state.pairs) for state in states[query_id]),
                times[event],
            )
            for query_id, text, base, event in rows
        ]

    def judgements(self, collection: str, user_id: int | None = None) -> Iterator[Judgement]:
        """Yield every current grade, by query, user and document in the order of their first appearance."""
        for user, text, state in self._walk(collection, user_id):
            for docid, (grade, time) in state.grades.items():
                yield Judgement(user, text, docid, grade, time)

    def preferences(self, collection: str, user_id: int | None = None) -> Iterator[Preference]:
        """Yield every current preference, in the same order."""
        for user, text, state in self._walk(collection, user_id):
            for docid, other, time in state.pairs.values():
                yield Preference(user, text, docid, other, time)

    def lists_since(
        self, collection: str, known: tuple[int, int] = (0, 0)
    ) -> tuple[tuple[int, int], list[tuple[str, str, ListState]] | None]:
        """Return a mark for the next call, and (user, query, state) of the lists that were judged since ``known``.

        If the lists are None, start again from (0, 0). In PostgreSQL an event may appear after one of a higher
        number; the number of events reveals it.
        """
        last, n_events = known
        own = QUERIES.c.collection == collection
        counted = select(func.coalesce(func.max(EVENTS.c.id), 0), func.count(EVENTS.c.id))
        counted = counted.join(QUERIES, QUERIES.c.id == EVENTS.c.query_id).where(own)
        with self.reading() as connection:
            mark = connection.execute(counted).one()
            if tuple(mark) == known:
                return known, []
            newer = connection.execute(counted.where(EVENTS.c.id.between(last + 1, mark[0]))).one()
            if n_events + newer[1] != mark[1]:
                return known, None
            changed = select(EVENTS.c.query_id, EVENTS.c.user_id).distinct()
            changed = changed.join(QUERIES, QUERIES.c.id == EVENTS.c.query_id)
            by_user: dict[int, list[int]] = {}
            for row in connection.execute(changed.where(own, EVENTS.c.id.between(last + 1, mark[0]))):
                by_user.setdefault(row.user_id, []).append(row.query_id)
            lists = []
            for user_id, ids in by_user.items():
                for first in range(0, len(ids), PAGE):
                    lists += [one[1:] for one in _states(connection, ids[first : first + PAGE], user_id)]
        return (mark[0], mark[1]), lists

    def create_queries(self, collection: str, texts: Sequence[str], base: str) -> dict[str, int]:
        """Return the ids of queries by text; new ones are created with ``base``, and the others stay as they are."""
        for text in texts:
            check_query(text)
        check_text(base, "a base ranker's name", max_length=MAX_BASE)
        with self.writing() as connection:
            advisory_lock(connection, IMPORT_LOCK)
            return self._create_queries(connection, collection, texts, base) if texts else {}

    def graded(self, collection: str, texts: Sequence[str], user_id: int | None) -> dict[str, dict[str, float]]:
        """Return the grades of queries by text and document, of one user; empty for a user who does not exist."""
        found: dict[str, dict[str, float]] = {text: {} for text in texts}
        if user_id is None:
            return found
        keys = [query_key(collection, text) for text in found]
        with self.reading() as connection:
            for first in range(0, len(keys), PAGE):
                wanted = select(QUERIES.c.id).where(QUERIES.c.key.in_(keys[first : first + PAGE]))
                ids = connection.execute(wanted).scalars().all()
                for _, _, text, state in _states(connection, ids, user_id):
                    found[text] = state.judged.labels
        return found

    def n_changed(self, collection: str) -> int:
        """Return how many current grades replaced another grade of the same user, without an undo."""
        return sum(len(state.changed) for _, _, state in self._walk(collection, None))

    def _create_queries(
        self, connection: Connection, collection: str, texts: Iterable[str], base: str
    ) -> dict[str, int]:
        """Return the ids of queries by text; create new ones, and lock all as ``_lock_list`` does."""
        by_key = {query_key(collection, text): text for text in texts}
        known = {"collection": collection, "base": base, "created": datetime.now(UTC)}
        rows = [{"key": key, "text": text, **known} for key, text in by_key.items()]
        connection.execute(self.insert_new(QUERIES), rows)
        ids, keys = {}, iter(by_key)
        while page := list(islice(keys, PAGE)):
            locked = select(QUERIES.c.id, QUERIES.c.key).where(QUERIES.c.key.in_(page))
            for query_id, key in connection.execute(locked.with_for_update(key_share=True)):
                ids[by_key[key]] = query_id
        return ids

    def _walk(self, collection: str, user_id: int | None) -> Iterator[tuple[str, str, ListState]]:
        """Yield (user, query, state) of every list of a collection, a page of queries at a time.

        No transaction stays open between pages, so a slow reader does not block writers.
        """
        after = 0
        wanted = select(QUERIES.c.id).where(QUERIES.c.collection == collection)
        while True:
            with self.reading() as connection:
                page = connection.execute(wanted.where(QUERIES.c.id > after).order_by(QUERIES.c.id).limit(PAGE))
                ids = page.scalars().all()
                states = list(_states(connection, ids, user_id))
            if not ids:
                return
            for _, user, text, state in states:
                yield user, text, state
            after = ids[-1]


def _check_pair(docid: str, other: str) -> None:
    if check_docid(docid) == check_docid(other):
        raise ValueError("a document cannot be preferred to itself.")


def _check_user(connection: Connection, user_id: int) -> None:
    if connection.execute(select(USERS.c.id).where(USERS.c.id == user_id)).first() is None:
        raise LookupError(f"there is no user {user_id}.")


def _lock_list(connection: Connection, user_id: int, query_id: int) -> None:
    """Check the ids, and lock the query until the transaction ends, so that its events are written in turn."""
    has_user = select(USERS.c.id).where(USERS.c.id == user_id).exists()
    wanted = select(QUERIES.c.id, has_user).where(QUERIES.c.id == query_id)
    row = connection.execute(wanted.with_for_update(key_share=True, of=QUERIES)).first()
    if row is None or not row[1]:
        raise LookupError(f"there is no {'query' if row is None else 'user'} {query_id if row is None else user_id}.")


def _insert_event(connection: Connection, user_id: int, query_id: int, kind: str, **values: Any) -> Event:
    row = {"time": datetime.now(UTC), "user_id": user_id, "query_id": query_id, "kind": kind, **values}
    event_id = connection.execute(insert(EVENTS).values(row).returning(EVENTS.c.id)).scalar_one()
    return Event._make((event_id, *(row.get(name) for name in Event._fields[1:-1]), False))


def _events(*conditions: ColumnElement[bool]) -> Select:
    """Return a statement that selects events, oldest first, and whether they were undone."""
    columns = [EVENTS.c[name] for name in Event._fields[:-1]]
    with_undos = EVENTS.outerjoin(UNDOS, UNDOS.c.target == EVENTS.c.id)
    return select(*columns, UNDOS.c.id.is_not(None)).select_from(with_undos).where(*conditions).order_by(EVENTS.c.id)


def _state(connection: Connection, user_id: int, query_id: int) -> ListState:
    rows = connection.execute(_events(EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id))
    return ListState.from_events(Event(*row) for row in rows)


def _judged_queries(collection: str, user_id: int | None) -> Select:
    """Return a statement that selects the judged queries of a collection; the caller adds columns and an order."""
    chosen = select(QUERIES.c.id).join(EVENTS, EVENTS.c.query_id == QUERIES.c.id).group_by(QUERIES.c.id)
    chosen = chosen.where(QUERIES.c.collection == collection)
    if user_id is None:
        return chosen.where(EVENTS.c.user_id.in_(PEOPLE))
    return chosen.where(EVENTS.c.user_id == user_id)


def _states(
    connection: Connection, query_ids: Iterable[int], user_id: int | None
) -> Iterator[tuple[int, str, str, ListState]]:
    """Yield (query id, user, query, state) of every list of these queries."""
    chosen = _events(EVENTS.c.query_id.in_(list(query_ids))).order_by(None)
    chosen = chosen.join(USERS, USERS.c.id == EVENTS.c.user_id).join(QUERIES, QUERIES.c.id == EVENTS.c.query_id)
    chosen = chosen.where(USERS.c.is_person if user_id is None else EVENTS.c.user_id == user_id)
    chosen = chosen.add_columns(USERS.c.name, QUERIES.c.text)
    rows = connection.execute(chosen.order_by(EVENTS.c.query_id, EVENTS.c.user_id, EVENTS.c.id))
    width = len(Event._fields)
    for (query_id, user, text), own in groupby(rows, key=lambda row: (row.query_id, *row[width:])):
        yield query_id, user, text, ListState.from_events(Event(*row[:width]) for row in own)


# checks of values, the same for both kinds of database


def check_text(value: str, what: str, *, max_length: int) -> str:
    """Return ``value`` if both databases can store it unchanged."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}.")
    if not value:
        raise ValueError(f"{what} is empty.")
    if len(value) > max_length:
        raise ValueError(f"{what} has {len(value):,} characters; the store keeps up to {max_length:,}.")
    if "\x00" in value:
        raise ValueError(
            f"{what} contains a null character: {reprlib.repr(value)}. PostgreSQL cannot store it; remove it."
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(
            f"{what} contains a lone surrogate: {reprlib.repr(value)}. It is not valid Unicode text."
        ) from None
    return value


def check_query(text: str) -> str:
    return check_text(text, "a query", max_length=MAX_QUERY)


def check_docid(docid: str) -> str:
    return check_text(docid, "a docid", max_length=MAX_DOCID)


def query_key(collection: str, text: str) -> str:
    """Return the digest that identifies a query of a collection; neither part can contain the separator."""
    both = f"{collection}\x00{check_query(text)}"
    return hashlib.sha256(both.encode("utf-8")).hexdigest()


def check_grade(grade: float | None) -> float | None:
    if grade is None:
        return None
    if not isinstance(grade, Real) or isinstance(grade, bool):
        raise TypeError(f"a grade must be a number, not {type(grade).__name__}.")
    try:
        number = float(grade)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"a grade must be a finite number, not {number}.")
    return number
