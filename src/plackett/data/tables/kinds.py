"""What the columns of an Arrow table hold, and their values as numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plackett.data.grouping import as_objects
from plackett.data.tables.arrow_table import OBJECTS
from plackett.data.text_column import TextColumn, as_str_array

LARGEST_FLOAT_ID = 2.0**53
CACHED_BYTES = 1 << 18  # of a matrix, written column by column within the cache of the processor


def kind_of(type_: Any) -> str:
    """Return "float32", "number" (Booleans, decimals and nulls too), "text" (categories too), "time" or "other"."""
    import pyarrow.types as types

    if types.is_dictionary(type_):
        return "other" if kind_of(type_.value_type) == "other" else "text"  # categories may be numbers, spelled as text
    if types.is_float32(type_):
        return "float32"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_temporal(type_):
        return "time"
    is_number = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_)
    return "number" if is_number or types.is_boolean(type_) or types.is_null(type_) else "other"


def is_number(type_: Any) -> bool:
    return kind_of(type_) in ("float32", "number")


def in_words(field: Any) -> str:
    """Return the type of a column for messages."""
    if field.metadata and OBJECTS in field.metadata:
        return f"objects: {field.metadata[OBJECTS].decode()}"
    return "text" if kind_of(field.type) == "text" else str(field.type)


def as_floats(column: Any) -> np.ndarray:
    """Return the values as numbers of any dtype, nulls as NaN."""
    import pyarrow.types as types

    if types.is_boolean(column.type):
        column = column.cast("uint8")
    elif types.is_decimal(column.type) or types.is_null(column.type):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


def side_by_side(columns: Sequence[np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return X with these vectors as its columns."""
    step = max(1, CACHED_BYTES // max(1, X.shape[1] * X.itemsize))
    for start in range(0, X.shape[0], step):
        for place, column in enumerate(columns):
            X[start : start + step, place] = column[start : start + step]
    return X


def as_texts(column: Any) -> Any:
    """Return a column of text, categories or numbers as one of large strings."""
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast("large_string") if kind_of(column.type) == "text" else number_texts(column)


def number_text(value: Any) -> str:
    """Return the name of a category that is a number, or text: whole numbers are spelled as integers."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def number_texts(column: Any) -> Any:
    """Return numbers as texts, NaN as null; whole ones are spelled as integers, whether or not the column has NaN."""
    import pyarrow

    values = column.to_pylist()
    texts = {value: None if value is None or value != value else number_text(value) for value in set(values)}
    return pyarrow.array([texts[value] for value in values], pyarrow.large_string())


# --- Ids --------------------------------------------------------------------------------------------------------------


def kind_of_ids(type_: Any) -> str | None:
    """Return "number", "text", or "other" for ids that stay Python objects, such as dates; None if they are no ids."""
    import pyarrow.types as types

    if types.is_dictionary(type_):
        type_ = type_.value_type
    if types.is_integer(type_) or types.is_floating(type_):
        return "number"
    if kind_of(type_) == "text":
        return "text"
    return "other" if types.is_primitive(type_) or types.is_binary(type_) or types.is_decimal(type_) else None


def ids_of(column: Any, name: str, where: str, row: int) -> Any:
    """Return a column of ids, decoded from a dictionary; a null is an error. ``row`` is the number of its first row."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    missing = compute.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)
    if missing.any():
        at = row + int(np.argmax(missing))
        raise ValueError(f"{where}column {name!r} is null in row {at}. Every row needs an id.")
    return column


def whole_numbers(ids: Any, name: str, where: str) -> np.ndarray:
    """Return ids as integers, also where a column of floats holds them, as it does if values are missing."""
    numbers = ids.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.uint64 and numbers.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError(f"{where}an id is {numbers.max()}, larger than 2**63 - 1; write such ids as text.")
    if numbers.dtype.kind == "f" and np.abs(numbers).max(initial=0.0) >= LARGEST_FLOAT_ID:
        raise ValueError(
            f"{where}column {name!r} holds ids as floats of 2^53 or more, where different ids may have been "
            "rounded to one. Read it as integers or text."
        )
    return numbers.astype(np.int64)


def runs_of(ids: Any, kind: str, name: str, where: str) -> tuple[np.ndarray | list, np.ndarray]:
    """Return the ids of the runs of equal ids, and the lengths of the runs."""
    if kind == "number":
        codes, known = whole_numbers(ids, name, where), None
    else:
        coded = ids.dictionary_encode()
        codes, known = coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()
    is_first = np.ones(codes.size, dtype=bool)
    is_first[1:] = codes[1:] != codes[:-1]
    starts = np.flatnonzero(is_first)
    lengths = np.diff(np.append(starts, codes.size))
    return codes[starts] if known is None else [known[code] for code in codes[starts].tolist()], lengths


def names_of(ids: Any, kind: str, name: str, where: str) -> np.ndarray | TextColumn | list:
    """Return the names of documents: whole numbers, the bytes of texts, or Python objects."""
    if kind != "text":
        return whole_numbers(ids, name, where) if kind == "number" else ids.to_pylist()
    large = ids.cast("large_string")
    _, bounds, content = large.buffers()
    offsets = np.frombuffer(bounds, dtype=np.int64)[large.offset : large.offset + len(large) + 1]
    buffer = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, dtype=np.uint8)
    return TextColumn(buffer[offsets[0] : offsets[-1]].copy(), offsets - offsets[0])


def joined(parts: Sequence[Any], kind: str) -> np.ndarray:
    """Return the ids of several batches as an array of whole numbers, texts, or Python objects."""
    if kind == "number":
        return np.concatenate([np.zeros(0, np.int64), *parts])
    values = [value for part in parts for value in part]
    return as_str_array(values) if kind == "text" else as_objects(values)
