"""Transactions of a store: what is written inside ``writing()`` is on disk when the block ends.

SQLite runs with a write-ahead log that is flushed at every commit (``synchronous=FULL``), PostgreSQL with
``synchronous_commit``. Driver errors become a ``StoreError`` without the password, the statement or its values.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from os import PathLike

from sqlalchemy import Connection, Engine, Table, func, insert, inspect, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from plackett.apps.workbench.store.driver_errors import error_message
from plackett.apps.workbench.store.engines import open_engine
from plackett.apps.workbench.store.tables import SCHEMA_VERSION, metadata, versions
from plackett.exceptions import StoreError

SCHEMA_LOCK = 0x506C61636B657474  # number of a PostgreSQL advisory lock, "Plackett" in ASCII


class Database:
    """Connections to one store, safe to share between threads. Close it, or use it in a ``with`` block."""

    def __init__(self, engine: Engine, location: str, timeout: float):
        self.location, self.timeout = location, timeout
        self._engine, self._writer = engine, engine.execution_options(writes=True)
        # SQLite has one writer at a time. Threads queue for this lock, which wakes them in turn, instead of polling
        # the lock of the file, which is then only contended between processes.
        self._writer_lock = threading.Lock() if engine.dialect.name == "sqlite" else None
        self._is_closed = False

    @classmethod
    def open(cls, url: str | PathLike[str], *, timeout: float = 10.0):
        """Open the store at ``url``, and create it if needed.

        Parameters
        ----------
        url : str or path
            The path of an SQLite file, ``sqlite:///PATH``, or ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        timeout : float, default=10.0
            Seconds to wait for another writer, and for a server to respond.

        Raises
        ------
        ValueError
            The URL has none of these forms.
        StoreError
            The store cannot be opened, or has the schema of another version of plackett.
        """
        engine, location = open_engine(url, timeout)
        database = cls(engine, location, timeout)
        try:
            database._prepare()
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self) -> None:
        """Create the tables of a new store, and refuse another version of the schema."""
        with self.reading() as connection:
            version = schema_version(connection)
        if version is None:
            with self.writing() as connection:
                # processes that open a store at the same time take turns; SQLite has one writer anyway
                advisory_lock(connection, SCHEMA_LOCK)
                version = schema_version(connection)
                if version is None:
                    metadata.create_all(connection)
                    connection.execute(insert(versions).values(version=SCHEMA_VERSION, applied=datetime.now(UTC)))
                    version = SCHEMA_VERSION
        if version != SCHEMA_VERSION:
            raise StoreError(
                self.location,
                f"was written by another version of plackett (schema {version}; this one needs schema "
                f"{SCHEMA_VERSION}). Export its judgements as JSON with that version and import them here, or name "
                "another store.",
            )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; on SQLite it sees a snapshot."""
        with self._translated_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes all or nothing; after the block, without an error, it is on disk."""
        with self.turn(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other thread writes to an SQLite file; the block opens its own transactions."""
        with self._translated_errors():
            if self._writer_lock is not None and not self._writer_lock.acquire(timeout=self.timeout):
                raise StoreError(self.location, f"is busy: other writers took more than {self.timeout:g} s. Try again.")
            try:
                yield
            finally:
                if self._writer_lock is not None:
                    self._writer_lock.release()

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
            raise StoreError(self.location, error_message(error, self.timeout)) from None
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


def schema_version(connection: Connection) -> int | None:
    """Return the version of a store's schema; None if it has no tables of plackett."""
    if not inspect(connection).has_table(versions.name):
        return None
    return connection.execute(select(func.max(versions.c.version))).scalar()


def advisory_lock(connection: Connection, number: int) -> None:
    """Hold a PostgreSQL lock until the transaction ends. SQLite needs none: it has one writer at a time."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(number)))
