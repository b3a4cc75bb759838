"""Where the two parts of a UBI log are: files of a folder, or tables of a PostgreSQL database."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from plackett.exceptions import StoreError
from plackett.storage.opening import open_bytes
from plackett.storage.postgresql import connect, is_postgresql, location_of, message_of

QUERIES, EVENTS = "ubi_queries", "ubi_events"
NEEDED_FOR = "reading clicks from PostgreSQL"
TIMEOUT = 10.0  # seconds to connect
_ROWS = 5000  # fetched at once


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, which is read as JSON lines."""

    url: str = field(repr=False)  # with a password
    name: str

    def __str__(self) -> str:
        return f"{location_of(self.url, NEEDED_FOR)}, {self.name}"


def ubi_sources(source: Any) -> tuple[list[Any], list[Any]] | None:
    """Return where the queries and the events of a folder or a database are; None for other sources."""
    if is_postgresql(source):
        return [DatabaseTable(source, QUERIES)], [DatabaseTable(source, EVENTS)]
    if not isinstance(source, (str, os.PathLike)) or source == "-" or not Path(source).is_dir():
        return None
    found = []
    for what in (QUERIES, EVENTS):
        files = sorted(path for path in Path(source).iterdir() if path.name.startswith(what) and path.is_file())
        if not files:
            raise ValueError(f"{source} has no file {what}*; pass the two files instead.")
        found.append(files)
    return found[0], found[1]


@contextmanager
def open_lines(source: Any) -> Iterator[BinaryIO]:
    """Open a source for reading its bytes, which are JSON lines for a table of a database."""
    if not isinstance(source, DatabaseTable):
        with open_bytes(source) as file:
            yield file
        return
    with connect(source.url, TIMEOUT, NEEDED_FOR) as connection, connection.cursor(name="plackett") as cursor:
        import psycopg
        from psycopg import sql

        cursor.itersize = _ROWS
        statement = sql.SQL("SELECT row_to_json(one)::text FROM {} AS one").format(sql.Identifier(source.name))
        try:
            cursor.execute(statement)
            yield io.BufferedReader(_Rows(cursor))
        except psycopg.errors.UndefinedTable:
            message = f"there is no table {source.name}. Name the database of plackett serve --log."
            raise StoreError(location_of(source.url, NEEDED_FOR), message) from None
        except psycopg.Error as error:
            raise StoreError(location_of(source.url, NEEDED_FOR), message_of(error, TIMEOUT)) from None


class _Rows(io.RawIOBase):
    """The rows of a cursor, each a text, as lines of a file."""

    def __init__(self, cursor: Any):
        self._cursor, self._rest = cursor, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target) -> int:
        if not self._rest:
            self._rest = memoryview("".join(f"{text}\n" for (text,) in self._cursor.fetchmany(_ROWS)).encode())
        n = min(len(target), len(self._rest))
        target[:n], self._rest = self._rest[:n], self._rest[n:]
        return n
