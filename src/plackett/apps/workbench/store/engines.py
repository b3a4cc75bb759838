"""Connections to SQLite files and PostgreSQL databases whose commits are on disk when they return."""

from __future__ import annotations

import math
import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from plackett._optional import import_optional
from plackett.apps.workbench.store.driver_errors import sqlite_message
from plackett.apps.workbench.store.tables import versions
from plackett.exceptions import StoreError
from plackett.storage import postgresql

EXPECTED = "Give the path of an SQLite file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
RETRY_INTERVAL = 0.02  # seconds
MAX_FILE_NAME = 80  # characters


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
    if scheme.lower() in postgresql.SCHEMES:
        return _postgresql(text, timeout)
    # the rest of a URL may hold a password
    raise ValueError(f'a store\'s URL cannot begin with "{scheme[:40]}://". {EXPECTED}')


def _engine(url: URL, timeout: float, set_up: Callable[[Any], None], **options: Any) -> Engine:
    """Return an engine that sets up each new connection."""
    pool = {"pool_size": 10, "max_overflow": 30, "pool_timeout": timeout}
    engine = create_engine(url, hide_parameters=True, **pool, **options)

    def on_connect(connection, _record) -> None:
        try:
            set_up(connection)
        except BaseException:
            connection.close()  # the pool does not know of it yet
            raise

    event.listen(engine, "connect", on_connect)
    return engine


# SQLite


def _sqlite(name: str, timeout: float) -> tuple[Engine, str]:
    if name in ("", ":memory:"):
        raise ValueError(f"a store must be durable, so it cannot be in memory. {EXPECTED}")
    path = Path(name).expanduser().absolute()
    _check_path(path)
    _enable_wal(path, timeout)
    url = URL.create("sqlite", database=str(path))
    engine = _engine(url, timeout, _set_up_sqlite, connect_args={"timeout": timeout})
    event.listen(engine, "begin", _begin)
    return engine, str(path)


def _check_path(path: Path) -> None:
    """Raise an error for paths that SQLite only reports as "unable to open database file"."""
    if path.is_dir():
        raise StoreError(str(path), "is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreError(str(path), f"the folder {path.parent} does not exist. Create it first.")
    # the write-ahead log and its index are files in the same folder
    for needed in (path, path.parent):
        if needed.exists() and not os.access(needed, os.R_OK | os.W_OK):
            raise StoreError(str(path), f"{needed} cannot be read and written by this user. Change its permissions.")


def _enable_wal(path: Path, timeout: float) -> None:
    """Switch the file to the write-ahead log, which it remembers, unless it belongs to another program."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=timeout)) as connection:
                _refuse_foreign_file(connection, path)
                # a file system without shared memory keeps the rollback journal, which is as durable but slower
                connection.execute("PRAGMA journal_mode=WAL")
                return
        except sqlite3.Error as error:
            # of two programs that switch at the same time, SQLite refuses one without waiting
            is_busy = (getattr(error, "sqlite_errorname", None) or "").startswith("SQLITE_BUSY")
            if not is_busy or time.monotonic() > deadline:
                raise StoreError(str(path), sqlite_message(error, timeout)) from None
        time.sleep(RETRY_INTERVAL)


def _refuse_foreign_file(connection: sqlite3.Connection, path: Path) -> None:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 100")]
    if tables and versions.name not in tables:
        raise StoreError(
            str(path), f'is the database of another program (it has a table "{tables[0]}"). Name another file.'
        )


def _set_up_sqlite(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None  # transactions begin in _begin, not where the driver guesses
    for setting in ("foreign_keys=ON", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin(connection: Connection) -> None:
    # SQLite refuses to upgrade a transaction that began by reading if another one wrote meanwhile
    is_writer = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")


# PostgreSQL


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
        lambda connection: postgresql.set_up(connection, location, timeout),
        connect_args={"connect_timeout": max(2, math.ceil(timeout))},
        pool_pre_ping=True,  # reconnect after a restart of the server
    )
    return engine, location
