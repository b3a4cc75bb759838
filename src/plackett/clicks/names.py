"""Codes of names: positions in a sorted list, so that they do not depend on the order of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plackett.data.text_column import TextColumn
from plackett.data.trec.ids import as_text_ids


def code_names(names: Any, what: str) -> tuple[TextColumn, np.ndarray]:
    """Return the different names, sorted by their UTF-8 bytes, and the position of each name among them.

    Numbers become text: 7 and "7" are the same name.

    Examples
    --------
    >>> names, codes = code_names(["b", "a", "b"], "docid")
    >>> list(names), codes
    (['a', 'b'], array([1, 0, 1], dtype=int32))
    """
    texts = list(names) if isinstance(names, TextColumn) else as_text_ids(names, what).tolist()
    different = sorted({text.encode("utf-8", "surrogateescape") for text in texts})
    column = _column_of(different)
    place = {text: code for code, text in enumerate(column)}
    return column, np.fromiter((place[text] for text in texts), np.int32, len(texts))


def match_names(names: TextColumn, known: TextColumn) -> np.ndarray:
    """Return the position of each name among the known ones, -1 for a name that is not there; all names differ.

    Examples
    --------
    >>> match_names(TextColumn.from_strings(["a", "c"]), TextColumn.from_strings(["b", "c"]))
    array([-1,  1])
    """
    if names is known or names == known:
        return np.arange(len(names))
    place = {known.bytes_of(code): code for code in range(len(known))}
    codes = (place.get(names.bytes_of(code), -1) for code in range(len(names)))
    return np.fromiter(codes, np.int64, len(names))


def names_as_arrays(what: str, names: TextColumn) -> dict[str, np.ndarray]:
    """Return names as arrays to be stored."""
    first, last = names.bounds[0], names.bounds[-1]
    return {f"{what}.bytes": names.buffer[first:last], f"{what}.bounds": names.bounds - first}


def stored_names(what: str, arrays: Mapping[str, np.ndarray]) -> TextColumn:
    """Return the names of ``names_as_arrays``, checked."""
    buffer, bounds = arrays[f"{what}.bytes"], arrays[f"{what}.bounds"]
    is_whole = bounds.dtype == np.int64 and bounds.size and bounds[0] == 0 and bounds[-1] == buffer.size
    if buffer.dtype != np.uint8 or not is_whole or (np.diff(bounds) < 0).any():
        raise ValueError(f"the names in {what} are damaged.")
    return TextColumn(buffer, bounds)


def _column_of(encoded: Sequence[bytes]) -> TextColumn:
    bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=bounds[1:])
    return TextColumn(np.frombuffer(b"".join(encoded), dtype=np.uint8), bounds)
