"""From a table of any source to judged lists: the roles of its columns, their checks, and its rows as arrays.

A table has ``name`` for messages, ``parts``, ``n_rows``, ``select(columns)`` and ``batches(columns, n_rows)``, as
``ArrowTable`` and ``ParquetTable`` have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.grouping import as_objects, group_runs
from plackett.data.queries import Queries
from plackett.data.tables.arrow_table import Part
from plackett.data.tables.coding import Coding, noted_in
from plackett.data.tables.column_roles import (
    COLUMNS_LISTED,
    COMMENT,
    DOCID,
    ID_NAMES,
    ROWS_EXAMINED,
    check_roles,
    columns_in_words,
    docid_column,
    has_no_labels,
    is_unnamed,
    names_and_first_index,
    resembles,
    resembles_numbers,
    resembles_text,
    warn_of_columns,
)
from plackett.data.tables.column_roles import (
    is_number as is_number_text,
)
from plackett.data.tables.kinds import (
    are_whole,
    as_floats,
    as_texts,
    ids_of,
    in_words,
    is_number,
    kind_of,
    kind_of_ids,
    names_of,
    runs_of,
    side_by_side,
)
from plackett.data.text_column import TextColumn, as_str_array
from plackett.validation import check_labels

BATCH_BYTES = 1 << 22  # of X, decoded at once
MAX_ROWS, MIN_ROWS = 1 << 16, 1 << 8


class Batch(NamedTuple):
    """Consecutive rows; query ids as runs of equal ids."""

    X: np.ndarray
    labels: np.ndarray | None
    run_ids: np.ndarray | list
    run_lengths: np.ndarray
    docid: np.ndarray | TextColumn | list | None
    comments: list | None


class JudgedRows:
    """The rows of a table whose columns have roles, as in ``from_frame``.

    ``features`` are the columns of X; ``feature_names`` the same, or None if ``write_parquet`` or ``to_frame``
    generated the names; ``first_index`` the number of the first feature in the LETOR file that the rows came from.
    ``categories`` are names by the position of the column, ``dtype`` is float32 if all numeric features are, and
    ``id_kind`` says what the query ids are: "number", "text" or "other".
    """

    def __init__(
        self,
        table: Any,
        *,
        label: str | None = "label",
        qid: str = "qid",
        docid: str | None = DOCID,
        features: Sequence[str] | None = None,
        drop: Sequence[str] | str = (),
        categorical: Sequence[str] | str = (),
    ):
        self.table, self.name = table, table.name
        self._drop, self._categorical = ([one] if isinstance(one, str) else list(one) for one in (drop, categorical))
        if isinstance(features, str):
            raise TypeError(f"features is a single string, {features!r}; expected a list of column names.")
        if self._drop and features is not None:
            raise ValueError("drop was given together with features; columns not named in features are ignored anyway.")
        self.qid = qid
        self._choose(table.parts[0], label, docid, features)
        kinds: dict[str, str] = {}
        for part in table.parts:
            self._check_columns(part)
            self._check_types(part, kinds)
        coded = [name for name in self.features if kinds[f"feature {name}"] == "text" or name in self._categorical]
        self.dtype = np.dtype(np.float32 if kinds["numbers"] == "float32" else np.float64)
        named = [name for name in (self.label, self.qid, self.docid, self._comment) if name is not None]
        self._columns = list(dict.fromkeys(named + self.features))
        bytes_of_row = max(1, len(self.features) * self.dtype.itemsize)
        self._rows_at_once = min(MAX_ROWS, max(MIN_ROWS, BATCH_BYTES // bytes_of_row))
        self._only_batch: tuple[Part, int, Any] | None = None
        table.select(self._columns)
        self.n_rows = table.n_rows  # of a lazy frame they are known now
        self.id_kind = self._kind_of_ids(self.qid, kinds["query ids"])
        self._docid_kind = self._kind_of_ids(self.docid, kinds.get("document ids", ""))
        self._coding = Coding(table, coded)
        names_of_codes = {place: self._coding.names[name] for place, name in enumerate(self.features) if name in coded}
        self.categories = {place: own for place, own in names_of_codes.items() if own.size} or None

    def _choose(self, first: Part, label: str | None, docid: str | None, features: Sequence[str] | None) -> None:
        names = first.schema.names
        _check_present(first, [*self._drop, *self._categorical])
        self.docid = docid_column(docid, [name for name in names if name not in (self.qid, label)])
        self.label = None if label == "label" and has_no_labels(names) else label
        check_roles({"qid": self.qid, "label": self.label, "docid": self.docid}, self._drop, self._categorical)
        is_text = COMMENT in names and kind_of(first.schema.field(COMMENT).type) == "text"
        self._comment = COMMENT if is_text and COMMENT not in [*(features or ()), *self._drop] else None
        self.is_default = features is None
        others = self._others(first) if features is None else []
        self._ids = [name for name in others if name in ID_NAMES]
        self._times = [name for name in others if kind_of(first.schema.field(name).type) == "time"]
        self._unnamed = [name for name in others if is_unnamed(name)]
        out = self._ids + self._times + self._unnamed
        self.features = [name for name in others if name not in out] if features is None else [*map(str, features)]
        twice = next((name for place, name in enumerate(self.features) if name in self.features[:place]), None)
        if twice is not None:
            raise ValueError(f"features names {twice!r} twice.")
        self.feature_names, self.first_index = names_and_first_index(self.features)
        noted = noted_in(first.schema) if features is None else {}
        if features is not None:
            self.feature_names, self.first_index = self.features, None
        if noted.get("features") == "unnamed":
            self.feature_names = None
        if noted.get("first_index") in (0, 1):
            self.first_index = noted["first_index"]

    def _others(self, part: Part) -> list[str]:
        """Return the columns that have no other role; not an index that pandas saved."""
        taken = {self.label, self.qid, self.docid, self._comment, *self._drop}
        return [name for name in part.schema.names if name not in taken and not name.startswith("__index_level_")]

    def _check_columns(self, part: Part) -> None:
        """Reject a part that lacks a column, or has more features than the first."""
        named = [name for name in (self.label, self.qid, self.docid) if name is not None]
        _check_present(part, named + self.features, label=self.label)
        known = {*self.features, *self._ids, *self._times, *self._unnamed}
        is_compared = self.is_default and part is not self.table.parts[0]
        more = [name for name in self._others(part) if name not in known] if is_compared else []
        if more:
            raise ValueError(
                f"{part.path} has a column {min(more)!r} that {self.table.parts[0].path} does not have. "
                "Name the columns to use: features=[...]."
            )

    def _check_types(self, part: Part, kinds: dict[str, str]) -> None:
        """Check the types of a part; ``kinds`` holds those of the parts before it."""
        field, first = part.schema.field, self.table.parts[0].path
        types = {name: kind_of(field(name).type) for name in self.features}
        other = [name for name, kind in types.items() if kind in ("other", "time")]
        if other:
            listed = ", ".join(f"{name!r} ({in_words(field(name))})" for name in other[:COLUMNS_LISTED])
            more = f" and {len(other) - COLUMNS_LISTED} more" if len(other) > COLUMNS_LISTED else ""
            hint = "Leave them out: drop=[...]." if self.is_default else "Convert them first, such as dates to ages."
            raise ValueError(
                f"{part.prefix}features must be numbers, text or categories, but these columns are not: "
                f"{listed}{more}. {hint}"
            )
        if self.label is not None and not is_number(field(self.label).type):
            raise ValueError(
                f"{part.prefix}labels and scores must be numbers, but column {self.label!r} is "
                f"{in_words(field(self.label))}{self._example(part)}. Convert it; in grades, 0 means not relevant, and "
                "higher is better."
            )
        for role, name in (("query ids", self.qid), ("document ids", self.docid)):
            kind = None if name is None else kind_of_ids(field(name).type)
            if name is not None and kind is None:
                raise ValueError(
                    f"{part.prefix}ids must be whole numbers or text, but column {name!r} is {in_words(field(name))}. "
                    "Convert it to text."
                )
            if kinds.setdefault(role, kind or "") != (kind or ""):
                raise ValueError(
                    f"{part.prefix}column {name!r} is {in_words(field(name))}, but in {first} it holds "
                    f"{'text' if kinds[role] == 'text' else 'whole numbers'}. All ids must have one type."
                )
        for name in self.features:
            kind = "text" if types[name] == "text" else "number"
            if kinds.setdefault(f"feature {name}", kind) != kind:
                raise ValueError(f"{part.prefix}column {name!r} is {in_words(field(name))}, but in {first} it is not.")
        numbers = {kind for name, kind in types.items() if name not in self._categorical} - {"text"}
        is_float32 = numbers == {"float32"} and kinds.get("numbers", "float32") == "float32"
        kinds["numbers"] = "float32" if is_float32 else "number"

    def _kind_of_ids(self, name: str | None, kind: str) -> str:
        """Return what ids are: floats with fractions are not whole numbers."""
        if name is None or kind != "number":
            return kind
        types = {str(part.schema.field(name).type) for part in self.table.parts}
        is_whole = types.isdisjoint({"halffloat", "float", "double"}) or are_whole(
            batch.column(0) for _, _, batch in self.table.batches([name], MAX_ROWS)
        )
        return "number" if is_whole else "other"

    def _example(self, part: Part) -> str:
        """Return the first label that is not a number, in words."""
        for found, _, batch in self.table.batches([self.label], MAX_ROWS):
            texts = as_texts(batch.column(0)).to_pylist() if kind_of(batch.column(0).type) == "text" else []
            other = next((text for text in texts if text is not None and not is_number_text(text)), None)
            if found.path == part.path and texts:
                return " of numbers" if other is None else f", such as {other!r}"
        return ""

    # --- Rows ---------------------------------------------------------------------------------------------------------

    def batches(self) -> Iterator[Batch]:
        """Yield all rows, in order."""
        only = self._only_batch
        for part, row, batch in self.table.batches(self._columns, self._rows_at_once) if only is None else [only]:
            yield self._as_batch(part, row, dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows)

    def _as_batch(self, part: Part, row: int, columns: dict[str, Any], n_rows: int) -> Batch:
        values = [
            self._coding.codes(part, name, columns[name]) if name in self._coding.names else as_floats(columns[name])
            for name in self.features
        ]
        X = side_by_side(values, n_rows, self.dtype)
        labels = None if self.label is None else as_floats(columns[self.label]).astype(np.float64)
        ids, lengths = self._runs(part, row, columns[self.qid])
        docid = None
        if self.docid is not None:
            where = part.prefix
            names = ids_of(columns[self.docid], self.docid, where, row)
            docid = names_of(names, self._docid_kind, self.docid, where)
        comments = None if self._comment is None else columns[self._comment].to_pylist()
        return Batch(X, labels, ids, lengths, docid, comments)

    def runs(self) -> Iterator[tuple[np.ndarray | list, np.ndarray]]:
        """Yield the query ids of all rows as runs of equal ids, and their lengths; no other column is read."""
        for part, row, batch in self.table.batches([self.qid], MAX_ROWS):
            yield self._runs(part, row, batch.column(0))

    def _runs(self, part: Part, row: int, column: Any) -> tuple[np.ndarray | list, np.ndarray]:
        where = part.prefix
        return runs_of(ids_of(column, self.qid, where, row), self.id_kind, self.qid, where)

    def warn_of_columns(self) -> None:
        """Warn about columns that resemble ids, times or texts in the first rows, and about those left out."""
        if not self.is_default:
            return
        first = next(self.table.batches(self._columns, ROWS_EXAMINED), None) if self.features else None
        if first is not None and first[2].num_rows == self.n_rows <= self._rows_at_once:
            self._only_batch = first
        suspects = {}
        for part, _, batch in () if first is None else (first,):
            for name in self.features:
                field, column = batch.schema.field(name), batch.column(batch.schema.get_field_index(name))
                why = self._suspicion(part, name, field, column)
                if why is not None:
                    suspects[name] = why
        warn_of_columns(
            suspects,
            left_out=self._ids,
            times=self._times,
            unnamed=self._unnamed,
            remedy="Choose the columns to use: features=[...], or drop=[...].",
        )

    def _suspicion(self, part: Part, name: str, field: Any, column: Any) -> str | None:
        if name not in self._coding.names:
            return resembles(name, as_floats(column.drop_null()))
        known, codes = self._coding.names[name], self._coding.codes(part, name, column)
        seen = known[np.unique(codes[~np.isnan(codes)]).astype(np.int64)]
        is_meant = name in self._categorical or str(field.type).startswith("dictionary")
        return resembles_text(codes, seen) or (None if is_meant else resembles_numbers(known))

    def queries(self) -> Queries:
        """Return all rows, in memory."""
        try:
            X = np.empty((self.n_rows, len(self.features)), dtype=self.dtype)
        except MemoryError as error:
            raise MemoryError(f"{error}. Memory-map the features instead: read_parquet(..., cache=True).") from error
        y = None if self.label is None else np.empty(self.n_rows)
        run_ids: list = []
        comments: list[str] = []
        lengths, names, row = [np.zeros(0, np.int64)], [], 0
        for batch in self.batches():
            place = slice(row, row + batch.X.shape[0])
            X[place] = batch.X
            if y is not None:
                y[place] = batch.labels
            run_ids.extend(batch.run_ids if isinstance(batch.run_ids, list) else [batch.run_ids])
            lengths.append(batch.run_lengths)
            names.append(batch.docid)
            comments.extend(batch.comments or ())
            row = place.stop
        if y is not None:
            of_column = f"{self.table.name}: column {self.label!r}" if self.table.name else f"column {self.label!r}"
            check_labels(y, name=of_column, allow_nan=True)
        groups = group_runs(as_ids(run_ids, self.id_kind), np.concatenate(lengths))
        docid = joined(names)
        return Queries.from_groups(
            X,
            y,
            groups.ids,
            groups.indptr,
            docid=as_str_array(docid.tolist()) if isinstance(docid, TextColumn) else docid,
            comments=None if self._comment is None else comments,
            feature_names=self.feature_names,
            first_index=self.first_index,
            categories=self.categories,
            row_order=groups.order,
            is_grouped=groups.order is None,
        )


def as_ids(values: list, kind: str) -> np.ndarray:
    """Return query ids as an array: texts, Python objects, or arrays of numbers one after another."""
    if kind == "number":
        return np.concatenate([np.zeros(0, np.int64), *values])
    return as_str_array(values) if kind == "text" else as_objects(values)


def joined(parts: list) -> np.ndarray | TextColumn | None:
    """Concatenate the document names of several batches; None without names."""
    if not parts or parts[0] is None:
        return None
    if len(parts) == 1 and not isinstance(parts[0], list):
        return parts[0]
    if isinstance(parts[0], list):
        return as_objects([name for part in parts for name in part])
    return TextColumn.concat(parts) if isinstance(parts[0], TextColumn) else np.concatenate(parts)


def _check_present(part: Part, names: Sequence[str], label: str | None = None) -> None:
    present = part.schema.names
    for name in names:
        if present.count(name) == 1:
            continue
        where = f"{part.path} has" if part.path else "the table has"
        if name in present:
            raise ValueError(f"{where} {present.count(name)} columns named {name!r}; it must have one.")
        hint = columns_in_words(name, present)
        if name == label:
            hint += " For labels with another name, pass label=...; without labels, label=None."
        raise ValueError(f"{f'{where} no' if part.path else 'there is no'} column {name!r}. {hint}")
