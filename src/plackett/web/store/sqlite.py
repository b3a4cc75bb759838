"""Connections to an SQLite file: write-ahead log, flushed at every commit, foreign keys on, patient with others."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event

from plackett.exceptions import StoreError
from plackett.web.store.failures import sqlite_problem
from plackett.web.store.tables import versions
from plackett.web.store.urls import Place


def sqlite_engine(place: Place, timeout: float) -> Engine:
    assert place.path is not None
    _check_path(place.path)
    _start_log(place.path, timeout)
    engine = create_engine(
        URL.create("sqlite", database=str(place.path)),
        connect_args={"timeout": timeout},
        pool_size=10,
        max_overflow=30,
        pool_timeout=timeout,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _check_path(path: Path) -> None:
    """Say what SQLite would only call "unable to open database file"."""
    if path.is_dir():
        raise StoreError(str(path), "is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreError(str(path), f"the folder {path.parent} does not exist. Create it first.")
    # the log and its index are files beside it
    for needed in (path, path.parent):
        if needed.exists() and not os.access(needed, os.R_OK | os.W_OK):
            raise StoreError(str(path), f"{needed} may not be read and written by this user. Change its permissions.")


def _start_log(path: Path, timeout: float) -> None:
    """Switch the file to the write-ahead log, unless it belongs to another program. The mode stays with the file."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=timeout)) as connection:
                _refuse_a_stranger(connection, path)
                # a file system without shared memory keeps its old journal, which is as safe, only slower
                connection.execute("PRAGMA journal_mode=WAL")
                return
        except sqlite3.Error as error:
            # two programs that switch at once: one of them is refused without waiting
            is_busy = (getattr(error, "sqlite_errorname", None) or "").startswith("SQLITE_BUSY")
            if not is_busy or time.monotonic() > deadline:
                raise StoreError(str(path), sqlite_problem(error, timeout)) from None
        time.sleep(0.02)


def _refuse_a_stranger(connection: sqlite3.Connection, path: Path) -> None:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 100")]
    if tables and versions.name not in tables:
        raise StoreError(
            str(path), f'is the database of another program (it has a table "{tables[0]}"). Name another file.'
        )


def _set_up(connection: sqlite3.Connection, _record) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    try:
        for setting in ("foreign_keys=ON", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON"):
            connection.execute(f"PRAGMA {setting}").close()
    except BaseException:
        connection.close()  # the pool does not know of it yet
        raise


def _begin(connection: Connection) -> None:
    # a writer takes its place at once: one that began by reading is refused, not queued, if another wrote meanwhile
    is_writer = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")
