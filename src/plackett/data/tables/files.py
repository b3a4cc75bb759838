"""Judged lists from tables: CSV, TSV, Arrow, Parquet and SQLite files."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plackett._optional import import_optional
from plackett.data.parquet.table import ParquetTable
from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import Table
from plackett.data.tables.column_roles import DOCID, ID_NAMES
from plackett.data.tables.frames import from_frame
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import ARROW, DATABASES, DELIMITED, files_of, is_parquet, is_table, table_ending
from plackett.storage.opening import open_bytes
from plackett.storage.remote import local_files

NULLS = ("", "NULL", "null", "NaN", "nan", "NA", "N/A", "n/a", "None", "\\N")  # \N is that of databases
BYTES_EXAMINED = 1 << 16


@local_files
def read_table(
    source: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    label: str | None = "label",
    qid: str = "qid",
    docid: str | None = "docid",
    features: Sequence[str] | None = None,
    drop: Sequence[str] | str = (),
    categorical: Sequence[str] | str = (),
    long: tuple[str, str] | None = None,
    sql: str | None = None,
) -> Queries:
    r"""Read queries from a CSV, TSV, Arrow, Parquet or SQLite file, columns selected by name.

    Empty fields, ``NULL``, ``NA``, ``NaN`` and ``\N`` are missing values. Columns of text become categories. Ids in
    text files are compared as text if they are not all plain integers: "007" and "7" are different queries.

    Parameters
    ----------
    source : path or sequence of paths
        The extension determines the format: ``.csv``, ``.tsv``, ``.arrow``, ``.feather``, ``.ipc`` or ``.parquet``; a
        folder of Parquet files or a pattern (``day-*.csv``) also works. Text is UTF-8, or UTF-16 with a byte
        order mark, and may be compressed (``.csv.gz``). Its fields are separated by commas, tabs, semicolons or ``|``,
        whichever the header has; numbers may have a decimal comma where commas do not separate. Several files with the
        same columns are read as one.
    label, qid, docid, features, drop, categorical, long
        As in ``from_frame``.
    sql : str, default=None
        The query whose rows are read from an SQLite database (``.db``, ``.sqlite``, ``.sqlite3``); None takes its only
        table. For other databases, pass a frame to ``from_frame``: ``pandas.read_sql(query, connection)``.

    Examples
    --------
    >>> from plackett import read_table
    >>> from pathlib import Path
    >>> size = Path("log.csv").write_text("query,grade,price,brand\ncats,2,9.5,acme\ncats,0,,zeta\n")
    >>> data = read_table("log.csv", qid="query", label="grade")
    >>> data.feature_names, data.X, data.categories
    (['price', 'brand'], array([[9.5, 0. ],
           [nan, 1. ]]), {1: array(['acme', 'zeta'], dtype='<U4')})
    """
    return from_frame(
        read_columns(source, qid=qid, docid=docid, sql=sql),
        label=label, qid=qid, docid=docid, features=features, drop=drop, categorical=categorical, long=long,
    )  # fmt: skip


@local_files
def read_columns(
    source: str | os.PathLike | Sequence[str | os.PathLike],
    *,
    qid: str | None = None,
    docid: str | None = None,
    sql: str | None = None,
) -> Table:
    """Return the table of some files; in the columns of ids, None for the usual ones, "007" and "7" differ."""
    pa = import_optional("pyarrow", extra="tables", needed_for="read_table")
    ids = [qid or "qid", *(ID_NAMES if docid in (None, DOCID) else [docid])]
    only: Any = source if isinstance(source, (str, os.PathLike)) or len(source) != 1 else source[0]
    if isinstance(only, (str, os.PathLike)) and os.fspath(only).lower().endswith(DATABASES):
        return Table(_read_sqlite(os.fspath(only), sql, pa))
    if sql is not None:
        raise ValueError("sql was given, but the data are not an SQLite database (.db, .sqlite, .sqlite3).")
    paths = files_of(source)
    if all(map(is_parquet, paths)):
        table: Table = ParquetTable(paths, named=ids)
    else:
        table = Table(_joined(paths, [_read(path, ids, pa) for path in paths], ids, pa))
    if not table.n_rows:
        raise DataFormatError(paths[0], None, "no rows found.")
    return table


def is_file_of_columns(data: Any) -> bool:
    """Return whether data is the path of a CSV, TSV, Arrow, Parquet or SQLite file."""
    return is_table(data) or (isinstance(data, (str, os.PathLike)) and os.path.isfile(data) and is_parquet(data))


def _joined(paths: list[str], tables: list[Any], ids: Sequence[str], pa: Any) -> Any:
    """Return the rows of all files; ids in text are integers if all of them are."""
    for path, table in zip(paths, tables, strict=True):
        other = sorted(set(tables[0].column_names) ^ set(table.column_names))
        if other:
            has, lacks = (paths[0], path) if other[0] in tables[0].column_names else (path, paths[0])
            raise DataFormatError(lacks, None, f"the column {other[0]!r} is missing; {has} has it.")
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataFormatError(paths[0], None, f"the files have columns of different types ({error}).") from error
    if all(table_ending(path) in DELIMITED for path in paths):
        for name in set(ids) & set(table.column_names):
            table = table.set_column(table.column_names.index(name), name, _as_integers(table[name], pa))
    return table


def _as_integers(column: Any, pa: Any) -> Any:
    """Return ids as integers if these are written in the same way, without zeros in front or rounding; else as text."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column
    return numbers if numbers.cast(pa.string()).equals(column) else column


def _read(path: str, ids: Sequence[str], pa: Any) -> Any:
    ending = table_ending(path)
    try:
        if ending in DELIMITED:
            return _read_delimited(path, DELIMITED[ending], ids, pa)
        if ending in ARROW:
            from pyarrow import feather

            return feather.read_table(path)
    except pa.ArrowException as error:
        raise DataFormatError(path, None, f"the file cannot be read as {ending}: {error}") from error
    if is_parquet(path):
        raise ValueError(f"{path} is Parquet but other files are not; read them separately.")
    raise DataFormatError(
        path, None, f"expected a file that ends in .csv, .tsv, .arrow or .parquet, found {ending or 'no extension'}."
    )


def _read_delimited(path: str, usual: str, ids: Sequence[str], pa: Any) -> Any:
    """Return the rows of a text file; ``usual`` is the delimiter of its extension."""
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    with open_bytes(path) as file:
        start = file.read(BYTES_EXAMINED)
    encoding = "utf-16" if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    text = start.decode(encoding, "replace").lstrip("\r\n")
    # the usual one comes first: it wins if another gives as many fields
    counts = {
        mark: len(next(csv.reader(io.StringIO(text, newline=""), delimiter=mark), [])) for mark in usual + ",;\t|"
    }
    delimiter = max(counts, key=counts.__getitem__)
    header, *rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)] or [[]]
    names = [name.strip() for name in header]
    if names and all(re.fullmatch(r"[-+]?\d*\.?\d+", name) for name in names):
        raise DataFormatError(path, 1, f"expected the names of the columns, found numbers ({names[0]}, ...).")
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise DataFormatError(path, 1, f"the column {twice!r} occurs {names.count(twice)} times. Rename all but one.")
    values = [value for row in (rows[:-1] if len(start) == BYTES_EXAMINED else rows) for value in row]
    has_commas = any(re.fullmatch(r"[-+]?\d+,\d+", value) for value in values)
    has_points = any(re.fullmatch(r"[-+]?\d*\.\d+", value) for value in values)
    with open_bytes(path) as file:
        table = read_csv(
            file,
            read_options=ReadOptions(encoding=encoding.removesuffix("-sig")),
            parse_options=ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=ConvertOptions(
                null_values=list(NULLS),
                strings_can_be_null=True,
                decimal_point="," if delimiter != "," and has_commas and not has_points else ".",
                column_types={name: pa.string() for name in header if name.strip() in ids},
            ),
        )
    for field in table.schema:
        if pa.types.is_binary(field.type):
            advice = f"Convert the file: iconv -f latin1 -t utf-8 {path}"
            raise DataFormatError(path, None, f"column {field.name!r} is not UTF-8. {advice}")
    # columns without a name get one each, to tell them apart
    found = enumerate(table.column_names)
    return table.rename_columns([name.strip() or f"Unnamed: {place}" for place, name in found])


def _read_sqlite(path: str, query: str | None, pa: Any) -> Any:
    """Return the rows of a query; without one, the only table of the database, which is opened for reading only."""
    import sqlite3

    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path!r} (looked in {os.getcwd()}).")
    with contextlib.closing(sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)) as database:
        try:
            cursor = database.execute(_select_only_table(database, path) if query is None else query)
            if cursor.description is None:
                raise ValueError(f"{query!r} returns no rows; expected a SELECT.")
            names, rows = [name for name, *_ in cursor.description], cursor.fetchall()
        except sqlite3.Error as error:
            raise DataFormatError(path, None, f"SQLite error: {error}.") from error
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataFormatError(path, None, f"the query returns {twice!r} twice; name its columns with AS.")
    if not rows:
        raise DataFormatError(path, None, "no rows found.")
    columns = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of several types, which SQLite allows, become text
            columns[name] = pa.array([None if value is None else str(value) for value in values])
    return pa.table(columns)


def _select_only_table(database: Any, path: str) -> str:
    found = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
    tables = [name for name in found if not name.startswith("sqlite_")]
    if len(tables) != 1:
        listed = ", ".join(tables) or "none"
        advice = "Choose rows with a query: SELECT ... FROM ..."
        raise DataFormatError(path, None, f"expected one table, found {listed}. {advice}")
    quoted = tables[0].replace('"', '""')
    return f'SELECT * FROM "{quoted}"'
