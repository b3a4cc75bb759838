"""The store's door: users, queries, their judgements, saved rankers and jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, insert, select, update

from plackett.web.store import tables
from plackett.web.store.checks import MAX_NAME, check_docid, check_grade, check_id, check_page, check_query, check_text
from plackett.web.store.history import Standing, standing
from plackett.web.store.jobs import Jobs
from plackett.web.store.migrations import UPGRADE_LOCK, advisory_lock
from plackett.web.store.rankers import Rankers
from plackett.web.store.records import Event, Judged, Judgement, Preference, Query, QuerySummary, User

USERS, QUERIES, EVENTS = tables.users, tables.queries, tables.events
UNDOS = EVENTS.alias("undos")
# imports take turns: two that made or held the same queries in different orders would wait for each other for ever
IMPORT_LOCK = UPGRADE_LOCK + 1
PAGE = 200  # queries read in one transaction by what walks through a collection


class Store(Rankers, Jobs):
    """Judgements of several users, kept for good: ``Store.open(url)``, from any thread.

    What a method wrote is on disk when it returns. Judgements are a log that is only appended to; ``history.py`` says
    what a log amounts to. Unknown ids raise a ``LookupError``, texts and numbers that cannot be stored a ``ValueError``
    (or a ``TypeError``), and trouble with the database a ``StoreError``; nothing is written then.
    """

    # who and what

    def user(self, name: str) -> User:
        """The user of that name, made if there is none."""
        found = self.find_user(name)
        if found is not None:
            return found
        with self.writing() as connection:
            connection.execute(self.insert_new(USERS).values(name=name, created=datetime.now(UTC)))
            return User(*connection.execute(_user_called(name)).one())

    def find_user(self, name: str) -> User | None:
        """The user of that name, if there is one."""
        with self.reading() as connection:
            row = connection.execute(_user_called(name)).first()
        return None if row is None else User(*row)

    def users(self) -> list[User]:
        """All users, the oldest first."""
        with self.reading() as connection:
            return [User(*row) for row in connection.execute(select(USERS).order_by(USERS.c.id))]

    def query(self, collection: str, text: str, base: str) -> Query:
        """The query of that collection and text, made if there is none.

        A query asked with another base ranker is still the same query, and keeps its judgements; it remembers the base
        ranker that was named last.
        """
        check_text(base, "a base ranker's name", most=MAX_NAME)
        found = self.find_query(collection, text)
        if found is not None and found.base == base:
            return found
        this = QUERIES.c.key == _key(collection, text)
        with self.writing() as connection:
            self._make_queries(connection, collection, [text], base)
            connection.execute(update(QUERIES).where(this, QUERIES.c.base != base).values(base=base))
            return Query(*connection.execute(select(*_columns_of_query()).where(this)).one())

    def find_query(self, collection: str, text: str) -> Query | None:
        """The query of that collection and text, if there is one."""
        wanted = select(*_columns_of_query()).where(QUERIES.c.key == _key(collection, text))
        with self.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else Query(*row)

    def query_by_id(self, query_id: int) -> Query:
        wanted = select(*_columns_of_query()).where(QUERIES.c.id == check_id(query_id, "query"))
        with self.reading() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            raise LookupError(f"there is no query {query_id}.")
        return Query(*row)

    # judging

    def judge(self, user_id: int, query_id: int, docid: str, grade: float | None) -> Event:
        """Give a document a grade in place of its earlier one; None takes its grade back."""
        grade = check_grade(grade)
        return self._append(user_id, query_id, "judge", docid=check_docid(docid), grade=grade)

    def prefer(self, user_id: int, query_id: int, docid: str, other: str) -> Event:
        """Say that ``docid`` belongs above ``other``, in place of what was said of these two before."""
        _check_pair(docid, other)
        return self._append(user_id, query_id, "prefer", docid=docid, other=other)

    def undo(self, user_id: int, query_id: int) -> Event | None:
        """Strike out the user's last event in this list that still counts, and give it back; None if there is none.

        A reset is one such event: undoing it brings back all that it cleared. Undoing again goes further back.
        """
        with self.writing() as connection:
            self._hold(connection, user_id, query_id)
            last = _events(EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id)
            last = last.where(EVENTS.c.kind != "undo", UNDOS.c.id.is_(None)).order_by(None)
            row = connection.execute(last.order_by(EVENTS.c.id.desc()).limit(1)).first()
            if row is None:
                return None
            _insert_event(connection, user_id, query_id, "undo", target=row.id)
        return Event(*row)._replace(undone=True)

    def reset(self, user_id: int, query_id: int) -> int:
        """Clear the user's list, and say how many grades and pairs that took away. One undo brings them back."""
        with self.writing() as connection:
            self._hold(connection, user_id, query_id)
            cleared = _standing(connection, user_id, query_id).n_statements
            if cleared:
                _insert_event(connection, user_id, query_id, "reset")
        return cleared

    def import_judgements(
        self,
        user_id: int,
        collection: str,
        rows: Iterable[tuple[str, str, float]],
        *,
        preferences: Iterable[tuple[str, str, str]] = (),
        base: str = "bm25",
    ) -> int:
        """Write (query, docid, grade) and (query, docid, other) as the user's own, all or nothing; how many there were.

        A query that is new is made with ``base``. Each row is an event of its own, to be undone by itself.
        """
        check_text(base, "a base ranker's name", most=MAX_NAME)
        statements: list[tuple[str, dict[str, Any]]] = []  # the text of the query, and what becomes of it
        for text, docid, grade in rows:
            what = {"kind": "judge", "docid": check_docid(docid), "other": None, "grade": check_grade(grade)}
            statements.append((text, what))
        for text, docid, other in preferences:
            _check_pair(docid, other)
            statements.append((text, {"kind": "prefer", "docid": docid, "other": other, "grade": None}))
        texts = dict.fromkeys(text for text, _ in statements)
        for text in texts:
            check_query(text)
        with self.writing() as connection:
            _check_user(connection, user_id)
            if statements:
                advisory_lock(connection, IMPORT_LOCK)
                ids = self._make_queries(connection, collection, texts, base)
                known = {"user_id": user_id, "time": datetime.now(UTC), "target": None}
                events = [{"query_id": ids[text], **what, **known} for text, what in statements]
                connection.execute(insert(EVENTS), events)
        return len(statements)

    # what holds now

    def judged(self, user_id: int, query_id: int) -> Judged:
        """The latest grade of each document and the pairs that hold in the user's list."""
        with self.reading() as connection:
            return _standing(connection, check_id(user_id, "user"), check_id(query_id, "query")).judged()

    def events(self, user_id: int, query_id: int) -> list[Event]:
        """The whole log of a user's list, undone events and undos among them, the oldest first."""
        own = EVENTS.c.user_id == check_id(user_id, "user")
        with self.reading() as connection:
            rows = connection.execute(_events(own, EVENTS.c.query_id == check_id(query_id, "query")))
            return [Event(*row) for row in rows]

    def n_queries(self, collection: str, *, user_id: int | None = None) -> int:
        """How many queries ``queries`` would list without a limit."""
        listed = _listed(collection, user_id).with_only_columns(QUERIES.c.id).subquery()
        with self.reading() as connection:
            return connection.execute(select(func.count()).select_from(listed)).scalar_one()

    def queries(
        self, collection: str, *, user_id: int | None = None, limit: int = 50, offset: int = 0
    ) -> list[QuerySummary]:
        """Queries that somebody, or one user, has judged at some time, those of the latest events first."""
        check_page(limit, offset)
        latest = func.max(EVENTS.c.id)
        chosen = _listed(collection, user_id).order_by(latest.desc()).limit(limit).offset(offset)
        with self.reading() as connection:
            rows = connection.execute(
                chosen.with_only_columns(QUERIES.c.id, QUERIES.c.text, QUERIES.c.base, latest)
            ).all()
            lists: dict[int, list[Standing]] = {row.id: [] for row in rows}
            for query_id, _, _, now in _lists(connection, lists, user_id):
                lists[query_id].append(now)
            last = select(EVENTS.c.id, EVENTS.c.time).where(EVENTS.c.id.in_([row[3] for row in rows]))
            times = {row.id: row.time for row in connection.execute(last)}
        return [
            QuerySummary(
                query_id,
                text,
                base,
                sum(now.n_statements > 0 for now in lists[query_id]),
                sum(len(now.grades) for now in lists[query_id]),
                sum(len(now.pairs) for now in lists[query_id]),
                times[event],
            )
            for query_id, text, base, event in rows
        ]

    def judgements(self, collection: str, user_id: int | None = None) -> Iterator[Judgement]:
        """Every grade that holds now, by query, user and document in the order of their first appearance."""
        for user, text, now in self._walk(collection, user_id):
            for docid, (grade, time) in now.grades.items():
                yield Judgement(user, text, docid, grade, time)

    def preferences(self, collection: str, user_id: int | None = None) -> Iterator[Preference]:
        """Every pair that holds now, in the same order."""
        for user, text, now in self._walk(collection, user_id):
            for docid, other, time in now.pairs.values():
                yield Preference(user, text, docid, other, time)

    def n_changed(self, collection: str) -> int:
        """How many grades that hold now replaced another one by the same user, without an undo."""
        return sum(len(now.changed) for _, _, now in self._walk(collection, None))

    # inside

    def _append(self, user_id: int, query_id: int, kind: str, **what: Any) -> Event:
        with self.writing() as connection:
            self._hold(connection, user_id, query_id)
            return _insert_event(connection, user_id, query_id, kind, **what)

    def _hold(self, connection: Connection, user_id: int, query_id: int) -> None:
        """Keep others from writing to the query until the transaction ends, so that its events come one by one."""
        _check_user(connection, user_id)
        wanted = select(QUERIES.c.id).where(QUERIES.c.id == check_id(query_id, "query"))
        if connection.execute(wanted.with_for_update(key_share=True)).first() is None:
            raise LookupError(f"there is no query {query_id}.")

    def _make_queries(self, connection: Connection, collection: str, texts: Iterable[str], base: str) -> dict[str, int]:
        """The ids of queries by their texts, made where they are new, and held as in ``_hold``."""
        by_key = {_key(collection, text): text for text in texts}
        known = {"collection": collection, "base": base, "created": datetime.now(UTC)}
        rows = [{"key": key, "text": text, **known} for key, text in by_key.items()]
        connection.execute(self.insert_new(QUERIES), rows)
        ids, keys = {}, iter(by_key)
        while page := list(islice(keys, PAGE)):
            held = select(QUERIES.c.id, QUERIES.c.key).where(QUERIES.c.key.in_(page))
            for query_id, key in connection.execute(held.with_for_update(key_share=True)):
                ids[by_key[key]] = query_id
        return ids

    def _walk(self, collection: str, user_id: int | None) -> Iterator[tuple[str, str, Standing]]:
        """(user, query, what holds) of every list of a collection, some queries at a time.

        Nothing stays open between the pages, so a slow reader hinders no writer.
        """
        after = 0
        wanted = select(QUERIES.c.id).where(QUERIES.c.collection == check_text(collection, "a collection's name"))
        while True:
            with self.reading() as connection:
                page = connection.execute(wanted.where(QUERIES.c.id > after).order_by(QUERIES.c.id).limit(PAGE))
                ids = page.scalars().all()
                lists = list(_lists(connection, ids, user_id))
            if not ids:
                return
            for _, user, text, now in lists:
                yield user, text, now
            after = ids[-1]


def _key(collection: str, text: str) -> str:
    """What makes a query the same query; neither part can hold a null character."""
    both = check_text(collection, "a collection's name") + "\x00" + check_query(text)
    return hashlib.sha256(both.encode("utf-8")).hexdigest()


def _user_called(name: str) -> Select:
    return select(USERS).where(USERS.c.name == check_text(name, "a user's name", most=MAX_NAME))


def _columns_of_query() -> list[ColumnElement]:
    return [QUERIES.c[name] for name in Query._fields]


def _check_pair(docid: str, other: str) -> None:
    if check_docid(docid) == check_docid(other):
        raise ValueError("a document cannot be preferred to itself.")


def _check_user(connection: Connection, user_id: int) -> None:
    if connection.execute(select(USERS.c.id).where(USERS.c.id == check_id(user_id, "user"))).first() is None:
        raise LookupError(f"there is no user {user_id}.")


def _insert_event(connection: Connection, user_id: int, query_id: int, kind: str, **what: Any) -> Event:
    row = {"time": datetime.now(UTC), "user_id": user_id, "query_id": query_id, "kind": kind, **what}
    event_id = connection.execute(insert(EVENTS).values(row).returning(EVENTS.c.id)).scalar_one()
    return Event._make((event_id, *(row.get(name) for name in Event._fields[1:-1]), False))


def _events(*conditions: ColumnElement[bool]) -> Select:
    """Events with whether they were undone, oldest first."""
    columns = [EVENTS.c[name] for name in Event._fields[:-1]]
    with_undos = EVENTS.outerjoin(UNDOS, UNDOS.c.target == EVENTS.c.id)
    return select(*columns, UNDOS.c.id.is_not(None)).select_from(with_undos).where(*conditions).order_by(EVENTS.c.id)


def _standing(connection: Connection, user_id: int, query_id: int) -> Standing:
    rows = connection.execute(_events(EVENTS.c.user_id == user_id, EVENTS.c.query_id == query_id))
    return standing(Event(*row) for row in rows)


def _listed(collection: str, user_id: int | None) -> Select:
    """Queries of a collection with at least one event, to be given columns and an order."""
    chosen = select(QUERIES.c.id).join(EVENTS, EVENTS.c.query_id == QUERIES.c.id).group_by(QUERIES.c.id)
    chosen = chosen.where(QUERIES.c.collection == check_text(collection, "a collection's name"))
    return chosen if user_id is None else chosen.where(EVENTS.c.user_id == check_id(user_id, "user"))


def _lists(
    connection: Connection, query_ids: Iterable[int], user_id: int | None
) -> Iterator[tuple[int, str, str, Standing]]:
    """(query id, user, query, what holds) of every list of these queries."""
    chosen = _events(EVENTS.c.query_id.in_(list(query_ids))).order_by(None)
    chosen = chosen.join(USERS, USERS.c.id == EVENTS.c.user_id).join(QUERIES, QUERIES.c.id == EVENTS.c.query_id)
    if user_id is not None:
        chosen = chosen.where(EVENTS.c.user_id == check_id(user_id, "user"))
    chosen = chosen.add_columns(USERS.c.name, QUERIES.c.text)
    rows = connection.execute(chosen.order_by(EVENTS.c.query_id, EVENTS.c.user_id, EVENTS.c.id))
    width = len(Event._fields)
    for (query_id, user, text), own in groupby(rows, key=lambda row: (row.query_id, *row[width:])):
        yield query_id, user, text, standing(Event(*row[:width]) for row in own)
