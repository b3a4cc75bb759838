"""From a table of any source to judged lists: the roles of its columns, their checks, and its rows as arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plackett.data.grouping import group_runs
from plackett.data.queries import Queries
from plackett.data.tables import column_roles
from plackett.data.tables.arrow_table import Part, Table
from plackett.data.tables.coding import category_names, codes_of, noted_in
from plackett.data.tables.column_roles import COLUMNS_LISTED, COMMENT, ID_NAMES, ROWS_EXAMINED
from plackett.data.tables.kinds import (
    as_floats,
    as_texts,
    ids_of,
    in_words,
    is_number,
    joined,
    kind_of,
    kind_of_ids,
    names_of,
    runs_of,
    side_by_side,
)
from plackett.data.text_column import TextColumn
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
        table: Table,
        label: str | None,
        qid: str,
        docid: str | None,
        features: Sequence[str] | None = None,
        drop: Sequence[str] | str = (),
        categorical: Sequence[str] | str = (),
    ):
        self.table, self.name, self._parts, self.qid = table, table.name, table.parts, qid
        self._drop, self._categorical = ([one] if isinstance(one, str) else list(one) for one in (drop, categorical))
        if isinstance(features, str):
            raise TypeError(f"features is a single string, {features!r}; expected a list of column names.")
        if self._drop and features is not None:
            raise ValueError("drop was given together with features; columns not named in features are ignored anyway.")
        self._choose(table.parts[0], label, docid, features)
        self._kinds: dict[tuple[str, str], str] = {}
        self.dtype: np.dtype = np.dtype(np.float32)
        for part in table.parts:
            self._check_columns(part)
            self._check_types(part)
        self._columns = [name for name in (self.label, self.qid, self.docid, self._comment) if name is not None]
        self._columns = list(dict.fromkeys(self._columns + self.features))
        bytes_of_row = max(1, len(self.features) * self.dtype.itemsize)
        self._rows_at_once = min(MAX_ROWS, max(MIN_ROWS, BATCH_BYTES // bytes_of_row))
        self._only_batch: tuple[Part, int, Any] | None = None
        self.table = table.select(self._columns)
        self.n_rows = self.table.n_rows  # of a lazy frame they are known now
        self.id_kind, self._docid_kind = self._kind_of_ids(self.qid), self._kind_of_ids(self.docid)
        coded = [name for name in self.features if name in self._categorical or self._kinds["feature", name] == "text"]
        self._names = category_names(self.table, coded)
        used = {self.features.index(name): own for name, own in self._names.items() if own.size}
        self.categories = dict(sorted(used.items())) or None

    def _choose(self, first: Part, label: str | None, docid: str | None, features: Sequence[str] | None) -> None:
        names = first.schema.names
        column_roles.check_columns([*self._drop, *self._categorical], names, first.path)
        self.docid = column_roles.docid_column(docid, [name for name in names if name not in (self.qid, label)])
        self.label = None if label == "label" and column_roles.has_no_labels(names) else label
        roles = {"qid": self.qid, "label": self.label, "docid": self.docid}
        column_roles.check_roles(roles, self._drop, self._categorical)
        is_free = COMMENT in names and COMMENT not in [*(features or ()), *self._drop]
        self._comment = COMMENT if is_free and kind_of(first.schema.field(COMMENT).type) == "text" else None
        self.is_default = features is None
        others = self._others(first) if features is None else []
        self._ids = [name for name in others if name in ID_NAMES]
        self._times = [name for name in others if kind_of(first.schema.field(name).type) == "time"]
        self._unnamed = [name for name in others if column_roles.is_unnamed(name)]
        if features is not None:
            self.features = [*map(str, features)]
            self.feature_names: list[str] | None = self.features
            self.first_index = None
            twice = next((name for place, name in enumerate(self.features) if name in self.features[:place]), None)
            if twice is not None:
                raise ValueError(f"features names {twice!r} twice.")
            return
        out = {*self._ids, *self._times, *self._unnamed}
        self.features = [name for name in others if name not in out]
        self.feature_names, self.first_index = column_roles.names_and_first_index(self.features)
        noted = noted_in(first.schema)
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
        column_roles.check_columns(named + self.features, part.schema.names, part.path, self.label)
        known = {*self.features, *self._ids, *self._times, *self._unnamed}
        is_compared = self.is_default and part is not self._parts[0]
        more = [name for name in self._others(part) if name not in known] if is_compared else []
        if more:
            raise ValueError(
                f"{part.path} has a column {min(more)!r} that {self._parts[0].path} does not have. "
                "Name the columns to use: features=[...]."
            )

    def _check_types(self, part: Part) -> None:
        """Check the types of a part, also against those of the parts before it."""
        field, first = part.schema.field, self._parts[0].path
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
        for name in (self.qid, self.docid):
            kind = None if name is None else kind_of_ids(field(name).type)
            if name is not None and kind is None:
                raise ValueError(
                    f"{part.prefix}ids must be whole numbers or text, but column {name!r} is {in_words(field(name))}. "
                    "Convert it to text."
                )
            known = self._kinds.setdefault(("ids", name or ""), kind or "")
            if kind != known and name is not None:
                raise ValueError(
                    f"{part.prefix}column {name!r} is {in_words(field(name))}, but in {first} it holds "
                    f"{'text' if known == 'text' else 'whole numbers'}. All ids must have one type."
                )
        for name, kind in types.items():
            kind = "text" if kind == "text" else "number"
            if self._kinds.setdefault(("feature", name), kind) != kind:
                raise ValueError(f"{part.prefix}column {name!r} is {in_words(field(name))}, but in {first} it is not.")
        if {kind for name, kind in types.items() if name not in self._categorical} - {"text"} != {"float32"}:
            self.dtype = np.dtype(np.float64)

    def _kind_of_ids(self, name: str | None) -> str:
        """Return what ids are; those of floats with fractions are not whole numbers."""
        kind = self._kinds["ids", name or ""]
        types = {str(part.schema.field(name).type) for part in self._parts} if kind == "number" else set()
        if name is None or types.isdisjoint({"halffloat", "float", "double"}):
            return kind
        columns = (as_floats(batch.column(0).drop_null()) for _, _, batch in self.table.batches([name]))
        are_whole = all(np.array_equal(values, np.floor(values), equal_nan=True) for values in columns)
        return kind if are_whole else "other"

    def _example(self, part: Part) -> str:
        """Return the first label that is not a number, in words."""
        label = self.label or ""
        for found, _, batch in self.table.select([label]).batches([label]):
            texts = as_texts(batch.column(0)).to_pylist() if kind_of(batch.column(0).type) == "text" else []
            other = next((text for text in texts if text is not None and not column_roles.is_number(text)), None)
            if found.path == part.path and texts:
                return " of numbers" if other is None else f", such as {other!r}"
        return ""

    # --- Rows ---------------------------------------------------------------------------------------------------------

    def batches(self, target: np.ndarray | None = None) -> Iterator[Batch]:
        """Yield all rows, in order; their features are those rows of ``target``, if it is given."""
        start = 0
        batches = self.table.batches(self._columns, self._rows_at_once)
        for part, row, batch in batches if self._only_batch is None else [self._only_batch]:
            if target is None:
                X = np.empty((batch.num_rows, len(self.features)), dtype=self.dtype)
            else:
                X = target[start : start + batch.num_rows]
                start += batch.num_rows
            side_by_side([self._values(part, name, batch.column(name)) for name in self.features], X)
            labels = None if self.label is None else as_floats(batch.column(self.label)).astype(np.float64)
            docid, comments, where = None, None, part.prefix
            ids = ids_of(batch.column(self.qid), self.qid, where, row)
            runs = runs_of(ids, self.id_kind, self.qid, where)
            if self.docid is not None:
                names = ids_of(batch.column(self.docid), self.docid, where, row)
                docid = names_of(names, self._docid_kind, self.docid, where)
            if self._comment is not None:
                comments = batch.column(self._comment).fill_null("").to_pylist()
            yield Batch(X, labels, *runs, docid, comments)

    def _values(self, part: Part, name: str, column: Any) -> np.ndarray:
        return codes_of(column, self._names[name], name, part.path) if name in self._names else as_floats(column)

    def warn_of_columns(self) -> None:
        """Warn about columns that resemble ids, times or texts in the first rows, and about those left out."""
        if not self.is_default:
            return
        first = next(self.table.batches(self._columns, ROWS_EXAMINED), None) if self.features else None
        if first is not None and first[2].num_rows == self.n_rows <= self._rows_at_once:
            self._only_batch = first
        column_roles.warn_of_columns(
            {} if first is None else {name: self._suspicion(first[0], name, first[2]) for name in self.features},
            left_out=self._ids,
            times=self._times,
            unnamed=self._unnamed,
            remedy="Choose the columns to use: features=[...], or drop=[...].",
        )

    def _suspicion(self, part: Part, name: str, batch: Any) -> str | None:
        column = batch.column(name)
        if name not in self._names:
            return column_roles.resembles(name, as_floats(column.drop_null()))
        known, codes = self._names[name], self._values(part, name, column)
        seen = known[np.unique(codes[~np.isnan(codes)]).astype(np.int64)]
        is_meant = name in self._categorical or str(column.type).startswith("dictionary")
        of_numbers = None if is_meant else column_roles.resembles_numbers(known)
        return of_numbers or column_roles.resembles_text(codes, seen)

    def queries(self) -> Queries:
        """Return all rows, in memory."""
        try:
            X = np.empty((self.n_rows, len(self.features)), dtype=self.dtype)
        except MemoryError as error:
            raise MemoryError(f"{error}. Memory-map the features instead: read_parquet(..., cache=True).") from error
        columns = list(zip(*self.batches(X), strict=True)) or [()] * len(Batch._fields)
        _, labels, run_ids, lengths, docid, comments = columns
        y = None if self.label is None else np.concatenate([np.zeros(0), *labels])
        if y is not None:
            where = f"{self.name}: " if self.name else ""
            check_labels(y, name=f"{where}column {self.label!r}", allow_nan=True)
        groups = group_runs(joined(run_ids, self.id_kind), np.concatenate([np.zeros(0, np.int64), *lengths]))
        return Queries.from_groups(
            X,
            y,
            groups.ids,
            groups.indptr,
            docid=None if self.docid is None else joined(docid, self._docid_kind),
            comments=None if self._comment is None else TextColumn.from_strings(itertools.chain(*comments)),
            feature_names=self.feature_names,
            first_index=self.first_index,
            categories=self.categories,
            row_order=groups.order,
            is_grouped=groups.order is None,
        )
