"""The documents that live engines find, as a collection."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from operator import attrgetter

import numpy as np
from cachetools import LRUCache, TTLCache, cachedmethod

from plackett.apps.workbench.collections.base import Collection, Document, Hits, Piece, marked_snippet
from plackett.apps.workbench.engines.answers import LIST_SECONDS, Engine, EngineHit, scores_of
from plackett.apps.workbench.engines.client import EngineError
from plackett.apps.workbench.engines.settings import SCORE, TEXT, EngineSettings
from plackett.text import TextIndex, build_index, letor_features
from plackett.text.analyse import Analyser

MAX_DOCUMENTS = 5_000  # that were found recently


class EngineCollection(Collection):
    """The documents that live engines find; documents of all engines have the same ids.

    Each engine is a base ranker, and the first one finds the candidates of saved rankers.

    Features of a document are those of the first engine's list: the engine's score, the text features of the returned
    documents (whose statistics are those of the list), and logged features or numeric fields. A document that the
    engine does not return for a query has no features for it.
    """

    kind = "engine"

    def __init__(self, engines: Sequence[EngineSettings]):
        super().__init__()
        self.keep_lists_for(LIST_SECONDS)
        first = engines[0]
        self._engines = {one.name: Engine(one.model_copy(update={"features": first.features})) for one in engines}
        if len(self._engines) < len(engines):
            raise ValueError("two engines have the same name; set name in their files.")
        index = first.address.path.strip("/").rpartition("/")[2]
        self.name = f"{index} ({first.name})" if index and first.kind != "json" else first.name
        self.key = f"engine-{first.place}{first.address.path}"
        self.n_docs = None
        self._settings = first
        self._found: TTLCache[Hashable, Hits] = TTLCache(250, LIST_SECONDS)
        self._documents: LRUCache[str, Document] = LRUCache(MAX_DOCUMENTS)
        self._analyser = Analyser()

    @property
    def size(self) -> str:
        return f"live search at {self._settings.place}"

    @cached_property
    def feature_names(self) -> list[str]:
        names: list[str] = []
        for name in self._settings.features:
            names += self._text_names if name == TEXT else [name]
        return names

    @cached_property
    def _text_names(self) -> list[str]:
        index = _index_of(["title"], ["body"], ["one"])
        return letor_features(index, {"": []}, {"": ["one"]}).feature_names or []

    def own_rankers(self) -> list[str]:
        return list(self._engines)

    def __contains__(self, docid: object) -> bool:
        try:
            self.document(str(docid))
        except KeyError:
            return False
        return True

    def missing(self, docid: Sequence[str]) -> set[str]:
        """Return an empty set: an engine cannot be asked for every document of a file."""
        return set()

    @cachedmethod(attrgetter("_documents"), key=lambda self, docid: docid, lock=attrgetter("_lock"))
    def document(self, docid: str) -> Document:
        for engine in self._engines.values():
            hit = engine.document(docid)
            if hit is not None:
                return _document_of(hit)
        raise KeyError(f"{self.name} has no document {docid!r}, or no recent search found it. Search for it first.")

    def snippet(self, docid: str, query: str) -> list[Piece]:
        texts = {name: text for name, text in self.document(docid).fields.items() if name != "title"}
        return marked_snippet(texts, query, self._analyser)

    def suggestions(self) -> list[str]:
        return list(self._settings.examples)

    def _find(self, query: str, base: str, k: int) -> Hits:
        return self._list(query, base).first(k)

    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        features, own = self._list(query, self.base_name()), self._list(query, base)
        place = {one: row for row, one in enumerate(features.docid)}
        docid = [one for one in docid if one in place]
        return Hits(docid, own.scores_of(docid), features.X[[place[one] for one in docid]], self.feature_names)

    @cachedmethod(attrgetter("_found"), lock=attrgetter("_lock"))
    def _list(self, query: str, base: str) -> Hits:
        hits = self._engines[base].search(query)
        with self._lock:
            self._documents.update({hit.docid: _document_of(hit) for hit in hits})
        missing = [name for name in self._settings.logged if hits and not any(name in hit.features for hit in hits)]
        if missing and base == self.base_name():
            raise EngineError(
                f"no hit of {base} has the feature {missing[0]!r}.",
                "Change the request so that the engine logs it, or name a numeric field.",
            )
        note = f"{base} does not return {', '.join(missing[:5])}, which count as 0." if missing else ""
        X = self._features(query, hits)
        return Hits([hit.docid for hit in hits], scores_of(hits), X, self.feature_names, note=note)

    def _features(self, query: str, hits: list[EngineHit]) -> np.ndarray:
        if not hits:
            return np.zeros((0, len(self.feature_names)))
        columns: list[np.ndarray] = []
        for name in self._settings.features:
            if name == SCORE:
                columns.append(scores_of(hits)[:, None])
            elif name == TEXT:
                titles, bodies = [hit.title for hit in hits], [" ".join(hit.fields.values()) for hit in hits]
                docid = [hit.docid for hit in hits]
                index = _index_of(titles, bodies, docid)
                columns.append(letor_features(index, {"": index.analyser(query)}, {"": docid}).X)
            else:
                columns.append(np.array([[hit.features.get(name, 0.0)] for hit in hits]))
        return np.hstack([np.asarray(one, dtype=np.float64) for one in columns])


def _document_of(hit: EngineHit) -> Document:
    return Document(hit.docid, hit.title or hit.docid, {"title": hit.title, **hit.fields})


def _index_of(titles: list[str], bodies: list[str], docid: list[str]) -> TextIndex:
    return build_index({"title": titles, "body": bodies}, docid=docid, positions=True)
