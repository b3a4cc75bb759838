"""Sessions dealt into partitions by their names, and totals over all partitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plackett import _native
from plackett.clicks.names import NameTable
from plackett.clicks.reading.records import N_PARTS, Ragged, Records, Scratch, Store
from plackett.data.text_column import TextColumn

VALUES_AT_ONCE = 1 << 20  # of the records of some partitions, which are cleaned together


@dataclass
class Part:
    """Some sessions with all their records.

    Attributes
    ----------
    records : dict of str to Records
        By kind. The column "session" has codes of this part, below ``n_sessions``.
    place : ndarray of int32 of shape (n_sessions,)
        Position of each session by name, among all sessions or, if there are ``names``, among those of this part.
    names : TextColumn or None
        Names of the sessions of this part, sorted.
    """

    records: dict[str, Records]
    n_sessions: int
    place: np.ndarray
    names: TextColumn | None = None


class Partitions:
    """Records of sessions by kind; all records of a session are in one partition.

    In memory the names of all sessions are coded when they are added. In a file they are spelled out, and coded when a
    part is read, so that the memory needed does not grow with the number of sessions.
    """

    def __init__(self, scratch: Scratch):
        self._scratch = scratch
        self._table = None if scratch.is_file else NameTable()
        self._stores: dict[str, Store] = {}
        self._place = np.empty(0, dtype=np.int32)
        self.session_ids: TextColumn | None = None  # of all sessions, sorted; in memory only

    def add(self, kind: str, buffer: np.ndarray, spans: np.ndarray, records: Records) -> None:
        """Add records; ``spans`` of the buffer are the names of their sessions."""
        spans = np.ascontiguousarray(spans)
        if self._table is not None:
            codes = self._table.add(buffer, spans)
            records.columns["session"] = codes
            part = (codes % N_PARTS).astype(np.uint8)
        else:
            part = np.empty(len(spans), dtype=np.uint8)
            _native.clicks.part_names(buffer, spans, part)
            lengths = (spans[:, 1] - spans[:, 0]).astype(np.int32)
            texts = np.empty(int(lengths.sum(dtype=np.int64)), dtype=np.uint8)
            _native.clicks.copy_spans(buffer, spans, texts)
            records.lists["session"] = Ragged(lengths, texts)
        if kind not in self._stores:
            self._stores[kind] = Store(self._scratch)
        self._stores[kind].add(part, records)

    def finish(self) -> list[tuple[int, int]]:
        """Return the ranges of partitions that are to be read together."""
        if self._table is not None:
            self.session_ids, self._place = self._table.finish()
            self._table = None
        sizes = np.zeros(N_PARTS, dtype=np.int64)
        for store in self._stores.values():
            store.flush()
            sizes += store.sizes
        bounds = [0]
        for part in range(1, N_PARTS):
            if sizes[bounds[-1] : part + 1].sum() > VALUES_AT_ONCE:
                bounds.append(part)
        return list(zip(bounds, [*bounds[1:], N_PARTS], strict=True))

    def forget(self) -> None:
        """Free the records."""
        self._stores.clear()

    def read(self, first: int, last: int) -> Part:
        """Return the sessions of some partitions."""
        found = {kind: store.read(first, last) for kind, store in self._stores.items()}
        records = {kind: one for kind, one in found.items() if one is not None}
        if not self._scratch.is_file:
            return self._coded(records, first, last)
        table = NameTable()
        for one in records.values():
            one.columns["session"] = table.add_column(_texts(one.lists.pop("session")))
        names, place = table.finish()
        return Part(records, len(names), place, names)

    def _coded(self, records: dict[str, Records], first: int, last: int) -> Part:
        """Return a part with small codes; those of all sessions are ``n * N_PARTS + partition``."""
        width, n_sessions = last - first, 0
        for one in records.values():
            turn, part = np.divmod(one.columns["session"], np.int32(N_PARTS))
            one.columns["session"] = turn * np.int32(width) + (part - np.int32(first))
            n_sessions = max(n_sessions, int(one.columns["session"].max(initial=-1)) + 1)
        turn, part = np.divmod(np.arange(n_sessions), width)
        place = self._place[np.minimum(turn * N_PARTS + part + first, self._place.size - 1)]
        return Part(records, n_sessions, place)


def _texts(names: Ragged) -> TextColumn:
    return TextColumn(names.values, np.append(0, np.cumsum(names.lengths, dtype=np.int64)))


# --- Totals -----------------------------------------------------------------------------------------------------------

# In the order in which they are asked for.
QUESTIONS = ("positions of impressions", "positions of clicks", "positions of rows", "sessions of clients")


class UnknownTotalError(Exception):
    """A total is not known before all parts were read."""


class Totals:
    """Sums over all parts. Parts are read again until all sums that they ask for are known."""

    def __init__(self, n_parts: int):
        self._n_parts = n_parts
        self._known: dict[str, np.ndarray] = {}
        self._sums: dict[str, np.ndarray] = {}

    def sum(self, question: str, values: np.ndarray) -> np.ndarray:
        """Return the sum over all parts of an array, of which ``values`` is the share of this part."""
        if self._n_parts == 1:
            return values
        if question not in self._known:
            self._sums[question] = self._sums.get(question, np.zeros_like(values)) + values
            raise UnknownTotalError(question)
        return self._known[question]

    def settle(self) -> bool:
        """Finish a pass over all parts; return whether it was the last one."""
        if not self._sums:
            return True
        # parts that wait for an earlier total have not yet contributed to the later ones
        question = min(self._sums, key=QUESTIONS.index)
        self._known[question] = self._sums[question]
        self._sums.clear()
        return False
