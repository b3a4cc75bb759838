"""Codes of names, and of the pairs of a query and a document that a log showed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.text_column import TextColumn
from plackett.data.trec.ids import as_text_ids
from plackett.validation import count_of

PEEKED = 5  # rows, or sessions and documents of each, that a notebook shows


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


# --- Pairs ------------------------------------------------------------------------------------------------------------


class Pairs:
    """Pairs of a query and a document, in the order of their codes.

    Names are sorted by their UTF-8 bytes, pairs by query and document, so that codes do not depend on the order of
    the rows of a log. Models keep the pairs of the log they were fitted on, and find those of another log by name.

    Parameters
    ----------
    queries, docids : TextColumn
        Names of the queries and of the documents.
    pair_query, pair_doc : ndarray of int32 of shape (n_pairs,)
        Codes of the query and of the document of each pair.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"], ["b", "a"], [0, 1], indptr=[0, 2])
    >>> [log.pairs[code] for code in log.pair]
    [('shoe', 'b'), ('shoe', 'a')]
    """

    may_hold_mapped_arrays = True

    def __init__(self, queries: TextColumn, docids: TextColumn, pair_query: np.ndarray, pair_doc: np.ndarray):
        self.queries, self.docids = queries, docids
        self.pair_query, self.pair_doc = pair_query, pair_doc

    def __len__(self) -> int:
        return self.pair_query.size

    def __getitem__(self, code: int) -> tuple[str, str]:
        return self.queries[int(self.pair_query[code])], self.docids[int(self.pair_doc[code])]

    def match(self, other: Pairs) -> np.ndarray:
        """Return, for each pair, its code among the pairs of ``other``, and -1 where it is not among them.

        Parameters
        ----------
        other : Pairs
        """
        if self is other:
            return np.arange(len(self))
        query = match_names(self.queries, other.queries)[self.pair_query]
        doc = match_names(self.docids, other.docids)[self.pair_doc]
        n_docs = max(1, len(other.docids))
        wanted = np.where((query < 0) | (doc < 0), -1, query * n_docs + doc)
        known = other.pair_query.astype(np.int64) * n_docs + other.pair_doc
        place = np.minimum(np.searchsorted(known, wanted), max(0, known.size - 1))
        if not known.size:
            return np.full(len(self), -1, dtype=np.int64)
        return np.where(known[place] == wanted, place, -1)

    def subset(self, codes: np.ndarray) -> Pairs:
        """Return some of the pairs, with the names that they use; ``codes`` must rise."""
        parts = []
        for names, used in ((self.queries, self.pair_query[codes]), (self.docids, self.pair_doc[codes])):
            is_used = np.zeros(len(names), dtype=bool)
            is_used[used] = True
            if is_used.all():
                parts.append((names, used))
                continue
            place = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
            parts.append((names[is_used], place[used]))
        (queries, pair_query), (docids, pair_doc) = parts
        return Pairs(queries, docids, pair_query, pair_doc)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the pairs, to be stored with a log or a model."""
        names = {**names_as_arrays("queries", self.queries), **names_as_arrays("docids", self.docids)}
        return {**names, "pair_query": self.pair_query, "pair_doc": self.pair_doc}

    @classmethod
    def from_stored(cls, arrays: Mapping[str, Any]) -> Pairs:
        """Return the pairs of ``arrays()``, checked: compiled code trusts the codes."""
        names = [stored_names(what, arrays) for what in ("queries", "docids")]
        codes = arrays["pair_query"], arrays["pair_doc"]
        for values, own in zip(codes, names, strict=True):
            is_inside = not values.size or (values.min() >= 0 and values.max() < len(own))
            if values.dtype != np.int32 or values.shape != codes[0].shape or not is_inside:
                raise ValueError("the pairs are damaged.")
        order = codes[0].astype(np.int64) * max(1, len(names[1])) + codes[1]
        if (np.diff(order) <= 0).any():
            raise ValueError("the pairs are not sorted.")
        return cls(names[0], names[1], *codes)

    def __repr__(self) -> str:
        queries, docs = count_of(len(self.queries), "query", "queries"), count_of(len(self.docids), "document")
        return f"Pairs({len(self):,} of {queries} and {docs})"


class PairTable:
    """Different pairs of the codes of a query and a document, with codes in the order of their first appearance."""

    def __init__(self, n_docs: int):
        self._n_docs, self._numbers = max(1, n_docs), _native.clicks.make_numbers()
        self._n_pairs = 0

    def add(self, query: np.ndarray, doc: np.ndarray) -> np.ndarray:
        """Return the codes of pairs."""
        codes = np.empty(query.size, dtype=np.int32)
        key = query.astype(np.int64)
        key *= self._n_docs
        key += doc
        self._n_pairs = _native.clicks.add_numbers(self._numbers, key, codes)
        if self._n_pairs < 0:
            raise ValueError("there are more than 2**31 - 1 pairs of query and document. Split the log by query.")
        return codes

    def finish(self, queries: TextColumn, docids: TextColumn) -> tuple[Pairs, np.ndarray]:
        """Return the pairs, sorted by query and document, and the position of each code among them."""
        different = np.empty(self._n_pairs, dtype=np.int64)
        _native.clicks.copy_numbers(self._numbers, different)
        order = np.argsort(different)
        place = np.empty(order.size, dtype=np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        different = different[order]
        pair_query, pair_doc = (different // self._n_docs).astype(np.int32), (different % self._n_docs).astype(np.int32)
        return Pairs(queries, docids, pair_query, pair_doc), place


def coded_pairs(
    queries: TextColumn, docids: TextColumn, query: np.ndarray, doc: np.ndarray
) -> tuple[Pairs, np.ndarray]:
    """Return the different pairs of rows, given by their codes of query and document, and the pair of each row."""
    table = PairTable(len(docids))
    codes = table.add(query, doc)
    pairs, place = table.finish(queries, docids)
    return pairs, place[codes]
