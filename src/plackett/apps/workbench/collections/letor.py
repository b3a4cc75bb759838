"""Judged lists as a collection: a query is its id, and its documents have features and labels."""

from __future__ import annotations

import numpy as np

from plackett.apps.workbench.collections.base import Collection, Document, Hits, Piece
from plackett.data.queries import Queries
from plackett.validation import check_finite

VALUES_SHOWN = 200  # features in the text of a document


class LetorCollection(Collection):
    """The lists of a ``Queries`` as a collection; its base rankers are the columns and saved rankers.

    Documents without ids are named by their query and place, such as "q7/3".
    """

    kind = "letor"

    def __init__(self, queries: Queries, *, name: str = "judged lists"):
        super().__init__()
        queries = queries.grouped
        check_finite(queries.X, queries.feature_names, first_index=queries.first_index)
        self.queries, self.name, self.key, self.n_docs = queries, name, f"letor-{name}", queries.n_docs
        self._names = queries.feature_labels
        self._qid = [str(one) for one in queries.ids.tolist()]
        self._places = {one: place for place, one in enumerate(self._qid)}
        self._docid = self._document_names()
        self._rows: dict[str, list[int]] = {}
        for row, one in enumerate(self._docid):
            self._rows.setdefault(one, []).append(row)

    def _document_names(self) -> list[str]:
        """Return one name per row, unique within a query."""
        given = None if self.queries.docid is None else [str(one) for one in self.queries.docid.tolist()]
        names = []
        for place, qid in enumerate(self._qid):
            first, last = self._bounds(place)
            own = [f"{qid}/{number}" for number in range(1, last - first + 1)] if given is None else given[first:last]
            seen: dict[str, int] = {}
            for one in own:
                seen[one] = seen.get(one, 0) + 1
                names.append(one if seen[one] == 1 else f"{one} ({seen[one]})")
        return names

    def _bounds(self, place: int) -> tuple[int, int]:
        return int(self.queries.indptr[place]), int(self.queries.indptr[place + 1])

    @property
    def feature_names(self) -> list[str]:
        return self._names

    def own_rankers(self) -> list[str]:
        return list(self._names)

    def __contains__(self, docid: object) -> bool:
        return docid in self._rows

    @property
    def ids(self) -> list[str]:
        """The queries, in the order of the data."""
        return self._qid

    def counts(self, limit: int = 50, offset: int = 0) -> dict[str, tuple[int, dict[str, int]]]:
        """Return by query the number of its documents, and of those of each label, in the order of the data."""
        found: dict[str, tuple[int, dict[str, int]]] = {}
        for place in range(len(self._qid))[offset : offset + limit]:
            first, last = self._bounds(place)
            levels = np.unique([] if self.queries.y is None else self.queries.y[first:last], return_counts=True)
            numbers = {f"{level:g}": number for level, number in zip(*(one.tolist() for one in levels), strict=True)}
            found[self._qid[place]] = last - first, numbers
        return found

    def labels(self, query: str) -> dict[str, float]:
        if self.queries.y is None or query not in self._places:
            return {}
        first, last = self._bounds(self._places[query])
        pairs = zip(self._docid[first:last], self.queries.y[first:last].tolist(), strict=True)
        return {docid: label for docid, label in pairs if label == label}  # NaN: not judged

    def document(self, docid: str) -> Document:
        fields = {}
        for row in self._rows.get(docid, []):
            place = int(np.searchsorted(self.queries.indptr, row, side="right")) - 1
            label = "" if self.queries.y is None else f"label {self.queries.y[row]:g}\n"
            values = zip(self._names[:VALUES_SHOWN], self._dense(row, row + 1)[0].tolist(), strict=False)
            fields[f"query {self._qid[place]}"] = label + "\n".join(f"{name} {value:g}" for name, value in values)
        if not fields:
            raise KeyError(f"the collection has no document {docid!r}.")
        titles = self.queries.titles
        title = "" if titles is None else titles[self._rows[docid][0]]
        return Document(docid, title or docid, fields)

    def snippet(self, docid: str, query: str) -> list[Piece]:
        label = self.labels(query).get(docid)
        return [] if label is None else [Piece(f"label {label:g}", False)]

    def suggestions(self) -> list[str]:
        return self._qid[:5]

    def _dense(self, first: int, last: int) -> np.ndarray:
        rows = self.queries.X[first:last]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)

    def _whole_list(self, query: str, base: str) -> Hits:
        if query not in self._places:
            shown = ", ".join(self._qid[:5]) + (", …" if len(self._qid) > 5 else "")
            raise ValueError(f"no query has the id {query!r}; the ids are {shown}.")
        first, last = self._bounds(self._places[query])
        rows = self._dense(first, last)
        return Hits(self._docid[first:last], rows[:, self._names.index(base)], rows, self._names)

    def _find(self, query: str, base: str, k: int) -> Hits:
        return self._whole_list(query, base).by_score().first(k)

    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        whole = self._whole_list(query, base)
        place = {one: row for row, one in enumerate(whole.docid)}
        rows = [place[one] for one in docid if one in place]
        return Hits([whole.docid[row] for row in rows], whole.scores[rows], whole.X[rows], self._names)
