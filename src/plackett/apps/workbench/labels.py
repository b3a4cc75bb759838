"""The judgements that rankings are measured on: those of people, of an annotator, or of the collection."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import NamedTuple

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench import people
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.store import Judged, JudgedList, Store

PEOPLE, MINE, COLLECTION, ANNOTATOR = "people", "mine", "labels", "annotator:"


class Labels(NamedTuple):
    """Labels of queries: ``of`` returns them by document, and ``key`` a value that changes when they do.

    ``words`` say whose they are. Preferences are not labels.
    """

    words: str
    of: Callable[[str], dict[str, float]]
    key: Callable[[str], Hashable]


def settled_grades(store: Store, collection: str) -> dict[str, dict[str, float]]:
    """Return the settled grades by query and document."""
    found: dict[str, dict[str, float]] = {}
    for one in people.settlements(store, collection).values():
        found.setdefault(one.query, {})[one.docid] = one.grade
    return found


def pooled(lists: Iterable[JudgedList], settled: Mapping[str, float]) -> Judged:
    """Return the mean grade of each document, unless it is settled, and each preference once."""
    grades: dict[str, list[float]] = {}
    pairs: dict[tuple[str, str], None] = {}
    for one in lists:
        labels, preferred = one.state.judged
        pairs |= dict.fromkeys(preferred)
        for docid, grade in labels.items():
            grades.setdefault(docid, []).append(grade)
    means = {docid: settled.get(docid, math.fsum(own) / len(own)) for docid, own in grades.items()}
    return Judged(means, list(pairs))


class LabelSources:
    """The judgements of a collection by the name of their source. Thread-safe."""

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store

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
        if source == PEOPLE:
            return self._pooled()
        if source == MINE:
            return self._own(user, "your grades")
        annotators = self._annotators()
        if source in annotators:
            return self._own(annotators[source], f"the grades of {annotators[source]}")
        hint = "Choose people, mine, labels or annotator:ID."
        raise RequestError(422, "invalid", f"there are no judgements {source!r}.", hint)

    def _pooled(self) -> Labels:
        """Return the mean grades of people, unless one is settled."""
        lists = self._store.lists(self._collection.key)
        settled = settled_grades(self._store, self._collection.key)

        def of(query: str) -> dict[str, float]:
            people = (one for one in lists.get(query, ()) if one.user.is_person)
            return pooled(people, settled.get(query, {})).labels

        def key(query: str) -> Hashable:
            marks = tuple(one.last for one in lists.get(query, ()) if one.user.is_person)
            return PEOPLE, marks, frozenset(settled.get(query, {}).items())

        return Labels("the mean grades of all people", of, key)

    def _own(self, user: str, words: str) -> Labels:
        """Return the grades of one user or annotator."""
        from plackett.clicks.reading.lists import normalized  # click logs have queries in one case

        lists = self._store.lists(self._collection.key)

        def found(query: str) -> JudgedList | None:
            own = (one for text in (query, normalized(query)) for one in lists.get(text, ()) if one.user.name == user)
            return next((one for one in own if one.state.grades), None)

        def of(query: str) -> dict[str, float]:
            return one.state.judged.labels if (one := found(query)) else {}

        return Labels(words, of, lambda query: (user, one.last if (one := found(query)) else None))
