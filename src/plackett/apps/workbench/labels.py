"""The judgements that rankings are measured on: those of people, of an annotator, or of the collection."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench import people
from plackett.apps.workbench.collections.base import Collection

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

PEOPLE, MINE, COLLECTION, ANNOTATOR = "people", "mine", "labels", "annotator:"
Grades = dict[str, dict[str, dict[str, float]]]  # by query, document and user


class Labels(Protocol):
    """Labels of queries. ``words`` says whose they are, ``key`` identifies them in caches."""

    words: str

    def of(self, query: str) -> dict[str, float]:
        """Return the label of each judged document."""

    def key(self, query: str) -> Hashable:
        """Return a value that changes when the labels of the query do."""


class LabelSources:
    """The judgements of a collection by the name of their source. Thread-safe."""

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store
        self._grades = _AllGrades(store, collection.key)

    def default(self) -> str:
        """Return the source to start with: the labels of the collection if it has some, else all people."""
        return COLLECTION if self.has_own() else PEOPLE

    def has_own(self) -> bool:
        """Return whether the collection came with labels."""
        return any(self._collection.labels(query) for query in self._collection.suggestions())

    def choices(self) -> list[tuple[str, str]]:
        """Return (name, words) of all sources."""
        own = [(COLLECTION, "labels of the collection")] if self.has_own() else []
        others = [(f"{ANNOTATOR}{one.id}", one.name) for one in self._store.annotators(self._collection.key)]
        return [*own, (PEOPLE, "all people"), (MINE, "only mine"), *others]

    def get(self, source: str, user: str) -> Labels:
        """Return the labels of a source; "" means the default one."""
        source = source or self.default()
        if source == COLLECTION:
            return _CollectionLabels(self._collection)
        annotators = {f"{ANNOTATOR}{one.id}": one.name for one in self._store.annotators(self._collection.key)}
        if source == PEOPLE:
            return _PooledLabels(*self._grades.current(), self._settled(), frozenset(annotators.values()))
        if source == MINE:
            return _OwnLabels(*self._grades.current(), user, "your grades")
        if source in annotators:
            name = annotators[source]
            return _OwnLabels(*self._grades.current(), name, f"the grades of {name}")
        hint = "Choose people, mine, labels or annotator:ID."
        raise RequestError(422, "invalid", f"there are no judgements {source!r}.", hint)

    def _settled(self) -> dict[str, dict[str, float]]:
        """Return by query the grades that settle disagreements."""
        found: dict[str, dict[str, float]] = {}
        for one in people.settlements(self._store, self._collection.key).values():
            found.setdefault(one.query, {})[one.docid] = one.grade
        return found


class _CollectionLabels:
    words = "the labels of the collection"

    def __init__(self, collection: Collection):
        self._collection = collection

    def of(self, query: str) -> dict[str, float]:
        return self._collection.labels(query)

    def key(self, query: str) -> Hashable:
        return COLLECTION


class _OwnLabels:
    """The grades of one user or annotator; preferences are not labels."""

    def __init__(self, grades: Grades, versions: dict[str, int], user: str, words: str):
        self._grades, self._versions, self._user, self.words = grades, versions, user, words

    def of(self, query: str) -> dict[str, float]:
        from plackett.clicks.reading.lists import normalized  # click logs have queries in one case

        for text in dict.fromkeys((query, normalized(query))):
            documents = self._grades.get(text, {})
            own = {docid: by_user[self._user] for docid, by_user in documents.items() if self._user in by_user}
            if own:
                return own
        return {}

    def key(self, query: str) -> Hashable:
        from plackett.clicks.reading.lists import normalized

        return self._user, self._versions.get(query, 0), self._versions.get(normalized(query), 0)


class _PooledLabels:
    """Mean grades over people, unless one is settled; preferences are not labels."""

    words = "the mean grades of all people"

    def __init__(
        self, grades: Grades, versions: dict[str, int], settled: dict[str, dict[str, float]], annotators: frozenset[str]
    ):
        self._grades, self._versions, self._settled, self._annotators = grades, versions, settled, annotators

    def of(self, query: str) -> dict[str, float]:
        settled, found = self._settled.get(query, {}), {}
        for docid, by_user in self._grades.get(query, {}).items():
            values = [grade for user, grade in by_user.items() if user not in self._annotators]
            if values:
                found[docid] = settled.get(docid, math.fsum(values) / len(values))
        return found

    def key(self, query: str) -> Hashable:
        settled = frozenset(self._settled.get(query, {}).items())
        return PEOPLE, self._versions.get(query, 0), settled


class _AllGrades:
    """All current grades of a collection; only the lists that were judged since the last call are read again."""

    def __init__(self, store: Store, collection: str):
        self._store, self._collection = store, collection
        self._lock = threading.Lock()
        self._mark = (0, 0)
        self._grades: Grades = {}
        self._versions: dict[str, int] = {}

    def current(self) -> tuple[Grades, dict[str, int]]:
        """Return the grades, and by query a number that grows with every change. Neither is changed later."""
        with self._lock:
            mark, lists = self._store.lists_since(self._collection, self._mark)
            while lists is None:
                mark, lists = self._store.lists_since(self._collection)
                self._versions = {query: number + 1 for query, number in self._versions.items()}
                self._grades = {}
            if mark != self._mark:
                fresh: Grades = {}
                for user, query, state in lists:
                    if query not in fresh:  # dicts that were returned earlier are not modified
                        fresh[query] = {docid: dict(of) for docid, of in self._grades.get(query, {}).items()}
                    for of in fresh[query].values():
                        of.pop(user, None)
                    for docid, (grade, _) in state.grades.items():
                        fresh[query].setdefault(docid, {})[user] = grade
                kept = {query: {docid: of for docid, of in all_of.items() if of} for query, all_of in fresh.items()}
                self._grades = {**self._grades, **kept}
                self._versions = {**self._versions, **{query: self._versions.get(query, 0) + 1 for query in fresh}}
                self._mark = mark
            return self._grades, self._versions
