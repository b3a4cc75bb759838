"""The judgements that rankings are measured on: those of people, of an annotator, or of the collection."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench import people
from plackett.apps.workbench.collections.base import Collection

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

PEOPLE, MINE, COLLECTION, ANNOTATOR = "people", "mine", "labels", "annotator:"
Grades = dict[str, dict[str, dict[str, float]]]  # by query, document and user


class Labels(NamedTuple):
    """Labels of queries: ``of`` returns them by document, and ``key`` a value that changes when they do.

    ``words`` say whose they are. Preferences are not labels.
    """

    words: str
    of: Callable[[str], dict[str, float]]
    key: Callable[[str], Hashable]


class LabelSources:
    """The judgements of a collection by the name of their source. Thread-safe."""

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store
        self._lock = threading.Lock()
        self._mark = (0, 0)
        self._grades: Grades = {}
        self._versions: dict[str, int] = {}

    def default(self) -> str:
        """Return the source to start with: the labels of the collection if it has some, else all people."""
        return COLLECTION if self.has_own() else PEOPLE

    def has_own(self) -> bool:
        """Return whether the collection came with labels."""
        return any(self._collection.labels(query) for query in self._collection.suggestions())

    def _annotators(self) -> dict[str, str]:
        return {f"{ANNOTATOR}{one.id}": one.name for one in self._store.annotators(self._collection.key)}

    def choices(self) -> list[tuple[str, str]]:
        """Return (name, words) of all sources."""
        own = [(COLLECTION, "labels of the collection")] if self.has_own() else []
        return [*own, (PEOPLE, "all people"), (MINE, "only mine"), *self._annotators().items()]

    def get(self, source: str, user: str) -> Labels:
        """Return the labels of a source; "" means the default one."""
        source = source or self.default()
        if source == COLLECTION:
            return Labels("the labels of the collection", self._collection.labels, lambda query: COLLECTION)
        annotators = self._annotators()
        if source == PEOPLE:
            return self._pooled(frozenset(annotators.values()))
        if source == MINE:
            return self._own(user, "your grades")
        if source in annotators:
            return self._own(annotators[source], f"the grades of {annotators[source]}")
        hint = "Choose people, mine, labels or annotator:ID."
        raise RequestError(422, "invalid", f"there are no judgements {source!r}.", hint)

    def _pooled(self, annotators: frozenset[str]) -> Labels:
        """Return the mean grades of people, unless one is settled."""
        grades, versions = self._current()
        settled: dict[str, dict[str, float]] = {}
        for one in people.settlements(self._store, self._collection.key).values():
            settled.setdefault(one.query, {})[one.docid] = one.grade

        def of(query: str) -> dict[str, float]:
            ends, found = settled.get(query, {}), {}
            for docid, by_user in grades.get(query, {}).items():
                values = [grade for user, grade in by_user.items() if user not in annotators]
                if values:
                    found[docid] = ends.get(docid, math.fsum(values) / len(values))
            return found

        def key(query: str) -> Hashable:
            return PEOPLE, versions.get(query, 0), frozenset(settled.get(query, {}).items())

        return Labels("the mean grades of all people", of, key)

    def _own(self, user: str, words: str) -> Labels:
        """Return the grades of one user or annotator."""
        from plackett.clicks.reading.lists import normalized  # click logs have queries in one case

        grades, versions = self._current()

        def of(query: str) -> dict[str, float]:
            for text in dict.fromkeys((query, normalized(query))):
                documents = grades.get(text, {}).items()
                if own := {docid: by_user[user] for docid, by_user in documents if user in by_user}:
                    return own
            return {}

        return Labels(words, of, lambda query: (user, versions.get(query, 0), versions.get(normalized(query), 0)))

    def _current(self) -> tuple[Grades, dict[str, int]]:
        """Return all current grades, and by query a number that grows with every change. Neither is changed later.

        Only the lists that were judged since the last call are read again.
        """
        with self._lock:
            mark, lists = self._store.lists_since(self._collection.key, self._mark)
            while lists is None:
                mark, lists = self._store.lists_since(self._collection.key)
                self._versions = {query: number + 1 for query, number in self._versions.items()}
                self._grades = {}
            fresh: Grades = {}
            for user, query, state in lists:
                if query not in fresh:  # dicts that were returned earlier are not modified
                    fresh[query] = {docid: dict(of) for docid, of in self._grades.get(query, {}).items()}
                for of in fresh[query].values():
                    of.pop(user, None)
                for docid, (grade, _) in state.grades.items():
                    fresh[query].setdefault(docid, {})[user] = grade
            if fresh:
                kept = {query: {docid: of for docid, of in all_of.items() if of} for query, all_of in fresh.items()}
                self._grades = {**self._grades, **kept}
                self._versions = {**self._versions, **{query: self._versions.get(query, 0) + 1 for query in fresh}}
            self._mark = mark
            return self._grades, self._versions
