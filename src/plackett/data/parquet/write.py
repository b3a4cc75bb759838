"""Writing queries as Parquet: from memory, or from Parquet files that may be larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plackett.data.parquet.part_writer import PartWriter, check_layout
from plackett.data.parquet.read import has_column, rows_of
from plackett.data.parquet.sort_by_query import arrange
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

    One row per document; columns for query id, document name and label (the latter two if there are any), then the
    features under their names, or as ``feature_21`` by their numbers in the file, or as ``column_20``. A label NaN
    ("not judged") becomes null. Rows of a ``Queries`` are written in the order of ``data.grouped``;
    ``data.in_groups(values)`` puts values per row into that order.

    Parameters
    ----------
    data : Queries, or path, folder, pattern or sequence of these
        Rows of Parquet files are sorted while they are copied: queries in order of first appearance, the rows of each
        adjacent. The files may be larger than memory.
    target : path
        The file, or with several partitions the folder, which must be new or empty: its files are
        ``part-00000.parquet``, ... The target appears only after everything has been written.
    partitions : int, default=1
        Number of files of about equal size; fewer if there are not enough queries.
    rows_per_group : int, default=65536
        Approximate rows of a row group. A query with more rows gets its own group.
    compression : {"zstd", "snappy", "gzip", "lz4", "brotli", "none"}, default="zstd"
    label, qid, docid : str
        Names of these columns, in the files that are read and written.
    features : sequence of str, default=None
        Feature columns of the files that are read; None takes all others.
    memory : int, default=2**30
        Approximate bytes of memory for sorting files, besides a few per query; temporary files of the size of X are
        written beside the target.

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
    layout = check_layout(target, label, qid, docid, partitions, rows_per_group, compression)
    if isinstance(data, Queries):
        if features is not None:
            raise ValueError("features selects columns of files; a Queries has its own columns.")
        if not data.n_docs:
            raise ValueError("the queries have no documents; there is nothing to write.")
        with PartWriter(target, data.n_docs, layout) as writer:
            writer.write(data.grouped)
        return
    files = files_of(data)
    has_labels = label != "label" or has_column(files[0], label)  # a file without labels can be sorted as well
    rows = rows_of(files, None, label=label if has_labels else None, qid=qid, docid=docid, features=features)
    arrange(rows, target, layout, check_positive_int(memory, "memory"))
