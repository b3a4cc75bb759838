"""Judged lists as Parquet: one row per document, columns by name, row groups that never split a query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.grouping import group_rows
from plackett.data.parquet.arrange import arrange, joined
from plackett.data.parquet.cache import read_mapped
from plackett.data.parquet.rows import ParquetRows, opened
from plackett.data.parquet.write import PartWriter, check_layout
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import files_of
from plackett.validation import check_labels, check_positive_int


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
    """Queries from Parquet files, columns chosen by name.

    Parameters
    ----------
    source : path, folder, pattern or sequence of these
        Of a folder the files ``*.parquet`` are read, in order of their names, and those in its folders
        ``column=value``, as Spark, Dask and pyarrow write them by the values of a column. Several files are read as
        one.
    label : str or None, default="label"
        Column of the labels; a null means "not judged". None: the files have no labels.
    qid : str, default="qid"
        Column of the query ids, whole numbers or text, in any row order. Nulls are refused. Where the files have no
        such column, the names of their folders (``qid=7``) may tell it; other columns are not taken from there.
    docid : str or None, default="docid"
        Column of the document names. "docid" stands for the first of the columns docid, doc_id, document_id, docno and
        id that is there; none needs to be.
    features : sequence of str, default=None
        Columns of X, in this order. None takes all other columns, in the order of the first file; they must be
        numbers. Columns with the name of a document id, and times, are then left out with a ``DataWarning``. It also
        names whole numbers that differ in all rows, or look like times, and may be ids rather than features.
    cache : bool or path, default=False
        True keeps the arrays in a file beside the (first) one, a path in that folder, and maps them into memory: X may
        be larger than memory, and the next call reads nothing. The rows of a query must then stand side by side, as
        ``write_parquet`` puts them. A cache that is damaged, or does not belong to the files as they are now, is built
        anew; with ``PLACKETT_VERIFY=0`` in the environment its checksums are not compared.
    row_groups : (first, last), default=None
        Of one file, the row groups to read, ``last`` exclusive.

    Returns
    -------
    Queries
        X is float32 when all feature columns are, else float64; nulls become NaN.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "lists.parquet")
    ...     write_parquet(Queries([[0.5], [0.1]], y=[1, 0], qid=["a", "a"], feature_names=["bm25"]), path)
    ...     data = read_parquet(path)
    >>> data, data.feature_names
    (Queries(1 query, 2 documents, 1 feature, labels 0..1), ['bm25'])
    """
    files = files_of(source)
    if row_groups is not None and len(files) > 1:
        raise ValueError(f"row_groups are those of one file, but {len(files)} files were given.")
    columns = {"label": label, "qid": qid, "docid": docid, "features": features}
    if cache is False or cache is None:
        return _in_memory(_rows_of(files, row_groups, **columns))
    if row_groups is not None:
        raise ValueError("a cache holds whole files; give either cache or row_groups.")
    return read_mapped(files, None if cache is True else cache, lambda: _rows_of(files, None, **columns), columns)


def write_parquet(
    data: Any,
    target: Any,
    *,
    partitions: int = 1,
    rows_per_group: int = 65_536,
    compression: str = "zstd",
    label: str = "label",
    qid: str = "qid",
    docid: str = "docid",
    features: Sequence[str] | None = None,
    memory: int = 1 << 30,
) -> None:
    """Write judged lists as Parquet such that neither a file nor a row group splits a query.

    One row per document; columns for query id, document name and label (the latter two where there are any), then the
    features under their names, or as ``feature_21`` by their numbers in the file, or as ``column_20``. A label NaN,
    "not judged", becomes null. Rows of a ``Queries`` are written in the order of ``data.grouped``;
    ``data.in_groups(values)`` puts values per row into that order.

    Parameters
    ----------
    data : Queries, or path, folder, pattern or sequence of these
        The names are those of Parquet files whose rows are put in order: queries in order of first appearance, the rows
        of each side by side. They may be larger than memory.
    target : path
        Of the file, or, where there are several, of the folder, which must be empty or not there: its files are
        ``part-00000.parquet``, ... Nothing is to be seen there before all was written.
    partitions : int, default=1
        Files, of about equally many rows; fewer where there are not enough queries.
    rows_per_group : int, default=65536
        Rows of a row group, about. A query with more has a group of its own.
    compression : {"zstd", "snappy", "gzip", "lz4", "brotli", "none"}, default="zstd"
    label, qid, docid : str
        Names of these columns, in files that are read as well as in those that are written.
    features : sequence of str, default=None
        Of files that are read, the feature columns; None takes all others.
    memory : int, default=2**30
        Bytes that putting files in order may take, about; beside them a few for each query, and scratch files of the
        size of X beside the target.

    Examples
    --------
    >>> import tempfile, os
    >>> data = Queries([[0.5], [0.1], [0.9]], y=[1, 0, 2], qid=["a", "a", "b"], feature_names=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(data, os.path.join(folder, "lists.parquet"))
    ...     read_parquet(os.path.join(folder, "lists.parquet"))
    Queries(2 queries, 3 documents, 1 feature, labels 0..2)
    """
    layout = check_layout(target, label, qid, docid, partitions, rows_per_group, compression)
    if isinstance(data, Queries):
        if features is not None:
            raise ValueError("features goes with files; a Queries has its columns.")
        if not data.n_docs:
            raise ValueError("the queries have no documents; there is nothing to write.")
        with PartWriter(target, data.n_docs, layout) as writer:
            writer.write(data.grouped)
        return
    files = files_of(data)
    has_labels = label != "label" or has_column(files[0], label)  # a file without labels may be put in order as well
    rows = _rows_of(files, None, label=label if has_labels else None, qid=qid, docid=docid, features=features)
    arrange(rows, target, layout, check_positive_int(memory, "memory"))


def _rows_of(files: list[str], row_groups: tuple[int, int] | None, **columns: Any) -> ParquetRows:
    rows = ParquetRows(files, row_groups, **columns)
    if not rows.n_rows:
        raise DataFormatError(rows.name, None, "no rows found.")
    if row_groups is None or row_groups[0] == 0:  # once for files that are read in parts
        rows.warn_of_columns()
    return rows


def has_column(path: str, name: str) -> bool:
    """Whether a Parquet file has a column of that name."""
    with opened(path) as file:
        return name in file.schema_arrow.names


def _in_memory(rows: ParquetRows) -> Queries:
    try:
        X = np.empty((rows.n_rows, len(rows.features)), dtype=rows.dtype)
    except MemoryError as error:
        raise MemoryError(f"{error}. Map the features from a file instead: read_parquet(..., cache=True).") from error
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
    ids, indptr, order = _queries_of_runs(run_ids, np.concatenate(lengths), is_text=rows.has_text_ids)
    docid = joined(names)
    if labels is not None:
        check_labels(labels, name=f"{rows.name}: column {rows.label!r}", allow_nan=True)
    if isinstance(docid, TextColumn):
        docid = as_str_array(list(docid))
    return Queries.from_groups(
        X,
        labels,
        ids,
        indptr,
        docid=docid,
        feature_names=rows.feature_names,
        first_index=rows.first_index,
        row_order=order,
        is_grouped=order is None,
    )


def _queries_of_runs(
    run_ids: list, lengths: np.ndarray, *, is_text: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Ids and bounds of the queries whose rows came in these runs, and the rows in grouped order, None if they were."""
    if is_text:
        keys: np.ndarray = as_str_array([key for part in run_ids for key in part])
    else:
        keys = np.concatenate(run_ids)
    is_new = np.append(True, keys[1:] != keys[:-1])  # a run may go on in the next batch
    keys, lengths = keys[is_new], np.add.reduceat(lengths, np.flatnonzero(is_new))
    groups = group_rows(keys, keys.size)
    ends = np.cumsum(lengths)
    if groups.order is None:
        return keys, np.append(0, ends).astype(np.int64), None
    moved = lengths[groups.order]
    moved_ends = np.cumsum(moved)
    starts = (ends - lengths)[groups.order] - (moved_ends - moved)
    order = np.arange(ends[-1]) + np.repeat(starts, moved)
    return groups.ids, np.append(0, moved_ends)[groups.indptr].astype(np.int64), order
