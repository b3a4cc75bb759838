"""Use cases of judging: a judgement is on disk before the refined list is returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.collections.base import Collection, Hits
from plackett.apps.workbench.records import Event, Query
from plackett.apps.workbench.schemas.judging import (
    EventResponse,
    JudgementRequest,
    JudgementResponse,
    ListRequest,
    PreferenceRequest,
)
from plackett.apps.workbench.searching import Searching

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store


class Judging:
    """Judgements of a collection's documents. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, searching: Searching):
        self._collection, self._store, self._searching = collection, store, searching

    def judge(self, user: str, request: JudgementRequest) -> JudgementResponse:
        """Set the grade of a document."""
        with client_errors():
            query, hits = self._judged_query(request, request.docid)
            user_id = self._store.user(user).id
            event = self._store.judge(user_id, query.id, request.docid, request.grade)
        return self._response(request, user_id, query, hits, event)

    def prefer(self, user: str, request: PreferenceRequest) -> JudgementResponse:
        """Prefer a document to another."""
        with client_errors():
            query, hits = self._judged_query(request, request.docid, request.other)
            user_id = self._store.user(user).id
            event = self._store.prefer(user_id, query.id, request.docid, request.other)
        return self._response(request, user_id, query, hits, event)

    def undo(self, user: str, request: ListRequest) -> JudgementResponse:
        """Undo the user's last judgement of a list."""
        query, user_id = self._known_query(request), self._searching.user_id(user)
        event = None if user_id is None else self._store.undo(user_id, query.id)
        return self._response(request, user_id, query, None, event)

    def reset(self, user: str, request: ListRequest) -> JudgementResponse:
        """Clear the user's judgements of a list."""
        query, user_id = self._known_query(request), self._searching.user_id(user)
        n_cleared = 0 if user_id is None else self._store.reset(user_id, query.id)
        return self._response(request, user_id, query, None, None, n_cleared)

    def grade(self, user: str, text: str, docid: str) -> float | None:
        """Return the user's grade of a document for a query; None if there is none."""
        user_id = self._searching.user_id(user)
        with client_errors():
            return self._store.graded(self._collection.key, [text.strip()], user_id)[text.strip()].get(docid)

    def _judged_query(self, request: ListRequest, *docids: str) -> tuple[Query, Hits | None]:
        """Return the query, created if it is new and can be searched, and its list if it was searched."""
        for docid in docids:
            if docid not in self._collection:
                raise LookupError(f"{self._collection.name} has no document {docid!r}.")
        if request.query is None:
            return self._known_query(request), None
        hits = self._collection.search(request.query, request.base, request.k)
        return self._store.query(self._collection.key, request.query, hits.base), hits

    def _known_query(self, request: ListRequest) -> Query:
        if request.query_id is not None:
            return self._searching.query(request.query_id)
        with client_errors():
            query = self._store.find_query(self._collection.key, request.query or "")
            if query is None:
                raise LookupError("nothing was judged for this query yet.")
        return query

    def _response(
        self,
        request: ListRequest,
        user_id: int | None,
        query: Query,
        hits: Hits | None,
        event: Event | None,
        n_cleared: int = 0,
    ) -> JudgementResponse:
        ranked = None
        if request.with_list:
            hits = self._searching.hits(query, request) if hits is None else hits
            ranked = self._searching.ranked_list(user_id, query.id, query.text, hits, request)
        written = None if event is None else EventResponse.model_validate(event, from_attributes=True)
        return JudgementResponse(query_id=query.id, event=written, n_cleared=n_cleared, list=ranked)
