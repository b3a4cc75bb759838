"""Writing queries to one or several Parquet files whose row groups never split a query, atomically."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from plackett._optional import import_optional
from plackett._threads import query_blocks
from plackett.data.categories import as_dictionary
from plackett.data.parquet.checksums import add_checksums
from plackett.data.queries import Queries
from plackett.data.tables.coding import METADATA
from plackett.data.tables.column_roles import check_feature_names
from plackett.storage.atomic import new_folder
from plackett.storage.compression import COMPRESSED
from plackett.storage.opening import name_of, write_bytes
from plackett.storage.remote import is_remote, uploaded
from plackett.validation import check_choice, check_csr, check_positive_int, is_sparse

COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "brotli", "none")
PAGE_BYTES = 1 << 16  # of one column: readers hold a page of each column


def write_parquet(
    data: Queries,
    target: Any,
    *,
    partitions: int = 1,
    rows_per_group: int = 65_536,
    compression: str = "zstd",
    label: str = "label",
    qid: str = "qid",
    docid: str = "docid",
) -> None:
    """Write judged lists as Parquet such that neither a file nor a row group splits a query.

    One row per document; columns for query id, document name and label (the latter two if there are any), then the
    features under their names, or as ``feature_21`` by their numbers in the file, or as ``column_20``. A label NaN
    ("not judged") becomes null. Rows of a ``Queries`` are written in the order of ``data.grouped``;
    ``data.in_groups(values)`` puts values per row into that order.

    Parameters
    ----------
    data : Queries
        For files larger than memory whose rows are not sorted by query, docs/scale.md shows a line of DuckDB.
    target : path
        The file, or with several partitions the folder, which must be new or empty: its files are
        ``part-00000.parquet``, ... The target appears only after everything has been written.
    partitions : int, default=1
        Number of files of about equal size; fewer if there are not enough queries.
    rows_per_group : int, default=65536
        Approximate rows of a row group. A query with more rows gets its own group.
    compression : {"zstd", "snappy", "gzip", "lz4", "brotli", "none"}, default="zstd"
    label, qid, docid : str
        Names of these columns.

    Examples
    --------
    >>> from plackett import Queries, write_parquet
    >>> import tempfile, os
    >>> import plackett as pk
    >>> data = Queries([[0.5], [0.1], [0.9]], y=[1, 0, 2], qid=["a", "a", "b"], feature_names=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(data, os.path.join(folder, "lists.parquet"))
    ...     pk.read_parquet(os.path.join(folder, "lists.parquet"))
    Queries(2 queries, 3 documents, 1 feature, labels 0..2)
    """
    if not isinstance(data, Queries):
        raise TypeError(f"data is a {type(data).__name__}; expected Queries, such as those of read_parquet.")
    rows_per_group = check_positive_int(rows_per_group, "rows_per_group")
    check_choice(compression, "compression", COMPRESSIONS)
    _check_target(target, check_positive_int(partitions, "partitions"))
    if not data.n_docs:
        raise ValueError("the queries have no documents; there is nothing to write.")
    queries = data.grouped
    check_csr(queries.X)
    parts = [
        (_as_table(queries[first:last], label, qid, docid) for first, last in groups)
        for groups in _groups_of_parts(queries.indptr, partitions, rows_per_group)
    ]
    try:
        if partitions == 1:
            _write_file(target, parts[0], compression, qid)
            return
        where = uploaded(target) if is_remote(target) else new_folder(os.path.abspath(os.fspath(target)))
        with where as folder:
            os.makedirs(folder, exist_ok=True)
            for number, tables in enumerate(parts):
                _write_file(os.path.join(folder, f"part-{number:05d}.parquet"), tables, compression, qid)
    except OSError as error:
        if error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            reason = error.strerror or str(error)  # errors of numpy have no errno
            raise OSError(error.errno or errno.ENOSPC, f"could not be written ({reason})", name_of(target)) from error
        raise


def _groups_of_parts(indptr: np.ndarray, partitions: int, rows_per_group: int) -> list[list[tuple[int, int]]]:
    """Return the queries ``(first, last)`` of each row group, by file; files of equal size end with a group."""
    n_rows = int(indptr[-1])
    in_a_file = max(1, -(-n_rows // partitions))
    parts: list[list[tuple[int, int]]] = []
    for first, last in query_blocks(indptr, -(-in_a_file // -(-in_a_file // rows_per_group))):
        share = n_rows * len(parts) / partitions  # of the files before
        if not parts or (len(parts) < partitions and indptr[first] >= share):
            parts.append([])
        parts[-1].append((first, last))
    return parts


def _write_file(target: Any, tables: Iterator[Any], compression: str, qid: str) -> None:
    """Write tables as row groups to a file, and the checksums into it."""
    parquet = import_optional("pyarrow.parquet", extra="tables", needed_for="write_parquet")
    is_path = isinstance(target, (str, os.PathLike)) and target != "-" and not is_remote(target)
    with write_bytes(target) as goal, contextlib.nullcontext(goal) if is_path else tempfile.TemporaryFile() as file:
        first = next(tables)
        coded = [field.name for field in first.schema if str(field.type).startswith("dictionary")]
        how: dict[str, Any] = {
            "compression": compression,
            "use_dictionary": [qid, *coded],  # scores and counts seldom repeat, names never
            "write_statistics": [qid],
            "data_page_size": PAGE_BYTES,
            "write_page_checksum": True,
        }
        with parquet.ParquetWriter(file, first.schema, **how) as writer:
            for table in itertools.chain([first], tables):
                writer.write_table(table, row_group_size=table.num_rows)
        add_checksums(file)
        if not is_path:
            file.seek(0)
            shutil.copyfileobj(file, goal)


def _check_target(target: Any, partitions: int) -> None:
    """Raise if nothing can be written to this target."""
    if is_remote(target):
        return
    if isinstance(target, (str, os.PathLike)) and target != "-":
        path = os.fspath(target)
        if path.endswith(COMPRESSED):
            raise ValueError(
                f"{path}: Parquet is compressed internally; set compression= and choose a name without that extension."
            )
        parent = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(parent):
            raise FileNotFoundError(errno.ENOENT, f"there is no folder to write {os.path.basename(path)} to", parent)
        if partitions == 1 and os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder. Pass a file name, or set partitions to more than 1.")
        if partitions > 1 and os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path)):
            raise FileExistsError(f"{path} exists and is not an empty folder. Remove it, or choose another name.")
    elif partitions > 1:
        raise ValueError(f"partitions={partitions} needs the name of a folder to write to.")


def _as_table(queries: Queries, label: str, qid: str, docid: str) -> Any:
    pa = import_optional("pyarrow", extra="tables", needed_for="write_parquet")
    names = queries.feature_names or [name.replace(" ", "_") for name in queries.feature_labels]
    columns = {qid: _as_ids(queries.ids, "query", pa).take(pa.array(queries.query_of_row))}
    if queries.docid is not None:
        columns[docid] = _as_ids(queries.docid, "document", pa)
    if queries.y is not None:
        columns[label] = pa.array(queries.y, from_pandas=True)  # not judged: null
    check_feature_names(names, columns, "write_parquet(..., qid=...).")
    X = queries.X.toarray() if is_sparse(queries.X) else queries.X
    known = queries.categories or {}
    for place, (name, column) in enumerate(zip(names, np.ascontiguousarray(X.T), strict=True)):
        columns[name] = as_dictionary(column, known[place], pa) if place in known else pa.array(column)
    noted: dict[str, Any] = {
        "features": "unnamed" if queries.feature_names is None else "named",
        "first_index": queries.first_index,
    }
    if known:
        noted["categories"] = {names[place]: own.tolist() for place, own in known.items()}
    return pa.table(columns).replace_schema_metadata({METADATA: json.dumps(noted).encode()})


def _as_ids(ids: np.ndarray, what: str, pa: Any) -> Any:
    if ids.dtype.kind in "iu":
        return pa.array(ids)
    texts = ids.tolist()
    if all(type(text) is str for text in texts):
        try:
            return pa.array(texts, type=pa.large_string())
        except UnicodeEncodeError as error:
            raise ValueError(f"a {what} id holds bytes that are not text: {error.object!r}.") from error
    other = next(text for text in texts if type(text) is not str)
    some = next((text for text in texts if type(text) is str), None)
    if some is None:
        raise ValueError(f"{what} ids must be whole numbers or text in Parquet, but one is {other!r}.")
    raise ValueError(
        f"some {what} ids are text ({some!r}) and others are not ({other!r}), but a Parquet column "
        "holds one type. Convert all of them to text."
    )
