"""Reading Parquet files through a memory-mapped cache, written batch by batch: X is never completely in memory.

If the cache cannot be written, an error is raised: X may be too large for memory.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.cache import CacheFile, NotCachedError
from plackett.data.queries import Queries
from plackett.data.tables.judged_rows import JudgedRows
from plackett.storage.file_names import value_in_path
from plackett.validation import check_labels


def read_mapped(files: list[str], folder: Any, rows_of: Callable[[], JudgedRows], columns: dict[str, Any]) -> Queries:
    """Return the queries from a valid cache, built if needed."""
    cache = CacheFile([Path(file) for file in files], _described(files, columns), folder)
    queries = cache.load()
    if queries is not None:
        return queries
    rows = rows_of()
    try:
        _build(cache, rows)
    except NotCachedError as error:
        if error.__cause__ is None:
            raise RuntimeError(f"the cache could not be written ({error}).") from error
        reason = f"the cache could not be written ({error}); choose a folder with enough space: cache=..."
        raise OSError(getattr(error.__cause__, "errno", errno.EIO), reason, str(cache.path)) from error
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
    if rows.id_kind == "other":
        raise ValueError(f"{rows.name}: column {rows.qid!r} is neither text nor whole numbers.")
    with cache.draft() as draft:
        row = 0
        for batch in rows.batches():
            labels = batch.labels
            if labels is not None:
                row_numbers = np.arange(row, row + labels.size)
                name = f"{rows.name}: column {rows.label!r}"
                labels = check_labels(labels, name=name, allow_nan=True, row_numbers=row_numbers)
            if isinstance(batch.docid, list):
                raise ValueError(f"{rows.name}: column {rows.docid!r} is neither text nor whole numbers.")
            draft.append_dense(batch.X)
            draft.append_columns(batch.run_ids, batch.run_lengths, labels, batch.docid, None)
            row += batch.X.shape[0]
        remedy = "write_parquet(read_parquet(source), target)"
        names = {"feature_names": rows.feature_names, "first_index": rows.first_index}
        draft.finish(len(rows.features), remedy, rows.categories, **names)
