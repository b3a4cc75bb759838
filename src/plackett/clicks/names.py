"""Codes of names: positions in a sorted list, so that they do not depend on the order of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.text_column import TextColumn
from plackett.data.trec.ids import as_text_ids


class NameTable:
    """Different names, with codes in the order of their first appearance, and sorted at the end."""

    def __init__(self) -> None:
        self._names = _native.clicks.make_names()

    def __len__(self) -> int:
        return _native.clicks.count_names(self._names)[0]

    def add(self, buffer: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Return the codes of texts in a buffer, given by their bounds; -1 where the first bound is negative."""
        codes = np.empty(len(spans), dtype=np.int32)
        _native.clicks.add_names(self._names, buffer, np.ascontiguousarray(spans), codes)
        return codes

    def add_column(self, names: TextColumn) -> np.ndarray:
        """Return the codes of a column of names."""
        return self.add(names.buffer, np.stack([names.bounds[:-1], names.bounds[1:]], axis=1))

    def take(self, codes: np.ndarray) -> TextColumn:
        """Return the names of codes."""
        bounds = np.empty(codes.size + 1, dtype=np.int64)
        _native.clicks.measure_names(self._names, codes, bounds)
        buffer = np.empty(bounds[-1], dtype=np.uint8)
        _native.clicks.copy_names(self._names, codes, bounds, buffer)
        return TextColumn(buffer, bounds)

    def finish(self) -> tuple[TextColumn, np.ndarray]:
        """Return the names, sorted by their UTF-8 bytes, and the position of each code among them."""
        n_names, n_bytes = _native.clicks.count_names(self._names)
        buffer, bounds = np.empty(n_bytes, dtype=np.uint8), np.empty(n_names + 1, dtype=np.int64)
        place = np.empty(n_names, dtype=np.int32)
        _native.clicks.sort_names(self._names, buffer, bounds, place)
        return TextColumn(buffer, bounds), place


def code_names(names: Any, what: str) -> tuple[TextColumn, np.ndarray]:
    """Return the different names, sorted by their UTF-8 bytes, and the position of each name among them.

    Numbers become text: 7 and "7" are the same name.

    Examples
    --------
    >>> names, codes = code_names(["b", "a", "b"], "docid")
    >>> list(names), codes
    (['a', 'b'], array([1, 0, 1], dtype=int32))
    """
    column = names if isinstance(names, TextColumn) else TextColumn.from_strings(as_text_ids(names, what).tolist())
    table = NameTable()
    codes = table.add_column(column)
    different, place = table.finish()
    return different, place[codes]


def match_names(names: TextColumn, known: TextColumn) -> np.ndarray:
    """Return the position of each name among the known ones, -1 for a name that is not there; all names differ.

    Examples
    --------
    >>> match_names(TextColumn.from_strings(["a", "c"]), TextColumn.from_strings(["b", "c"]))
    array([-1,  1])
    """
    if names is known or names == known:
        return np.arange(len(names))
    table = NameTable()
    table.add_column(known)
    codes = table.add_column(names).astype(np.int64)
    return np.where(codes < len(known), codes, -1)


def names_as_arrays(what: str, names: TextColumn) -> dict[str, np.ndarray]:
    """Return names as arrays to be stored."""
    first, last = names.bounds[0], names.bounds[-1]
    return {f"{what}.bytes": names.buffer[first:last], f"{what}.bounds": names.bounds - first}


def stored_names(what: str, arrays: Mapping[str, np.ndarray]) -> TextColumn:
    """Return the names of ``names_as_arrays``, checked."""
    buffer, bounds = arrays[f"{what}.bytes"], arrays[f"{what}.bounds"]
    is_whole = bounds.dtype == np.int64 and bounds.ndim == 1 and buffer.ndim == 1
    is_whole = is_whole and bounds.size > 0 and bounds[0] == 0 and bounds[-1] == buffer.size
    if buffer.dtype != np.uint8 or not is_whole or (np.diff(bounds) < 0).any():
        raise ValueError(f"the names in {what} are damaged.")
    return TextColumn(buffer, bounds)
