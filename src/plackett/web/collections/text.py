"""Texts that are searched: the words of a query find them, and features say how."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path

import numpy as np

from plackett.data.documents.read import Document as ReadDocument
from plackett.data.documents.read import as_text, columns_of, read_documents
from plackett.storage.opening import is_stream
from plackett.text import TextIndex, build_index, letor_features, open_index, parse_boolean
from plackett.text.boolean import positive_terms, search_boolean
from plackett.text.index import INDEX_FILE
from plackett.text.search import snippet_of
from plackett.web.collections.base import Collection, Document, Hits
from plackett.web.collections.index_cache import content_key, kept_index, stdlib_key

BUILT_IN = "python-stdlib"
RANKERS = {  # as users know them
    "bm25": "bm25",
    "jelinek-mercer": "lm-jm",
    "dirichlet": "lm-dirichlet",
    "absolute-discounting": "lm-absolute",
    "tf-idf": "vector-space",
}
BOOLEAN = "boolean"
MOST_FIELDS = 8  # each brings 25 features
LONGEST_ID = 500  # characters of a document's id, with room for a number below MAX_DOCID
SNIPPET = 220  # characters
SNIPPETS_KEPT = 4096
LOOKED_AT = 8_000  # characters of a long text, around the first word of the query
EXAMPLES = (
    "parse json text",
    "sort a list by key",
    "temporary file name",
    "run a command and read its output",
    "current time zone",
)


class TextCollection(Collection):
    """A text index as a collection.

    Parameters
    ----------
    index : TextIndex
    name, key : str
    examples : iterable of str, default=()
        Queries for an empty page; none means titles of documents.
    """

    kind = "text"

    def __init__(self, index: TextIndex, name: str, key: str, examples: Iterable[str] = ()):
        super().__init__()
        self.index, self.name, self.key, self.n_docs = index, name, key, index.n_docs
        self._examples = list(examples)
        self._pieces = lru_cache(SNIPPETS_KEPT)(self._snippet)

    def own_rankers(self) -> list[str]:
        return [*RANKERS, BOOLEAN]

    @cached_property
    def feature_names(self) -> list[str]:
        names = letor_features(self.index, {"": []}, {"": self.index.docid[:1].tolist()}).feature_names
        return [] if names is None else names

    def __contains__(self, docid: object) -> bool:
        try:
            return self.index.place(str(docid)) >= 0
        except KeyError:
            return False

    def document(self, docid: str) -> Document:
        return Document(docid, self.index.title(docid), self.index.document(docid))

    def _terms(self, query: str, base: str) -> list[str]:
        return positive_terms(self.index, parse_boolean(query)) if base == BOOLEAN else self.index.analyser(query)

    def _find(self, query: str, base: str, k: int) -> Hits:
        if base == BOOLEAN:
            found, _, terms = search_boolean(self.index, query, k)
        else:
            terms = self.index.analyser(query)
            found = self.index.search(terms, k, RANKERS[base])
        docid = found.docid.tolist()
        return Hits(docid, found.scores.astype(np.float64), self._features(terms, docid), self.feature_names)

    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        places = np.array([self.index.place(one) for one in docid], dtype=np.int64)
        terms = self._terms(query, base)
        scores = self.index.scores(terms, places, RANKERS.get(base, "bm25")) if docid else np.zeros(0)
        if base == BOOLEAN:  # what does not match stands behind all that does
            scores = np.where(np.isin(places, self.index.match(query)), scores, -1.0)
        return Hits(docid, scores.astype(np.float64), self._features(terms, docid), self.feature_names)

    def _features(self, terms: list[str], docid: list[str]) -> np.ndarray:
        if not docid:
            return np.zeros((0, len(self.feature_names)))
        return letor_features(self.index, {"": terms}, {"": docid}).X

    def snippet(self, docid: str, query: str) -> list[tuple[str, bool]]:
        return list(self._pieces(docid, query))

    def _snippet(self, docid: str, query: str) -> list[tuple[str, bool]]:
        texts = self.index.document(docid)
        field = "body" if texts.get("body") else max(texts, key=lambda name: len(texts[name]))
        analyser = self.index.analyser
        wanted = frozenset(analyser(query))
        text = snippet_of(_part_with(wanted, texts[field]), wanted, analyser, SNIPPET)
        pieces, end = [], 0
        for term, start, stop in analyser.spans(text):
            if term in wanted:
                pieces += [(text[end:start], False), (text[start:stop], True)]
                end = stop
        pieces.append((text[end:], False))
        return [piece for piece in pieces if piece[0]]

    def suggestions(self) -> list[str]:
        if self._examples:
            return list(self._examples)
        names = self.index.docid[np.linspace(0, self.n_docs - 1, min(self.n_docs, 40)).astype(np.int64)].tolist()
        titles = (" ".join(self.index.analyser(self.index.title(one))[:5]) for one in names)
        return [title for title in dict.fromkeys(titles) if title][:5]


def _part_with(terms: frozenset[str], text: str) -> str:
    """A long text's part with the first of the words: cutting all of it into words takes seconds."""
    if len(text) <= LOOKED_AT:
        return text
    found = re.search("|".join(map(re.escape, sorted(terms, key=len, reverse=True))), text, re.IGNORECASE)
    start = max((found.start() if terms and found else 0) - LOOKED_AT // 10, 0)
    return text[start : start + LOOKED_AT]


def open_collection(source: str | PathLike | None, *, cache: str | PathLike | None = None) -> TextCollection:
    """Open the documents of a folder or a file, or the built-in ones, as a collection.

    Parameters
    ----------
    source : path or None
        A folder or a file: text, Markdown, HTML, JSONL, JSON, CSV, TSV; or an index folder written by
        ``plackett index``. None opens the documentation of Python's standard library.
    cache : path, default=None
        A folder where the index is cached by the content of the documents. A damaged cache is rebuilt. None disables
        the cache.

    Returns
    -------
    TextCollection
    """
    source = None if source is None else str(source)
    if source is None:
        index = kept_index(cache, BUILT_IN, stdlib_key(), _stdlib_index)
        return TextCollection(index, BUILT_IN, BUILT_IN, EXAMPLES)
    place = Path(source)
    if not place.exists():
        raise FileNotFoundError(f"{source} is not there. Give a folder or a file of texts.")
    name = as_text(place.resolve().name) or "documents"
    key = f"{name}-{hashlib.sha256(os.fsencode(place.resolve())).hexdigest()[:10]}"
    if (place / INDEX_FILE).is_file():
        return TextCollection(open_index(place), name, key)
    if is_stream(source):  # which can be read once, and not recognised again
        return TextCollection(_index_of(source), name, key)
    index = kept_index(cache, key, content_key(source), lambda: _index_of(source))
    return TextCollection(index, name, key)


def _stdlib_index() -> TextIndex:
    from plackett.data.documents.stdlib_corpus import read_stdlib

    return build_index(read_stdlib(n_queries=1), links="containment", positions=True)


def _index_of(source: str) -> TextIndex:
    documents = [_renamed(one, source) for one in read_documents(source, is_lenient=True)]
    return build_index(_safe_fields(columns_of(documents, [source])), docid=_different(documents), positions=True)


def _renamed(document: ReadDocument, source: str) -> ReadDocument:
    """A document of a file, named by the file alone: judgements are kept by names, however its path was typed."""
    path = as_text(source)
    if os.path.isdir(source) or not as_text(document.name).startswith(path):
        return document
    return document._replace(name=os.path.basename(path) + as_text(document.name)[len(path) :])


def _safe_fields(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Fields under names that an index takes; where there are many, titles and texts first, then the longest."""
    if len(columns) > MOST_FIELDS:
        first = [name for name in columns if name.lower() in ("title", "body", "text")]
        others = sorted((name for name in columns if name not in first), key=lambda name: -sum(map(len, columns[name])))
        columns = {name: columns[name] for name in [*first, *others][:MOST_FIELDS]}
    answer: dict[str, list[str]] = {}
    for name, texts in columns.items():
        safe = re.sub(r"[\W_]+", "_", name).strip("_").lower() or "field"
        while safe in ("whole", "docid", "urls") or safe in answer:
            safe += "_"
        answer[safe] = texts
    return answer


def _different(documents: list[ReadDocument]) -> list[str]:
    """Ids, the second of an equal name as "name (2)"."""
    taken: set[str] = set()
    names = []
    for document in documents:
        base = " ".join(document.name.split())[:LONGEST_ID] or "document"
        name, number = base, 2
        while name in taken:
            name, number = f"{base} ({number})", number + 1
        taken.add(name)
        names.append(name)
    return names
