"""Writing queries as Parquet: from memory, or from Parquet files that may be larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.data.parquet.arrange import arrange
from plackett.data.parquet.part_writer import PartWriter, check_layout
from plackett.data.parquet.read import has_column, rows_of
from plackett.data.queries import Queries
from plackett.storage.file_names import files_of
from plackett.validation import check_positive_int


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
    >>> import plackett as pk
    >>> data = Queries([[0.5], [0.1], [0.9]], y=[1, 0, 2], qid=["a", "a", "b"], feature_names=["bm25"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(data, os.path.join(folder, "lists.parquet"))
    ...     pk.read_parquet(os.path.join(folder, "lists.parquet"))
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
    rows = rows_of(files, None, label=label if has_labels else None, qid=qid, docid=docid, features=features)
    arrange(rows, target, layout, check_positive_int(memory, "memory"))
