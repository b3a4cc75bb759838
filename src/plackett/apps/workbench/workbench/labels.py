"""The judgements that rankings are measured on: those of people, of clicks, or of the collection."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.errors import RequestError
from plackett.apps.workbench.workbench.click_judgements import ClickJudgements, origin

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

PEOPLE, MINE, COLLECTION, CLICKS = "people", "mine", "labels", "clicks:"
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

    def __init__(self, collection: Collection, store: Store, click_judgements: ClickJudgements):
        self._collection, self._store, self._click_judgements = collection, store, click_judgements
        self._people = _PeopleGrades(store, collection.key)
        self._clicks: LRUCache[int, dict[str, dict[str, float]]] = LRUCache(4)
        self._lock = threading.Lock()

    def default(self) -> str:
        """Return the source to start with: the labels of the collection if it has some, else all people."""
        return COLLECTION if self.has_own() else PEOPLE

    def has_own(self) -> bool:
        """Return whether the collection came with labels."""
        return any(self._collection.labels(query) for query in self._collection.suggestions())

    def choices(self) -> list[tuple[str, str]]:
        """Return (name, words) of all sources."""
        own = [(COLLECTION, "labels of the collection")] if self.has_own() else []
        sets = [(f"{CLICKS}{one.id}", origin(one)) for one in self._store.click_sets(self._collection.key)]
        return [*own, (PEOPLE, "all people"), (MINE, "only mine"), *sets]

    def get(self, source: str, user: str) -> Labels:
        """Return the labels of a source; "" means the default one."""
        source = source or self.default()
        if source == COLLECTION:
            return _CollectionLabels(self._collection)
        if source in (PEOPLE, MINE):
            settled = self._settled() if source == PEOPLE else {}
            return _PooledLabels(*self._people.current(), settled, user if source == MINE else None)
        number = source.removeprefix(CLICKS)
        if source.startswith(CLICKS) and number.isascii() and number.isdigit() and len(number) < 19:
            return self._of_clicks(int(number))
        hint = "Choose people, mine, labels or clicks:ID."
        raise RequestError(422, "invalid", f"there are no judgements {source!r}.", hint)

    def _settled(self) -> dict[str, dict[str, float]]:
        """Return by query the grades that settle disagreements."""
        found: dict[str, dict[str, float]] = {}
        for one in self._store.settlements(self._collection.key).values():
            found.setdefault(one.query, {})[one.docid] = one.grade
        return found

    def _of_clicks(self, set_id: int) -> Labels:
        made = self._click_judgements.find(set_id)
        with self._lock:
            labels = self._clicks.get(set_id)
            if labels is None:  # sets never change
                labels = {}
                for one in self._click_judgements.all_grades(set_id):
                    labels.setdefault(one.query, {})[one.docid] = float(one.grade)
                self._clicks[set_id] = labels
        return _ClickLabels(set_id, origin(made), labels)


class _CollectionLabels:
    words = "the labels of the collection"

    def __init__(self, collection: Collection):
        self._collection = collection

    def of(self, query: str) -> dict[str, float]:
        return self._collection.labels(query)

    def key(self, query: str) -> Hashable:
        return COLLECTION


class _ClickLabels:
    def __init__(self, set_id: int, words: str, labels: dict[str, dict[str, float]]):
        self._set_id, self.words, self._labels = set_id, words, labels

    def of(self, query: str) -> dict[str, float]:
        from plackett.clicks.reading.lists import normalized  # logs have queries in one case, with single spaces

        return self._labels.get(query) or self._labels.get(normalized(query)) or {}

    def key(self, query: str) -> Hashable:
        return CLICKS, self._set_id


class _PooledLabels:
    """Mean grades over users, unless one is settled, or the grades of one user; preferences are not labels."""

    def __init__(
        self, grades: Grades, versions: dict[str, int], settled: dict[str, dict[str, float]], user: str | None
    ):
        self._grades, self._versions, self._settled, self._user = grades, versions, settled, user
        self.words = "the mean grades of all people" if user is None else "your grades"

    def of(self, query: str) -> dict[str, float]:
        documents = self._grades.get(query, {})
        if self._user is not None:
            return {docid: by_user[self._user] for docid, by_user in documents.items() if self._user in by_user}
        settled = self._settled.get(query, {})
        return {
            docid: settled.get(docid, math.fsum(by_user.values()) / len(by_user))
            for docid, by_user in documents.items()
        }

    def key(self, query: str) -> Hashable:
        settled = frozenset(self._settled.get(query, {}).items())
        return PEOPLE, self._user, self._versions.get(query, 0), settled


class _PeopleGrades:
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
