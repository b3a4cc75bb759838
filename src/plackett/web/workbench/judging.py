"""What users say of a list: it is on disk before the refined list goes back to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.web.errors import Problem, asked
from plackett.web.schemas.judging import EventAnswer, JudgementRequest, PreferenceRequest, Saved, Target
from plackett.web.workbench.names import Names, query_text
from plackett.web.workbench.searching import Lists

if TYPE_CHECKING:
    from plackett.web.store import Event, Store
    from plackett.web.store.records import Query


class Judging:
    """Judgements of a collection's documents. Threads may share it."""

    def __init__(self, store: Store, names: Names, lists: Lists):
        self._store, self._names, self._lists = store, names, lists

    def judge(self, user: str, wish: JudgementRequest) -> Saved:
        """Give a document a grade; it is on disk when this returns."""
        self._names.check_documents(wish.docid)
        query = self._target(wish)
        with asked():
            event = self._store.judge(self._names.user_made(user), query.id, wish.docid, wish.grade)
        return self._saved(user, query, wish, event)

    def prefer(self, user: str, wish: PreferenceRequest) -> Saved:
        """Put a document above another."""
        self._names.check_documents(wish.docid, wish.other)
        query = self._target(wish)
        with asked():
            event = self._store.prefer(self._names.user_made(user), query.id, wish.docid, wish.other)
        return self._saved(user, query, wish, event)

    def undo(self, user: str, wish: Target) -> Saved:
        """Strike out what the user said last of a list."""
        query = self._known_target(wish)
        with asked():
            known = self._names.user(user)
            event = None if known is None else self._store.undo(known, query.id)
        return self._saved(user, query, wish, event)

    def reset(self, user: str, wish: Target) -> Saved:
        """Clear all that the user said of a list."""
        query = self._known_target(wish)
        with asked():
            known = self._names.user(user)
            n_cleared = 0 if known is None else self._store.reset(known, query.id)
        return self._saved(user, query, wish, None, n_cleared)

    def _target(self, wish: Target) -> Query:
        """The query that is judged, made if it is new and can be searched for."""
        if wish.query is None:
            return self._known_target(wish)
        text, base = query_text(wish.query), self._names.base(wish.base)
        self._lists.found(text, base, wish.k)
        return self._names.query_made(text, base)

    def _known_target(self, wish: Target) -> Query:
        if wish.query_id is not None:
            return self._names.query_by_id(wish.query_id)
        text = query_text(wish.query or "")
        with asked():
            query = self._names.query(text)
        if query is None:
            raise Problem(404, "not-found", "nothing was judged for this query yet.")
        return query

    def _saved(self, user: str, query: Query, wish: Target, event: Event | None, n_cleared: int = 0) -> Saved:
        ranked = None
        if wish.with_list:
            ranked = self._lists.ranked(user, query.text, query.id, wish, self._names.base(wish.base, query))
        return Saved(query_id=query.id, event=_event(event), n_cleared=n_cleared, list=ranked)


def _event(event: Event | None) -> EventAnswer | None:
    if event is None:
        return None
    return EventAnswer(**{name: getattr(event, name) for name in EventAnswer.model_fields})
