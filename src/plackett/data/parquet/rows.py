"""Reading the rows of Parquet files as arrays, one batch at a time.

Columns are selected by name. Errors of pyarrow about damaged files name the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from plackett._optional import import_optional
from plackett.data.categories import Categories, as_names
from plackett.data.parquet.checksums import Sums
from plackett.data.parquet.pages import check_pages, chunks_of
from plackett.data.tables.column_roles import (
    ID_NAMES,
    OTHER_ROLES,
    ROWS_EXAMINED,
    docid_column,
    names_and_first_index,
    resembles,
    warn_of_columns,
)
from plackett.data.tables.frames import COLUMNS_LISTED, columns_in_words
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataFormatError
from plackett.storage.file_names import parquet_in_pipe, value_in_path
from plackett.storage.opening import is_stream

BATCH_BYTES = 1 << 22  # of X, decoded at once
MAX_ROWS, MIN_ROWS = 1 << 16, 1 << 8
READ_BYTES = 1 << 16  # of one column, read at once: a row group may be larger than memory
MAX_BYTES, MAX_RATIO = 1 << 28, 10_000  # of rows, and for each byte of a file: constant columns take next to none
METADATA = b"plackett"  # key of what write_parquet records in a file
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


class Batch(NamedTuple):
    """Consecutive rows; query ids as runs of equal ids."""

    X: np.ndarray
    labels: np.ndarray | None
    run_ids: np.ndarray | list[str]
    run_lengths: np.ndarray
    docid: np.ndarray | TextColumn | None


class ParquetRows:
    """The rows of one or several Parquet files.

    Parameters
    ----------
    files : list of paths
    row_groups : (first, last), default=None
        The row groups of a single file to read, ``last`` exclusive; None reads all.
    label, qid, docid, features
        As in ``read_parquet``.

    Attributes
    ----------
    name : str
        The first file, and how many more there are, for messages.
    n_rows : int
    features : list of str
    feature_names : the same, or None if ``write_parquet`` generated the names
    first_index : the number of the first feature in the LETOR file that the rows came from, or None
    categories : names of the categories of columns of text, by the position of the column
    dtype : float32 if all numeric feature columns are, else float64
    has_text_ids : whether query ids are text rather than whole numbers
    label, docid : names of the columns, or None
    """

    def __init__(
        self,
        files: Sequence[str],
        row_groups: tuple[int, int] | None = None,
        *,
        label: str | None = "label",
        qid: str = "qid",
        docid: str | None = "docid",
        features: Sequence[str] | None = None,
    ):
        self._files, self._row_groups = list(files), row_groups
        self.name = self._files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        self.label, self.qid, self.n_rows = label, qid, 0
        self.docid: str | None = docid
        self._folder_ids: dict[str, Any] = {}  # query ids that are in the names of folders, by file
        kinds: dict[str, str] = {}
        noted = []
        for place, path in enumerate(self._files):
            with opened(path) as file:
                schema = file.schema_arrow
                if place == 0:
                    self._choose(path, schema, features)
                else:
                    self._compare(path, schema, is_default=features is None)
                self._check_types(path, schema, kinds, is_default=features is None)
                self.n_rows += _count_rows(path, file, row_groups)
                noted.append(_noted(schema).get("categories"))
        self.dtype = np.dtype(np.float32 if kinds["features"] == "float" else np.float64)
        self._check_size()
        self.has_text_ids = kinds["ids"] == "text"
        self.categories = self._find_categories(noted)

    def _check_size(self) -> None:
        """Reject files that declare far more rows than their size allows."""
        n_bytes = self.n_rows * max(1, len(self.features)) * self.dtype.itemsize
        size = sum(map(os.path.getsize, self._files))
        if n_bytes > max(MAX_BYTES, MAX_RATIO * size):
            found = f"{size:,} bytes declare {self.n_rows:,} rows, which would take {n_bytes:,} bytes in memory"
            raise DataFormatError(self.name, None, f"{found}. The file is rejected.")

    def _choose(self, path: str, schema: Any, features: Sequence[str] | None) -> None:
        if self.qid not in schema.names:
            self._folder_ids = _ids_of_folders(self._files, self.qid)
        self.docid = docid_column(self.docid, [name for name in schema.names if name not in (self.qid, self.label)])
        named = [name for name in (self.label, self.qid, self.docid) if name is not None]
        if isinstance(features, str):
            raise TypeError(f"features is a single string, {features!r}; expected a list of column names.")
        chosen = _others(schema, named) if features is None else [str(name) for name in features]
        twice = [name for place, name in enumerate(chosen) if name in chosen[:place]]
        if twice:
            raise ValueError(f"features names {twice[0]!r} twice.")
        self.features = chosen
        self._check_present(path, schema)
        noted = _noted(schema) if features is None else {}
        self.feature_names, self.first_index = names_and_first_index(chosen) if features is None else (chosen, None)
        if noted.get("features") == "unnamed":
            self.feature_names = None
        if noted.get("first_index") in (0, 1):
            self.first_index = noted["first_index"]
        self._left_out = [] if features is not None else _left_out(schema, named)
        self._is_default = features is None

    def _compare(self, path: str, schema: Any, *, is_default: bool) -> None:
        """Reject a file whose columns are not those of the first file."""
        self._check_present(path, schema)
        named = [name for name in (self.label, self.qid, self.docid) if name is not None]
        more = set(_others(schema, named)) - set(self.features)
        if is_default and more:
            raise ValueError(
                f"{path} has a column {min(more)!r} that {self._files[0]} does not have. "
                "Name the columns to use: features=[...]."
            )

    def _check_present(self, path: str, schema: Any) -> None:
        present = list(schema.names)
        for name in [name for name in (self.label, self.qid, self.docid) if name is not None] + self.features:
            if present.count(name) == 1 or (name == self.qid and path in self._folder_ids):
                continue
            if name in present:
                raise ValueError(f"{path} has {present.count(name)} columns named {name!r}; it must have one.")
            hint = columns_in_words(name, present)
            if name != self.qid and value_in_path(path, name) is not None:
                hint += f" Its folder name has it, but only query ids are read from folder names, not {name!r}."
            elif name == self.label:
                hint += " For labels with another name, pass label=... (in fit: y=...); without labels, label=None."
            raise ValueError(f"{path} has no column {name!r}. {hint}")

    def _check_types(self, path: str, schema: Any, kinds: dict[str, str], *, is_default: bool) -> None:
        types = {name: schema.field(name).type for name in schema.names if schema.names.count(name) == 1}
        coded = {name for name in self.features if _kind_of_ids(types[name]) == "text"}
        other = [name for name in self.features if name not in coded and _kind(types[name]) not in ("float", "number")]
        if other:
            listed = ", ".join(f"{name!r} ({types[name]})" for name in other[:COLUMNS_LISTED])
            more = f" and {len(other) - COLUMNS_LISTED} more" if len(other) > COLUMNS_LISTED else ""
            hint = " Name the columns to use: features=[...]." if is_default else ""
            raise ValueError(
                f"{path}: features must be numbers or text, but these columns are not: {listed}{more}.{hint}"
            )
        if self.label is not None and _kind(types[self.label]) not in ("float", "number"):
            raise ValueError(f"{path}: labels must be numbers, but column {self.label!r} is {types[self.label]}.")
        if path in self._folder_ids:
            types[self.qid] = self._folder_ids[path].type
        for name in [self.qid] + ([] if self.docid is None else [self.docid]):
            if _kind_of_ids(types[name]) is None:
                raise ValueError(f"{path}: ids must be whole numbers or text, but column {name!r} is {types[name]}.")
        ids = _kind_of_ids(types[self.qid]) or ""
        if kinds.setdefault("ids", ids) != ids:
            raise ValueError(
                f"{path}: column {self.qid!r} is {types[self.qid]}, but in {self._files[0]} it holds "
                f"{'text' if kinds['ids'] == 'text' else 'whole numbers'}. All ids must have one type."
            )
        for name in self.features:
            kind = "text" if name in coded else "number"
            if kinds.setdefault(f"feature {name}", kind) != kind:
                raise ValueError(f"{path}: column {name!r} is {types[name]}, but in {self._files[0]} it is not.")
        self._coded = [name for name in self.features if name in coded]
        numbers = [name for name in self.features if name not in coded]
        is_float32 = bool(numbers) and all(_kind(types[name]) == "float" for name in numbers)
        kinds["features"] = "float" if is_float32 and kinds.get("features", "float") == "float" else "number"

    def _find_categories(self, noted: list[Any]) -> Categories | None:
        """Return the names of categories: as recorded by ``write_parquet`` in all files, else those found, sorted."""
        names = {}
        for name in self._coded:
            lists = [one.get(name) if isinstance(one, dict) else None for one in noted]
            if (
                type(lists[0]) is list
                and all(type(text) is str for text in lists[0])
                and lists.count(lists[0]) == len(lists)
            ):
                names[name] = as_names(lists[0], f"{self.name}: column {name!r}")
        unknown: dict[str, set[str]] = {name: set() for name in self._coded if name not in names}
        if unknown:
            for path, _, table in self._tables(list(unknown), MAX_ROWS, row_groups=None):
                with _naming(path):
                    for name, found in unknown.items():
                        found.update(_texts(table.column(name)).unique().drop_null().to_pylist())
        for name, found in unknown.items():
            names[name] = as_names(sorted(found), f"{self.name}: column {name!r}")
        places = {place: names[name] for place, name in enumerate(self.features) if name in names}
        return {place: own for place, own in places.items() if own.size} or None

    def warn_of_columns(self) -> None:
        """Warn about columns that resemble ids or times in the first rows, and about those left out as such."""
        if not self._is_default:
            return
        with opened(self._files[0]) as file:
            whole = [
                name for name in self.features if str(file.schema_arrow.field(name).type).startswith(("int", "uint"))
            ]
        whole += [name for name in self.features if name in OTHER_ROLES and name not in whole]
        table = (
            next(self._tables(whole, ROWS_EXAMINED, row_groups=self._row_groups), (None, 0, None))[2] if whole else None
        )
        found = (
            {}
            if table is None
            else {name: resembles(name, _as_floats(table.column(name).drop_null())) for name in whole}
        )
        warn_of_columns(
            {name: why for name, why in found.items() if why is not None},
            left_out=[name for name in self._left_out if name in ID_NAMES],
            times=[name for name in self._left_out if name not in ID_NAMES],
            remedy="Choose the columns to use: features=[...].",
        )

    def batches(self) -> Iterator[Batch]:
        """Yield all rows, in order."""
        named = [name for name in (self.label, self.qid, self.docid) if name is not None]
        width = max(1, len(self.features) * self.dtype.itemsize)
        for path, row, table in self._tables(named + self.features, BATCH_BYTES // width, row_groups=self._row_groups):
            with _naming(path):
                batch = self._as_batch(path, row, table)
            yield batch

    def runs(self) -> Iterator[tuple[np.ndarray | list[str], np.ndarray]]:
        """Yield the query ids of all rows as runs of equal ids, and their lengths; no other column is read."""
        for path, row, table in self._tables([self.qid], MAX_ROWS, row_groups=self._row_groups):
            with _naming(path):
                runs = _runs(self._query_ids(path, row, table), path)
            yield runs

    def _tables(
        self, columns: list[str], n_rows: int, *, row_groups: tuple[int, int] | None
    ) -> Iterator[tuple[str, int, Any]]:
        """Yield the file, the number of the first row in it, and about ``n_rows`` rows of these columns."""
        for path in self._files:
            with opened(path, columns, row_groups) as file:
                first, last = (0, file.num_row_groups) if row_groups is None else row_groups
                expected = _count_rows(path, file, row_groups)
                row = start = _count_rows(path, file, (0, first))
                for table in file.iter_batches(
                    min(MAX_ROWS, max(MIN_ROWS, n_rows)),
                    row_groups=list(range(first, last)),
                    columns=[
                        name for name in dict.fromkeys(columns) if name != self.qid or path not in self._folder_ids
                    ],
                ):
                    if table.num_rows:
                        yield path, row, table
                    row += table.num_rows
            if row - start != expected:
                raise DataFormatError(path, None, f"the file declares {expected:,} rows but has {row - start:,}.")

    def _query_ids(self, path: str, row: int, table: Any) -> Any:
        if path not in self._folder_ids:
            return _ids(table.column(self.qid), self.qid, path, row)
        import pyarrow

        return pyarrow.repeat(self._folder_ids[path], table.num_rows)

    def _as_batch(self, path: str, row: int, table: Any) -> Batch:
        X = np.empty((table.num_rows, len(self.features)), dtype=self.dtype)
        values = [
            self._codes(path, place, table.column(name)) if name in self._coded else _as_floats(table.column(name))
            for place, name in enumerate(self.features)
        ]
        step = max(1, (1 << 18) // max(1, X.shape[1] * X.itemsize))  # rows that fit into the cache of the processor
        for start in range(0, X.shape[0], step):
            for place, column in enumerate(values):
                X[start : start + step, place] = column[start : start + step]
        labels = None if self.label is None else _as_floats(table.column(self.label)).astype(np.float64)
        ids, lengths = _runs(self._query_ids(path, row, table), path)
        docid = None
        if self.docid is not None:
            names = _ids(table.column(self.docid), self.docid, path, row)
            docid = _as_numbers(names, path) if _kind_of_ids(names.type) == "number" else _as_texts(names)
        return Batch(X, labels, ids, lengths, docid)

    def _codes(self, path: str, place: int, column: Any) -> np.ndarray:
        """Return the codes of a column of text, NaN where it is null."""
        import pyarrow
        import pyarrow.compute as compute

        texts = _texts(column)
        known = (self.categories or {}).get(place, np.zeros(0, str))
        found = compute.index_in(texts, value_set=pyarrow.array(known.tolist(), type=pyarrow.large_string()))
        if found.null_count != texts.null_count:
            reason = f"column {self.features[place]!r} has texts that are not among its recorded categories."
            raise DataFormatError(path, None, reason)
        return found.cast("float64").to_numpy(zero_copy_only=False)


@contextmanager
def opened(path: str, columns: Sequence[str] = (), row_groups: tuple[int, int] | None = None) -> Iterator[Any]:
    """Yield a ``pyarrow.parquet.ParquetFile``; errors of pyarrow, including those in the block, name the file.

    The checksums and pages of ``columns``, those that will be read, are checked first.
    """
    parquet = import_optional("pyarrow.parquet", extra="frames", needed_for="Reading Parquet")
    if is_stream(path):  # opening a pipe would block
        raise parquet_in_pipe(path)
    with _naming(path), open(path, "rb", buffering=0) as plain:
        sums = Sums(path, plain)
        file = parquet.ParquetFile(
            path,
            buffer_size=READ_BYTES,
            pre_buffer=False,
            page_checksum_verification=True,
            thrift_string_size_limit=len(sums.footer),  # nothing in the footer is longer than the footer
            thrift_container_size_limit=len(sums.footer),
        )
        try:
            if columns:
                _check_pages(sums, row_groups, set(columns))
            yield file
        finally:
            file.close(force=True)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Turn errors of pyarrow into a DataFormatError that names the file."""
    arrow = import_optional("pyarrow", extra="frames", needed_for="Reading Parquet")
    try:
        yield
    except DataFormatError:
        raise
    except (arrow.ArrowException, UnicodeError, OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataFormatError(path, None, f"not a Parquet file, or a damaged one ({_first_line(error)}).") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _count_rows(path: str, file: Any, row_groups: tuple[int, int] | None) -> int:
    first, last = (0, file.num_row_groups) if row_groups is None else row_groups
    if not 0 <= first <= last <= file.num_row_groups:
        raise ValueError(f"{path} has {file.num_row_groups} row groups; row groups {first} to {last - 1} do not exist.")
    counts = [file.metadata.row_group(group).num_rows for group in range(first, last)]
    if min(counts, default=0) < 0:
        raise DataFormatError(path, None, f"a row group declares {min(counts)} rows.")
    return sum(counts)


def _others(schema: Any, named: list[str]) -> list[str]:
    """Return the columns that may be features: not named, not left out, and not an index of pandas."""
    out = [*named, *_left_out(schema, named)]
    return [name for name in schema.names if name not in out and not name.startswith("__index_level_")]


def _check_pages(sums: Sums, row_groups: tuple[int, int] | None, names: set[str]) -> None:
    groups = chunks_of(sums.path, sums.footer)
    chosen = groups if row_groups is None else groups[row_groups[0] : row_groups[1]]
    chunks = [chunk for group in chosen for chunk in group if chunk.column in names]
    sums.check((chunk.start, chunk.stop) for chunk in chunks)
    check_pages(sums.path, sums.handle, chunks, sums.footer_start)


def _left_out(schema: Any, named: list[str]) -> list[str]:
    """Return unnamed columns that are ids by their names, or times."""
    import pyarrow.types as types

    kinds = [(name, schema.field(place).type) for place, name in enumerate(schema.names) if name not in named]
    return [name for name, kind in kinds if name in ID_NAMES or types.is_temporal(kind)]


def _noted(schema: Any) -> dict[str, Any]:
    """Return the metadata of ``write_parquet``: whether it generated the feature names, and their first number."""
    try:
        noted = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):  # metadata of another program
        return {}
    return noted if isinstance(noted, dict) else {}


def _kind(type_: Any) -> str | None:
    """Return "float" for float32, "number" for other numbers and booleans, else None."""
    import pyarrow.types as types

    if types.is_float32(type_):
        return "float"
    is_number = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_)
    return "number" if is_number or types.is_boolean(type_) else None


def _kind_of_ids(type_: Any) -> str | None:
    import pyarrow.types as types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    if types.is_integer(type_):
        return "number"
    return "text" if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_) else None


def _texts(column: Any) -> Any:
    """Return a column of text as one of large strings, decoded from a dictionary."""
    import pyarrow.types as types

    return (column.dictionary_decode() if types.is_dictionary(column.type) else column).cast("large_string")


def _as_floats(column: Any) -> np.ndarray:
    """Return the values as numbers of any dtype, nulls as NaN."""
    import pyarrow.types as types

    if types.is_boolean(column.type):
        column = column.cast("uint8")
    elif types.is_decimal(column.type):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


def _ids_of_folders(files: Sequence[str], qid: str) -> dict[str, Any]:
    """Return the query ids in the names of folders, by file: numbers if all of them are, else text."""
    import pyarrow

    found = {path: value_in_path(path, qid) for path in files}
    texts = {path: value for path, value in found.items() if value is not None and value != _NULL_FOLDER}
    is_number = all(_is_plain_number(value) for value in texts.values())
    return {path: pyarrow.scalar(int(value) if is_number else value) for path, value in texts.items()}


def _is_plain_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text and abs(int(text)) < 2**63


def _ids(column: Any, name: str, path: str, row: int) -> Any:
    """Return the column of ids, decoded from a dictionary; a null is an error."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        where = row + int(np.argmax(compute.is_null(column).to_numpy(zero_copy_only=False)))
        raise ValueError(f"{path}: column {name!r} is null in row {where}. Every row needs an id.")
    return column


def _runs(ids: Any, path: str) -> tuple[np.ndarray | list[str], np.ndarray]:
    """Return the ids of the runs of equal ids, and the lengths of the runs."""
    is_text = _kind_of_ids(ids.type) == "text"
    if is_text:
        coded = ids.dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
    else:
        codes = _as_numbers(ids, path)
    starts = np.concatenate([[0], np.flatnonzero(codes[1:] != codes[:-1]) + 1])
    lengths = np.diff(np.append(starts, codes.size))
    if not is_text:
        return codes[starts], lengths
    texts = coded.dictionary.to_pylist()
    return [texts[code] for code in codes[starts].tolist()], lengths


def _as_numbers(ids: Any, path: str) -> np.ndarray:
    numbers = ids.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.uint64 and numbers.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError(f"{path}: an id is {numbers.max()}, larger than 2**63 - 1; write such ids as text.")
    return numbers.astype(np.int64)


def _as_texts(names: Any) -> TextColumn:
    """Return the bytes of a column of texts."""
    large = names.cast("large_string")
    _, bounds, content = large.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[large.offset : large.offset + len(large) + 1]
    buffer = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
    return TextColumn(buffer[offsets[0] : offsets[-1]].copy(), offsets - offsets[0])
