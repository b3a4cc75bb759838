"""Use cases of query sets: make one from a text, a judged file or the judgements here; list, delete."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.board_records import QuerySet
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.limits import MAX_QUERY, MAX_SET_QUERIES
from plackett.apps.workbench.schemas.query_sets import (
    QuerySetRequest,
    QuerySetResponse,
    QuerySetsResponse,
    SetQueriesResponse,
)

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store


class QuerySets:
    """The query sets of a collection. Thread-safe."""

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store

    def sets(self) -> QuerySetsResponse:
        """Return the query sets, newest first."""
        found = self._store.query_sets(self._collection.key)
        return QuerySetsResponse(sets=[QuerySetResponse(**one._asdict()) for one in found])

    def find(self, set_id: int) -> tuple[QuerySet, list[str]]:
        """Return a set and its queries."""
        with client_errors():
            return self._store.query_set(self._collection.key, set_id), self._store.set_queries(set_id)

    def queries(self, set_id: int, limit: int, offset: int) -> SetQueriesResponse:
        """Return queries of a set."""
        with client_errors():
            made = self._store.query_set(self._collection.key, set_id)
            queries = self._store.set_queries(set_id, limit=limit, offset=offset)
        return SetQueriesResponse(set=QuerySetResponse(**made._asdict()), queries=queries)

    def make(self, request: QuerySetRequest) -> QuerySetResponse:
        """Save a new set; it is on disk when this returns."""
        with client_errors():
            queries, source = self._collect(request)
            if not queries:
                raise ValueError(
                    f"there are no queries in this source ({source}). Paste some, or choose another source."
                )
            made = self._store.save_query_set(self._collection.key, request.name, source, queries)
        return QuerySetResponse(**made._asdict())

    def delete(self, set_id: int) -> QuerySetsResponse:
        """Delete a set; snapshots of it stay."""
        with client_errors():
            if not self._store.delete_query_set(self._collection.key, set_id):
                raise LookupError(f"there is no query set {set_id}.")
        return self.sets()

    def _collect(self, request: QuerySetRequest) -> tuple[list[str], str]:
        """Return the queries, and a description of their source."""
        if request.source == "text":
            return _lines(request.text), "pasted text"
        if request.source == "judged-file":
            from plackett.apps.workbench.importing import read_judgements

            found = read_judgements(request.text.encode("utf-8", "replace"))
            texts = [row[0] for row in found.rows] + [pair[0] for pair in found.preferences]
            queries = _checked(texts)
            if len(queries) > request.limit:
                return queries[: request.limit], f"first {request.limit:,} of {len(queries):,} queries in a judged file"
            return queries, "judged file"
        if request.source == "judged":
            queries = [one.query for one in self._store.queries(self._collection.key, limit=request.limit)]
            n_judged = self._store.n_queries(self._collection.key)
            is_cut = n_judged > len(queries)
            return queries, f"latest {len(queries):,} of {n_judged:,} queries judged here" if is_cut else "judged here"
        return self._listed(request.limit)

    def _listed(self, limit: int) -> tuple[list[str], str]:
        from plackett.apps.workbench.collections.letor import LetorCollection

        if not isinstance(self._collection, LetorCollection):
            message = f"{self._collection.name} is a collection of texts, without lists."
            raise RequestError(422, "invalid", message, "Paste queries.")
        queries, n_lists = [one.query for one in self._collection.lists(limit)], self._collection.queries.n_queries
        source = "lists of the collection"
        return queries, f"first {limit:,} of {n_lists:,} {source}" if n_lists > limit else source


def _lines(text: str) -> list[str]:
    """Return the queries of a text, one per line, in order and each once."""
    queries = _checked(text.removeprefix("\ufeff").splitlines())
    if len(queries) > MAX_SET_QUERIES:
        raise ValueError(f"the text has {len(queries):,} queries; a set has at most {MAX_SET_QUERIES:,}.")
    return queries


def _checked(texts: Iterable[str]) -> list[str]:
    stripped = dict.fromkeys(text.strip() for text in texts)
    for number, text in enumerate(stripped, 1):
        if len(text) > MAX_QUERY:
            raise ValueError(f"query {number} has {len(text):,} characters; the limit is {MAX_QUERY:,}.")
    return [text for text in stripped if text]
