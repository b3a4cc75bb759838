"""The database of a workbench: an SQLite file, or PostgreSQL by its URL, through SQLAlchemy.

What is written inside ``writing()`` is on disk when the block ends: SQLite runs with a write-ahead log that is flushed
at every commit (``synchronous=FULL``), PostgreSQL with ``synchronous_commit``. Driver errors become a ``StoreError``
without the password, the statement or its values.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from plackett._optional import import_optional
from plackett.exceptions import StoreError

import_optional("sqlalchemy", extra="web", needed_for="the workbench's store")

import platformdirs  # noqa: E402
import sqlalchemy as sa  # noqa: E402
from sqlalchemy import URL, Connection, Engine, Table, event, make_url  # noqa: E402
from sqlalchemy.dialects import postgresql, sqlite  # noqa: E402
from sqlalchemy.exc import ArgumentError, DBAPIError  # noqa: E402
from sqlalchemy.exc import TimeoutError as NoFreeConnection  # noqa: E402
from sqlalchemy.types import TypeDecorator  # noqa: E402

EXPECTED = "Give the path of an SQLite file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
POSTGRESQL = ("postgres", "postgresql", "postgresql+psycopg")
RETRY_INTERVAL = 0.02  # seconds
MAX_FILE_NAME = 80  # characters
SCHEMA_LOCK = 0x506C61636B657474  # number of a PostgreSQL advisory lock, "Plackett" in ASCII
FIRST_TABLE = "plackett_users"  # every store has it

# SQLite generates ids only in a column that is exactly INTEGER
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
AnyRecord = TypeVar("AnyRecord")
metadata = sa.MetaData()


class DamagedValue(ValueError):
    """A value that this package did not write."""


class UtcTime(TypeDecorator):
    """A time in UTC: SQLite has no time zones, and PostgreSQL returns that of the session. Times are written in UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def result_processor(self, dialect, coltype):
        process: Any = self.impl_instance.result_processor(dialect, coltype)

        def in_utc(value: Any) -> datetime | None:
            try:
                time = process(value) if process else value
            except (TypeError, ValueError) as error:  # SQLite stores times as text
                raise DamagedValue from error
            return time and (time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC))

        return in_utc


class Database:
    """Connections to one store, safe to share between threads. Close it, or use it in a ``with`` block.

    ``url`` is the path of an SQLite file, ``sqlite:///PATH``, or ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; a
    store is created if needed. ``timeout`` are the seconds to wait for another writer, and for a server to respond.
    Other URLs raise a ValueError, and stores that cannot be opened a StoreError.
    """

    def __init__(self, url: str | PathLike[str], *, timeout: float = 10.0):
        self._engine, self.location = open_engine(url, timeout)
        self._writer, self.timeout = self._engine.execution_options(writes=True), timeout
        # SQLite has one writer at a time. Threads queue for this lock, which wakes them in turn, instead of polling
        # the lock of the file, which is then only contended between processes.
        self._writer_lock = threading.Lock() if self._engine.dialect.name == "sqlite" else None
        self._is_closed = False
        try:
            self._create_tables()
        except BaseException:
            self.close()
            raise

    def _create_tables(self) -> None:
        with self.reading() as connection:
            if sa.inspect(connection).has_table(FIRST_TABLE):
                return
        with self.writing() as connection:
            # processes that open a store at the same time take turns; SQLite has one writer anyway
            advisory_lock(connection, SCHEMA_LOCK)
            metadata.create_all(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; on SQLite it sees a snapshot."""
        with self._translated_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes all or nothing; after the block, without an error, it is on disk."""
        with self._translated_errors():
            if self._writer_lock is not None and not self._writer_lock.acquire(timeout=self.timeout):
                raise StoreError(self.location, f"is busy: other writers took more than {self.timeout:g} s. Try again.")
            try:
                with self._writer.begin() as connection:
                    yield connection
            finally:
                if self._writer_lock is not None:
                    self._writer_lock.release()

    def records(self, record: type[AnyRecord], table: Table, *conditions: Any, order: Any = None) -> list[AnyRecord]:
        """Return rows of a table as instances of a dataclass, whose first fields name columns."""
        wanted = sa.select(*columns_of(record, table)).where(*conditions).order_by(order)
        with self.reading() as connection:
            return [record(*row) for row in connection.execute(wanted)]

    def rows(self, wanted: sa.Select) -> list[sa.Row]:
        """Return the rows of a statement."""
        with self.reading() as connection:
            return list(connection.execute(wanted))

    def value(self, wanted: sa.Select) -> Any:
        """Return the first column of the first row of a statement; None without a row."""
        with self.reading() as connection:
            return connection.execute(wanted).scalar()

    def add(self, table: Table, *, parts: tuple[Table, list[dict[str, Any]]] | None = None, **row: Any) -> int:
        """Insert a row, and return its id, which ``parts``, rows of another table, have in their first column."""
        with self.writing() as connection:
            made = connection.execute(sa.insert(table).values(row).returning(table.c.id)).scalar_one()
            if parts is not None:
                of, rows = parts
                connection.execute(sa.insert(of), [{of.columns.keys()[0]: made, **one} for one in rows])
        return made

    def delete(self, table: Table, *conditions: Any) -> int:
        """Delete rows, and return their number."""
        with self.writing() as connection:
            return connection.execute(sa.delete(table).where(*conditions)).rowcount

    def insert_new(self, table: Table):
        """Return an insert statement that skips rows whose key exists."""
        dialect = sqlite if self._engine.dialect.name == "sqlite" else postgresql
        return dialect.insert(table).on_conflict_do_nothing()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        if self._is_closed:
            raise StoreError(self.location, "is closed.")
        # "from None": the drivers' own errors show the statement
        try:
            yield
        except DBAPIError as error:
            raise StoreError(self.location, _message_of(error.orig, self.timeout)) from None
        except (DamagedValue, UnicodeDecodeError, json.JSONDecodeError):
            raise StoreError(self.location, DAMAGED) from None
        except NoFreeConnection:
            message = f"is busy: no connection became free for {self.timeout:g} s. Try again."
            raise StoreError(self.location, message) from None

    def close(self) -> None:
        """Close every connection. A closed store raises a ``StoreError`` for every operation."""
        self._is_closed = True
        self._engine.dispose()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.close()


def columns_of(record: type, table: Table) -> list[sa.Column]:
    """Return the columns that the fields of a dataclass name."""
    return [table.c[one.name] for one in dataclasses.fields(record) if one.name in table.c]


def advisory_lock(connection: Connection, number: int) -> None:
    """Hold a PostgreSQL lock until the transaction ends. SQLite needs none: it has one writer at a time."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def default_store_path(collection: str) -> Path:
    """Return the SQLite file for a collection's key in the user's data folder, which is created if needed."""
    folder = platformdirs.user_data_path("plackett", appauthor=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"judgements cannot be stored in {folder} ({error.strerror or error}); name a file with --store."
        raise OSError(message) from None
    name = re.sub(r"[^\w.-]+", "-", collection).strip("-.") or "collection"
    return folder / f"{name[-MAX_FILE_NAME:]}.db"


# connections


def open_engine(url: str | PathLike[str], timeout: float) -> tuple[Engine, str]:
    """Return the engine of a store's URL, and the location to show in messages, which has no password."""
    text = os.fspath(url)
    if not isinstance(text, str):
        raise TypeError(f"a store's URL must be a string or a path, not {type(text).__name__}. {EXPECTED}")
    if not text or "\x00" in text:
        raise ValueError(f"a store's URL cannot {'be empty' if not text else 'have a null character'}. {EXPECTED}")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _sqlite(text, timeout)
    if scheme.lower() == "sqlite":
        return _sqlite(rest.removeprefix("/"), timeout)
    if scheme.lower() in POSTGRESQL:
        return _postgresql(text, timeout)
    # the rest of a URL may hold a password
    raise ValueError(f'a store\'s URL cannot begin with "{scheme[:40]}://". {EXPECTED}')


def _engine(url: URL, timeout: float, set_up: Callable[[Any], None], **options: Any) -> Engine:
    """Return an engine that sets up each new connection."""
    pool = {"pool_size": 10, "max_overflow": 30, "pool_timeout": timeout}
    write_json = partial(json.dumps, allow_nan=False)
    engine = sa.create_engine(url, hide_parameters=True, json_serializer=write_json, **pool, **options)

    def on_connect(connection, _record) -> None:
        try:
            set_up(connection)
        except BaseException:
            connection.close()  # the pool does not know of it yet
            raise

    event.listen(engine, "connect", on_connect)
    return engine


def _sqlite(name: str, timeout: float) -> tuple[Engine, str]:
    if name in ("", ":memory:"):
        raise ValueError(f"a store must be durable, so it cannot be in memory. {EXPECTED}")
    path = Path(name).expanduser().absolute()
    _check_path(path)
    url = URL.create("sqlite", database=str(path))
    engine = _engine(url, timeout, partial(_set_up_sqlite, path, timeout), connect_args={"timeout": timeout})
    event.listen(engine, "begin", _begin)
    return engine, str(path)


def _check_path(path: Path) -> None:
    """Raise an error for paths that SQLite only reports as "unable to open database file"."""
    if path.is_dir():
        raise StoreError(str(path), "is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreError(str(path), "lies in a folder that does not exist. Create it first.")
    # the write-ahead log and its index are files in the same folder
    for needed in (path, path.parent):
        if needed.exists() and not os.access(needed, os.R_OK | os.W_OK):
            part = "" if needed == path else "lies in a folder that "
            raise StoreError(str(path), f"{part}cannot be read and written by this user. Change its permissions.")


def _set_up_sqlite(path: Path, timeout: float, connection: sqlite3.Connection) -> None:
    """Set up a connection, and switch its file to the write-ahead log, unless it belongs to another program."""
    connection.isolation_level = None  # transactions begin in _begin, not where the driver guesses
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 100")]
    if tables and FIRST_TABLE not in tables:
        message = f'is the database of another program (it has a table "{tables[0]}"). Name another file.'
        raise StoreError(str(path), message)
    deadline = time.monotonic() + timeout
    while True:
        try:
            # a file system without shared memory keeps the rollback journal, which is as durable but slower
            connection.execute("PRAGMA journal_mode=WAL").close()
            break
        except sqlite3.OperationalError as error:
            # of two programs that switch at the same time, SQLite refuses one without waiting
            is_busy = (getattr(error, "sqlite_errorname", None) or "").startswith("SQLITE_BUSY")
            if not is_busy or time.monotonic() > deadline:
                raise
        time.sleep(RETRY_INTERVAL)
    for setting in ("foreign_keys=ON", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin(connection: Connection) -> None:
    # SQLite refuses to upgrade a transaction that began by reading if another one wrote meanwhile
    is_writer = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


def _postgresql(text: str, timeout: float) -> tuple[Engine, str]:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # the parser's own message repeats the URL
        raise ValueError(f"the store's PostgreSQL URL cannot be parsed. {EXPECTED}") from None
    if "@" in (url.host or ""):
        raise ValueError("the store's PostgreSQL URL has more than one @. Write an @ in a password as %40.")
    import_optional("psycopg", extra="postgres", needed_for="a store in PostgreSQL")
    location = URL.create("postgresql", url.username, None, url.host, url.port, url.database).render_as_string()
    engine = _engine(
        url.set(drivername="postgresql+psycopg"),
        timeout,
        partial(_set_up_postgresql, location, timeout),
        connect_args={"connect_timeout": max(2, math.ceil(timeout))},
        pool_pre_ping=True,  # reconnect after a restart of the server
    )
    return engine, location


def _set_up_postgresql(location: str, timeout: float, connection: Any) -> None:
    """Make commits wait for the disk, limit waiting for locks to ``timeout``, and reject encodings other than UTF-8."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        message = f"is encoded as {encoding}; a store needs UTF8 (CREATE DATABASE … ENCODING 'UTF8')."
        raise StoreError(location, message)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute(f"SET lock_timeout TO {round(1000 * timeout)}")
    connection.commit()


# messages of failed databases: what happened and what to do, never the statement

DAMAGED = "is damaged. Restore a copy, or recover its readable content with: sqlite3 FILE .recover"
BUSY = "is busy: another program has been writing for more than {timeout:g} s. Close it, or try again."
MESSAGES = {
    # prefixes of the names of SQLite's error codes
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_READONLY": "is read-only. Change its permissions, or name another store.",
    "SQLITE_FULL": "cannot be written: the disk is full. The last write is not stored. Free some space and try again.",
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_NOTADB": "is not an SQLite database. Name another file.",
    "SQLITE_CANTOPEN": "cannot be opened: this user cannot read and write the file or the log beside it.",
    "SQLITE_IOERR": "cannot be read or written: the disk failed. The last write is not stored.",
    # SQLSTATEs of PostgreSQL
    "25006": "is read-only. Name the primary server, or another database.",
    "28000": "cannot be opened: the server does not accept this user from this machine.",
    "28P01": "cannot be opened: the server rejected the user name or password.",
    "3D000": "does not exist: the server has no such database. Create it first: createdb NAME",
    "40P01": "is busy: two writers were in a deadlock. The last write is not stored. Try again.",
    "42501": "refuses this user, who lacks a permission in this database. Grant it, or name another database.",
    "53100": "cannot be written: the server's disk is full. The last write is not stored. Free some space first.",
    "53300": "is busy: the server has no free connection. Try again later.",
    "55P03": BUSY,
}
# psycopg has no SQLSTATE while connecting; these are the server's messages in English
WHILE_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "does not exist": "3D000",
    "too many clients": "53300",
}


def _message_of(error: BaseException | None, timeout: float) -> str:
    """Return the message for an error of ``sqlite3`` or psycopg."""
    is_sqlite = isinstance(error, sqlite3.Error)
    code = getattr(error, "sqlite_errorname" if is_sqlite else "sqlstate", None) or ""
    if not code and not is_sqlite:
        code = next((code for text, code in WHILE_CONNECTING.items() if text in str(error)), "")
    for beginning, message in MESSAGES.items():
        if code.startswith(beginning):
            return message.format(timeout=timeout)
    if is_sqlite and not code and "Could not decode" in str(error):
        return DAMAGED
    if is_sqlite:
        return f"cannot be used: SQLite failed ({code or 'no code'})."
    if not code or code.startswith(("08", "57P")):
        return "cannot be reached: the server does not respond, or closed the connection. Check that it is running."
    return f"cannot be used: PostgreSQL failed (SQLSTATE {code})."
