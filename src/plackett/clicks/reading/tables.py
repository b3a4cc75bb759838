"""Tables of the names in a log: queries, documents, rankers and clients."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plackett.clicks.pairs import NameTable, PairTable
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataWarning, warn

CHECKED_NAMES = 1 << 16  # at a time
BOT_NAMES = re.compile(  # not "abbot" or "spiderman"
    r"[a-z]Bot\b|(?i:(?:\b|_|ro|google|bing|yandex|baidu|ahrefs|apple|petal)bot(?:\b|_)|crawler|spider\b|scraper|headless)"
)


@dataclass
class Column:
    """Sorted names, and the position of each code of their table among them; the last one, -1, is that of code -1."""

    names: TextColumn
    place: np.ndarray

    @classmethod
    def of(cls, table: NameTable) -> Column:
        names, place = table.finish()
        return cls(names, np.append(place, np.int32(-1)))


class Names:
    """Tables of names; codes are in the order of appearance until ``finish``."""

    def __init__(self) -> None:
        self.session, self.query, self.doc = NameTable(), NameTable(), NameTable()
        self.ranker, self.client = NameTable(), NameTable()

    def finish(self) -> SortedNames:
        """Return the names and their order, and empty the tables."""
        columns = []
        for name in ("session", "query", "doc", "ranker", "client"):
            columns.append(Column.of(getattr(self, name)))
            if name != "session":
                _warn_of_encoding(columns[-1].names, name)
            setattr(self, name, NameTable())
        return SortedNames(*columns)


def _warn_of_encoding(names: TextColumn, what: str) -> None:
    """Warn of names that are not UTF-8."""
    for first in range(0, len(names), CHECKED_NAMES):
        last = min(first + CHECKED_NAMES, len(names))
        try:
            names.buffer[names.bounds[first] : names.bounds[last]].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            place = int(np.searchsorted(names.bounds, names.bounds[first] + error.start, side="right")) - 1
            noun = {"query": "query", "doc": "document"}.get(what, what)
            warn(
                f"the name of a {noun} is not UTF-8: {names.bytes_of(place)!r}. If the log is Latin-1 or Windows-1252, "
                "convert it first, such as with iconv -f WINDOWS-1252 -t UTF-8.",
                DataWarning,
            )
            return


@dataclass
class SortedNames:
    """Names whose codes are positions in their order, so that they do not depend on the order of the lines."""

    session: Column
    query: Column
    doc: Column
    ranker: Column
    client: Column

    def is_bot(self) -> np.ndarray:
        """Return for each client whether its name says that it is a bot."""
        clients = self.client.names
        return np.fromiter((bool(BOT_NAMES.search(name)) for name in clients), bool, len(clients))


class Columns:
    """Columns that grow block by block."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = defaultdict(list)

    def add(self, **columns: np.ndarray) -> None:
        """Add the values of a block."""
        for name, values in columns.items():
            self._parts[name].append(values)

    def join(self) -> dict[str, np.ndarray]:
        """Return the columns, and forget their blocks one by one."""
        return {name: np.concatenate(self._parts.pop(name)) for name in list(self._parts)}


class Translation:
    """Codes in another table for the codes of a growing one."""

    def __init__(self) -> None:
        self._codes, self._n = np.full(1024, -1, dtype=np.int32), 0

    def __len__(self) -> int:
        return self._n

    def extend(self, codes: np.ndarray) -> None:
        """Add the codes for the next ones."""
        n = self._n + codes.size
        if n >= self._codes.size:  # the last one stays -1
            self._codes = np.append(self._codes, np.full(2 * n, -1, dtype=np.int32))
        self._codes[self._n : n] = codes
        self._n = n

    def __getitem__(self, codes: np.ndarray) -> np.ndarray:
        return self._codes[codes]


class SpelledTable:
    """A table of names of which several spellings may be one, as ``spell`` says."""

    def __init__(self, spell: Callable[[str], str], names: NameTable | None = None):
        self._spell, self._given, self._codes = spell, NameTable(), Translation()
        self.names = NameTable() if names is None else names

    def add(self, buffer: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Return the codes, among ``names``, of texts in a buffer; -1 where one is missing."""
        given = self._given.add(buffer, spans)
        if len(self._given) > len(self._codes):
            new = self._given.take(np.arange(len(self._codes), len(self._given), dtype=np.int32))
            self._codes.extend(self.names.add_column(TextColumn.from_strings(map(self._spell, new))))
        return self._codes[given]


class JoinedTable:
    """A table of names that are made of a name of a first table and one, or none, of a second."""

    def __init__(self, first: NameTable, second: NameTable, names: NameTable):
        self._first, self._second, self.names = first, second, names
        self._pairs, self._codes = PairTable(1 << 31), Translation()

    def add(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the codes, among ``names``, of pairs of codes; the second may be -1."""
        codes = self._pairs.add(first, second + 1)
        different, places = np.unique(codes, return_index=True)
        new = places[different >= len(self._codes)]
        if new.size:
            second = second[new]
            others = iter(self._second.take(second[second >= 0]))
            spelled = (
                f"{one} {next(others)}".strip() if has_other else one
                for one, has_other in zip(self._first.take(first[new]), (second >= 0).tolist(), strict=True)
            )
            self._codes.extend(self.names.add_column(TextColumn.from_strings(spelled)))
        return self._codes[codes]
