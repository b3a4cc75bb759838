"""Reading tables of SQLite databases. For other databases, use a frame, such as that of ``pandas.read_sql``."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from plackett.exceptions import DataFormatError

ENDINGS = (".db", ".sqlite", ".sqlite3")


def is_database(path: object) -> bool:
    """Return whether a path has the extension of an SQLite database."""
    return isinstance(path, (str, os.PathLike)) and os.fspath(path).lower().endswith(ENDINGS)


def read_sqlite(path: str | os.PathLike, query: str | None, pa: Any) -> Any:
    """Return the rows of a query as a table of pyarrow; without a query, the only table of the database.

    The database is opened for reading only.
    """
    import sqlite3

    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r} (looked in {os.getcwd()}).")
    name = os.fspath(path)
    with contextlib.closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as database:
        try:
            cursor = database.execute(_only_table(database, name) if query is None else query)
            if cursor.description is None:
                raise ValueError(f"{query!r} returns no rows; expected a SELECT.")
            names, rows = [one[0] for one in cursor.description], cursor.fetchall()
        except sqlite3.Error as error:
            raise DataFormatError(name, None, f"SQLite error: {error}.") from error
    if len(set(names)) < len(names):
        twice = next(one for one in names if names.count(one) > 1)
        raise DataFormatError(name, None, f"the query returns {twice!r} twice; name its columns with AS.")
    if not rows:
        raise DataFormatError(name, None, "no rows found.")
    return pa.table({one: _column(values, pa) for one, values in zip(names, zip(*rows, strict=True), strict=True)})


def _only_table(database: Any, name: str) -> str:
    found = [one for (one,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    tables = [one for one in found if not one.startswith("sqlite_")]
    if len(tables) != 1:
        listed = ", ".join(tables) or "none"
        raise DataFormatError(
            name, None, f"expected one table, found {listed}. Choose rows with a query: SELECT ... FROM ..."
        )
    quoted = tables[0].replace('"', '""')
    return f'SELECT * FROM "{quoted}"'


def _column(values: tuple, pa: Any) -> Any:
    """Return a column; values of several types, which SQLite allows, become text."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
