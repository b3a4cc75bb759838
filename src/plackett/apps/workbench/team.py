"""Use cases of judging with others: needs and notes, assignments, disagreements and settled grades."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.queues import Queues, dealt
from plackett.apps.workbench.schemas.queue import (
    AssignRequest,
    AssignResponse,
    Disagreement,
    DisagreementsResponse,
    NotesResponse,
    NotesUpdate,
    SettleRequest,
)

if TYPE_CHECKING:
    from plackett.apps.workbench.searching import Searching
    from plackett.apps.workbench.store import Store


class Team:
    """Information needs, notes, assignments and settled grades of a collection. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, searching: Searching, queues: Queues):
        self._collection, self._store, self._searching, self._queues = collection, store, searching, queues

    def notes(self, user: str, text: str) -> NotesResponse:
        """Return the information need of a query, and this user's note."""
        with client_errors():
            query = self._store.find_query(self._collection.key, text)
        if query is None:
            return NotesResponse(query=text, need="", note="")
        found = self._store.query_notes(query.id, self._searching.user_id(user))
        return NotesResponse(query=text, need=found.need, note=found.note)

    def save_notes(self, user: str, request: NotesUpdate) -> NotesResponse:
        """Save the information need, or this user's note, or both."""
        with client_errors():
            query_id = self._query_id(request.query)
            user_id = self._store.user(user).id
            if request.need is not None:
                self._store.save_need(user_id, query_id, request.need.strip())
            if request.note is not None:
                self._store.save_note(user_id, query_id, request.note.strip())
        return self.notes(user, request.query)

    def assign(self, user: str, request: AssignRequest) -> AssignResponse:
        """Assign the queries of a queue to people, in turn; this replaces earlier assignments of these queries."""
        _, texts = self._queues.queries(user, request.queue)
        names = list(dict.fromkeys(name.strip() for name in request.users))
        if not all(names):
            raise RequestError(422, "invalid", "a name is empty.")
        with client_errors():
            ids = self._store.create_queries(self._collection.key, texts, self._collection.base_name())
            users = {self._store.user(name).id: name for name in names}
            chosen = dealt(texts, list(users), request.per_query) if users else {text: [] for text in texts}
            self._store.assign(self._collection.key, ids, chosen)
        counts = Counter(users[one] for own in chosen.values() for one in own)
        return AssignResponse(n_queries=len(texts), by_user={name: counts[name] for name in names})

    def disagreements(self, limit: int, offset: int) -> DisagreementsResponse:
        """Return documents that people graded differently, unsettled ones first."""
        from plackett.apps.workbench.measuring import agreement_of, disputes

        judgements = list(self._store.judgements(self._collection.key))
        settled = self._store.settlements(self._collection.key)
        found = disputes(judgements)
        found.sort(key=lambda one: (one.query, one.docid) in settled)  # stable: the largest stay first
        rows = []
        for one in found[offset : offset + limit]:
            end = settled.get((one.query, one.docid))
            rows.append(
                Disagreement(
                    query=one.query,
                    docid=one.docid,
                    title=self._title(one.docid),
                    grades=one.grades,
                    settled=None if end is None else end.grade,
                    settled_by=None if end is None else end.user,
                    settled_at=None if end is None else end.time,
                )
            )
        n_open = sum((one.query, one.docid) not in settled for one in found)
        return DisagreementsResponse(total=len(found), n_open=n_open, agreement=agreement_of(judgements), rows=rows)

    def settle(self, user: str, request: SettleRequest) -> None:
        """Settle the grade of a document for everyone; exports and training use it instead of the mean."""
        with client_errors():
            query = self._store.find_query(self._collection.key, request.query)
            if query is None:
                raise LookupError("nothing was judged for this query yet.")
            self._store.settle(self._store.user(user).id, query.id, request.docid, request.grade)

    def _query_id(self, text: str) -> int:
        query = self._store.find_query(self._collection.key, text)
        if query is not None:
            return query.id
        return self._store.query(self._collection.key, text, self._collection.base_name()).id

    def _title(self, docid: str) -> str:
        try:
            with client_errors():
                return self._collection.document(docid).title
        except RequestError:  # a document that was removed, or an engine that is down
            return docid
