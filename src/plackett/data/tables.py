"""Judged lists from tables: CSV, TSV, Arrow and Parquet files, and what functions accept in place of ``Queries``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from plackett._optional import import_optional
from plackett.data.frames import from_frame, is_frame
from plackett.data.queries import Queries
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import ARROW, DELIMITED, is_parquet, is_table, table_ending
from plackett.storage.opening import open_bytes

NULLS = ("", "NULL", "null", "NaN", "nan", "NA", "N/A", "n/a", "None", "\\N")  # \N is that of databases


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
) -> Queries:
    r"""Read queries from a CSV, TSV, Arrow or Parquet file with a header, columns selected by name.

    Empty fields, ``NULL``, ``NA``, ``NaN`` and ``\N`` are missing values. Columns of text become categories.

    Parameters
    ----------
    source : path or sequence of paths
        The ending tells the format: ``.csv`` (fields separated by commas), ``.tsv`` (by tabs), ``.arrow``, ``.feather``
        or ``.ipc``, and ``.parquet``. Text may be compressed (``.csv.gz``). Several files are read as one.
    label, qid, docid, features, drop, categorical, long
        As in ``from_frame``.

    Returns
    -------
    Queries

    Examples
    --------
    >>> from pathlib import Path
    >>> size = Path("log.csv").write_text("query,grade,price,brand\ncats,2,9.5,acme\ncats,0,,zeta\n")
    >>> data = read_table("log.csv", qid="query", label="grade")
    >>> data.feature_names, data.X, data.categories
    (['price', 'brand'], array([[9.5, 0. ],
           [nan, 1. ]]), {1: array(['acme', 'zeta'], dtype='<U4')})
    """
    return from_frame(
        read_columns(source),
        label=label,
        qid=qid,
        docid=docid,
        features=features,
        drop=drop,
        categorical=categorical,
        long=long,
    )


def read_columns(source: str | os.PathLike | Sequence[str | os.PathLike]) -> Any:
    """Return the columns of one or several files as a table of pyarrow."""
    paths = [os.fspath(path) for path in ([source] if isinstance(source, (str, os.PathLike)) else source)]
    if not paths:
        raise ValueError("source names no file.")
    pa = import_optional("pyarrow", extra="frames", needed_for="read_table")
    tables = [_read(path, pa) for path in paths]
    try:
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataFormatError(paths[0], None, f"the files have different columns ({error}).") from error
    if not table.num_rows:
        raise DataFormatError(paths[0], None, "no rows found.")
    return table


def as_queries(
    data: Any, *, qid: str | None = None, y: str | None = None, docid: str | None = None, **columns: Any
) -> Any:
    """Return queries from a data frame or a file with columns; anything else, such as the name of a set, as it is.

    Parameters
    ----------
    data : Queries, data frame, path, or other data
    qid, y, docid : str, default=None
        Columns of ids, labels and names; None takes the defaults of ``from_frame``.
    **columns
        ``features``, ``drop``, ``categorical`` and ``long`` of ``from_frame``; None is left out.
    """
    given = {"qid": qid, "label": y, "docid": docid, **columns}
    given = {name: value for name, value in given.items() if value is not None}
    if is_frame(data):
        return from_frame(data, **given)
    is_path = isinstance(data, (str, os.PathLike))
    if is_table(data) or (given and is_path and os.path.isfile(data) and is_parquet(data)):
        return read_table(data, **given)
    if given:
        what = "a Queries, which has its columns" if isinstance(data, Queries) else f"{type(data).__name__}"
        if is_path:
            what = f"{os.fspath(data)!r}, which is no CSV, TSV, Arrow or Parquet file"
        name = next(iter(given))
        raise ValueError(f"{'y' if name == 'label' else name} names a column of a table, but data is {what}.")
    return data


def _read(path: str, pa: Any) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file {path!r} (looked in {os.getcwd()}).")
    ending = table_ending(path)
    try:
        if ending in DELIMITED:
            return _read_delimited(path, DELIMITED[ending])
        if ending in ARROW:
            from pyarrow import feather

            return feather.read_table(path)
        if is_parquet(path):
            from pyarrow import parquet

            return parquet.read_table(path)
    except pa.ArrowException as error:
        raise DataFormatError(path, None, f"the file cannot be read as {ending or 'Parquet'}: {error}") from error
    raise DataFormatError(path, None, f"{ending or 'no ending'} is not known; expected .csv, .tsv, .arrow or .parquet.")


def _read_delimited(path: str, delimiter: str) -> Any:
    from pyarrow import csv

    with open_bytes(path) as file:
        return csv.read_csv(
            file,
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=list(NULLS), strings_can_be_null=True),
        )
