"""Columns of text and categories as codes, and codes as columns of data frames."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._optional import import_optional
from plackett.data.categories import Categories, as_names, decode_column
from plackett.data.tables.arrow_table import Table
from plackett.data.tables.column_roles import COMMENT, check_feature_names, warn_of_texts
from plackett.data.tables.kinds import as_texts, kind_of, side_by_side
from plackett.exceptions import DataFormatError
from plackett.validation import check_choice, check_csr, is_sparse

if TYPE_CHECKING:
    from plackett.data.queries import Queries

METADATA = b"plackett"  # key of what write_parquet records in a file
ENUM = b"_PL_ENUM_VALUES2"  # polars: the categories of this column have an order
BACKENDS = ("pandas", "polars", "pyarrow")
KINDS_OF_TEXT = ("string", "str", "large_string", "dictionary", "category", "object", "cat", "enum")  # or of numbers


def category_names(table: Table, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the names of the categories of some columns, numbers or text.

    Names are those that ``write_parquet`` recorded, or in the order of a categorical column in memory, including unused
    ones; otherwise sorted.
    """
    if not columns:
        return {}
    recorded = [noted_in(part.schema).get("categories") for part in table.parts]
    known: dict[str, list[str]] = {}
    for name in columns:
        lists = [own.get(name) if isinstance(own, dict) else None for own in recorded]
        is_list = type(lists[0]) is list and all(type(text) is str for text in lists[0])
        if is_list and lists.count(lists[0]) == len(lists):
            known[name] = list(lists[0] or ())
    found: dict[str, dict[str, None]] = {name: {} for name in columns if name not in known}
    ordered = [name for name in found if not table.name and _has_order(table.parts[0].schema.field(name))]
    for _, _, batch in table.batches(list(found)) if found else ():
        for name, texts in found.items():
            column = batch.column(name)
            values = as_texts(column.dictionary) if name in ordered else as_texts(column).unique().drop_null()
            texts.update(dict.fromkeys(values.to_pylist()))
    known |= {name: list(texts) if name in ordered else sorted(texts) for name, texts in found.items()}
    prefix = f"{table.name}: " if table.name else ""
    return {name: as_names(names, f"{prefix}column {name!r}") for name, names in known.items()}


def _has_order(field: Any) -> bool:
    """Return whether a column is categorical with an order of its own; that of a Categorical of polars has none."""
    noted = field.metadata or {}
    is_ordered = ENUM in noted or not any(key.startswith(b"_PL_") for key in noted)
    return str(field.type).startswith("dictionary") and is_ordered


def codes_of(column: Any, names: np.ndarray, name: str, path: str = "") -> np.ndarray:
    """Return the codes of a column as floats, NaN where it is null."""
    import pyarrow
    import pyarrow.compute as compute

    texts = as_texts(column)
    found = compute.index_in(texts, value_set=pyarrow.array(names.tolist(), type=pyarrow.large_string()))
    if found.null_count != texts.null_count:
        reason = f"column {name!r} has texts that are not among its recorded categories."
        raise DataFormatError(path or "the table", None, reason)
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
    answer = side_by_side([columns[name] for name in names], np.empty((len(X), len(names)), dtype))
    return answer, names, {names.index(name): own for name, own in known.items() if own.size}


def _columns_at(frame: Any, places: Sequence[int], names: Sequence[str]) -> Any:
    return frame.iloc[:, places] if hasattr(frame, "iloc") else frame.select([names[place] for place in places])


def _coded(frame: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the codes of the columns of a frame that hold text or categories, and the names of these, by column."""
    table = Table(frame)
    texts = [field.name for field in table.parts[0].schema if kind_of(field.type) == "text"]
    known = category_names(table, texts)
    rows = table.to_arrow(texts)
    return {name: codes_of(rows[name], known[name], name) for name in texts}, known


def noted_in(schema: Any) -> dict[str, Any]:
    """Return what ``write_parquet`` notes: whether it made the feature names, their first number, the categories."""
    try:
        noted = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
    except (ValueError, RecursionError):  # metadata of another program
        return {}
    return noted if isinstance(noted, dict) else {}


def to_frame(queries: Queries, backend: str, *, label: str, qid: str, docid: str) -> Any:
    """Return the queries as a data frame: see ``Queries.to_frame``."""
    check_choice(backend, "backend", BACKENDS)
    module = import_optional(backend, extra=None, needed_for=f"to_frame with backend={backend!r}")
    names = queries.feature_labels
    columns = {qid: _as_values(queries.qid)}
    if queries.docid is not None:
        columns[docid] = _as_values(queries.docid)
    if queries.y is not None:
        columns[label] = queries.y
    if queries.comments is not None:
        columns[COMMENT] = list(queries.comments)
    check_feature_names(names, columns, "to_frame(..., qid=...).")
    check_csr(queries.X)
    X = queries.X.toarray() if is_sparse(queries.X) else queries.X
    known = queries.categories or {}
    columns |= {
        name: decode_column(X[:, place], known[place], backend) if place in known else np.ascontiguousarray(X[:, place])
        for place, name in enumerate(names)
    }
    try:
        return module.table(columns) if backend == "pyarrow" else module.DataFrame(columns)
    except (TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise ValueError(f'{backend} has no column type for some ids ({reason}). Use to_frame("pandas").') from error


def _as_values(ids: np.ndarray) -> np.ndarray | list:
    return ids if ids.dtype.kind in "iuf" else ids.tolist()
