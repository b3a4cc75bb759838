"""Texts as a collection: a text index with its base rankers and features."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from operator import attrgetter
from os import PathLike
from pathlib import Path

import numpy as np
import platformdirs
from cachetools import LRUCache, cachedmethod

from plackett.apps.workbench.collections.base import Collection, Document, Hits, Piece, marked_snippet
from plackett.apps.workbench.engines.answers import LIST_SECONDS, Engine, scores_of
from plackett.apps.workbench.engines.client import EngineError
from plackett.data.documents import markup, read, stdlib_corpus
from plackett.exceptions import DataFormatError
from plackett.text import TextIndex, analyse, build_index, letor_features, open_index, parse_boolean
from plackett.text import build as build_module
from plackett.text.boolean import positive_terms, search_boolean
from plackett.text.index import is_index
from plackett.validation import count_of

BUILT_IN = "python-stdlib"
RANKERS = {  # names shown to users -> names in the index
    "bm25": "bm25",
    "jelinek-mercer": "lm-jm",
    "dirichlet": "lm-dirichlet",
    "absolute-discounting": "lm-absolute",
    "tf-idf": "vector-space",
}
BOOLEAN = "boolean"
MAX_FIELDS = 8  # 25 features each
MAX_ID_LENGTH = 500  # characters of a document's id, which leaves room for a suffix below MAX_DOCID
CACHED_SNIPPETS = 4096
SUGGESTIONS, TITLES_TRIED = 5, 40
MAX_TITLE = 200  # characters of a title that a query is made of
EXAMPLES = (
    "parse json text",
    "sort a list by key",
    "temporary file name",
    "run a command and read its output",
    "current time zone",
)
# modules whose code determines the content of an index
_SOURCES = (read, markup, stdlib_corpus, analyse, build_module)


class TextCollection(Collection):
    """The documents of a text index; example queries are titles of documents, unless some are given."""

    kind = "text"

    def __init__(self, index: TextIndex, name: str, key: str, examples: Iterable[str] = ()):
        super().__init__()
        self.index, self.name, self.key, self.n_docs = index, name, key, index.n_docs
        self._examples = list(examples)
        self._engines: dict[str, Engine] = {}
        self._snippets: LRUCache[Hashable, list[Piece]] = LRUCache(CACHED_SNIPPETS)

    def own_rankers(self) -> list[str]:
        return [*RANKERS, BOOLEAN, *self._engines]

    def add_engine(self, engine: Engine) -> None:
        """Add a live engine with the same documents as a base ranker; their features are those of the index."""
        self._check_name(engine.name)
        self.keep_lists_for(LIST_SECONDS)
        self._engines[engine.name] = engine

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

    def _find(self, query: str, base: str, k: int) -> Hits:
        if base in self._engines:
            return self._find_by_engine(query, base).first(k)
        if base == BOOLEAN:
            found, _, terms = search_boolean(self.index, query, k)
        else:
            terms = self.index.analyser(query)
            found = self.index.search(terms, k, RANKERS[base])
        return self._hits(terms, found.docid.tolist(), found.scores)

    def _find_by_engine(self, query: str, base: str) -> Hits:
        hits = self._engines[base].search(query)
        known = [hit for hit in hits if hit.docid in self]
        if hits and not known:
            raise EngineError(
                f"{self.name} has none of the {len(hits)} documents that {base} found, such as {hits[0].docid!r}.",
                "Both must have the same ids. Without a SOURCE, documents come from the engine.",
            )
        found = self._hits(self.index.analyser(query), [hit.docid for hit in known], scores_of(known))
        n_unknown = len(hits) - len(known)
        words = count_of(n_unknown, "document that it found is", "documents that it found are")
        return found._replace(note=f"{words} not in {self.name} and left out." if n_unknown else "")

    def _score(self, query: str, docid: list[str], base: str) -> Hits:
        if base in self._engines:
            found = self._find_by_engine(query, base)
            return self._hits(self.index.analyser(query), docid, found.scores_of(docid))
        is_boolean, rows = base == BOOLEAN, np.array([self.index.place(one) for one in docid], dtype=np.int64)
        terms = positive_terms(self.index, parse_boolean(query)) if is_boolean else self.index.analyser(query)
        scores = self.index.scores(terms, rows, RANKERS.get(base, "bm25")) if docid else np.zeros(0)
        if is_boolean:  # documents that do not match come last
            scores = np.where(np.isin(rows, self.index.match(query)), scores, -1.0)
        return self._hits(terms, docid, scores)

    def _hits(self, terms: list[str], docid: list[str], scores: np.ndarray) -> Hits:
        """Return documents with their features for the terms of a query."""
        X = letor_features(self.index, {"": terms}, {"": docid}).X if docid else np.zeros((0, len(self.feature_names)))
        return Hits(docid, scores.astype(np.float64), X, self.feature_names)

    @cachedmethod(attrgetter("_snippets"), lock=attrgetter("_lock"))
    def snippet(self, docid: str, query: str) -> list[Piece]:
        return marked_snippet(self.index.document(docid), query, self.index.analyser)

    def suggestions(self) -> list[str]:
        return list(self._examples or self._title_queries)

    @cached_property
    def _title_queries(self) -> list[str]:
        """First words of titles, as written, that find their document among the first."""
        places = np.linspace(0, self.index.n_docs - 1, min(self.index.n_docs, TITLES_TRIED)).astype(np.int64)
        found: dict[str, None] = {}
        for docid in self.index.docid[places].tolist():
            spans = [one for one in self.index.analyser.spans(self.index.title(docid)[:MAX_TITLE]) if one[0]][:5]
            query = self.index.title(docid)[spans[0][1] : spans[-1][2]] if spans else ""
            query = " ".join(_without_open_bracket(query).split())
            first = self.index.search(self.index.analyser(query), 3).docid.tolist() if query else []
            if docid in first:
                found[query] = None
            if len(found) == SUGGESTIONS:
                break
        return list(found)


def open_collection(
    source: str | PathLike | None,
    *,
    cache: str | PathLike | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TextCollection:
    """Open the documents of a folder or a file, or the built-in ones, as a collection.

    ``source`` has text, Markdown, HTML, JSONL, JSON, CSV or TSV, or is an index written by ``plackett index``;
    None means the documentation of Python's standard library. Its index is kept in the folder ``cache`` by the content
    of the documents; a damaged cache is rebuilt. ``progress`` is as in ``build_index``, and not called if the index is
    cached.
    """
    source = None if source is None else str(source)
    if source is None:
        index = _cached_index(cache, BUILT_IN, None, lambda: _stdlib_index(progress))
        return TextCollection(index, BUILT_IN, BUILT_IN, EXAMPLES)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"{source} does not exist. Give a folder or a file of texts.")
    name = read.as_text(path.resolve().name) or "documents"
    key = f"{name}-{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:10]}"
    if is_index(path):
        return TextCollection(open_index(path), name, key)
    if not (path.is_file() or path.is_dir()):  # a pipe can be read only once, so it has no cache key
        return TextCollection(_build_index(source, progress), name, key)
    index = _cached_index(cache, key, source, lambda: _build_index(source, progress))
    return TextCollection(index, name, key)


def _without_open_bracket(text: str) -> str:
    """Return the beginning of a title before a bracket that is opened and not closed.

    Examples
    --------
    >>> _without_open_bracket("Open files (and")
    'Open files '
    """
    for opened, closed in ("()", "[]", "{}"):
        if text.count(opened) > text.count(closed):
            text = text[: text.rindex(opened)]
    return text


def _stdlib_index(progress: Callable[[int, int], None] | None) -> TextIndex:
    return build_index(stdlib_corpus.read_stdlib(n_queries=1), links="containment", positions=True, progress=progress)


def _build_index(source: str, progress: Callable[[int, int], None] | None) -> TextIndex:
    documents = [_renamed(one, source) for one in read.read_documents(source, is_lenient=True)]
    fields = _safe_fields(read.columns_of(documents, [source]))
    return build_index(fields, docid=_unique_ids(documents), positions=True, progress=progress)


def _renamed(document: read.Document, source: str) -> read.Document:
    """Name a document of a file without the folder, so that judgements do not depend on how the path was typed."""
    path = read.as_text(source)
    if os.path.isdir(source) or not read.as_text(document.name).startswith(path):
        return document
    return document._replace(name=os.path.basename(path) + read.as_text(document.name)[len(path) :])


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


def _unique_ids(documents: list[read.Document]) -> list[str]:
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


# the cache of indexes, by the content of their documents


def default_cache_folder() -> Path:
    """Return the user's cache folder: ``$XDG_CACHE_HOME/plackett``, or that of the system."""
    return platformdirs.user_cache_path("plackett", appauthor=False)


def _cached_index(
    cache: str | PathLike | None, name: str, source: str | None, build: Callable[[], TextIndex]
) -> TextIndex:
    """Return the index of a name in the folder ``cache``, or build and cache it.

    A damaged index is rebuilt, and an index of the same name with other content is deleted. If the cache cannot be
    written, the index is built again at the next start.
    """
    if cache is None:
        return build()
    prefix = hashlib.sha256(name.encode()).hexdigest()[:16]
    path = Path(cache) / f"{prefix}-{_content_key(source)}.index"
    with contextlib.suppress(DataFormatError, OSError):
        return open_index(path)
    index = build()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        index.save(path)
        for other in path.parent.glob(f"{prefix}-*.index"):
            if other != path:
                other.unlink()
        return open_index(path)  # memory-mapped
    return index


def _content_key(source: str | None) -> str:
    """Return a digest of what determines an index: our code, and the names and bytes of the files, or the Python."""
    digest = hashlib.sha256()
    for module in _SOURCES:
        with contextlib.suppress(OSError, TypeError):
            digest.update(Path(str(module.__file__)).read_bytes())
    if source is None:
        digest.update("\0".join((sys.version, sys.platform, platform.machine(), sys.prefix)).encode())
        return digest.hexdigest()[:32]
    for path in read.files_of(source):
        digest.update(os.fsencode(path) + b"\0")
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]
