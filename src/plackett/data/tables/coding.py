"""Columns of text and categories as codes: the names of the categories of a table, and the codes of its values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.categories import Categories, as_names
from plackett.data.tables.arrow_table import ArrowTable, Part
from plackett.data.tables.column_roles import warn_of_texts
from plackett.data.tables.kinds import as_texts, kind_of, number_texts
from plackett.exceptions import DataFormatError

METADATA = b"plackett"  # key of what write_parquet records in a file
ENUM = b"_PL_ENUM_VALUES2"  # polars: the categories of this column have an order
ROWS_AT_ONCE = 1 << 16


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


def encode_frame(X: Any) -> tuple[Any, Categories | None]:
    """Return a data frame with codes instead of text and categories, and their names; other input unchanged, and None.

    The frame is the same object if there is nothing to encode.
    """
    if not (hasattr(X, "columns") and (hasattr(X, "to_numpy") or hasattr(X, "schema"))):
        return X, None
    if not _may_have_categories(X):
        return X, {}
    found = _coded_columns(X)
    if not found:
        return X, {}
    warn_of_texts({name: (codes, names) for name, codes, names in found.values()})
    categories = {place: names for place, (_, _, names) in found.items() if names.size}
    if hasattr(X, "set_column"):  # a table of pyarrow
        for place, (name, codes, _) in found.items():
            X = X.set_column(place, name, [codes])
        return X, categories
    if hasattr(X, "with_columns"):
        import polars

        return X.with_columns([polars.Series(name, codes) for name, codes, _ in found.values()]), categories
    return X.assign(**{X.columns[place]: codes for place, (_, codes, _) in found.items()}), categories


def _may_have_categories(frame: Any) -> bool:
    """Return whether a data frame may have columns of text or categories, by their dtypes."""
    kinds = frame.schema.types if hasattr(frame, "column_names") else getattr(frame, "dtypes", ())
    kinds = kinds.tolist() if hasattr(kinds, "tolist") else list(kinds)
    words = ("string", "str", "large_string", "dictionary", "category", "object", "cat", "enum")
    return any(str(kind).lower().startswith(words) for kind in kinds)


def _coded_columns(frame: Any) -> dict[int, tuple[str, np.ndarray, np.ndarray]]:
    """Return name, codes and names of categories of each column of text of a frame, by its position.

    The codes are float32 if all other columns are.
    """
    table = ArrowTable(frame)
    fields = list(table.parts[0].schema)
    texts = [field.name for field in fields if kind_of(field.type) == "text"]
    if not texts:
        return {}
    kinds = {kind_of(field.type) for field in fields if field.name not in texts}
    table.select(texts)
    coding = Coding(table, texts)
    parts: dict[str, list] = {name: [np.zeros(0)] for name in texts}
    for part, _, batch in table.batches(texts, ROWS_AT_ONCE):
        for name in texts:
            parts[name].append(coding.codes(part, name, batch.column(batch.schema.get_field_index(name))))
    places = {field.name: place for place, field in enumerate(fields)}
    dtype = np.float32 if kinds == {"float32"} else np.float64
    return {places[name]: (name, np.concatenate(parts[name]).astype(dtype), coding.names[name]) for name in texts}


def noted_in(schema: Any) -> dict[str, Any]:
    """Return what ``write_parquet`` notes: whether it made the feature names, their first number, the categories."""
    try:
        noted = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):  # metadata of another program
        return {}
    return noted if isinstance(noted, dict) else {}


def _texts(column: Any) -> Any:
    return as_texts(column) if kind_of(column.type) == "text" else number_texts(column)
