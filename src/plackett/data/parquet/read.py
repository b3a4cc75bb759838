"""Judged lists as Parquet: one row per document, columns by name, row groups that never split a query."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.cache import CacheFile, NotCachedError
from plackett.data.parquet.table import ParquetTable, opened
from plackett.data.queries import Queries
from plackett.data.tables.judged_rows import JudgedRows
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import files_of, value_in_path
from plackett.storage.remote import local_files
from plackett.validation import check_labels


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

    X is float32 if all numeric feature columns are, else float64; nulls become NaN.

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
        return _rows_of(files, row_groups, columns).queries()
    if row_groups is not None:
        raise ValueError("a cache holds whole files; pass either cache or row_groups.")
    file = CacheFile([Path(path) for path in files], _described(files, columns), None if cache is True else cache)
    queries = file.load()
    if queries is not None:
        return queries
    try:
        _build(file, _rows_of(files, None, columns))
    except NotCachedError as error:  # X may be too large for memory
        if error.__cause__ is None:
            raise RuntimeError(f"the cache could not be written ({error}).") from error
        reason = f"the cache could not be written ({error}); choose a folder with enough space: cache=..."
        raise OSError(getattr(error.__cause__, "errno", errno.EIO), reason, str(file.path)) from error
    queries = file.load()
    if queries is None:
        raise OSError(errno.EIO, "the cache cannot be read back", str(file.path))
    return queries


def _rows_of(files: list[str], row_groups: tuple[int, int] | None, columns: dict[str, Any]) -> JudgedRows:
    """Return the rows of some files; an error if there are none."""
    named = [columns[role] for role in ("label", "qid", "docid")] + list(columns["features"] or ())
    rows = JudgedRows(ParquetTable(files, row_groups, named=named), **columns)
    if not rows.n_rows:
        raise DataFormatError(rows.name, None, "no rows found.")
    if row_groups is None or row_groups[0] == 0:  # once for a file that is read in parts
        rows.warn_of_columns()
    return rows


def _described(files: list[str], columns: dict[str, Any]) -> dict[str, str]:
    """Return the options of the cache: the columns, and the query ids in the names of folders, which may be renamed."""
    names = {name: value if value is None or isinstance(value, str) else list(value) for name, value in columns.items()}
    label = str(names.pop("label"))  # "None": there are no labels
    in_folders = [value_in_path(file, columns["qid"]) for file in files]
    if any(value is not None for value in in_folders):
        names["folders"] = in_folders
    return {"format": "parquet", "label": label} | {name: json.dumps(value) for name, value in names.items()}


def _build(cache: CacheFile, rows: JudgedRows) -> None:
    """Write the cache a batch at a time: X is never completely in memory."""
    if rows.id_kind == "other":
        raise ValueError(f"{rows.name}: column {rows.qid!r} is neither text nor whole numbers.")
    with cache.draft() as draft:
        row = 0
        for batch in rows.batches():
            if batch.labels is not None:
                row_numbers = np.arange(row, row + batch.labels.size)
                name = f"{rows.name}: column {rows.label!r}"
                check_labels(batch.labels, name=name, allow_nan=True, row_numbers=row_numbers)
            if isinstance(batch.docid, list):
                raise ValueError(f"{rows.name}: column {rows.docid!r} is neither text nor whole numbers.")
            draft.append_dense(batch.X)
            draft.append_columns(batch.run_ids, batch.run_lengths, batch.labels, batch.docid, None)
            row += batch.X.shape[0]
        remedy = "write_parquet(read_parquet(source), target)"
        names = {"feature_names": rows.feature_names, "first_index": rows.first_index}
        draft.finish(len(rows.features), remedy, rows.categories, **names)


@local_files
def column_names(path: str) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with opened(path) as file:
        return file.schema_arrow.names
