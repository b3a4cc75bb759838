"""Parquet files through a cache that is mapped into memory: batch by batch into the file, so that X never is in memory.

Whoever asks for it has no room for X in memory, so that it must be written.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.cache_file import CacheDraft, Damaged, cache_path, load, mode_of, signature
from plackett.data.parquet.rows import ParquetRows
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataWarning
from plackett.storage.file_names import value_in_path
from plackett.validation import check_labels


def read_mapped(files: list[str], folder: Any, rows_of: Any, columns: dict[str, Any]) -> Queries:
    """The queries over a cache that fits, which is made where there is none."""
    paths = [Path(file) for file in files]
    options = _described(columns | _told_by_folders(files, columns["qid"]))
    place = cache_path(paths, options, folder)
    made_from = [signature(path) for path in paths]
    try:
        return load(place, made_from, options)
    except Damaged as error:
        warnings.warn(str(error), DataWarning, stacklevel=3)
    except Exception:  # absent, torn, foreign, not to be opened: whatever it is, the files are still there
        pass
    rows = rows_of()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _build(place, rows, made_from, options, mode_of(*paths))
    except OSError as error:
        raise OSError(
            error.errno,
            f"the cache could not be written ({error.strerror}); name a folder with room: cache=...",
            str(place),
        ) from error
    if [signature(path) for path in paths] != made_from:
        place.unlink(missing_ok=True)
        raise RuntimeError(f"{paths[0]} or one of the others changed while it was read. Read it again.")
    return load(place, made_from, options)


def _described(columns: dict[str, Any]) -> dict[str, str]:
    names = {name: value if value is None or isinstance(value, str) else list(value) for name, value in columns.items()}
    label = {"label": str(names.pop("label"))}  # whether there are labels is looked at
    return {"format": "parquet"} | label | {name: json.dumps(value) for name, value in names.items()}


def _told_by_folders(files: list[str], qid: str) -> dict[str, list]:
    """The query ids in the names of folders, which may be called otherwise the next time."""
    values = [value_in_path(file, qid) for file in files]
    return {} if values == [None] * len(values) else {"folders": values}


def _build(place: Path, rows: ParquetRows, made_from: list, options: dict[str, str], mode: int) -> None:
    with CacheDraft(place, mode) as draft:
        shape = (rows.n_rows, len(rows.features))
        draft.reserve("X", rows.dtype, shape)
        if rows.label is not None:
            draft.reserve("y", np.float64, shape[:1])
        ids = _Ids(rows)
        has_texts, n_bytes, row = False, 0, 0
        for batch in rows.batches():
            n = batch.X.shape[0]
            if row == 0 and batch.docid is not None:
                has_texts = isinstance(batch.docid, TextColumn)
                draft.reserve("docid_bounds" if has_texts else "docid", np.int64, (rows.n_rows + has_texts,))
            ids.add(batch.run_ids, batch.run_lengths)
            draft.fill("X", row, batch.X)
            if batch.labels is not None:
                place_of = np.arange(row, row + n)
                name = f"{rows.name}: column {rows.label!r}"
                draft.fill("y", row, check_labels(batch.labels, name=name, allow_nan=True, row_numbers=place_of))
            if isinstance(batch.docid, TextColumn):
                draft.fill("docid_bounds", row, batch.docid.bounds + n_bytes)
                draft.grow("docids", batch.docid.buffer)
                n_bytes += batch.docid.buffer.size
            elif batch.docid is not None:
                draft.fill("docid", row, batch.docid)
            row += n
        draft.add("ids", ids.ids())
        draft.add("indptr", ids.indptr())
        draft.finish(shape, made_from, options, rows.feature_names, rows.first_index)


class _Ids:
    """The queries in order, as they come; one that comes again is refused."""

    def __init__(self, rows: ParquetRows):
        self._rows, self._lengths = rows, [0]
        self._seen: dict = {}
        self._last: Any = None

    def add(self, run_ids: np.ndarray | list[str], lengths: np.ndarray) -> None:
        for key, length in zip(run_ids if isinstance(run_ids, list) else run_ids.tolist(), lengths, strict=True):
            if key == self._last and self._seen:  # a query may go on in the next batch
                self._lengths[-1] += int(length)
                continue
            if key in self._seen:
                raise ValueError(
                    f"query {key!r} stands in more than one place of {self._rows.name}; to be mapped from a file, the "
                    "rows of a query must stand side by side. Put them in order once: write_parquet(source, target)."
                )
            self._seen[key], self._last = True, key
            self._lengths.append(int(length))

    def ids(self) -> np.ndarray:
        if not self._rows.has_text_ids:
            return np.array(list(self._seen), dtype=np.int64)
        ids = as_str_array(list(self._seen))
        if ids.dtype.kind == "O":
            raise ValueError(f"a query id of {self._rows.name} is too long to be kept in a cache.")
        return ids

    def indptr(self) -> np.ndarray:
        return np.cumsum(self._lengths, dtype=np.int64)
