"""The state of an interleaved test in a database that the processes of a service share."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from plackett._optional import import_optional

import_optional("sqlalchemy", extra="web", needed_for="an interleaved test in a database")

import sqlalchemy as sa  # noqa: E402
from sqlalchemy.exc import DBAPIError, IntegrityError  # noqa: E402
from sqlalchemy.schema import CreateIndex, CreateTable  # noqa: E402

from plackett.clicks.interleaving.records import Change, ListRecord, UnitRecord, checked_list, checked_unit  # noqa: E402
from plackett.clicks.interleaving.state import Action, Tallies, count_values  # noqa: E402

TIMEOUT, RETRY_INTERVAL = 30.0, 0.02  # seconds to wait for another writer of an SQLite file
ATTEMPTS = 3

metadata = sa.MetaData()
tests = sa.Table(
    "interleaving_tests",
    metadata,
    sa.Column("test", sa.String, primary_key=True),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("n_changes", sa.BigInteger, nullable=False),
)
lists = sa.Table(
    "interleaving_lists",
    metadata,
    sa.Column("test", sa.String, primary_key=True),
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("unit", sa.String, nullable=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("is_contested", sa.Boolean, nullable=False),
    sa.Column("is_clicked", sa.Boolean, nullable=False),
    sa.Column("is_counted", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Index("interleaving_lists_by_time", "test", "time"),
)
units = sa.Table(
    "interleaving_units",
    metadata,
    sa.Column("test", sa.String, primary_key=True),
    sa.Column("unit", sa.String, primary_key=True),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("is_closed", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
values = sa.Table(
    "interleaving_values",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("test", sa.String, nullable=False, index=True),
    sa.Column("credits", sa.Text, nullable=False),
)


class SqlState:
    """State in SQLite or another database of SQLAlchemy; a credit is on disk when its call returns.

    Parameters
    ----------
    database : path, URL or sqlalchemy.Engine
        A path is an SQLite file. The tables are created if needed; their names begin with ``interleaving_``.
    test : str
        One database holds any number of tests.
    """

    def __init__(self, database: Any, test: str):
        self.test = test
        self._engine = database if isinstance(database, sa.Engine) else _engine(database)
        is_own = self._engine is not database
        self._is_own_file = is_own and self._engine.dialect.name == "sqlite"
        if is_own:
            weakref.finalize(self, self._engine.dispose)
        _create_tables(self._engine)
        self._lock = threading.Lock()
        self._read = 0  # values up to this number are in the tallies
        self._tallies: Tallies = {}

    def settings(self) -> dict[str, Any]:
        with self._engine.connect() as connection:
            found = connection.execute(sa.select(tests.c.settings).where(tests.c.test == self.test)).scalar()
        return {} if found is None else json.loads(found)

    def fix(self, settings: dict[str, Any]) -> dict[str, Any]:
        kept = self.settings()
        if kept:
            return kept
        try:
            with self._engine.begin() as connection:
                row = {"test": self.test, "settings": json.dumps(settings), "n_changes": 0}
                connection.execute(sa.insert(tests).values(**row))
        except IntegrityError:  # another process was first
            return self.settings()
        return settings

    def add(self, shown: ListRecord) -> None:
        try:
            with self._engine.begin() as connection:
                self._sync(connection, "NORMAL")  # a list may be lost with the power, a credit may not
                connection.execute(sa.insert(lists).values(test=self.test, id=shown.id, **_list_row(shown)))
        except IntegrityError:
            pass  # the same request was served before

    def change(self, list_id: str, action: Action) -> Change:
        with self._writing() as connection:
            body = connection.execute(
                sa.select(lists.c.body).where(lists.c.test == self.test, lists.c.id == list_id)
            ).scalar()
            shown = None if body is None else checked_list(json.loads(body))
            unit = None if shown is None else self._unit(connection, _escaped(shown.unit))
            change = action(shown, unit)
            if change.shown is not None:
                row = _list_row(change.shown)
                connection.execute(
                    sa.update(lists).where(lists.c.test == self.test, lists.c.id == list_id).values(**row)
                )
            if change.unit is not None and shown is not None:
                self._keep_unit(connection, _escaped(shown.unit), change.unit, is_new=unit is None)
            if change.closed is not None:
                self._add_value(connection, change.closed)
            return change

    def close(self, unit: str | None, before: float) -> int:
        due = sa.select(units.c.unit, units.c.body).where(
            units.c.test == self.test, sa.not_(units.c.is_closed), units.c.time < before
        )
        if unit is not None:
            due = due.where(units.c.unit == _escaped(unit))
        with self._writing() as connection:
            rows = connection.execute(due.order_by(units.c.unit)).all()
            for name, body in rows:
                record = checked_unit(json.loads(body))
                self._keep_unit(connection, name, replace(record, is_closed=True), is_new=False)
                self._add_value(connection, record.mean())
            return len(rows)

    def forget(self, before: float) -> int:
        still_open = sa.select(units.c.unit).where(units.c.test == self.test, sa.not_(units.c.is_closed))
        is_needed = sa.and_(lists.c.is_counted, lists.c.unit.in_(still_open))
        old = sa.delete(lists).where(lists.c.test == self.test, lists.c.time < before, sa.not_(is_needed))
        with self._writing() as connection:
            return connection.execute(old).rowcount

    def tallies(self) -> Tallies:
        new = sa.select(values.c.number, values.c.credits).where(values.c.test == self.test)
        with self._lock, self._engine.connect() as connection:
            for number, credits in connection.execute(
                new.where(values.c.number > self._read).order_by(values.c.number)
            ):
                count_values(self._tallies, json.loads(credits))
                self._read = number
            return {pair: tally.copy() for pair, tally in self._tallies.items()}

    def counts(self) -> dict[str, int]:
        def count(table: sa.Table, *conditions: Any) -> int:
            wanted = sa.select(sa.func.count()).select_from(table).where(table.c.test == self.test, *conditions)
            return int(connection.execute(wanted).scalar_one())

        with self._engine.connect() as connection:
            return {
                "lists": count(lists),
                "contested": count(lists, lists.c.is_contested),
                "clicked": count(lists, lists.c.is_clicked),
                "units": count(units),
                "closed": count(units, units.c.is_closed),
            }

    def disconnect(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """Begin with a write, so that credits of one test take turns: SQLite locks the file, others the row."""
        own = tests.c.test == self.test
        with self._engine.begin() as connection:
            self._sync(connection, "FULL")
            connection.execute(sa.update(tests).where(own).values(n_changes=tests.c.n_changes + 1))
            yield connection

    def _sync(self, connection: sa.Connection, how: str) -> None:
        if self._is_own_file:
            connection.exec_driver_sql(f"PRAGMA synchronous={how}")

    def _unit(self, connection: sa.Connection, name: str) -> UnitRecord | None:
        wanted = sa.select(units.c.body).where(units.c.test == self.test, units.c.unit == name)
        body = connection.execute(wanted).scalar()
        return None if body is None else checked_unit(json.loads(body))

    def _keep_unit(self, connection: sa.Connection, name: str, unit: UnitRecord, *, is_new: bool) -> None:
        row = {"time": unit.time, "is_closed": unit.is_closed, "body": json.dumps(asdict(unit))}
        if is_new:
            connection.execute(sa.insert(units).values(test=self.test, unit=name, **row))
        else:
            connection.execute(sa.update(units).where(units.c.test == self.test, units.c.unit == name).values(**row))

    def _add_value(self, connection: sa.Connection, credits: list[float]) -> None:
        connection.execute(sa.insert(values).values(test=self.test, credits=json.dumps(credits)))


def _escaped(name: str) -> str:
    """Return a name as ASCII: databases refuse null characters and text that is not Unicode."""
    return name.encode("unicode_escape").decode("ascii")


def read_credits(connection: sa.Connection, test: str) -> list[list[float]]:
    """Return the credits of the rankers by each closed unit of a test, in the order in which they were closed."""
    wanted = sa.select(values.c.credits).where(values.c.test == test).order_by(values.c.number)
    return [json.loads(credits) for credits in connection.execute(wanted).scalars()]


def stored_settings(database: Any, beginning: str) -> list[dict[str, Any]]:
    """Return the settings of the tests in a database whose names begin with a text, oldest first."""
    engine = _engine(database)
    _create_tables(engine)
    named = sa.select(tests.c.settings).where(tests.c.test.startswith(beginning, autoescape=True))
    first = sa.select(sa.func.min(lists.c.time)).where(lists.c.test == tests.c.test).scalar_subquery()
    try:
        with engine.connect() as connection:
            rows = connection.execute(named.order_by(first.is_(None), first, tests.c.test)).scalars().all()
    finally:
        engine.dispose()
    return [json.loads(row) for row in rows]


def delete_test(connection: sa.Connection, test: str) -> None:
    """Delete all data of a test from a database."""
    for table in (values, units, lists, tests):
        connection.execute(sa.delete(table).where(table.c.test == test))


def _list_row(shown: ListRecord) -> dict[str, Any]:
    return {
        "unit": _escaped(shown.unit),
        "time": shown.time,
        "is_contested": bool(shown.basis),
        "is_clicked": bool(shown.clicked),
        "is_counted": shown.is_counted,
        "body": json.dumps(asdict(shown)),
    }


def _engine(database: Any) -> sa.Engine:
    text = os.fspath(database)
    if "://" in text and not text.startswith("sqlite:"):
        given = sa.make_url(text)
        if given.drivername in ("postgres", "postgresql"):
            import_optional("psycopg", extra="postgres", needed_for="an interleaved test in PostgreSQL")
            given = given.set(drivername="postgresql+psycopg")
        return sa.create_engine(given, hide_parameters=True, pool_pre_ping=True)
    url = text if "://" in text else sa.URL.create("sqlite", database=str(Path(text).expanduser().absolute()))
    _check_folder(sa.make_url(url))
    engine = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": TIMEOUT})
    sa.event.listen(engine, "connect", _set_up)
    return engine


def _check_folder(url: sa.URL) -> None:
    """Reject an SQLite file that cannot be created."""
    file = url.database or ""
    if file in ("", ":memory:") or file.startswith("file:"):
        return
    if os.path.isdir(file):
        raise IsADirectoryError(errno.EISDIR, "is a folder; the database needs the name of a file", file)
    folder = os.path.dirname(os.path.abspath(file))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "the folder of the database does not exist; create it first", folder)


def _set_up(connection: Any, _record: Any) -> None:
    """Switch an SQLite file to the write-ahead log; of processes that do so at once, SQLite refuses some."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(RETRY_INTERVAL)


def _create_tables(engine: sa.Engine) -> None:
    """Create the tables that are missing; another process may do the same at this moment."""
    for attempt in range(ATTEMPTS):
        try:
            with engine.begin() as connection:
                for table in metadata.sorted_tables:
                    connection.execute(CreateTable(table, if_not_exists=True))
                    for index in table.indexes:
                        connection.execute(CreateIndex(index, if_not_exists=True))
            return
        except DBAPIError:  # PostgreSQL does not let two processes create a table at once
            if attempt == ATTEMPTS - 1:
                raise
