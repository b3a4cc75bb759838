"""From a URL to transactions: what is written inside ``writing()`` is on disk when the block ends.

SQLite runs with a write-ahead log that is flushed at every commit (``synchronous=FULL``), PostgreSQL with
``synchronous_commit``. Errors of a driver become a ``StoreError`` that names the store without its password and says
what to do, without the statement or its values.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from sqlalchemy import Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from plackett.exceptions import StoreError
from plackett.web.store.failures import explain
from plackett.web.store.migrations import migrate, newest, refuse_newer, version_of
from plackett.web.store.postgresql import postgresql_engine
from plackett.web.store.sqlite import sqlite_engine
from plackett.web.store.urls import parse


class Database:
    """Connections to one store, for use from any number of threads. Close it, or use it in a ``with`` block."""

    def __init__(self, engine: Engine, location: str, timeout: float):
        self.location, self.timeout = location, timeout
        self._engine, self._writer = engine, engine.execution_options(writes=True)
        # SQLite has one writer at a time. Threads queue here, where they are woken in turn, rather than at the file,
        # where they would sleep and try again; the file's own lock is then only between processes.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else None
        self._is_closed = False

    @classmethod
    def open(cls, url: str | PathLike[str], *, timeout: float = 10.0):
        """The store at ``url``, made if it is not there and upgraded if it is older.

        Parameters
        ----------
        url : str or path
            The path of an SQLite file, ``sqlite:///PATH``, or ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
        timeout : float, default=10.0
            Seconds to wait for another program that is writing, and for a server to answer.

        Raises
        ------
        ValueError
            The URL is not one of these.
        StoreError
            The store cannot be opened, or was written by a newer version.
        """
        place = parse(url)
        make_engine = sqlite_engine if place.path is not None else postgresql_engine
        database = cls(make_engine(place, timeout), place.location, timeout)
        try:
            database._prepare()
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self) -> None:
        with self.reading() as connection:
            version = version_of(connection)
        refuse_newer(version, self.location)
        if version < newest():
            with self.writing() as connection:
                migrate(connection, self.location)

    @property
    def version(self) -> int:
        """The number of the newest migration that the store has taken."""
        with self.reading() as connection:
            return version_of(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; on SQLite it sees one moment, whatever is written meanwhile."""
        with self._translated(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes all or nothing; when the block has ended without an error, it is on disk."""
        with self._translated(), self._taking_turns(), self._writer.begin() as connection:
            yield connection

    def insert_new(self, table: Table):
        """An insert that leaves alone a row whose key is there already."""
        dialect = sqlite if self._engine.dialect.name == "sqlite" else postgresql
        return dialect.insert(table).on_conflict_do_nothing()

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=self.timeout):
            raise StoreError(self.location, f"is busy: other writers took more than {self.timeout:g} s. Try again.")
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        if self._is_closed:
            raise StoreError(self.location, "is closed.")
        # "from None": the drivers' own errors show the statement
        try:
            yield
        except DBAPIError as error:
            raise StoreError(self.location, explain(error, self.timeout)) from None
        except NoFreeConnection:
            problem = f"is busy: no connection became free for {self.timeout:g} s. Try again."
            raise StoreError(self.location, problem) from None

    def close(self) -> None:
        """Close every connection. A closed store refuses all work."""
        self._is_closed = True
        self._engine.dispose()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self.close()
