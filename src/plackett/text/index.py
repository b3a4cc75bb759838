"""An index of texts: several fields, one vocabulary, kept in a folder and mapped into memory when opened."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.documents.collections import TextCollection
from plackett.data.text_column import TextColumn, as_str_array
from plackett.data.trec import Run
from plackett.exceptions import DataFormatError
from plackett.text import boolean, search, storage
from plackett.text.analyse import Analyser
from plackett.text.links import as_links, pagerank
from plackett.text.postings import Postings
from plackett.text.search import Hits, Impacts
from plackett.text.snippets import snippet_of
from plackett.text.weighting import Factors, Ranker
from plackett.validation import check_choice, count_of

WHOLE = "whole"
# what arrays hold, by the end of their names
_KINDS = {
    **dict.fromkeys(("indptr", "bounds", "sequence_bounds"), np.dtype(np.int64)),
    **dict.fromkeys(("docs", "tf", "sequence"), np.dtype(np.int32)),
    **dict.fromkeys(("terms", "bytes"), np.dtype(np.uint8)),
    "links": np.dtype(np.float64),
}
_CONTENTS = {"bounds": "bytes", "sequence_bounds": "sequence"}  # what lies between bounds
_IMPACTS_KEPT = 4  # a number per posting each
_FACTORS_KEPT = 64  # some numbers per document and term each


class TextIndex:
    """Documents by field, made searchable; from :func:`build_index` or :func:`open_index`.

    The field ``"whole"`` holds the text of all others. Documents are named by their id outside and by their place
    0..n_docs − 1 in arrays.

    Attributes
    ----------
    analyser : Analyser
    fields : tuple of str
        Names of the fields; ``"whole"`` is not among them.
    n_docs, n_terms : int
    links : ndarray of shape (n_links, 3) or None
        Rows of (from, to, weight).
    urls : TextColumn or None
    has_positions : bool
        Whether the order of words was kept, so that phrases can be found.
    """

    def __init__(self, analyser: Analyser, fields: Sequence[str], arrays: Mapping[str, np.ndarray], n_docs: int):
        self.analyser, self.fields, self.n_docs = analyser, tuple(fields), n_docs
        self._arrays = dict(arrays)
        whole = self.fields[0] if len(self.fields) == 1 else WHOLE
        self._sources: dict[str | None, str] = {WHOLE: whole, None: whole}
        self._sources |= {name: name for name in self.fields}
        self._postings: dict[str, Postings] = {}
        self._factors: OrderedDict[tuple[str, Ranker], Factors] = OrderedDict()
        self._computed: dict[tuple[str, Ranker], int] = {}
        self._impacts: OrderedDict[tuple[str, Ranker], Impacts] = OrderedDict()

    @cached_property
    def terms(self) -> list[str]:
        """The vocabulary in alphabetical order; a term's number is its place here."""
        text = self._arrays["terms"].tobytes().decode("utf-8")
        return text.split("\n") if text else []

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Term -> its number."""
        return {term: number for number, term in enumerate(self.terms)}

    @property
    def n_terms(self) -> int:
        return self._arrays[f"{self._source(WHOLE)}.indptr"].size - 1

    @cached_property
    def docid(self) -> np.ndarray:
        """One id per document."""
        return as_str_array(list(self._column("docid")))

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.docid.tolist())}

    @property
    def links(self) -> np.ndarray | None:
        return self._arrays.get("links")

    @cached_property
    def pagerank(self) -> np.ndarray:
        """The PageRank of each document, by the links of the index."""
        if self.links is None:
            raise ValueError("this index has no links; give them to build_index(..., links=...).")
        return pagerank(self.links, self.n_docs)

    @cached_property
    def urls(self) -> TextColumn | None:
        return self._column("urls") if "urls.bounds" in self._arrays else None

    @property
    def has_positions(self) -> bool:
        return any(name.endswith(".sequence") for name in self._arrays)

    def _column(self, name: str) -> TextColumn:
        return TextColumn(self._arrays[f"{name}.bytes"], self._arrays[f"{name}.bounds"])

    def _source(self, field: str | None) -> str:
        """The field whose arrays hold this field: the only one is the whole."""
        if field is not None:
            check_choice(field, "field", (*self.fields, WHOLE))
        return self._sources[field]

    def postings(self, field: str | None = None) -> Postings:
        """Which documents hold which term how often, in one field; None means the whole."""
        name = self._source(field)
        if name not in self._postings:
            indptr, docs, tf = (self._arrays[f"{name}.{part}"] for part in ("indptr", "docs", "tf"))
            self._postings[name] = Postings(indptr, docs, tf, self.n_docs)
        return self._postings[name]

    def counts(self, field: str | None = None):
        """The counts as a scipy CSC matrix of shape (n_docs, n_terms)."""
        from scipy.sparse import csc_matrix

        postings = self.postings(field)
        return csc_matrix((postings.tf, postings.docs, postings.indptr), shape=(self.n_docs, self.n_terms))

    def factors(self, field: str | None, ranker: Ranker) -> Factors:
        """A ranker's numbers for a field, computed once."""
        key = (self._source(field), ranker)
        factors = _used(self._factors, key)
        if factors is None:
            factors = ranker.factors(self.postings(field))
            _keep(self._factors, key, factors, _FACTORS_KEPT)
        return factors

    def impacts(self, field: str | None, ranker: Ranker) -> Impacts:
        """What each posting adds to a score; kept for the few rankers that came last."""
        key = (self._source(field), ranker)
        values = _used(self._impacts, key)
        if values is None:
            values = search.impacts_of(self.postings(field), self.factors(field, ranker))
            for forgotten in _keep(self._impacts, key, values, _IMPACTS_KEPT):
                self._computed.pop(forgotten, None)  # its next single queries do not pay for all postings again
        return values

    def has_impacts(self, field: str | None, ranker: Ranker, *, n_postings: int) -> bool:
        """Whether the impacts are there or should be, after ``n_postings`` more would be computed without them."""
        key = (self._source(field), ranker)
        if key not in self._impacts:
            self._computed[key] = self._computed.get(key, 0) + n_postings
        return key in self._impacts or self._computed.get(key, 0) > self.postings(field).docs.size

    def place(self, docid: str) -> int:
        """The place of a document by its id."""
        try:
            return self._place_of[str(docid)]
        except KeyError:
            raise KeyError(f"the index has no document {docid!r}.") from None

    def text(self, docid: str, field: str) -> str:
        """The stored text of a field of a document."""
        check_choice(field, "field", self.fields)
        if f"{field}.bounds" not in self._arrays:
            raise ValueError("this index holds no texts; it was built with store=False.")
        return self._column(field)[self.place(docid)]

    def document(self, docid: str) -> dict[str, str]:
        """All stored fields of a document."""
        return {field: self.text(docid, field) for field in self.fields}

    def title(self, docid: str) -> str:
        """The field "title" in one line, or the id where there is none."""
        text = self.text(docid, "title") if "title" in self.fields and "title.bounds" in self._arrays else ""
        return " ".join(text.split()) or str(docid)

    def snippet(self, docid: str, query: str | Sequence[str], *, field: str | None = None, width: int = 160) -> str:
        """The part of a stored text that holds most of the query's terms, in one line.

        Parameters
        ----------
        docid : str
        query : str or sequence of terms
        field : str, default=None
            None means the last field, which is the body where there is one.
        width : int, default=160
            Characters at most, without the dots that mark what was left out.
        """
        wanted = set(self.analyser(query) if isinstance(query, str) else query)
        field = field or ("body" if "body" in self.fields else self.fields[-1])
        return snippet_of(self.text(docid, field), wanted, self.analyser, width)

    def search(
        self, query: str | Sequence[str], k: int = 10, ranker: str | Ranker = "bm25", field: str | None = None
    ) -> Hits:
        """The ``k`` documents with the highest scores among those that hold a term of the query.

        Parameters
        ----------
        query : str or sequence of terms
            A text is analysed as the documents were; terms are taken as they are.
        k : int, default=10
        ranker : str or ranker, default="bm25"
            "bm25", "vector-space", "lm-jm", "lm-dirichlet", "lm-absolute", or an object such as ``BM25(k1=0.9)``.
        field : str, default=None
            The field that is searched; None means the whole.

        Returns
        -------
        Hits
            The best first; equal scores in the order of the documents.
        """
        return search.search(self, query, k, ranker, field)

    def scores(
        self,
        query: str | Sequence[str],
        docs: Sequence[int] | np.ndarray | None = None,
        ranker: str | Ranker = "bm25",
        field: str | None = None,
    ) -> np.ndarray:
        """The scores of documents, with the query's terms in them or not.

        Parameters
        ----------
        query, ranker, field : as for ``search``
        docs : array-like of places, default=None
            None scores all documents in their order.

        Returns
        -------
        ndarray of shape (n_docs,) or of the length of ``docs``
        """
        return search.scores(self, query, docs, ranker, field)

    def run(
        self,
        queries: Mapping[str, str],
        k: int = 1000,
        ranker: str | Ranker = "bm25",
        field: str | None = None,
        tag: str | None = None,
    ) -> Run:
        """The best ``k`` documents of many queries, on all threads, as a run that ``evaluate`` takes.

        Parameters
        ----------
        queries : mapping from query id to text
        k, ranker, field : as for ``search``
        tag : str, default=None
            Name of the run; None means that of the ranker.
        """
        return search.run(self, queries, k, ranker, field, tag)

    def match(self, query: str | boolean.Node, field: str | None = None) -> np.ndarray:
        """The places of the documents that a Boolean query matches, rising.

        ``AND``, ``OR`` and ``NOT`` in capitals, brackets, and phrases in double quotes where the index has positions;
        words side by side are joined by AND. See :func:`parse_boolean`.
        """
        node = boolean.parse_boolean(query) if isinstance(query, str) else query
        return np.flatnonzero(boolean.matches(node, self, self._source(field)))

    def sequences(self, field: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """``(term numbers in order, bounds by document)`` of the fields that make up ``field``; -1: a dropped word."""
        if not self.has_positions:
            raise ValueError("phrases need an index with positions: build_index(..., positions=True).")
        names = self.fields if field == WHOLE else (field,)
        return [(self._arrays[f"{name}.sequence"], self._arrays[f"{name}.sequence_bounds"]) for name in names]

    def save(self, folder: str | os.PathLike) -> None:
        """Write the index to a folder, in the place of an index that is there.

        The folder changes only when everything was written: a process that is killed leaves the old index or none.
        """
        header = {"analyser": self.analyser.parameters(), "fields": list(self.fields), "n_docs": self.n_docs}
        storage.write_folder(folder, header, self._arrays)

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        documents, terms = count_of(self.n_docs, "document"), count_of(self.n_terms, "term")
        return f"TextIndex({documents}, {terms}, fields {', '.join(self.fields)})"


def _used(store: OrderedDict, key: Any) -> Any:
    """The value of a key, which becomes the one used last; None where there is none."""
    value = store.get(key)
    if value is not None:
        with contextlib.suppress(KeyError):  # another thread may have forgotten it just now
            store.move_to_end(key)
    return value


def _keep(store: OrderedDict, key: Any, value: Any, at_most: int) -> list[Any]:
    """Put a value among those that were used last; returns the keys of what is forgotten for it."""
    store[key] = value
    forgotten = []
    with contextlib.suppress(KeyError):  # another thread may do so, too
        while len(store) > at_most:
            forgotten.append(store.popitem(last=False)[0])
    return forgotten


def open_index(folder: str | os.PathLike, *, verify: bool = True) -> TextIndex:
    """The index that ``save`` wrote to a folder, mapped into memory.

    Nothing in the folder is run. What is damaged is refused with a `DataFormatError`.

    Parameters
    ----------
    folder : path
    verify : bool, default=True
        Compare every byte with its checksum. False reads less of a large index that can be trusted.
    """
    header, arrays = storage.open_folder(folder, verify=verify)
    try:
        index = TextIndex(Analyser(**header["analyser"]), header["fields"], arrays, header["n_docs"])
        problem = _problem(index, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        raise DataFormatError(str(folder), None, f"the index does not fit together ({problem}). Build it anew.")
    return index


def _problem(index: TextIndex, arrays: Mapping[str, np.ndarray]) -> str | None:
    """What would lead compiled loops astray, or None."""
    n_docs, n_terms = index.n_docs, len(index.terms)
    if type(n_docs) is not int or not index.fields or not all(isinstance(name, str) for name in index.fields):
        return "its header does not hold the number of documents and the names of fields"
    for name, array in arrays.items():
        if array.dtype != _KINDS.get(name.rpartition(".")[2]):
            return f"{name} has another type, {array.dtype}"
        if array.ndim == 0 or array.shape[1:] != ((3,) if name == "links" else ()):
            return f"{name} has another shape, {array.shape}"
    for field in dict.fromkeys([*index.fields, index._source(None)]):
        postings = index.postings(field)
        if not _are_bounds(postings.indptr, n_terms, postings.docs.size) or postings.tf.size != postings.docs.size:
            return f"the postings of {field} have other bounds"
        n_sound = _native.text.count_sound_postings(postings.indptr, postings.docs, postings.tf, n_docs)
        if n_sound < postings.docs.size:
            return f"the postings of {field} {_fault(postings, n_sound)}"
    for name, array in {"docid.bounds": arrays["docid.bounds"], **arrays}.items():
        owner, _, part = name.rpartition(".")
        if part in _CONTENTS and not _are_bounds(array, n_docs, arrays[f"{owner}.{_CONTENTS[part]}"].size):
            return f"{name} does not fit its content"
    for numbers, _ in index.sequences(WHOLE) if index.has_positions else ():
        if numbers.size and not -1 <= int(numbers.min()) <= int(numbers.max()) < n_terms:
            return "the order of words names terms that are not there"
    if index.links is not None:
        ends, weights = index.links[:, :2], index.links[:, 2]
        if not ((ends >= 0) & (ends < n_docs) & (ends == np.floor(ends))).all():
            return "links lead to documents that are not there"
        if not ((weights >= 0) & np.isfinite(weights)).all():
            return "links have weights that are negative or not finite"
    return None


def _fault(postings: Postings, place: int) -> str:
    """What is wrong with one posting of a file."""
    if not 0 <= int(postings.docs[place]) < postings.n_docs:
        return "name documents that are not there"
    return "count a term less than once" if postings.tf[place] < 1 else "do not name rising documents"


def _are_bounds(bounds: np.ndarray, n_parts: int, end: int) -> bool:
    is_long_enough = bounds.shape == (n_parts + 1,)
    return bool(is_long_enough and bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def build_index(
    documents: TextCollection | Mapping[str, Sequence[str]] | Sequence[str],
    *,
    docid: Sequence[Any] | None = None,
    fields: Sequence[str] | None = None,
    analyser: Analyser | None = None,
    positions: bool = False,
    links: str | Any = None,
    urls: Sequence[str] | None = None,
    store: bool = True,
) -> TextIndex:
    """An index of texts.

    Parameters
    ----------
    documents : TextCollection, mapping from field to texts, data frame, or sequence of texts
        The columns of a data frame are fields. A sequence of texts is one field, "body".
    docid : sequence, default=None
        One id per document, different ones; None takes those of the collection, or numbers from 0.
    fields : sequence of str, default=None
        The fields that are indexed; None takes all.
    analyser : Analyser, default=None
        None means ``Analyser()``.
    positions : bool, default=False
        Keep the order of words, which phrases need.
    links : array of shape (n_links, 2) or (n_links, 3), scipy sparse matrix, or str, default=None
        Rows of (from, to) or (from, to, weight), documents by place; or the name of a kind of the collection's links.
    urls : sequence of str, default=None
        One per document, "" where there is none.
    store : bool, default=True
        Keep the texts, for snippets.

    Examples
    --------
    >>> index = build_index({"title": ["On wings", "On boats"], "body": ["Wings lift.", "Boats float on water."]})
    >>> index
    TextIndex(2 documents, 5 terms, fields title, body)
    >>> index.search("wing or wings?")
    Hits(1 document)
    >>> index.match("float AND NOT wings")
    array([1])
    """
    from plackett.text.build import build

    if isinstance(documents, TextCollection):
        docid = documents.docid if docid is None else docid
        if isinstance(links, str):
            check_choice(links, "links", tuple(documents.links))
            links = documents.links[links]
        texts: Mapping[str, Sequence[str]] = documents.fields
    else:
        if isinstance(links, str):
            raise ValueError(f"links={links!r} names a kind of link of a TextCollection; give an array here.")
        texts = _as_fields(documents)
    if fields is not None:
        texts = {field: texts[field] for field in check_fields(fields, tuple(texts))}
    analyser = Analyser() if analyser is None else analyser
    if not isinstance(analyser, Analyser):
        raise TypeError(f"analyser is {analyser!r}; give an Analyser, such as Analyser(stemmer='english').")
    arrays, n_docs = build(texts, docid, analyser, positions, urls, store)
    if links is not None:
        arrays["links"] = as_links(links, n_docs)
    return TextIndex(analyser, list(texts), arrays, n_docs)


def _as_fields(documents: Any) -> Mapping[str, Sequence[str]]:
    if isinstance(documents, Mapping):
        return documents
    if hasattr(documents, "columns"):  # a data frame: iterating it may give the names of its columns
        return {name: documents[name] for name in documents.columns}
    return {"body": documents}


def check_fields(fields: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names of fields as a list."""
    if isinstance(fields, str):
        raise ValueError(f"fields is one text, {fields!r}; a list of names is needed.")
    for field in fields:
        check_choice(field, "fields", known)
    return list(fields)
