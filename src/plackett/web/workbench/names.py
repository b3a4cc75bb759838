"""What a request names: a user, a query, a base ranker, documents. Each is found, made, or said to be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.web.collections.base import Collection
from plackett.web.errors import Problem, asked
from plackett.web.lru import LRU

if TYPE_CHECKING:
    from plackett.web.store import Store
    from plackett.web.store.records import Query

KEPT = 1024  # users, and queries
RANKERS_SHOWN = 12  # in a message


class Names:
    """Names of a collection and its store. Threads may share it.

    Users and queries are never removed from a store, so what was found once is not looked up again.
    """

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store
        self._users: LRU[str, int] = LRU(KEPT)
        self._queries: LRU[str, Query] = LRU(KEPT)

    def user(self, name: str) -> int | None:
        """A user's id; None where nobody of this name has judged."""
        known = self._users.get(name)
        if known is None:
            found = self._store.find_user(name)
            if found is None:
                return None
            known = found.id
            self._users.put(name, known)
        return known

    def user_made(self, name: str) -> int:
        """A user's id; she is made known if she is new."""
        known = self.user(name)
        if known is None:
            known = self._store.user(name).id
            self._users.put(name, known)
        return known

    def query(self, text: str) -> Query | None:
        """A query that somebody judged; None where nobody did."""
        known = self._queries.get(text)
        if known is None:
            known = self._store.find_query(self._collection.key, text)
            if known is not None:
                self._queries.put(text, known)
        return known

    def query_made(self, text: str, base: str) -> Query:
        """A query as it was last searched for, made if it is new."""
        known = self._queries.get(text)
        if known is None or known.base != base:
            with asked():
                known = self._store.query(self._collection.key, text, base)
            self._queries.put(text, known)
        return known

    def query_by_id(self, query_id: int) -> Query:
        """A query of this collection."""
        with asked():
            query = self._store.query_by_id(query_id)
        if query.collection != self._collection.key:
            raise Problem(404, "not-found", f"there is no query {query_id}.")
        return query

    def base(self, base: str, query: Query | None = None) -> str:
        """A base ranker that there is; where none is named, the query's last or the collection's first."""
        names = self._collection.base_rankers()
        if not base:
            return query.base if query is not None and query.base in names else names[0]
        if base not in names:
            shown = ", ".join(names[:RANKERS_SHOWN]) + (", …" if len(names) > RANKERS_SHOWN else "")
            raise Problem(422, "invalid", f"there is no base ranker {base!r}.", f"Choose one of {shown}.")
        return base

    def check_documents(self, *docids: str) -> None:
        """Refuse documents that are not in the collection."""
        for docid in docids:
            if docid not in self._collection:
                raise Problem(404, "not-found", f"{self._collection.name} has no document {docid!r}.")


def query_text(given: str) -> str:
    """A query as it is kept: without the blanks around it, and not empty."""
    text = given.strip()
    if not text:
        raise Problem(422, "invalid", "the query is empty.", "Give some words to search for.")
    return text
