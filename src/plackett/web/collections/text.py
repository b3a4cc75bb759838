"""Texts as a collection: a text index with its base rankers and features."""

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
from plackett.web.collections.index_cache import cached_index, content_key, stdlib_key

BUILT_IN = "python-stdlib"
RANKERS = {  # the names of users, and those of the index
    "bm25": "bm25",
    "jelinek-mercer": "lm-jm",
    "dirichlet": "lm-dirichlet",
    "absolute-discounting": "lm-absolute",
    "tf-idf": "vector-space",
}
BOOLEAN = "boolean"
MAX_FIELDS = 8  # 25 features each
MAX_ID_LENGTH = 500  # characters of a document's id, which leaves room for a suffix below MAX_DOCID
SNIPPET_LENGTH = 220  # characters
CACHED_SNIPPETS = 4096
SNIPPET_WINDOW = 8_000  # characters of a long text that are searched for a snippet, around the first query term
EXAMPLES = (
    "parse json text",
    "sort a list by key",
    "temporary file name",
    "run a command and read its output",
    "current time zone",
)


class TextCollection(Collection):
    """The documents of a text index.

    Parameters
    ----------
    index : TextIndex
    name, key : str
    examples : iterable of str, default=()
        Example queries; empty means titles of documents.
    """

    kind = "text"

    def __init__(self, index: TextIndex, name: str, key: str, examples: Iterable[str] = ()):
        super().__init__()
        self.index, self.name, self.key, self.n_docs = index, name, key, index.n_docs
        self._examples = list(examples)
        self._cached_snippet = lru_cache(CACHED_SNIPPETS)(self._snippet)

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
        rows = np.array([self.index.place(one) for one in docid], dtype=np.int64)
        terms = self._terms(query, base)
        scores = self.index.scores(terms, rows, RANKERS.get(base, "bm25")) if docid else np.zeros(0)
        if base == BOOLEAN:  # documents that do not match come last
            scores = np.where(np.isin(rows, self.index.match(query)), scores, -1.0)
        return Hits(docid, scores.astype(np.float64), self._features(terms, docid), self.feature_names)

    def _features(self, terms: list[str], docid: list[str]) -> np.ndarray:
        if not docid:
            return np.zeros((0, len(self.feature_names)))
        return letor_features(self.index, {"": terms}, {"": docid}).X

    def snippet(self, docid: str, query: str) -> list[tuple[str, bool]]:
        return list(self._cached_snippet(docid, query))

    def _snippet(self, docid: str, query: str) -> list[tuple[str, bool]]:
        texts = self.index.document(docid)
        field = "body" if texts.get("body") else max(texts, key=lambda name: len(texts[name]))
        analyser = self.index.analyser
        wanted = frozenset(analyser(query))
        text = snippet_of(_snippet_window(wanted, texts[field]), wanted, analyser, SNIPPET_LENGTH)
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


def _snippet_window(terms: frozenset[str], text: str) -> str:
    """Return the part of a long text around the first term; analysing all of it takes seconds."""
    if len(text) <= SNIPPET_WINDOW:
        return text
    found = re.search("|".join(map(re.escape, sorted(terms, key=len, reverse=True))), text, re.IGNORECASE)
    start = max((found.start() if terms and found else 0) - SNIPPET_WINDOW // 10, 0)
    return text[start : start + SNIPPET_WINDOW]


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
        index = cached_index(cache, BUILT_IN, stdlib_key(), _stdlib_index)
        return TextCollection(index, BUILT_IN, BUILT_IN, EXAMPLES)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"{source} does not exist. Give a folder or a file of texts.")
    name = as_text(path.resolve().name) or "documents"
    key = f"{name}-{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:10]}"
    if (path / INDEX_FILE).is_file():
        return TextCollection(open_index(path), name, key)
    if is_stream(source):  # can be read only once, so it has no cache key
        return TextCollection(_build_index(source), name, key)
    index = cached_index(cache, key, content_key(source), lambda: _build_index(source))
    return TextCollection(index, name, key)


def _stdlib_index() -> TextIndex:
    from plackett.data.documents.stdlib_corpus import read_stdlib

    return build_index(read_stdlib(n_queries=1), links="containment", positions=True)


def _build_index(source: str) -> TextIndex:
    documents = [_renamed(one, source) for one in read_documents(source, is_lenient=True)]
    return build_index(_safe_fields(columns_of(documents, [source])), docid=_unique_ids(documents), positions=True)


def _renamed(document: ReadDocument, source: str) -> ReadDocument:
    """Name a document of a file without the folder, so that judgements do not depend on how the path was typed."""
    path = as_text(source)
    if os.path.isdir(source) or not as_text(document.name).startswith(path):
        return document
    return document._replace(name=os.path.basename(path) + as_text(document.name)[len(path) :])


def _safe_fields(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return fields under names that an index accepts; of many fields, titles and texts first, then the longest."""
    if len(columns) > MAX_FIELDS:
        first = [name for name in columns if name.lower() in ("title", "body", "text")]
        others = sorted((name for name in columns if name not in first), key=lambda name: -sum(map(len, columns[name])))
        columns = {name: columns[name] for name in [*first, *others][:MAX_FIELDS]}
    fields: dict[str, list[str]] = {}
    for name, texts in columns.items():
        safe = re.sub(r"[\W_]+", "_", name).strip("_").lower() or "field"
        while safe in ("whole", "docid", "urls") or safe in fields:
            safe += "_"
        fields[safe] = texts
    return fields


def _unique_ids(documents: list[ReadDocument]) -> list[str]:
    """Return unique ids; the second document of a name is "name (2)"."""
    taken: set[str] = set()
    names = []
    for document in documents:
        base = " ".join(document.name.split())[:MAX_ID_LENGTH] or "document"
        name, number = base, 2
        while name in taken:
            name, number = f"{base} ({number})", number + 1
        taken.add(name)
        names.append(name)
    return names
