"""Judged lists as Parquet: one row per document, columns by name, row groups that never split a query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from plackett._lazy import importing
from plackett.data.parquet.table import ParquetTable, opened
from plackett.data.queries import Queries
from plackett.data.tables.judged_rows import JudgedRows
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import files_of
from plackett.storage.remote import local_files


@local_files
def read_parquet(
    source: Any,
    *,
    label: str | None = "label",
    qid: str = "qid",
    docid: str | None = "docid",
    features: Sequence[str] | None = None,
    drop: Sequence[str] | str = (),
    categorical: Sequence[str] | str = (),
    cache: bool | str | os.PathLike = False,
    row_groups: tuple[int, int] | None = None,
) -> Queries:
    """Read queries from Parquet files, columns selected by name.

    Parameters
    ----------
    source : path, folder, pattern or sequence of these
        A folder means its files ``*.parquet``, in order of their names, and those in its subfolders
        ``column=value``, as partitioned by Spark, Dask and pyarrow. Several files are read as one.
    label, qid, docid, features, drop, categorical
        As in ``from_frame``. A column that the files do not have is taken from the names of their folders (``day=7``)
        if it is named. The names of categories are those recorded by ``write_parquet``, else sorted, after one more
        pass over these columns.
    cache : bool or path, default=False
        True writes the arrays to a file beside the (first) file, a path writes it to that folder. The arrays are
        memory-mapped: X may be larger than memory, and the next call reads only the cache. The rows of a query must be
        adjacent, as ``write_parquet`` writes them. The cache is rebuilt if the files have changed, and with a
        warning if it is damaged; ``PLACKETT_VERIFY=0`` in the environment skips its checksums.
    row_groups : (first, last), default=None
        The row groups of a single file to read, ``last`` exclusive.

    Returns
    -------
    Queries
        X is float32 if all numeric feature columns are, else float64; nulls become NaN.

    Examples
    --------
    >>> from plackett import Queries, read_parquet
    >>> import tempfile, os
    >>> import plackett as pk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "lists.parquet")
    ...     pk.write_parquet(Queries([[0.5], [0.1]], y=[1, 0], qid=["a", "a"], feature_names=["bm25"]), path)
    ...     data = read_parquet(path)
    >>> data, data.feature_names
    (Queries(1 query, 2 documents, 1 feature, labels 0..1), ['bm25'])
    """
    files = files_of(source)
    if row_groups is not None and len(files) > 1:
        raise ValueError(f"row_groups applies to a single file, but {len(files)} files were given.")
    columns = {
        "label": label, "qid": qid, "docid": docid, "features": features, "drop": drop, "categorical": categorical
    }  # fmt: skip
    if cache is False or cache is None:
        return rows_of(files, row_groups, **columns).queries()
    if row_groups is not None:
        raise ValueError("a cache holds whole files; pass either cache or row_groups.")
    with importing:
        from plackett.data.parquet.cache import read_mapped

    return read_mapped(files, None if cache is True else cache, lambda: rows_of(files, None, **columns), columns)


def rows_of(files: list[str], row_groups: tuple[int, int] | None, **columns: Any) -> JudgedRows:
    """Return the rows of some files; an error if there are none."""
    named = [columns.get(role) for role in ("label", "qid", "docid")] + list(columns.get("features") or ())
    rows = JudgedRows(ParquetTable(files, row_groups, named=named), **columns)
    if not rows.n_rows:
        raise DataFormatError(rows.name, None, "no rows found.")
    if row_groups is None or row_groups[0] == 0:  # once for a file that is read in parts
        rows.warn_of_columns()
    return rows


@local_files
def has_column(path: str, name: str) -> bool:
    """Return whether a Parquet file has a column of this name."""
    with opened(path) as file:
        return name in file.schema_arrow.names
