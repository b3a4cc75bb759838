"""Reading Parquet files through a memory-mapped cache, written batch by batch: X is never completely in memory.

If the cache cannot be written, an error is raised: X may be too large for memory.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.cache import CacheFile
from plackett.data.queries import Queries
from plackett.data.tables.judged_rows import JudgedRows
from plackett.data.text_column import TextColumn, as_str_array
from plackett.storage.file_names import value_in_path
from plackett.validation import check_labels


def read_mapped(files: list[str], folder: Any, rows_of: Any, columns: dict[str, Any]) -> Queries:
    """Return the queries from a valid cache, built if needed."""
    cache = CacheFile([Path(file) for file in files], _described(files, columns), folder)
    queries = cache.load()
    if queries is None:
        rows = rows_of()
        try:
            _build(cache, rows)
        except OSError as error:
            raise OSError(
                error.errno,
                f"the cache could not be written ({error.strerror}); choose a folder with enough space: cache=...",
                str(cache.path),
            ) from error
        if cache.is_outdated():
            cache.path.unlink(missing_ok=True)
            raise RuntimeError(f"{files[0]} or another of the files changed while it was read. Read them again.")
        queries = cache.load()
        if queries is None:
            raise OSError(errno.EIO, "the cache cannot be read back", str(cache.path))
    return queries


def _described(files: list[str], columns: dict[str, Any]) -> dict[str, str]:
    """Return the options of the cache: the columns, and the query ids in the names of folders, which may be renamed."""
    names = {name: value if value is None or isinstance(value, str) else list(value) for name, value in columns.items()}
    label = str(names.pop("label"))  # "None": there are no labels
    in_folders = [value_in_path(file, columns["qid"]) for file in files]
    if any(value is not None for value in in_folders):
        names["folders"] = in_folders
    return {"format": "parquet", "label": label} | {name: json.dumps(value) for name, value in names.items()}


def _build(cache: CacheFile, rows: JudgedRows) -> None:
    with cache.writer() as writer:
        shape = (rows.n_rows, len(rows.features))
        writer.reserve("X", rows.dtype, shape)
        if rows.label is not None:
            writer.reserve("y", np.float64, shape[:1])
        ids = _Ids(rows)
        has_texts, n_bytes, row = False, 0, 0
        for batch in rows.batches():
            n = batch.X.shape[0]
            if row == 0 and batch.docid is not None:
                has_texts = isinstance(batch.docid, TextColumn)
                writer.reserve("docid_bounds" if has_texts else "docid", np.int64, (rows.n_rows + has_texts,))
            ids.add(batch.run_ids, batch.run_lengths)
            writer.write_rows("X", row, batch.X)
            if batch.labels is not None:
                row_numbers = np.arange(row, row + n)
                name = f"{rows.name}: column {rows.label!r}"
                labels = check_labels(batch.labels, name=name, allow_nan=True, row_numbers=row_numbers)
                writer.write_rows("y", row, labels)
            if isinstance(batch.docid, TextColumn):
                writer.write_rows("docid_bounds", row, batch.docid.bounds + n_bytes)
                writer.append("docids", batch.docid.buffer)
                n_bytes += batch.docid.buffer.size
            elif batch.docid is not None:
                writer.write_rows("docid", row, batch.docid)
            row += n
        writer.add("ids", ids.ids())
        writer.add("indptr", ids.indptr())
        cache.finish(writer, shape, rows.feature_names, rows.first_index, rows.categories)


class _Ids:
    """The queries in order of appearance; the rows of each must be adjacent."""

    def __init__(self, rows: JudgedRows):
        self._rows, self._lengths = rows, [0]
        self._seen: dict = {}
        self._last: Any = None

    def add(self, run_ids: np.ndarray | list[str], lengths: np.ndarray) -> None:
        for key, length in zip(run_ids if isinstance(run_ids, list) else run_ids.tolist(), lengths, strict=True):
            if key == self._last and self._seen:  # a query may continue in the next batch
                self._lengths[-1] += int(length)
                continue
            if key in self._seen:
                raise ValueError(
                    f"the rows of query {key!r} are not adjacent in {self._rows.name}, which a memory-mapped cache "
                    "requires. Sort the rows once, such as: write_parquet(read_parquet(source), target)."
                )
            self._seen[key], self._last = True, key
            self._lengths.append(int(length))

    def ids(self) -> np.ndarray:
        if self._rows.id_kind == "number":
            return np.array(list(self._seen), dtype=np.int64)
        if self._rows.id_kind != "text":
            raise ValueError(f"{self._rows.name}: column {self._rows.qid!r} is neither text nor whole numbers.")
        ids = as_str_array(list(self._seen))
        if ids.dtype.kind == "O":
            raise ValueError(f"a query id of {self._rows.name} is too long for a cache.")
        return ids

    def indptr(self) -> np.ndarray:
        return np.cumsum(self._lengths, dtype=np.int64)
