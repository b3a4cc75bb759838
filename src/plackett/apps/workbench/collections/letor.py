"""Judged lists as a collection: a query is its id, and its documents have features and labels."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from plackett.apps.workbench.collections.base import Collection, Document, Hits, Piece
from plackett.data.queries import Queries
from plackett.validation import check_finite

VALUES_SHOWN = 200  # features in the text of a document


class LetorCollection(Collection):
    """The lists of a ``Queries`` as a collection; its base rankers are the columns and saved rankers.

    Documents without ids are named by their query and place, such as "q7/3". ``rows`` are those of each query, by its
    id, in the order of the data.
    """

    kind = "letor"

    def __init__(self, queries: Queries, *, name: str = "judged lists"):
        super().__init__()
        queries = queries.grouped
        check_finite(queries.X, queries.feature_names, first_index=queries.first_index)
        self.queries, self.name, self.key, self.n_docs = queries, name, f"letor-{name}", queries.n_docs
        self._names = queries.feature_labels
        ids = [str(one) for one in queries.ids.tolist()]
        self.rows = {qid: slice(*own) for qid, own in zip(ids, pairwise(queries.indptr.tolist()), strict=True)}
        self._docid: list[str] = []  # of each row, unique within a query
        self._places: dict[str, list[tuple[str, int]]] = {}  # queries and rows of a document
        for qid, rows in self.rows.items():
            numbered = [f"{qid}/{number}" for number in range(1, rows.stop - rows.start + 1)]
            seen: Counter[str] = Counter()
            for one in numbered if queries.docid is None else map(str, queries.docid[rows].tolist()):
                seen[one] += 1
                name = one if seen[one] == 1 else f"{one} ({seen[one]})"
                self._places.setdefault(name, []).append((qid, len(self._docid)))
                self._docid.append(name)

    @property
    def feature_names(self) -> list[str]:
        return self._names

    def own_rankers(self) -> list[str]:
        return list(self._names)

    def __contains__(self, docid: object) -> bool:
        return docid in self._places

    def labels(self, query: str) -> dict[str, float]:
        if self.queries.y is None or query not in self.rows:
            return {}
        rows = self.rows[query]
        pairs = zip(self._docid[rows], self.queries.y[rows].tolist(), strict=True)
        return {docid: label for docid, label in pairs if label == label}  # NaN: not judged

    def document(self, docid: str) -> Document:
        fields, titles = {}, self.queries.titles
        for qid, row in self._places.get(docid, []):
            label = "" if self.queries.y is None else f"label {self.queries.y[row]:g}\n"
            values = zip(self._names[:VALUES_SHOWN], self._dense(slice(row, row + 1))[0].tolist(), strict=False)
            fields[f"query {qid}"] = label + "\n".join(f"{name} {value:g}" for name, value in values)
        if not fields:
            raise KeyError(f"the collection has no document {docid!r}.")
        title = "" if titles is None else titles[self._places[docid][0][1]]
        return Document(docid, title or docid, fields)

    def snippet(self, docid: str, query: str) -> list[Piece]:
        label = self.labels(query).get(docid)
        return [] if label is None else [Piece(f"label {label:g}", False)]

    def suggestions(self) -> list[str]:
        return list(self.rows)[:5]

    def _dense(self, rows: slice) -> np.ndarray:
        values = self.queries.X[rows]
        return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)

    def _whole_list(self, query: str, base: str) -> Hits:
        if query not in self.rows:
            shown = ", ".join(self.suggestions()) + (", …" if len(self.rows) > 5 else "")
            raise ValueError(f"no query has the id {query!r}; the ids are {shown}.")
        rows = self.rows[query]
        X = self._dense(rows)
        return Hits(self._docid[rows], X[:, self._names.index(base)], X, self._names)

    def _find(self, query: str, base: str, k: int) -> Hits:
        return self._whole_list(query, base).by_score().first(k)

    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        whole = self._whole_list(query, base)
        place = {one: row for row, one in enumerate(whole.docid)}
        rows = [place[one] for one in docid if one in place]
        return Hits([whole.docid[row] for row in rows], whole.scores[rows], whole.X[rows], self._names)
