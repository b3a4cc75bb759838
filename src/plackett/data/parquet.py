"""Judged lists as Parquet: one row per document, columns by name, row groups that never split a query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.file_names import files_of
from plackett.data.grouping import group_rows
from plackett.data.parquet_rows import ParquetRows
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataFormatError
from plackett.validation import check_labels


def read_parquet(
    source: Any,
    *,
    label: str | None = "label",
    qid: str = "qid",
    docid: str | None = "docid",
    features: Sequence[str] | None = None,
    row_groups: tuple[int, int] | None = None,
) -> Queries:
    """Queries from Parquet files, columns chosen by name.

    Parameters
    ----------
    source : path, folder, pattern or sequence of these
        Of a folder the files ``*.parquet`` are read, in order of their names. Several files are read as one.
    label : str or None, default="label"
        Column of the labels; a null means "not judged". None: the files have no labels.
    qid : str, default="qid"
        Column of the query ids, whole numbers or text, in any row order. Nulls are refused.
    docid : str or None, default="docid"
        Column of the document names. "docid" need not be there.
    features : sequence of str, default=None
        Columns of X, in this order. None takes all other columns, in the order of the first file; they must be
        numbers.
    row_groups : (first, last), default=None
        Of one file, the row groups to read, ``last`` exclusive.

    Returns
    -------
    Queries
        X is float32 when all feature columns are, else float64; nulls become NaN.
    """
    files = files_of(source)
    if row_groups is not None and len(files) > 1:
        raise ValueError(f"row_groups are those of one file, but {len(files)} files were given.")
    rows = ParquetRows(files, row_groups, label=label, qid=qid, docid=docid, features=features)
    if not rows.n_rows:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise DataFormatError(os.fspath(files[0]) + more, None, "no rows found.")
    return _in_memory(rows)


def _in_memory(rows: ParquetRows) -> Queries:
    X = np.empty((rows.n_rows, len(rows.features)), dtype=rows.dtype)
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
    docid = None if rows.docid is None else _joined(names)
    if order is not None:
        X, docid = X[order], None if docid is None else docid[order]
        labels = None if labels is None else labels[order]
    if labels is not None:
        check_labels(labels, name=f"column {rows.label!r}", allow_nan=True, row_numbers=order)
    if isinstance(docid, TextColumn):
        docid = as_str_array(list(docid))
    queries = Queries.from_groups(X, labels, ids, indptr, docid=docid, feature_names=rows.feature_names)
    queries.row_order = order
    return queries


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


def _joined(parts: list) -> np.ndarray | TextColumn:
    return TextColumn.concat(parts) if isinstance(parts[0], TextColumn) else np.concatenate(parts)
