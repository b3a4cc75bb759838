"""Use cases of queues: the queries to judge, and the progress on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.limits import MAX_SET_QUERIES
from plackett.apps.workbench.schemas.queue import NextRequest, NextResponse, QueueResponse, QueueRow

if TYPE_CHECKING:
    from plackett.apps.workbench.searching import Searching
    from plackett.apps.workbench.store import Store

MINE, JUDGED, LISTS, SET = "mine", "judged", "lists", "set-"
MAX_COUNTED = 200  # queries whose lists are searched for one response; about as many lists are cached


_QUEUE = re.compile(rf"{MINE}|{JUDGED}|{LISTS}|{SET}[1-9][0-9]{{0,17}}")


def known_queue(text: str) -> str:
    """Return the name of a queue in an address, or "" if it is not one."""
    return text if _QUEUE.fullmatch(text) else ""


class Queues:
    """Queues of a collection's queries. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, searching: Searching):
        self._collection, self._store, self._searching = collection, store, searching

    def choices(self, user: str) -> list[tuple[str, str]]:
        """Return (name, words) of all queues of a user, the default one first."""
        found = [(f"{SET}{one.id}", one.name) for one in self._store.query_sets(self._collection.key)]
        if self._assigned(user):
            found.insert(0, (MINE, "assigned to you"))
        if self._collection.kind == "letor":
            found.append((LISTS, "the lists of the collection"))
        return [*found, (JUDGED, "queries that were judged")]

    def queries(self, user: str, queue: str) -> tuple[str, list[str]]:
        """Return the name of a queue and its queries; "" means the first one of ``choices``."""
        queue = queue or self.choices(user)[0][0]
        key = self._collection.key
        if queue == MINE:
            return queue, self._assigned(user)
        if queue == LISTS:
            return queue, self._lists()
        if queue == JUDGED:
            latest = self._store.queries(key, limit=MAX_SET_QUERIES)
            return queue, [one.query for one in reversed(latest)]
        with client_errors():
            made = self._store.query_set(key, int(queue.removeprefix(SET)))
        return queue, self._store.set_queries(made.id)

    def queue(self, user: str, name: str, base: str, depth: int, limit: int, offset: int) -> QueueResponse:
        """Return a page of a queue with this user's progress."""
        name, texts = self.queries(user, name)
        with client_errors():
            base = self._collection.base_name(base)
        shown = texts[offset : offset + limit]
        graded = self._store.graded(self._collection.key, shown, self._searching.user_id(user))
        needs = self._store.needs(self._collection.key, shown)
        people = self._store.assigned_users(self._collection.key, shown)
        rows = []
        for text in shown:
            first, problem = self._first(text, base, depth)
            n_judged = sum(docid in graded[text] for docid in first)
            rows.append(
                QueueRow(
                    query=text,
                    need=needs.get(text, ""),
                    n_judged=n_judged,
                    n_first=len(first),
                    assigned=people.get(text, []),
                    problem=problem,
                )
            )
        words = dict(self.choices(user)).get(name, name)
        return QueueResponse(queue=name, words=words, base=base, depth=depth, total=len(texts), rows=rows)

    def next(self, user: str, request: NextRequest) -> NextResponse:
        """Return the next query with a result that this user has not judged."""
        _, texts = self.queries(user, request.queue)
        with client_errors():
            base = self._collection.base_name(request.base)
        current = texts.index(request.after) if request.after in texts else -1
        order = [*range(current + 1, len(texts)), *range(current + 1)]
        graded = self._store.graded(self._collection.key, texts, self._searching.user_id(user))

        def is_open(place: int) -> bool:
            text = texts[place]
            return any(docid not in graded[text] for docid in self._first(text, base, request.depth)[0])

        if len(texts) <= MAX_COUNTED:
            opened = [place for place in order if is_open(place)]
            found, n_done = next(iter(opened), None), len(texts) - len(opened)
        else:  # queries without a judgement of this user need no search
            found, n_done = (
                next((place for place in order[:MAX_COUNTED] if not graded[texts[place]] or is_open(place)), None),
                None,
            )
        return NextResponse(
            query=None if found is None else texts[found],
            place=0 if found is None else found + 1,
            total=len(texts),
            previous=texts[current - 1] if current > 0 else None,
            following=texts[current + 1] if 0 <= current < len(texts) - 1 else None,
            current=current + 1,
            n_done=n_done,
        )

    def _first(self, text: str, base: str, depth: int) -> tuple[list[str], str | None]:
        """Return the first documents of a query, and why there are none."""
        try:
            with client_errors():
                return self._collection.search(text, base, max(depth, 50)).docid[:depth], None
        except RequestError as error:  # such as a query that the base ranker cannot parse, or an engine that is down
            return [], error.message

    def _assigned(self, user: str) -> list[str]:
        user_id = self._searching.user_id(user)
        return [] if user_id is None else self._store.assigned_queries(self._collection.key, user_id)

    def _lists(self) -> list[str]:
        from plackett.apps.workbench.collections.letor import LetorCollection

        if not isinstance(self._collection, LetorCollection):
            raise RequestError(404, "not-found", f"{self._collection.name} has no lists to browse.")
        return [one.query for one in self._collection.lists(MAX_SET_QUERIES, 0)]


def dealt(texts: Sequence[str], users: Sequence[int], per_query: int) -> dict[str, list[int]]:
    """Return ``per_query`` users for each query, dealt in turn, so that all users get nearly the same number.

    Examples
    --------
    >>> dealt(["a", "b", "c"], [1, 2, 3], 2)
    {'a': [1, 2], 'b': [3, 1], 'c': [2, 3]}
    """
    per_query = min(per_query, len(users))
    return {
        text: [users[(number * per_query + turn) % len(users)] for turn in range(per_query)]
        for number, text in enumerate(texts)
    }
