"""Building an index from texts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.data.documents.collections import TextCollection
from plackett.data.text_column import TextColumn
from plackett.text.analyse import Analyser
from plackett.text.index import WHOLE, TextIndex, check_fields
from plackett.text.links import as_links
from plackett.text.vectors import Embed, embedded
from plackett.validation import check_choice


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
    embed: Embed | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TextIndex:
    """Return an index of texts.

    Parameters
    ----------
    documents : TextCollection, mapping from field to texts, data frame, or sequence of texts
        The columns of a data frame are fields. A sequence of texts is one field, "body".
    docid : sequence, default=None
        One distinct id per document; None uses those of the collection, or numbers from 0.
    fields : sequence of str, default=None
        The fields to index; None means all.
    analyser : Analyser, default=None
        None means ``Analyser()``.
    positions : bool, default=False
        Store the order of words, which phrases need.
    links : array of shape (n_links, 2) or (n_links, 3), scipy sparse matrix, or str, default=None
        Rows of (from, to) or (from, to, weight), documents by position; or a kind of links of the collection.
    urls : sequence of str, default=None
        One per document, "" if it is missing.
    store : bool, default=True
        Store the texts, for snippets.
    embed : callable, default=None
        Gets a list of texts and returns one vector for each, which is stored with length 1, in float32. The text of a
        document is that of all fields. Searches by meaning need it.
    progress : callable, default=None
        Called after each text with the number of analysed texts and the total number.

    Examples
    --------
    >>> from plackett.text import build_index
    >>> index = build_index({"title": ["On wings", "On boats"], "body": ["Wings lift.", "Boats float on water."]})
    >>> index
    TextIndex(2 documents, 5 terms, fields title, body)
    >>> index.search("wing or wings?")
    Hits(1 document)
    >>> index.match("float AND NOT wings")
    array([1])
    """
    if isinstance(documents, TextCollection):
        docid = documents.docid if docid is None else docid
        if isinstance(links, str):
            check_choice(links, "links", tuple(documents.links))
            links = documents.links[links]
        texts: Mapping[str, Sequence[str]] = documents.fields
    else:
        if isinstance(links, str):
            raise ValueError(f"links={links!r} names a kind of link of a TextCollection; pass an array here.")
        texts = _as_fields(documents)
    if fields is not None:
        texts = {field: texts[field] for field in check_fields(fields, tuple(texts))}
    analyser = Analyser() if analyser is None else analyser
    if not isinstance(analyser, Analyser):
        raise TypeError(f"analyser is {analyser!r}; pass an Analyser, such as Analyser(stemmer='english').")
    columns, n_docs = _check_fields(texts)
    names = _check_docid(docid, n_docs)
    arrays: dict[str, np.ndarray] = {}
    _store_column(arrays, "docid", names, names)
    counts, terms, sequences = _count(columns, analyser, positions, progress)
    arrays["terms"] = np.frombuffer("\n".join(terms).encode("utf-8"), dtype=np.uint8)
    parts = {name: counts[place * n_docs : (place + 1) * n_docs].tocsc() for place, name in enumerate(columns)}
    if len(parts) > 1:
        parts[WHOLE] = sum(parts.values())
    for name, part in parts.items():
        part.sort_indices()
        arrays[f"{name}.indptr"] = part.indptr.astype(np.int64, copy=False)
        arrays[f"{name}.docs"] = part.indices.astype(np.int32, copy=False)
        arrays[f"{name}.tf"] = part.data.astype(np.int32, copy=False)
    if store:
        for name, column in columns.items():
            _store_column(arrays, name, column, names)
    if sequences is not None:
        numbers = {term: number for number, term in enumerate(terms)}
        for place, name in enumerate(columns):
            _store_sequences(arrays, name, sequences[place * n_docs : (place + 1) * n_docs], numbers)
    if urls is not None:
        _store_column(arrays, "urls", _check_texts("urls", urls, n_docs), names)
    if links is not None:
        arrays["links"] = as_links(links, n_docs)
    if embed is not None:
        arrays["vectors"] = embedded(embed, ["\n".join(parts) for parts in zip(*texts.values(), strict=True)])
    return TextIndex(analyser, list(texts), arrays, n_docs, embed)


def _as_fields(documents: Any) -> Mapping[str, Sequence[str]]:
    if isinstance(documents, Mapping):
        return documents
    if hasattr(documents, "columns"):  # a data frame, which may iterate over the names of its columns
        return {name: documents[name] for name in documents.columns}
    return {"body": documents}


def _count(
    columns: Mapping[str, list[str]], analyser: Analyser, positions: bool, progress: Callable[[int, int], None] | None
):
    """Return counts of shape (fields · documents, terms), the sorted terms, and with ``positions`` the sequences."""
    with importing:
        from sklearn.feature_extraction.text import CountVectorizer

    rows: Iterable = itertools.chain.from_iterable(columns.values())
    if progress is not None:
        rows = _reported(rows, sum(map(len, columns.values())), progress)
    sequences = None
    if positions:  # analysed once, then both counted and stored
        sequences = [analyser.sequence(text) for text in rows]
        rows = sequences
    vectorizer = CountVectorizer(analyzer=_kept_terms if positions else analyser, dtype=np.int32)
    try:
        counts = vectorizer.fit_transform(rows)
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        with importing:
            from scipy.sparse import csr_matrix

        n_rows = sum(map(len, columns.values()))
        return csr_matrix((n_rows, 0), dtype=np.int32), [], sequences
    return counts, vectorizer.get_feature_names_out().tolist(), sequences


def _reported(texts: Iterable[str], n_texts: int, progress: Callable[[int, int], None]) -> Iterator[str]:
    for n_done, text in enumerate(texts, 1):
        yield text
        progress(n_done, n_texts)


def _kept_terms(sequence: list[str | None]) -> list[str]:
    return [term for term in sequence if term is not None]


def _store_sequences(arrays: dict[str, np.ndarray], name: str, sequences, numbers: dict[str, int]) -> None:
    bounds = np.zeros(len(sequences) + 1, dtype=np.int64)
    np.cumsum([len(sequence) for sequence in sequences], out=bounds[1:])
    flat = (-1 if term is None else numbers[term] for term in itertools.chain.from_iterable(sequences))
    arrays[f"{name}.sequence"] = np.fromiter(flat, dtype=np.int32, count=int(bounds[-1]))
    arrays[f"{name}.sequence_bounds"] = bounds


def _store_column(arrays: dict[str, np.ndarray], name: str, texts: list[str], docid: list[str]) -> None:
    try:
        column = TextColumn.from_strings(texts)
    except UnicodeEncodeError as error:
        place = next(place for place, text in enumerate(texts) if text == error.object)
        raise ValueError(
            f"{name} of document {docid[place]!r} contains a lone surrogate at character {error.start}, "
            "which cannot be encoded. Decode the source again."
        ) from error
    arrays[f"{name}.bytes"], arrays[f"{name}.bounds"] = column.buffer, column.bounds


def _check_texts(name: str, texts: Sequence[Any], n_docs: int | None = None) -> list[str]:
    """Return one text per document, checked."""
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"{name} is the string {texts!r}; a list with one text per document is needed.")
    column = list(texts)
    if n_docs is not None and len(column) != n_docs:
        raise ValueError(f"{name} has {len(column)} entries but there are {n_docs} documents.")
    for place, text in enumerate(column):
        if not isinstance(text, str):
            raise ValueError(f"{name} of document {place} is {text!r}; it must be a string, '' for no text.")
    return column


def _check_fields(texts: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], int]:
    """Return the texts of each field, and the number of documents."""
    columns: dict[str, list[str]] = {}
    for name, column in texts.items():
        if not isinstance(name, str) or not name or name in (WHOLE, "docid", "urls") or "." in name:
            raise ValueError(
                f"a field is named {name!r}; names are text without dots, other than 'whole', 'docid' and 'urls'."
            )
        columns[name] = _check_texts(name, column, len(next(iter(columns.values()))) if columns else None)
    if not any(columns.values()):
        raise ValueError(
            "there is no document to index." if columns else "there is no field to index; pass at least one."
        )
    return columns, len(next(iter(columns.values())))


def _check_docid(docid: Sequence[Any] | None, n_docs: int) -> list[str]:
    ids = range(n_docs) if docid is None else docid
    names = _check_texts("docid", ids if isinstance(ids, (str, bytes)) else list(map(str, ids)), n_docs)
    seen: set[str] = set()
    for name in names:
        if "\0" in name:
            raise ValueError(f"the id {name!r} contains a null character, which NumPy drops. Use another id.")
        if name in seen:
            raise ValueError(f"the id {name!r} belongs to two documents; ids must be unique.")
        seen.add(name)
    return names
