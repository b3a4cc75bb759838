"""Parquet files as one table, read a batch of rows at a time. Errors of pyarrow about damaged files name the file."""

from __future__ import annotations

import copy
import mmap
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from plackett._optional import import_optional
from plackett.data.parquet.checksums import Ending
from plackett.data.parquet.sizes import check_pages, chunks_of
from plackett.data.tables.arrow_table import ROWS_AT_ONCE, Part, Table
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import parquet_in_pipe, value_in_path
from plackett.storage.opening import is_stream

READ_BYTES = 1 << 16  # of one column, read at once: a row group may be larger than memory
MAX_BYTES, MAX_RATIO = 1 << 28, 10_000  # of rows, and for each byte of a file: constant columns take next to none
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


class ParquetTable(Table):
    """The rows of one or several Parquet files, or of some row groups ``(first, last)`` of one, ``last`` exclusive.

    ``named`` are columns that the names of folders (``day=7``) may hold if the files do not.
    """

    def __init__(
        self, files: Sequence[str], row_groups: tuple[int, int] | None = None, *, named: Sequence[str | None] = ()
    ):
        self.name = files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        self.parts, self.n_rows, self._row_groups = [], 0, row_groups
        self._selected: list[str] = []
        self._checked: dict[str, set[str]] = defaultdict(set)  # columns of each file whose pages were checked
        self._folders: dict[str, dict[str, Any]] = {}  # values of columns that are in the names of folders, by path
        for path in files:
            with opened(path) as file:
                schema = file.schema_arrow
                if not self.parts:
                    self._folders = _folders(files, [name for name in named if name and name not in schema.names])
                n_rows = _count_rows(path, file, self._groups_of(path, file))
            import pyarrow

            for name, values in self._folders.items():
                schema = schema.append(pyarrow.field(name, values[path].type)) if path in values else schema
            self.parts.append(Part(path, schema, n_rows))
            self.n_rows += n_rows

    def _groups_of(self, path: str, file: Any) -> range:
        first, last = (0, file.num_row_groups) if self._row_groups is None else self._row_groups
        if not 0 <= first <= last <= file.num_row_groups:
            what = f"row groups {first} to {last - 1} do not exist"
            raise ValueError(f"{path} has {file.num_row_groups} row groups; {what}.")
        return range(first, last)

    def select(self, columns: Sequence[str]) -> ParquetTable:
        """Return the table of some columns; too many rows for the size of the files are an error."""
        table = copy.copy(self)
        table._selected, table._checked = list(dict.fromkeys(columns)), defaultdict(set)
        n_bytes = 8 * self.n_rows * len(table._selected)
        size = sum(os.path.getsize(part.path) for part in self.parts)
        if n_bytes > max(MAX_BYTES, MAX_RATIO * size):
            found = f"{size:,} bytes declare {self.n_rows:,} rows, which would take {n_bytes:,} bytes in memory"
            raise DataFormatError(self.name, None, f"{found}. The file is rejected.")
        return table

    def batches(self, columns: Sequence[str], n_rows: int = ROWS_AT_ONCE) -> Iterator[tuple[Part, int, Any]]:
        import pyarrow

        for part in self.parts:
            path = part.path
            constant = {name: self._folders[name][path] for name in columns if path in self._folders.get(name, ())}
            names = [name for name in dict.fromkeys(columns) if name not in constant]
            with opened(path, {*names, *self._selected} - self._checked[path], self._row_groups) as file:
                self._checked[path].update(names, self._selected)
                groups = self._groups_of(path, file)
                row = start = _count_rows(path, file, range(groups.start))
                for batch in file.iter_batches(n_rows, row_groups=groups, columns=names):
                    for name, value in constant.items():
                        batch = batch.append_column(name, pyarrow.repeat(value, batch.num_rows))
                    if batch.num_rows:
                        yield part, row, batch
                    row += batch.num_rows
            if row - start != part.n_rows:
                raise DataFormatError(path, None, f"the file declares {part.n_rows:,} rows but has {row - start:,}.")


@contextmanager
def opened(path: str, columns: Collection[str] = (), row_groups: tuple[int, int] | None = None) -> Iterator[Any]:
    """Yield a ``pyarrow.parquet.ParquetFile``; errors of pyarrow, including those in the block, name the file.

    The pages of ``columns``, those that will be read, are checked first.
    """
    parquet = import_optional("pyarrow.parquet", extra="tables", needed_for="Reading Parquet")
    import pyarrow

    if is_stream(path):  # opening a pipe would block
        raise parquet_in_pipe(path)
    try:
        with open(path, "rb", buffering=0) as plain:
            ending = Ending(path, plain)
            with parquet.ParquetFile(
                path,
                buffer_size=READ_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                thrift_string_size_limit=len(ending.footer),  # nothing in the footer is longer than the footer
                thrift_container_size_limit=len(ending.footer),
            ) as file:
                if columns:
                    _check_pages(ending, row_groups, columns)
                yield file
    except DataFormatError:
        raise
    except (pyarrow.ArrowException, UnicodeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise DataFormatError(path, None, f"not a Parquet file, or a damaged one ({reason}).") from error


def _count_rows(path: str, file: Any, groups: range) -> int:
    counts = [file.metadata.row_group(group).num_rows for group in groups]
    if min(counts, default=0) < 0:
        raise DataFormatError(path, None, f"a row group declares {min(counts)} rows.")
    return sum(counts)


def _check_pages(ending: Ending, row_groups: tuple[int, int] | None, names: Collection[str]) -> None:
    """Verify the checksums of the pages that will be read; where there are none, the sizes that the pages declare."""
    groups = chunks_of(ending.path, ending.footer)
    chosen = groups if row_groups is None else groups[row_groups[0] : row_groups[1]]
    chunks = [
        chunk
        for group in chosen
        for chunk in group
        if not {chunk.column, chunk.column.partition(".")[0]}.isdisjoint(names)
    ]
    if ending.is_verified:
        ending.check((chunk.start, chunk.stop) for chunk in chunks)
    else:
        with mmap.mmap(ending.handle, 0, access=mmap.ACCESS_READ) as content:
            check_pages(ending.path, content, chunks, ending.start)


def _folders(files: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the values in the names of folders, by column and file: numbers if all of them are, else text."""
    import pyarrow

    found: dict[str, dict[str, Any]] = {}
    for name in names:
        values = {path: value_in_path(path, name) for path in files}
        texts = {path: value for path, value in values.items() if value is not None and value != _NULL_FOLDER}
        is_number = all(map(_is_plain_number, texts.values()))
        if texts:
            found[name] = {path: pyarrow.scalar(int(text) if is_number else text) for path, text in texts.items()}
    return found


def _is_plain_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text and abs(int(text)) < 2**63
