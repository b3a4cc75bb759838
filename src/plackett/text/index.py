"""An index of texts: several fields over one vocabulary, saved in a file and memory-mapped when opened."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett.data.text_column import TextColumn, as_str_array
from plackett.data.trec.run import Run
from plackett.exceptions import DataFormatError
from plackett.storage.container import MAGIC, ContainerError, open_container, write_container
from plackett.storage.opening import first_bytes
from plackett.storage.remote import local_files
from plackett.text import boolean, search
from plackett.text.analyse import Analyser
from plackett.text.links import pagerank
from plackett.text.postings import Postings
from plackett.text.search import Hits, Impacts, snippet_of
from plackett.text.vectors import Embed
from plackett.text.weighting import Factors, Ranker, get_ranker
from plackett.validation import check_choice, count_of

WHOLE = "whole"
KIND, VERSION = "plackett text index", 1  # raise it when the meaning of the header or of an array changes
# type of each array, by the last part of its name
_KINDS = {
    **dict.fromkeys(("indptr", "bounds", "sequence_bounds"), np.dtype(np.int64)),
    **dict.fromkeys(("docs", "tf", "sequence"), np.dtype(np.int32)),
    **dict.fromkeys(("terms", "bytes"), np.dtype(np.uint8)),
    "links": np.dtype(np.float64),
    "vectors": np.dtype(np.float32),
}
_CONTENTS = {"bounds": "bytes", "sequence_bounds": "sequence"}  # the array that bounds divide
_IMPACTS_KEPT = 4  # each has a number per posting
_FACTORS_KEPT = 64  # each has some numbers per document and term


class TextIndex:
    """Searchable documents with fields; created by :func:`build_index` or :func:`open_index`.

    The field ``"whole"`` is the text of all others. Documents have ids; in arrays they are identified by position,
    0 to n_docs − 1.

    Attributes
    ----------
    analyser : Analyser
        Turns texts and queries into terms.
    fields : tuple of str
        Names of the fields; ``"whole"`` is not among them.
    n_docs, n_terms : int
        Number of documents, and of distinct terms.
    links : ndarray of shape (n_links, 3) or None
        Rows of (from, to, weight).
    urls : TextColumn or None
        Address of each document, if given.
    vectors : ndarray of float32 and of shape (n_docs, n_dimensions), or None
        Of each document, with length 1; memory-mapped in an opened index.
    embed : callable or None
        What makes vectors of texts.
    has_positions : bool
        Whether the order of words was stored, which phrases need.

    Examples
    --------
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"], docid=["a", "b"])
    >>> index.n_docs, index.fields
    (2, ('body',))
    >>> index.search("pears").docid.tolist()
    ['b']
    """

    def __init__(
        self, analyser: Analyser, fields: Sequence[str], arrays: Mapping[str, np.ndarray], n_docs: int,
        embed: Embed | None = None,
    ):  # fmt: skip
        self.analyser, self.fields, self.n_docs, self.embed = analyser, tuple(fields), n_docs, embed
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
        """The vocabulary in alphabetical order; the number of a term is its position here."""
        text = self._arrays["terms"].tobytes().decode("utf-8")
        return text.split("\n") if text else []

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """The number of each term."""
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

    @property
    def vectors(self) -> np.ndarray | None:
        return self._arrays.get("vectors")

    @cached_property
    def pagerank(self) -> np.ndarray:
        """The PageRank of each document, by the links of the index."""
        if self.links is None:
            raise ValueError("this index has no links; pass them to build_index(..., links=...).")
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
        """Return the field whose arrays hold this field; a single field is also the whole."""
        if field is not None:
            check_choice(field, "field", (*self.fields, WHOLE))
        return self._sources[field]

    def postings(self, field: str | None = None) -> Postings:
        """Return the postings of one field; None means the whole."""
        name = self._source(field)
        if name not in self._postings:
            indptr, docs, tf = (self._arrays[f"{name}.{part}"] for part in ("indptr", "docs", "tf"))
            self._postings[name] = Postings(indptr, docs, tf, self.n_docs)
        return self._postings[name]

    def counts(self, field: str | None = None):
        """Return the counts as a scipy CSC matrix of shape (n_docs, n_terms)."""
        with importing:
            from scipy.sparse import csc_matrix

        postings = self.postings(field)
        return csc_matrix((postings.tf, postings.docs, postings.indptr), shape=(self.n_docs, self.n_terms))

    def factors(self, field: str | None, ranker: Ranker) -> Factors:
        """Return the factors of a ranker for a field, cached."""
        key = (self._source(field), ranker)
        return _cached(self._factors, key, lambda: ranker.factors(self.postings(field)), _FACTORS_KEPT)

    def impacts(self, field: str | None, ranker: Ranker) -> Impacts:
        """Return what each posting adds to a score, cached for the rankers used last."""
        key = (self._source(field), ranker)
        self._computed.pop(key, None)  # counted anew once they are no longer cached
        make = partial(search.impacts_of, self.postings(field), self.factors(field, ranker))
        return _cached(self._impacts, key, make, _IMPACTS_KEPT)

    def has_impacts(self, field: str | None, ranker: Ranker, *, n_postings: int) -> bool:
        """Return whether impacts are cached, or should be now that ``n_postings`` more are needed."""
        key = (self._source(field), ranker)
        if key not in self._impacts:
            self._computed[key] = self._computed.get(key, 0) + n_postings
        return key in self._impacts or self._computed.get(key, 0) > self.postings(field).docs.size

    def place(self, docid: str) -> int:
        """Return the position of a document by its id."""
        try:
            return self._place_of[str(docid)]
        except KeyError:
            raise KeyError(f"the index has no document {docid!r}.") from None

    def text(self, docid: str, field: str) -> str:
        """Return the stored text of a field of a document."""
        check_choice(field, "field", self.fields)
        if f"{field}.bounds" not in self._arrays:
            raise ValueError("this index holds no texts; it was built with store=False.")
        return self._column(field)[self.place(docid)]

    def document(self, docid: str) -> dict[str, str]:
        """Return all stored fields of a document."""
        return {field: self.text(docid, field) for field in self.fields}

    def title(self, docid: str) -> str:
        """Return the field "title" in one line, or the id if the document has no title."""
        text = self.text(docid, "title") if "title" in self.fields and "title.bounds" in self._arrays else ""
        return " ".join(text.split()) or str(docid)

    def snippet(self, docid: str, query: str | Sequence[str], *, field: str | None = None, width: int = 160) -> str:
        """Return the part of a stored text with the most terms of the query, in one line.

        Parameters
        ----------
        docid : str
        query : str or sequence of terms
        field : str, default=None
            None means the last field, which is the body if there is one.
        width : int, default=160
            Maximum number of characters, without the dots that mark omissions.
        """
        wanted = set(self.analyser(query) if isinstance(query, str) else query)
        field = field or ("body" if "body" in self.fields else self.fields[-1])
        return snippet_of(self.text(docid, field), wanted, self.analyser, width)

    def search(
        self,
        query: str | Sequence[str],
        k: int = 10,
        ranker: str | Ranker = "bm25",
        field: str | None = None,
        *,
        mode: str = "words",
        weight: float = 0.5,
    ) -> Hits:
        """Return the ``k`` documents with the highest scores.

        Parameters
        ----------
        query : str or sequence of terms
            A text is analysed as the documents were; terms are used as they are.
        k : int, default=10
        ranker : str or ranker, default="bm25"
            "bm25", "vector-space", "lm-jm", "lm-dirichlet", "lm-absolute", or an object such as ``BM25(k1=0.9)``.
        field : str, default=None
            The field to search; None means the whole.
        mode : {"words", "vectors", "hybrid"}, default="words"
            Documents with a term of the query, by the ranker; all documents, by the cosine of their vector and that of
            the query; or both, by the weighted sum of the min-max scores of the first 1,000 of each, or k if more.
        weight : float, default=0.5
            That of the vectors in a hybrid search, from 0 to 1; ``fuse`` learns it.

        Returns
        -------
        Hits
            The best first; ties in the order of the documents.
        """
        ((scores, places),) = search.found(self, [query], k, get_ranker(ranker), field, mode, weight)
        return Hits(self.docid[places], scores, places)

    def scores(
        self,
        query: str | Sequence[str],
        docs: Sequence[int] | np.ndarray | None = None,
        ranker: str | Ranker = "bm25",
        field: str | None = None,
    ) -> np.ndarray:
        """Return the scores of documents, whether or not they have terms of the query.

        Parameters
        ----------
        query, ranker, field : as for ``search``
        docs : array-like of positions, default=None
            None scores all documents.
        """
        ranker, postings = get_ranker(ranker), self.postings(field)
        terms, times, query_of = search.known_terms(self, search.terms_of(self, query)).found_in(postings)
        factors = self.factors(field, ranker)
        scale, base, weight_of_prior = factors.constants(terms, times, query_of, 1)
        if docs is None:
            sums = np.zeros(self.n_docs)
            if terms.size:
                weighed = search.weighed_postings(self, field, ranker, terms)
                arrays = (weighed.indptr, weighed.docs, weighed.impacts.numbers, weighed.terms)
                _native.text.add_postings(*arrays, times, sums)
            prior = factors.prior
        else:
            places = search.check_places(docs, self.n_docs)
            term_bounds, pair_bounds = np.array([0, terms.size]), np.array([0, places.size])
            pairs = search.PairTerms(terms, times, term_bounds, places, pair_bounds)
            sums = search.pair_sums(factors, pairs, search.pair_counts(postings, pairs))
            prior = None if factors.prior is None else factors.prior[places]
        answer = base + scale * sums
        return answer if prior is None else answer + weight_of_prior * prior

    def run(
        self,
        queries: Mapping[str, str],
        k: int = 1000,
        ranker: str | Ranker = "bm25",
        field: str | None = None,
        tag: str | None = None,
        *,
        mode: str = "words",
        weight: float = 0.5,
    ) -> Run:
        """Return the best ``k`` documents of many queries as a run for ``evaluate``, computed on all threads.

        Parameters
        ----------
        queries : mapping from query id to text
        k, ranker, field, mode, weight : as for ``search``
        tag : str, default=None
            Name of the run; None means that of the ranker, or the mode.
        """
        ranker = get_ranker(ranker)
        if not isinstance(queries, Mapping):
            raise TypeError("queries must be a mapping from query id to text, such as {'q1': 'wing lift'}.")
        answers = search.found(self, list(queries.values()), k, ranker, field, mode, weight) if queries else []
        lengths = [places.size for _, places in answers]
        qid = np.repeat(np.array([str(name) for name in queries], dtype=str), lengths)
        scores, places = map(np.concatenate, zip(*answers, strict=True)) if answers else (np.zeros(0), np.zeros(0, int))
        rank = np.concatenate([np.arange(1, length + 1) for length in [0, *lengths]])
        name = ranker.name if mode == "words" else mode
        return Run(qid, self.docid[places], scores, rank, name if tag is None else tag)

    def match(self, query: str | boolean.Node, field: str | None = None) -> np.ndarray:
        """Return the positions of the documents that a Boolean query matches, in ascending order.

        Parameters
        ----------
        query : str or Node
            ``AND``, ``OR`` and ``NOT`` in capitals, brackets, and phrases in double quotes if the index has positions.
            Adjacent words are joined by AND. See :func:`parse_boolean`.
        field : str, default=None
            The field to search; None means the whole.
        """
        node = boolean.parse_boolean(query) if isinstance(query, str) else query
        return np.flatnonzero(boolean.matches(node, self, self._source(field)))

    def sequences(self, field: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (term numbers in order, bounds by document) of each field in ``field``; -1 marks a dropped word."""
        if not self.has_positions:
            raise ValueError("phrases need an index with positions: build_index(..., positions=True).")
        names = self.fields if field == WHOLE else (field,)
        return [(self._arrays[f"{name}.sequence"], self._arrays[f"{name}.sequence_bounds"]) for name in names]

    def save(self, path: str | os.PathLike) -> None:
        """Write the index to a file, replacing an existing index.

        The replacement is atomic: if the process is killed, the old index or none is left.

        Parameters
        ----------
        path : path or URL
        """
        check_target(path)
        header = {"analyser": self.analyser.parameters(), "fields": list(self.fields), "n_docs": self.n_docs}
        with write_container(path, KIND, VERSION) as writer:
            for name, array in self._arrays.items():
                writer.add(name, array.astype(array.dtype.newbyteorder("<"), copy=False))
            writer.finish(header)

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        documents, terms = count_of(self.n_docs, "document"), count_of(self.n_terms, "term")
        return f"TextIndex({documents}, {terms}, fields {', '.join(self.fields)})"


def _cached(store: OrderedDict, key: Any, make: Callable[[], Any], at_most: int) -> Any:
    """Return a cached value, which is made if needed; the least recently used ones are dropped."""
    value = store.get(key)
    if value is None:
        value = store[key] = make()
    with contextlib.suppress(KeyError):  # another thread may have dropped it
        store.move_to_end(key)
        while len(store) > at_most:
            store.popitem(last=False)
    return value


@local_files
def open_index(path: str | os.PathLike, *, verify: bool = True, embed: Embed | None = None) -> TextIndex:
    """Return the index that ``save`` wrote to a file, memory-mapped.

    Nothing in the file is executed. A damaged index raises a `DataFormatError`.

    Parameters
    ----------
    path : path or URL
    verify : bool, default=True
        Compare every byte with its checksum. False opens a large, trusted index faster.
    embed : callable, default=None
        The function that made the vectors, for searches by them; files hold no code.

    Examples
    --------
    >>> from plackett.text import open_index
    >>> import plackett as pk
    >>> pk.text.build_index(["red apples", "green apples and pears"]).save("fruit")
    >>> open_index("fruit")
    TextIndex(2 documents, 4 terms, fields body)
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist; build_index(...).save(path) creates an index.")
    if not os.path.isfile(path):
        advice = "Build one with plackett index, or build_index and save."
        raise DataFormatError(str(path), None, f"it is not a file, so it is not an index. {advice}")
    try:
        with open_container(path, KIND, VERSION, verify=verify) as container:
            header, arrays = container.header, {name: container.mapped(name, "r") for name in container.arrays}
    except ContainerError as error:
        raise DataFormatError(str(path), None, f"{error} Build the index again.") from error
    try:
        index = TextIndex(Analyser(**header["analyser"]), header["fields"], arrays, header["n_docs"], embed)
        problem = _problem(index, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        raise DataFormatError(str(path), None, f"the index is inconsistent ({problem}). Build it again.")
    return index


def is_index(path: str | os.PathLike) -> bool:
    """Return whether a file may be an index, by its first bytes."""
    return first_bytes(path, len(MAGIC)) == MAGIC


def check_target(path: str | os.PathLike) -> None:
    """Raise an error if ``path`` exists and is not an index."""
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; an index is a file. Choose the name of a file.")
    if os.path.exists(path) and not is_index(path):
        raise FileExistsError(f"{path} is not an index. Choose another name.")


def _problem(index: TextIndex, arrays: Mapping[str, np.ndarray]) -> str | None:
    """Return what is inconsistent in a file, before compiled loops rely on it; None if nothing is."""
    n_docs, n_terms = index.n_docs, len(index.terms)
    if type(n_docs) is not int or not index.fields or not all(isinstance(name, str) for name in index.fields):
        return "its header does not hold the number of documents and the names of fields"
    for name, array in arrays.items():
        if array.dtype != _KINDS.get(name.rpartition(".")[2]):
            return f"{name} has the wrong type, {array.dtype}"
        is_wrong = array.ndim == 0 or array.shape[1:] != ((3,) if name == "links" else ())
        if name == "vectors":
            is_wrong = array.ndim != 2 or array.shape[0] != n_docs or array.shape[1] == 0
        if is_wrong:
            return f"{name} has the wrong shape, {array.shape}"
    for field in dict.fromkeys([*index.fields, index._source(None)]):
        postings = index.postings(field)
        if not _are_bounds(postings.indptr, n_terms, postings.docs.size) or postings.tf.size != postings.docs.size:
            return f"the postings of {field} have invalid bounds"
        n_sound = _native.text.count_sound_postings(postings.indptr, postings.docs, postings.tf, n_docs)
        if n_sound < postings.docs.size:
            return f"the postings of {field} {_fault(postings, n_sound)}"
    for name, array in {"docid.bounds": arrays["docid.bounds"], **arrays}.items():
        owner, _, part = name.rpartition(".")
        if part in _CONTENTS and not _are_bounds(array, n_docs, arrays[f"{owner}.{_CONTENTS[part]}"].size):
            return f"{name} does not match its content"
    for numbers, _ in index.sequences(WHOLE) if index.has_positions else ():
        if numbers.size and not -1 <= int(numbers.min()) <= int(numbers.max()) < n_terms:
            return "the order of words names terms that do not exist"
    if index.vectors is not None and not np.isfinite([index.vectors.min(), index.vectors.max()]).all():
        return "vectors hold numbers that are not finite"
    if index.links is not None:
        ends, weights = index.links[:, :2], index.links[:, 2]
        if not ((ends >= 0) & (ends < n_docs) & (ends == np.floor(ends))).all():
            return "links lead to documents that do not exist"
        if not ((weights >= 0) & np.isfinite(weights)).all():
            return "links have weights that are negative or not finite"
    return None


def _fault(postings: Postings, place: int) -> str:
    """Return what is wrong with one posting of a file."""
    if not 0 <= int(postings.docs[place]) < postings.n_docs:
        return "name documents that do not exist"
    return "count a term less than once" if postings.tf[place] < 1 else "do not list documents in ascending order"


def _are_bounds(bounds: np.ndarray, n_parts: int, end: int) -> bool:
    is_long_enough = bounds.shape == (n_parts + 1,)
    return bool(is_long_enough and bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def check_fields(fields: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the names of fields as a list; raise for one that is not known."""
    if isinstance(fields, str):
        raise ValueError(f"fields is the string {fields!r}; a list of names is needed.")
    for field in fields:
        check_choice(field, "fields", known)
    return list(fields)
