"""Collections of documents, and the lists with features that base rankers find in them."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
from cachetools import Cache, LRUCache, TTLCache, cachedmethod

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.values import Record
from plackett.data.queries import Queries
from plackett.text.analyse import Analyser
from plackett.text.search import snippet_of
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.rankers.base import Ranker

MAX_CACHED_VALUES = 5_000_000  # feature values in all cached lists together
MIN_CACHED_SIZE = 20_000  # minimum size that a list counts for, so that at most 250 lists are cached
CANDIDATES = 100  # minimum length of a list that a saved ranker reorders
RANKERS_SHOWN = 12  # in a message
SNIPPET_LENGTH = 220  # characters
SNIPPET_WINDOW = 8_000  # characters of a long text that are searched for a snippet, around the first query term


class Document(NamedTuple):
    """A document as plain text."""

    docid: str
    title: str
    fields: dict[str, str]


class Piece(Record):
    """A part of a snippet."""

    text: str
    is_term: bool


class Hits(NamedTuple):
    """A list in the order of its base ranker, best first."""

    docid: list[str]
    scores: np.ndarray  # base scores, descending
    X: np.ndarray
    feature_names: list[str]
    base: str = ""  # the base ranker; "" for lists that do not come from a collection
    note: str = ""  # what users should know about the list

    def by_score(self) -> Hits:
        """Return the list in descending order of scores; equal scores keep their order."""
        order = np.argsort(-self.scores, kind="stable")
        docid = [self.docid[row] for row in order.tolist()]
        return self._replace(docid=docid, scores=self.scores[order], X=self.X[order])

    def scores_of(self, docid: Sequence[str]) -> np.ndarray:
        """Return the scores of documents; those that are not in the list come last."""
        score = dict(zip(self.docid, self.scores.tolist(), strict=True))
        last = min(score.values(), default=0.0) - 1.0
        return np.array([score.get(one, last) for one in docid], dtype=np.float64)

    def first(self, k: int) -> Hits:
        """Return the first ``k`` documents."""
        return self._replace(docid=self.docid[:k], scores=self.scores[:k], X=self.X[:k])


class Collection(ABC):
    """Documents that can be searched, and their base rankers. Thread-safe."""

    kind: ClassVar[Literal["text", "letor", "engine"]]
    name: str  # to show
    key: str  # that judgements are stored under; it depends on the source and not on its content
    n_docs: int | None  # None for a live engine

    def __init__(self) -> None:
        self._saved: dict[str, Callable[[], Ranker]] = {}
        self._lists: Cache[Hashable, Hits] = LRUCache(MAX_CACHED_VALUES, getsizeof=_cached_size)
        self.is_live = False  # whether lists come from elsewhere, and may change at any time
        self._lock = threading.Lock()

    def keep_lists_for(self, seconds: float) -> None:
        """Cache lists only for some time, because they come from elsewhere."""
        self._lists = TTLCache(MAX_CACHED_VALUES, seconds, getsizeof=_cached_size)
        self.is_live = True

    @property
    def size(self) -> str:
        """The number of documents in words."""
        return count_of(self.n_docs or 0, "document")

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """Names of the columns of every list."""

    @abstractmethod
    def own_rankers(self) -> list[str]:
        """Return the base rankers that come with the collection; the first is the default."""

    @abstractmethod
    def document(self, docid: str) -> Document:
        """Return a document by its id; raise a KeyError if the id is unknown."""

    def title(self, docid: str) -> str:
        """Return the title of a document; "" without one, for a document that was removed, and if an engine is down."""
        try:
            title = self.document(docid).title
        except (LookupError, ValueError, RequestError):
            return ""
        return "" if title == docid else title

    @abstractmethod
    def snippet(self, docid: str, query: str) -> list[Piece]:
        """Return the part of a document that matches a query as pieces of plain text."""

    @abstractmethod
    def suggestions(self) -> list[str]:
        """Return a few example queries that have results."""

    @abstractmethod
    def _find(self, query: str, base: str, k: int) -> Hits:
        """Return the list of one of the collection's own rankers."""

    @abstractmethod
    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        """Return base scores and features of these documents, all known, in the order given."""

    @abstractmethod
    def __contains__(self, docid: object) -> bool:
        """Return whether there is a document of this id."""

    def missing(self, docid: Sequence[str]) -> set[str]:
        """Return the ids that no document has."""
        return {one for one in docid if one not in self}

    def labels(self, query: str) -> dict[str, float]:
        """Return the labels that came with the collection, by document; empty for texts."""
        return {}

    def base_rankers(self) -> list[str]:
        """Return the names that ``search`` accepts as ``base``: the collection's own rankers, then the saved ones."""
        return [*self.own_rankers(), *self._saved]

    def add_ranker(self, name: str, ranker: Ranker) -> None:
        """Add a fitted ranker as a base ranker; it replaces a saved one of that name.

        A ValueError says that the name is that of a built-in ranker, or that its features are not those of the
        collection.
        """
        self._check_name(name)
        self.check_ranker(name, ranker)
        self.add_lazy_ranker(name, lambda: ranker)

    def add_lazy_ranker(self, name: str, load: Callable[[], Ranker]) -> None:
        """Add a base ranker that is loaded when it is first used, because loading it takes long.

        ``search`` then raises the errors about its features.
        """
        self._check_name(name)

        def loaded() -> Ranker:
            ranker = load()
            self.check_ranker(name, ranker)
            return ranker

        with self._lock:
            self._saved = {**self._saved, name: cache(loaded)}

    def ranker(self, name: str) -> Ranker | None:
        """Return the saved ranker of that name, or None."""
        saved = self._saved.get(name)
        return None if saved is None else saved()

    def _check_name(self, name: str) -> None:
        if name in self.own_rankers():
            raise ValueError(f"{name!r} is the name of a built-in base ranker; choose another.")

    def check_ranker(self, name: str, ranker: Ranker) -> None:
        """Raise a ValueError if the features of a ranker are not those of the collection."""
        # imported here: without saved rankers the server starts in half the time
        from plackett import LinearRefiner, MultiplicativeRefiner, RocchioRefiner

        if isinstance(ranker, (LinearRefiner, MultiplicativeRefiner, RocchioRefiner)):
            raise ValueError("a refiner can only rank the queries that it was fitted on.")
        n_columns, names = getattr(ranker, "n_features_in_", None), getattr(ranker, "feature_names_", None)
        if n_columns != len(self.feature_names):
            raise ValueError(
                f"{name!r} was trained on {n_columns} features; the lists of {self.name} have "
                f"{len(self.feature_names)}. Train it on an export of this collection."
            )
        if names is not None and list(names) != self.feature_names:
            other = next(one for one, own in zip(names, self.feature_names, strict=True) if one != own)
            raise ValueError(
                f"{name!r} was trained on other features: the lists of {self.name} do not have {other!r} at that place."
            )

    def remove_ranker(self, name: str) -> None:
        """Remove a saved ranker; raise a KeyError if the name is unknown."""
        with self._lock:
            if name not in self._saved:
                raise KeyError(f"there is no saved ranker {name!r}.")
            self._saved = {other: ranker for other, ranker in self._saved.items() if other != name}

    def version(self, base: str) -> tuple[str, object]:
        """Return a key of a base ranker, which changes when another ranker gets its name."""
        return base, self._saved.get(base)

    def search(self, query: str, base: str = "", k: int = 100) -> Hits:
        """Return the ``k`` best documents of a base ranker, with their features. Recent lists are cached.

        A ValueError says that the base ranker is unknown, or that the query has a syntax error.
        """
        return self._search(query, self.version(self.base_name(base)), k)

    @cachedmethod(attrgetter("_lists"), lock=attrgetter("_lock"))
    def _search(self, query: str, version: tuple[str, object], k: int) -> Hits:
        return self.find(query, version[0], k)

    def find(self, query: str, base: str = "", k: int = 100, *, ranker: Ranker | None = None) -> Hits:
        """Return the list of ``search`` without the cache, from which a query set would displace the lists of users.

        With ``ranker``, a fitted one that need not be a base ranker, ``base`` is only its name.
        """
        base = base if ranker is not None else self.base_name(base)
        saved = self.ranker(base) if ranker is None else ranker
        if saved is None:
            hits = self._find(query, base, k)
        else:  # the default ranker finds candidates, the saved one orders them
            candidates = self._find(query, self.base_name(), max(k, CANDIDATES))
            hits = rescored(candidates, saved).by_score().first(k)
        return hits._replace(base=base)

    def score(self, query: str, docid: Sequence[str], base: str = "") -> Hits:
        """Return the base scores and features of given documents, best first; unknown documents are skipped."""
        base = self.base_name(base)
        unknown = self.missing(docid)
        known = [one for one in dict.fromkeys(docid) if one not in unknown]
        saved = self.ranker(base)
        hits = self._score(query, known, base if saved is None else self.base_name())
        return (hits if saved is None else rescored(hits, saved)).by_score()

    def base_name(self, base: str = "") -> str:
        """Return ``base``, or the default for ""; raise a ValueError if there is no such base ranker."""
        names = self.base_rankers()
        if base and base not in names:
            shown = ", ".join(names[:RANKERS_SHOWN]) + (", …" if len(names) > RANKERS_SHOWN else "")
            raise ValueError(f"there is no base ranker {base!r}; choose one of {shown}.")
        return base or names[0]

    def warm_up(self) -> None:
        """Search once, so that the first request does not wait for imports and the index."""
        for query in self.suggestions()[:1]:
            for base in self.own_rankers()[:6]:
                self.search(query, base)


def _cached_size(hits: Hits) -> int:
    return max(hits.X.size, MIN_CACHED_SIZE)


def rescored(hits: Hits, ranker: Ranker) -> Hits:
    """Return a list with the scores of a ranker, in its order."""
    if not hits.docid:
        return hits
    scores = ranker.predict(Queries(hits.X, feature_names=hits.feature_names))
    return hits._replace(scores=np.asarray(scores, dtype=np.float64))


def marked_snippet(texts: Mapping[str, str], query: str, analyser: Analyser) -> list[Piece]:
    """Return pieces of the body, or else of the longest field."""
    if not texts:
        return []
    field = "body" if texts.get("body") else max(texts, key=lambda name: len(texts[name]))
    wanted = frozenset(analyser(query))
    text = snippet_of(_window(wanted, texts[field]), wanted, analyser, SNIPPET_LENGTH)
    pieces, end = [], 0
    for term, start, stop in analyser.spans(text):
        if term in wanted:
            pieces += [Piece(text[end:start], False), Piece(text[start:stop], True)]
            end = stop
    return [piece for piece in (*pieces, Piece(text[end:], False)) if piece.text]


def _window(terms: frozenset[str], text: str) -> str:
    """Return the part of a long text around the first term; analysing all of it would take seconds."""
    if len(text) <= SNIPPET_WINDOW:
        return text
    found = re.search("|".join(map(re.escape, sorted(terms, key=len, reverse=True))), text, re.IGNORECASE)
    start = max((found.start() if terms and found else 0) - SNIPPET_WINDOW // 10, 0)
    return text[start : start + SNIPPET_WINDOW]
