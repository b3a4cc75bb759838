"""Columns of text and categories as codes: the names of the categories of a table, and the codes of its values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.categories import Categories, as_names
from plackett.data.tables.arrow_table import ArrowTable, Part
from plackett.data.tables.column_roles import warn_of_texts
from plackett.data.tables.kinds import as_texts, kind_of, number_texts, side_by_side
from plackett.exceptions import DataFormatError

METADATA = b"plackett"  # key of what write_parquet records in a file
ENUM = b"_PL_ENUM_VALUES2"  # polars: the categories of this column have an order
ROWS_AT_ONCE = 1 << 16
KINDS_OF_TEXT = ("string", "str", "large_string", "dictionary", "category", "object", "cat", "enum")  # or of numbers


class Coding:
    """The names of the categories of some columns of a table, numbers or text, and codes for their values.

    Names are those that ``write_parquet`` recorded, or in the order of a categorical column in memory, including unused
    ones; otherwise sorted.
    """

    def __init__(self, table: Any, columns: Sequence[str]):
        self._is_in_memory, self._fields = not table.name, table.parts[0].schema.field
        prefix = f"{table.name}: " if table.name else ""
        self.names: dict[str, np.ndarray] = {}
        for name in columns:
            recorded = [noted_in(part.schema).get("categories") for part in table.parts]
            lists = [one.get(name) if isinstance(one, dict) else None for one in recorded]
            is_list = type(lists[0]) is list and all(type(text) is str for text in lists[0])
            if is_list and lists.count(lists[0]) == len(lists):
                self.names[name] = as_names(lists[0], f"{prefix}column {name!r}")
        found: dict[str, dict[str, None]] = {name: {} for name in columns if name not in self.names}
        for _, _, batch in table.batches(list(found), ROWS_AT_ONCE) if found else ():
            for name, texts in found.items():
                column = batch.column(batch.schema.get_field_index(name))
                values = _texts(column.dictionary) if self._has_order(name) else _texts(column).unique().drop_null()
                texts.update(dict.fromkeys(values.to_pylist()))
        for name, texts in found.items():
            names = list(texts) if self._has_order(name) else sorted(texts)
            self.names[name] = as_names(names, f"{prefix}column {name!r}")

    def _has_order(self, name: str) -> bool:
        """Return whether a column is categorical with an order of its own; that of a Categorical of polars has none."""
        field = self._fields(name)
        noted = field.metadata or {}
        is_ordered = ENUM in noted or not any(key.startswith(b"_PL_") for key in noted)
        return self._is_in_memory and str(field.type).startswith("dictionary") and is_ordered

    def codes(self, part: Part, name: str, column: Any) -> np.ndarray:
        """Return the codes of a column as floats, NaN where it is null."""
        import pyarrow
        import pyarrow.compute as compute

        texts = _texts(column)
        known = pyarrow.array(self.names[name].tolist(), type=pyarrow.large_string())
        found = compute.index_in(texts, value_set=known)
        if found.null_count != texts.null_count:
            reason = f"column {name!r} has texts that are not among its recorded categories."
            raise DataFormatError(part.path or "the table", None, reason)
        return found.cast("float64").to_numpy(zero_copy_only=False)


def features_of(X: Any) -> tuple[Any, list[str] | None, Categories | None]:
    """Return a frame of features as an array with codes for text, the names of columns, and those of the categories.

    Input of any other kind is returned unchanged, with None. Frames of numbers need no pyarrow.
    """
    if not (hasattr(X, "columns") and (hasattr(X, "to_numpy") or hasattr(X, "schema"))):
        return X, None, None
    names = [str(name) for name in getattr(X, "column_names", None) or X.columns]
    kinds = X.schema.types if hasattr(X, "column_names") else getattr(X, "dtypes", ())
    kinds = kinds.tolist() if hasattr(kinds, "tolist") else list(kinds)
    may_be_texts = [place for place, kind in enumerate(kinds) if str(kind).lower().startswith(KINDS_OF_TEXT)]
    codes, known = _coded(_columns_at(X, may_be_texts, names)) if may_be_texts else ({}, {})
    others = [place for place, name in enumerate(names) if name not in codes]
    numbers = _columns_at(X, others, names) if codes else X
    rows = numbers.to_numpy() if hasattr(numbers, "to_numpy") else np.asarray(numbers)
    if rows.dtype == object and hasattr(X, "isna"):  # pandas' NA becomes NaN
        rows = np.where(numbers.isna().to_numpy(), np.nan, rows)
    if not codes:
        return rows, names, {}
    warn_of_texts({name: (own, known[name]) for name, own in codes.items()})
    dtype = rows.dtype if others and rows.dtype in (np.float32, object) else np.float64
    columns = {name: rows[:, place] for place, name in enumerate(names[other] for other in others)} | codes
    answer = side_by_side([columns[name] for name in names], len(X), dtype)
    return answer, names, {names.index(name): own for name, own in known.items() if own.size}


def _columns_at(frame: Any, places: Sequence[int], names: Sequence[str]) -> Any:
    return frame.iloc[:, places] if hasattr(frame, "iloc") else frame.select([names[place] for place in places])


def _coded(frame: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the codes of the columns of a frame that hold text or categories, and the names of these, by column."""
    table = ArrowTable(frame)
    texts = [field.name for field in table.parts[0].schema if kind_of(field.type) == "text"]
    coding = Coding(table, texts)
    codes: dict[str, list] = {name: [np.zeros(0)] for name in texts}
    for part, _, batch in table.batches(texts, ROWS_AT_ONCE) if texts else ():
        for name, column in zip(texts, batch.columns, strict=True):
            codes[name].append(coding.codes(part, name, column))
    return {name: np.concatenate(own) for name, own in codes.items()}, coding.names


def noted_in(schema: Any) -> dict[str, Any]:
    """Return what ``write_parquet`` notes: whether it made the feature names, their first number, the categories."""
    try:
        noted = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):  # metadata of another program
        return {}
    return noted if isinstance(noted, dict) else {}


def _texts(column: Any) -> Any:
    return as_texts(column) if kind_of(column.type) == "text" else number_texts(column)
