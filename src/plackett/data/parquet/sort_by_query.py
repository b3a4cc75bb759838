"""Sorting Parquet files by query within bounded memory.

A first pass reads only the query ids. If the rows of each query are adjacent already, they are copied; otherwise a
second pass distributes them to scratch files, each with a range of queries, and each of these is sorted in memory.
Queries are written in order of first appearance, their rows in their original order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett._threads import query_blocks
from plackett.data.parquet.part_writer import Layout, PartWriter
from plackett.data.parquet.rows import ParquetRows
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.storage.atomic import draft_folder

_COPIES = 4  # of the rows of a scratch file: as read, sorted, as columns, and compressed


def arrange(rows: ParquetRows, target: Any, layout: Layout, memory: int) -> None:
    """Write the rows such that neither a file nor a row group splits a query."""
    plan = _Plan(rows)
    with PartWriter(target, rows.n_rows, layout) as writer:
        if plan.is_grouped:
            for queries in _in_file_order(rows, plan, layout.rows_at_once(rows.n_rows)):
                writer.write(queries)
            return
        with _scratch_folder(target) as folder:
            for queries in _sorted(rows, plan, Path(folder), memory):
                writer.write(queries)


def _scratch_folder(target: Any) -> AbstractContextManager[str]:
    """Return a temporary folder beside the target."""
    if not isinstance(target, (str, os.PathLike)) or target == "-":
        return tempfile.TemporaryDirectory(prefix="plackett-")
    folder, name = os.path.split(os.path.abspath(os.fspath(target)))
    return draft_folder(os.path.join(folder, f".{name}.rows"))


class _Plan:
    """The queries in order of first appearance, their numbers of rows, and whether the rows of each are adjacent."""

    def __init__(self, rows: ParquetRows):
        self._places: dict = {}
        self.feature_names, self.first_index = rows.feature_names, rows.first_index
        self.categories = rows.categories
        sizes = np.zeros(0, dtype=np.int64)
        last, n_runs = -1, 0
        for run_ids, lengths in rows.runs():
            codes = self.codes(run_ids)
            sizes = np.append(sizes, np.zeros(len(self._places) - sizes.size, dtype=np.int64))
            np.add.at(sizes, codes, lengths)
            n_runs += codes.size - int(codes[0] == last)  # a run may continue from the previous batch
            last = codes[-1]
        self.indptr = np.append(0, np.cumsum(sizes))
        self.is_grouped = n_runs == len(self._places)
        self.ids = as_str_array(list(self._places)) if rows.has_text_ids else np.array(list(self._places), np.int64)

    def codes(self, ids: np.ndarray | list[str]) -> np.ndarray:
        """Return the position of each query."""
        keys = ids if isinstance(ids, list) else ids.tolist()
        return np.array([self._places.setdefault(key, len(self._places)) for key in keys], dtype=np.int64)

    def pieces(self, rows: ParquetRows) -> Iterator[_Piece]:
        for batch in rows.batches():
            codes = np.repeat(self.codes(batch.run_ids), batch.run_lengths)
            yield _Piece(batch.X, codes, batch.labels, batch.docid)


class _Piece(NamedTuple):
    """Some rows and the query of each."""

    X: np.ndarray
    codes: np.ndarray
    labels: np.ndarray | None
    docid: np.ndarray | TextColumn | None

    def take(self, which: Any) -> _Piece:
        labels = None if self.labels is None else self.labels[which]
        return _Piece(self.X[which], self.codes[which], labels, None if self.docid is None else self.docid[which])


def _in_file_order(rows: ParquetRows, plan: _Plan, rows_at_once: int) -> Iterator[Queries]:
    """Yield queries whose rows are adjacent already, about ``rows_at_once`` rows at a time."""
    held: list[_Piece] = []
    for piece in plan.pieces(rows):
        held.append(piece)
        if sum(one.codes.size for one in held) > rows_at_once and piece.codes[0] != piece.codes[-1]:
            start_of_last = int(np.searchsorted(piece.codes, piece.codes[-1]))
            yield _as_queries([*held[:-1], piece.take(slice(0, start_of_last))], plan)
            held = [piece.take(slice(start_of_last, None))]
    yield _as_queries(held, plan)


def _sorted(rows: ParquetRows, plan: _Plan, folder: Path, memory: int) -> Iterator[Queries]:
    """Yield all queries, those of one scratch file at a time."""
    width = max(1, len(rows.features)) * rows.dtype.itemsize
    blocks = query_blocks(plan.indptr, max(1, memory // (_COPIES * width)))
    block_of = np.repeat(np.arange(len(blocks)), [last - first for first, last in blocks])
    for piece in plan.pieces(rows):
        targets = block_of[piece.codes]
        order = np.argsort(targets, kind="stable")
        bounds = np.searchsorted(targets[order], np.arange(len(blocks) + 1))
        for block in np.flatnonzero(np.diff(bounds)).tolist():
            _append(folder / f"{block}", piece.take(order[bounds[block] : bounds[block + 1]]))
    for block in range(len(blocks)):
        yield _as_queries(list(_read(folder / f"{block}")), plan)
        (folder / f"{block}").unlink()


def _append(path: Path, piece: _Piece) -> None:
    docid = piece.docid
    arrays = [piece.X, piece.codes]
    arrays += [] if piece.labels is None else [piece.labels]
    arrays += [] if docid is None else [docid.buffer, docid.bounds] if isinstance(docid, TextColumn) else [docid]
    kinds = np.array([piece.labels is not None, docid is not None, isinstance(docid, TextColumn)])
    with open(path, "ab") as file:
        for array in [kinds, *arrays]:
            np.save(file, array, allow_pickle=False)


def _read(path: Path) -> Iterator[_Piece]:
    with open(path, "rb") as file:
        while file.peek(1):
            has_labels, has_docid, is_text = np.load(file, allow_pickle=False).tolist()
            X, codes = np.load(file, allow_pickle=False), np.load(file, allow_pickle=False)
            labels = np.load(file, allow_pickle=False) if has_labels else None
            docid: Any = np.load(file, allow_pickle=False) if has_docid else None
            if is_text:
                docid = TextColumn(docid, np.load(file, allow_pickle=False))
            yield _Piece(X, codes, labels, docid)


def _as_queries(pieces: list[_Piece], plan: _Plan) -> Queries:
    """Return the rows of all pieces by query; those of a query keep their order."""
    codes = np.concatenate([piece.codes for piece in pieces])
    X = np.concatenate([piece.X for piece in pieces])
    labels = None if pieces[0].labels is None else np.concatenate([piece.labels for piece in pieces])
    docid = joined([piece.docid for piece in pieces])
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable")
        X, codes, labels, docid = _Piece(X, codes, labels, docid).take(order)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return Queries.from_groups(
        X,
        labels,
        plan.ids[codes[starts]],
        np.append(starts, codes.size),
        docid=docid,
        feature_names=plan.feature_names,
        first_index=plan.first_index,
        categories=plan.categories,
    )


def joined(parts: list) -> np.ndarray | TextColumn | None:
    """Concatenate the document names of several pieces; None without names."""
    if parts[0] is None:
        return None
    return TextColumn.concat(parts) if isinstance(parts[0], TextColumn) else np.concatenate(parts)
