"""The pairs of a query and a document that a log showed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from plackett import _native
from plackett.clicks.names import match_names, names_as_arrays, stored_names
from plackett.data.text_column import TextColumn
from plackett.validation import count_of


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

        Returns
        -------
        ndarray of int64 of shape (n_pairs,)
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
