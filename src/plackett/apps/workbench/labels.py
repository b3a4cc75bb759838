"""The judgements that rankings are measured on: those of people, of an annotator, or of the collection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from plackett.apps.workbench import people
from plackett.apps.workbench.api import invalid
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.store import Judged, JudgedList, Lists, Store

PEOPLE, MINE, COLLECTION, ANNOTATOR = "people", "mine", "labels", "annotator:"


class Labels(NamedTuple):
    """Labels of queries: ``of`` returns them by document. ``words`` say whose they are. Preferences are not labels."""

    words: str
    of: Callable[[str], dict[str, float]]


def settled_grades(store: Store, collection: str) -> dict[str, dict[str, float]]:
    """Return the settled grades by query and document."""
    found: dict[str, dict[str, float]] = {}
    for (query, docid), (grade, *_) in people.settlements(store, collection).items():
        found.setdefault(query, {})[docid] = grade
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
        source, annotators = source or self.default(), self._annotators()
        if source == COLLECTION:
            return Labels("the labels of the collection", self._collection.labels)
        judged = self._store.lists(self._collection.key)
        if source == PEOPLE:
            settled = settled_grades(self._store, self._collection.key)
            return Labels("the mean grades of all people", partial(_mean_grades, judged, settled))
        if source == MINE:
            return Labels("your grades", partial(_grades_of, judged, user))
        if source in annotators:
            return Labels(f"the grades of {annotators[source]}", partial(_grades_of, judged, annotators[source]))
        raise invalid(f"there are no judgements {source!r}.", "Choose people, mine, labels or annotator:ID.")


def _mean_grades(judged: Lists, settled: Mapping[str, Mapping[str, float]], query: str) -> dict[str, float]:
    """Return the mean grades of people, unless one is settled."""
    own = (one for one in judged.get(query, ()) if one.user.is_person)
    return pooled(own, settled.get(query, {})).labels


def _grades_of(judged: Lists, user: str, query: str) -> dict[str, float]:
    """Return the grades of one user or annotator."""
    from plackett.clicks.reading.lists import normalized  # click logs have queries in one case

    own = (one for text in (query, normalized(query)) for one in judged.get(text, ()) if one.user.name == user)
    return next((one.state.judged.labels for one in own if one.state.grades), {})
