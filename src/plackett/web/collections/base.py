"""What is searched: documents, the lists that base rankers make of them, and the features of each list."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.validation import check_finite, check_positive_int, check_scores, feature_labels

if TYPE_CHECKING:
    from plackett.rankers.base import Ranker

LISTS_KEPT = 256  # with their features: 80 kB for a list of 100 documents and 100 features
VALUES_KEPT = 5_000_000  # in all of them
CANDIDATES = 100  # of a list that a saved ranker orders, at least


class Document(NamedTuple):
    """A document as text; nothing in it is markup."""

    docid: str
    title: str
    fields: dict[str, str]


class Hits(NamedTuple):
    """A list in the order of its base ranker, the best first.

    Attributes
    ----------
    docid : list of str
    scores : ndarray of shape (n_docs,)
        Of the base ranker, falling.
    X : ndarray of shape (n_docs, n_features)
    feature_names : list of str
    """

    docid: list[str]
    scores: np.ndarray
    X: np.ndarray
    feature_names: list[str]


class Collection(ABC):
    """Documents that can be searched, and the rankers that search them. Threads may share one.

    Attributes
    ----------
    name : str
        To show.
    key : str
        To keep judgements by: the same for the same source, whatever becomes of its content.
    kind : "text" or "letor"
    n_docs : int
    feature_names : list of str
    """

    kind: ClassVar[Literal["text", "letor"]]
    name: str
    key: str
    n_docs: int

    def __init__(self) -> None:
        self._saved: dict[str, Callable[[], Ranker]] = {}
        self._lists: OrderedDict[tuple[str, str, int], Hits] = OrderedDict()
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def feature_names(self) -> list[str]:
        """Names of the columns of every list."""

    @abstractmethod
    def own_rankers(self) -> list[str]:
        """The base rankers that come with the collection; the first is the default."""

    @abstractmethod
    def document(self, docid: str) -> Document:
        """A document by its id; a KeyError where there is none."""

    @abstractmethod
    def snippet(self, docid: str, query: str) -> list[tuple[str, bool]]:
        """What of a document shows why it was found, in pieces: plain text, True where it is a word of the query."""

    @abstractmethod
    def suggestions(self) -> list[str]:
        """A few queries that find something, for an empty page."""

    @abstractmethod
    def _find(self, query: str, base: str, k: int) -> Hits:
        """The list of one of the collection's own rankers."""

    @abstractmethod
    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        """Base scores and features of these documents, all known, in the order given."""

    @abstractmethod
    def __contains__(self, docid: object) -> bool:
        """Whether there is a document of this id."""

    def labels(self, query: str) -> dict[str, float]:
        """The labels that came with the collection, by document; none where it is of texts."""
        return {}

    def base_rankers(self) -> list[str]:
        """What ``search`` takes as ``base``: the collection's own rankers, then the saved ones."""
        return [*self.own_rankers(), *self._saved]

    def add_ranker(self, name: str, ranker: Ranker) -> None:
        """Make a fitted ranker a base ranker, in the place of a saved one of that name.

        A ValueError says why a ranker cannot be one: its name, or columns that are not those of the collection.
        """
        self._check_name(name)
        self._check_ranker(name, ranker)
        self._add(name, lambda: ranker)

    def promise_ranker(self, name: str, load: Callable[[], Ranker]) -> None:
        """The same for a ranker that is loaded when it is first needed, since that takes longer than all the rest.

        What ``add_ranker`` would say of it is said by ``search`` then.
        """
        self._check_name(name)

        def loaded() -> Ranker:
            ranker = load()
            self._check_ranker(name, ranker)
            return ranker

        self._add(name, cache(loaded))

    def ranker(self, name: str) -> Ranker | None:
        """The saved ranker of that name; None where there is none."""
        saved = self._saved.get(name)
        return None if saved is None else saved()

    def _add(self, name: str, load: Callable[[], Ranker]) -> None:
        with self._lock:
            self._saved = {**self._saved, name: load}
            self._forget(name)

    def _check_name(self, name: str) -> None:
        if name in self.own_rankers():
            raise ValueError(f"{name!r} is the name of a base ranker that is always there; choose another.")

    def _check_ranker(self, name: str, ranker: Ranker) -> None:
        from plackett.rankers.refinement.refiner import (
            Refiner,  # not above: a search without rankers starts in half the time
        )

        if isinstance(ranker, Refiner):
            raise ValueError("a refiner knows only the queries that it was fitted on and cannot rank others.")
        n_columns, names = getattr(ranker, "n_features_in_", None), getattr(ranker, "feature_names_", None)
        if n_columns != len(self.feature_names):
            raise ValueError(
                f"{name!r} was trained on {n_columns} features; the lists of {self.name} have "
                f"{len(self.feature_names)}. Train it on an export of this collection."
            )
        if names is not None and list(names) != self.feature_names:
            other = next(one for one, own in zip(names, self.feature_names, strict=True) if one != own)
            raise ValueError(
                f"{name!r} was trained on other features: the lists of {self.name} have no {other!r} there."
            )

    def remove_ranker(self, name: str) -> None:
        """A saved ranker is no base ranker any more; a KeyError where there is none of that name."""
        with self._lock:
            if name not in self._saved:
                raise KeyError(f"there is no saved ranker {name!r}.")
            self._saved = {other: ranker for other, ranker in self._saved.items() if other != name}
            self._forget(name)

    def _forget(self, base: str) -> None:
        for key in [key for key in self._lists if key[1] == base]:
            del self._lists[key]

    def search(self, query: str, base: str = "", k: int = 100) -> Hits:
        """The ``k`` best documents by a base ranker, with their features; lists that came last are kept.

        Parameters
        ----------
        query : str
        base : str, default=""
            One of ``base_rankers()``; "" means the first.
        k : int, default=100

        Raises
        ------
        ValueError
            Where the base ranker is not known or the query cannot be read; it says what was expected.
        """
        base = self._base(base)
        key = (query, base, check_positive_int(k, "k"))
        with self._lock:
            hits = self._lists.get(key)
            if hits is not None:
                self._lists.move_to_end(key)
                return hits
        saved = self.ranker(base)
        hits = self._find(query, base, k) if saved is None else self._rank(saved, query, k)
        with self._lock:
            self._lists[key] = hits
            n_values = sum(kept.X.size for kept in self._lists.values())
            while len(self._lists) > 1 and (len(self._lists) > LISTS_KEPT or n_values > VALUES_KEPT):
                n_values -= self._lists.popitem(last=False)[1].X.size
        return hits

    def score(self, query: str, docid: Sequence[str], base: str = "") -> Hits:
        """Given documents as a list: their base scores and features, the best first; unknown ones are left out."""
        base = self._base(base)
        known = list(dict.fromkeys(one for one in docid if one in self))
        saved = self.ranker(base)
        if saved is None or not known:
            return by_score(self._score(query, known, base if saved is None else self._base("")))
        return by_score(_scored(self._score(query, known, self._base("")), saved))

    def _base(self, base: str) -> str:
        names = self.base_rankers()
        if not base:
            return names[0]
        if base not in names:
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            raise ValueError(f"there is no base ranker {base!r}; choose one of {shown}.")
        return base

    def _rank(self, ranker: Ranker, query: str, k: int) -> Hits:
        """The first ranker finds candidates, ``ranker`` puts them in order."""
        found = by_score(_scored(self._find(query, self._base(""), max(k, CANDIDATES)), ranker))
        return Hits(found.docid[:k], found.scores[:k], found.X[:k], found.feature_names)

    def warm_up(self) -> None:
        """Search once, so that the first request does not wait for imports and the index."""
        for query in self.suggestions()[:1]:
            for base in self.own_rankers()[:6]:
                self.search(query, base)


def _scored(hits: Hits, ranker: Ranker) -> Hits:
    if not hits.docid:
        return hits
    scores = ranker.predict(Queries(hits.X, feature_names=hits.feature_names))
    return hits._replace(scores=np.asarray(scores, dtype=np.float64))


def by_score(hits: Hits) -> Hits:
    """The list by falling score; equal scores keep their order."""
    order = np.argsort(-hits.scores, kind="stable")
    return Hits([hits.docid[row] for row in order.tolist()], hits.scores[order], hits.X[order], hits.feature_names)


def hits_of(docid: Sequence[str], base_scores: Any, X: Any, feature_names: Sequence[str] | None = None) -> Hits:
    """A list from outside: checked, and in the order of its base scores, equal ones as given.

    Parameters
    ----------
    docid : sequence of str
        Different ones.
    base_scores : array-like of shape (n_docs,)
    X : array-like of shape (n_docs, n_features)
        Finite numbers.
    feature_names : sequence of str, default=None
        None means "column 0", "column 1", and so on.
    """
    names = [str(one) for one in docid]
    if len(set(names)) < len(names):
        twice = next(one for place, one in enumerate(names) if one in names[:place])
        raise ValueError(f"the document {twice!r} stands in the list twice.")
    try:
        rows = np.ascontiguousarray(X, dtype=np.float64).reshape(len(names), -1) if names else np.zeros((0, 0))
    except (TypeError, ValueError):
        raise ValueError("features must be one list of numbers for each document, all of the same length.") from None
    columns = feature_labels(rows.shape[1]) if feature_names is None else list(feature_names)
    if len(columns) != rows.shape[1]:
        raise ValueError(f"there are {len(columns)} feature names but {rows.shape[1]} features.")
    check_finite(rows, columns)
    scores = check_scores(base_scores, len(names), name="base_scores").astype(np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("base_scores must be finite numbers.")
    return by_score(Hits(names, scores, rows, columns))
