"""Judged lists as Parquet: one row per document, columns by name, row groups that never split a query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.grouping import group_runs
from plackett.data.parquet.cache import read_mapped
from plackett.data.parquet.rows import ParquetRows, opened
from plackett.data.parquet.sort_by_query import joined
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import files_of
from plackett.validation import check_labels


def read_parquet(
    source: Any,
    *,
    label: str | None = "label",
    qid: str = "qid",
    docid: str | None = "docid",
    features: Sequence[str] | None = None,
    cache: bool | str | os.PathLike = False,
    row_groups: tuple[int, int] | None = None,
) -> Queries:
    """Read queries from Parquet files, columns selected by name.

    Parameters
    ----------
    source : path, folder, pattern or sequence of these
        A folder means its files ``*.parquet``, in order of their names, and those in its subfolders
        ``column=value``, as partitioned by Spark, Dask and pyarrow. Several files are read as one.
    label : str or None, default="label"
        Column of the labels; a null means "not judged". None: the files have no labels.
    qid : str, default="qid"
        Column of the query ids, whole numbers or text, in any row order. Nulls are rejected. If the files have no
        such column, the ids are taken from the names of their folders (``qid=7``); other columns are not.
    docid : str or None, default="docid"
        Column of the document names. "docid" means the first existing column of docid, doc_id, document_id, docno and
        id, if any.
    features : sequence of str, default=None
        Columns of X, in this order. None takes all other columns, in the order of the first file. Columns of text
        become codes, whose names are in ``categories``: as recorded by ``write_parquet``, else sorted, after one more
        pass over these columns. Columns with the name of a document id, and times, are left out by default with a
        ``DataWarning``. The warning also names columns that look like ids or times: whole numbers, different in all
        rows or in the range of timestamps.
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
    columns = {"label": label, "qid": qid, "docid": docid, "features": features}
    if cache is False or cache is None:
        return _in_memory(rows_of(files, row_groups, **columns))
    if row_groups is not None:
        raise ValueError("a cache holds whole files; pass either cache or row_groups.")
    return read_mapped(files, None if cache is True else cache, lambda: rows_of(files, None, **columns), columns)


def rows_of(files: list[str], row_groups: tuple[int, int] | None, **columns: Any) -> ParquetRows:
    """Return the rows of some files; an error if there are none."""
    rows = ParquetRows(files, row_groups, **columns)
    if not rows.n_rows:
        raise DataFormatError(rows.name, None, "no rows found.")
    if row_groups is None or row_groups[0] == 0:  # once for a file that is read in parts
        rows.warn_of_columns()
    return rows


def has_column(path: str, name: str) -> bool:
    """Return whether a Parquet file has a column of this name."""
    with opened(path) as file:
        return name in file.schema_arrow.names


def _in_memory(rows: ParquetRows) -> Queries:
    try:
        X = np.empty((rows.n_rows, len(rows.features)), dtype=rows.dtype)
    except MemoryError as error:
        raise MemoryError(f"{error}. Memory-map the features instead: read_parquet(..., cache=True).") from error
    labels = None if rows.label is None else np.empty(rows.n_rows)
    run_ids: list = []
    lengths, names, row = [], [], 0
    for batch in rows.batches():
        place = slice(row, row + batch.X.shape[0])
        X[place] = batch.X
        if labels is not None:
            labels[place] = batch.labels
        run_ids.append(batch.run_ids)
        lengths.append(batch.run_lengths)
        names.append(batch.docid)
        row = place.stop
    keys = as_str_array([key for part in run_ids for key in part]) if rows.has_text_ids else np.concatenate(run_ids)
    groups = group_runs(keys, np.concatenate(lengths))
    docid = joined(names)
    if labels is not None:
        check_labels(labels, name=f"{rows.name}: column {rows.label!r}", allow_nan=True)
    if isinstance(docid, TextColumn):
        docid = as_str_array(list(docid))
    return Queries.from_groups(
        X,
        labels,
        groups.ids,
        groups.indptr,
        docid=docid,
        feature_names=rows.feature_names,
        first_index=rows.first_index,
        categories=rows.categories,
        row_order=groups.order,
        is_grouped=groups.order is None,
    )
