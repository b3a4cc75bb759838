"""References to files and parts of files, which other processes or machines load."""

from __future__ import annotations

import heapq
import inspect
import itertools
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plackett.data.letor.read import read_letor
from plackett.data.parquet.read import read_parquet
from plackett.data.parquet.table import ParquetTable, opened
from plackett.data.queries import Queries
from plackett.data.tables.judged_rows import JudgedRows
from plackett.storage.file_names import files_of, is_parquet
from plackett.storage.opening import first_bytes, is_stream
from plackett.storage.remote import is_remote, local_files, shown
from plackett.validation import check_positive_int


@dataclass(frozen=True)
class Source:
    """A reference to a file of judged lists, or to some row groups of it: small, hashable and picklable.

    Attributes
    ----------
    path : str
        Absolute, since the loading process may have another working directory; or a URL, which that process copies.
    row_groups : (first, last) or None
        Row groups of a Parquet file, ``last`` exclusive; None is the whole file.
    options : tuple of (name, value)
        Further arguments of ``read_parquet`` or ``read_letor``.
    """

    path: str
    row_groups: tuple[int, int] | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def load(self) -> Queries:
        """Read the rows with ``read_parquet`` or ``read_letor``."""
        if is_parquet(self.path):
            return read_parquet(self.path, row_groups=self.row_groups, **dict(self.options))
        return read_letor(self.path, **dict(self.options))

    def __str__(self) -> str:
        if self.row_groups is None:
            return shown(self.path)
        first, last = self.row_groups
        return f"{self.path}, row groups {first} to {last - 1}"


def sources(paths: Any, *, pieces: int | None = None, **options: Any) -> list[Source]:
    """Return sources for all files that ``paths`` matches, in order.

    Parameters
    ----------
    paths : path, folder, pattern or sequence of these
        LETOR text (plain or compressed) or Parquet, distinguished by their first bytes; each file once.
    pieces : int, default=None
        Minimum number of sources, as far as the row groups of Parquet files allow; None makes one per file. Files are
        cut between row groups, but never within a query; those of URLs are not cut.
    **options
        Arguments of ``read_parquet`` (``label``, ``qid``, ``docid``, ``features``) or of ``read_letor``
        (``n_features``, ``first_index``, ...).
    """
    files = [file if is_remote(file) else os.path.abspath(file) for file in files_of(paths)]
    twice = [file for file, count in Counter(files).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given twice; each file must be given once.")
    streams = [file for file in files if is_stream(file)]
    if streams:
        raise ValueError(
            f"{streams[0]} is a pipe, which other processes cannot open. Save its content as a file first."
        )
    reader = _reader_of(files)
    kept = _checked(reader, options)
    is_whole = reader is read_letor or any(map(is_remote, files))
    if pieces is None or check_positive_int(pieces, "pieces") <= len(files) or is_whole:
        return [Source(file, None, kept) for file in files]
    return [Source(file, groups, kept) for file, groups in _cut(files, pieces, options)]


@local_files
def read_queries(paths: Any, **options: Any) -> Queries:
    """Read queries from LETOR text or Parquet files; several files are read as one.

    Parameters
    ----------
    paths : path, folder, pattern or sequence of these
    **options
        Arguments of ``read_letor`` or ``read_parquet``.

    Examples
    --------
    >>> from plackett.data.sources import read_queries
    >>> from pathlib import Path
    >>> size = Path("train.txt").write_text("1 qid:7 1:0.5 2:0.25")
    >>> read_queries("train.txt")
    Queries(1 query, 1 document, 2 features, labels 1..1)
    """
    files = files_of(paths)
    reader = _reader_of(files)
    return reader(files, **dict(_checked(reader, options)))


def _reader_of(files: list[str]) -> Callable[..., Queries]:
    are_parquet = [is_parquet(file) for file in files]
    for file, is_one in zip(files, are_parquet, strict=True):
        if not is_one and file.endswith(".parquet") and (any(are_parquet) or not first_bytes(file, 1)):
            with opened(file):  # raises an error that names the problem
                pass
    if any(are_parquet) and not all(are_parquet):
        other = files[are_parquet.index(False)]
        raise ValueError(f"{files[are_parquet.index(True)]} is Parquet but {other} is not; read them separately.")
    return read_parquet if are_parquet[0] else read_letor


def _checked(reader: Callable[..., Queries], options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    known = list(inspect.signature(reader).parameters)[1:]
    for name in options:
        if name not in known or name == "row_groups":
            choices = ", ".join(one for one in known if one != "row_groups")
            raise TypeError(f"{name} is not an argument of {reader.__name__}; its arguments are {choices}.")
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in options.items())


def _cut(files: list[str], pieces: int, options: dict[str, Any]) -> list[tuple[str, tuple[int, int]]]:
    """Return ``pieces`` ranges of row groups, or as many as possible: the largest is cut in two repeatedly."""
    qid = options.get("qid", "qid")
    JudgedRows(ParquetTable(files[:1], named=[qid]), None, qid, None, features=[])  # checks the column
    bounds = [_whole_query_bounds(file, qid) for file in files]  # of each file, pairs (row group, rows before it)
    uncut = [(-rows[-1][1], place, 0, len(rows) - 1) for place, rows in enumerate(bounds)]  # by descending size
    heapq.heapify(uncut)
    finished: list[tuple[int, int, int, int]] = []
    while uncut and len(uncut) + len(finished) < pieces:
        part = heapq.heappop(uncut)
        _, place, first, last = part
        rows = [before for _, before in bounds[place]]
        if last - first < 2:
            finished.append(part)
            continue
        middle = min(range(first + 1, last), key=lambda at: abs(2 * rows[at] - rows[first] - rows[last]))
        for start, stop in ((first, middle), (middle, last)):
            heapq.heappush(uncut, (rows[start] - rows[stop], place, start, stop))
    parts = sorted((place, first, last) for _, place, first, last in finished + uncut)
    return [(files[place], (bounds[place][first][0], bounds[place][last][0])) for place, first, last in parts]


def _whole_query_bounds(file: str, qid: str) -> list[tuple[int, int]]:
    """Return the bounds between row groups that do not split a query, with the rows before them, and both ends."""
    with opened(file, [qid]) as parquet:
        sizes = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
        if qid not in parquet.schema_arrow.names:  # the folder names its only query
            return [(0, 0), (len(sizes), sum(sizes))]
        groups = (parquet.read_row_group(group, columns=[qid]).column(qid) for group in range(len(sizes)))
        ends = [(ids[0].as_py(), ids[-1].as_py()) if len(ids) else (None, None) for ids in groups]
        ends = [(None, None), *ends, (None, None)]
    before = [0, *itertools.accumulate(sizes)]
    last = len(sizes)
    return [(at, before[at]) for at in range(last + 1) if at in (0, last) or ends[at][1] != ends[at + 1][0]]
