"""Reading the classic text collections Cranfield, CISI, CACM and ADI: documents, queries and judgements.

All four come in the format of the SMART system: ``.I 12`` opens a record, a line such as ``.T`` or ``.W`` opens one of
its fields, and the lines below are the field's text. The files are latin-1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from plackett.data.text_table import as_numbers, read_words
from plackett.data.trec.qrels import Qrels
from plackett.exceptions import DataFormatError, DatasetNotFoundError
from plackett.storage.file_names import find_file
from plackett.storage.opening import open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_choice, count_of

ENCODING = "latin-1"
RECORD = re.compile(r"\.I\s*(\d+)\s*$")
FIELD = re.compile(r"\.([A-Z])\s*$")

FIELD_NAMES = {"T": "title", "A": "author", "B": "source", "W": "body", "K": "keywords", "C": "categories", "N": "note"}
CACM_LINKS = {4: "coupling", 5: "citation", 6: "cocitation"}


@dataclass(frozen=True)
class TextCollection:
    """Documents by field, queries and judgements, as text; the input of an index.

    Attributes
    ----------
    name : str
        Name of the collection.
    docid : list of str
        One id per document.
    fields : dict of list of str
        ``fields["title"][i]`` is the title of document i, ``""`` if it has no title. The fields differ between
        collections: title, author, source, body, keywords, categories, note.
    queries : dict of str
        Query id -> the text of the query.
    query_fields : dict of list of str
        Other fields of the query file (title, author, source, note), in the order of ``queries``.
    qrels : Qrels
        The judged pairs, as ``evaluate`` takes them. Pairs that are not listed were not found relevant.
    links : dict of ndarray of shape (n, 3)
        Kind of link -> rows of (document, document, weight), documents by position in ``docid``. Every link is
        listed in both directions; no document links to itself.

    Examples
    --------
    >>> from plackett.data.documents.collections import TextCollection
    >>> tiny = TextCollection("tiny", ["7"], {"title": ["On wings"], "body": [""]}, {"1": "wing"})
    >>> tiny
    TextCollection('tiny', 1 document, 1 query, 0 judged pairs)
    >>> tiny.document("7")
    {'title': 'On wings', 'body': ''}
    """

    name: str
    docid: list[str]
    fields: dict[str, list[str]]
    queries: dict[str, str]
    query_fields: dict[str, list[str]] = field(default_factory=dict)
    qrels: Qrels = field(default_factory=lambda: Qrels([], [], []))
    links: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_docs(self) -> int:
        return len(self.docid)

    @property
    def n_queries(self) -> int:
        return len(self.queries)

    def document(self, docid: str) -> dict[str, str]:
        """Return the fields of a document."""
        try:
            place = self.docid.index(str(docid))
        except ValueError:
            raise KeyError(f"{self.name} has no document {docid!r}.") from None
        return {name: texts[place] for name, texts in self.fields.items()}

    def judged_queries(self) -> list[str]:
        """Return the ids of the queries with at least one judgement, in the order of ``queries``."""
        judged = set(self.qrels.qid.tolist())
        return [qid for qid in self.queries if qid in judged]

    def __repr__(self) -> str:
        documents, queries = count_of(self.n_docs, "document"), count_of(self.n_queries, "query", "queries")
        return f"TextCollection({self.name!r}, {documents}, {queries}, {len(self.qrels):,} judged pairs)"


class _Layout(NamedTuple):
    """The files of a collection, by the names that they may have, and what differs in them."""

    documents: tuple[str, ...]
    queries: tuple[str, ...]
    judgements: tuple[str, ...]
    links: str = ""  # the name of the links in ``.X``; "kinds" if their middle column says it
    has_grades: bool = False  # and queries are numbered by position


_JUDGEMENTS_OF_CRANFIELD = ("cran.qrels", "cranqrel", "cranqrel.text", "cranqrel.txt")
LAYOUTS = {
    "cranfield": _Layout(("cran.all.1400", "cran.all"), ("cran.qry",), _JUDGEMENTS_OF_CRANFIELD, has_grades=True),
    "cisi": _Layout(("CISI.ALL",), ("CISI.QRY",), ("CISI.REL",), "cocitation"),
    "cacm": _Layout(("cacm.all",), ("query.text",), ("qrels.text",), "kinds"),
    "adi": _Layout(("ADI.ALL",), ("ADI.QRY",), ("ADI.REL",)),
}


@local_files
def read_smart(name: str, folder: str | PathLike, *, minus_one: float | None = 4.0) -> TextCollection:
    r"""Read one of the classic collections from a folder.

    ========= ================================== ================================ =======================
    name      documents                          queries                          judgements
    ========= ================================== ================================ =======================
    cranfield 1,400 abstracts on aerodynamics    225                              1,837, graded
    cisi      1,460 on information science       112 (76 judged)                  3,114 relevant pairs
    cacm      3,204 records of a journal         64 (52 judged)                   796 relevant pairs
    adi       82 short ones on documentation     35                               170 relevant pairs
    ========= ================================== ================================ =======================

    Query ids of Cranfield are positions 1..225 in ``cran.qry``, which is what its judgements use; the numbers after
    ``.I`` there (1, 2, 4, 8, ... 365) are not. Its labels are ``5 - code``: code 1, "a complete answer to the
    question", becomes 4, and code 4, "of minimum interest", becomes 1. The body of a document begins with its title.

    ``links`` are symmetric: ``cocitation`` (weight: how often two documents are cited together) of CISI and CACM,
    ``citation`` (one cites the other; the file does not say which) and ``coupling`` (weight: references in common) of
    CACM. Queries 58 to 112 of CISI are abstracts themselves, with title, author and source in ``query_fields``.

    Parameters
    ----------
    name : {"cranfield", "cisi", "cacm", "adi"}
    folder : path
        Holds the documents, queries and judgements under their usual names, such as ``CISI.ALL``, ``CISI.QRY`` and
        ``CISI.REL``, compressed or not.
    minus_one : float or None, default=4
        Label of Cranfield's code -1, which occurs once in every query and which the read-me does not explain; None
        skips these pairs. The older judgements without codes list these pairs too, and they are the closest by far: by
        the cosine of tf-idf vectors their median rank is 2, against 11, 22, 32 and 62 for the codes 1 to 4. They
        therefore count as complete answers.

    Examples
    --------
    >>> from plackett.data.documents.collections import read_smart
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {
    ...         "cran.all.1400": ".I 1\n.T\nOn wings\n.W\nLift of thin wings.\n",
    ...         "cran.qry": ".I 1\n.W\nlift of wings\n",
    ...         "cran.qrels": "1 1 2\n",
    ...     }.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     collection = read_smart("cranfield", folder)
    >>> collection.queries, collection.qrels.to_dict()
    ({'1': 'lift of wings'}, {'1': {'1': 3}})
    """
    layout, folder = LAYOUTS[check_choice(name, "name", tuple(LAYOUTS))], Path(folder)
    found = []
    for names in layout[:3]:
        path = find_file(folder, *names)
        if path is None:
            raise DatasetNotFoundError(f"{name}: {folder} has no file {' or '.join(names)} (compressed or not).")
        found.append(path)
    # three records of Cranfield (240, 576, 578) have stray marks: after .W nothing but the next record ends the text
    documents = _read_records(found[0], last_field="W" if layout.has_grades else None)
    queries = _read_records(found[1])
    if layout.has_grades:
        queries = [(str(place), texts) for place, (_, texts) in enumerate(queries, 1)]
    place = {number: row for row, (number, _) in enumerate(documents)}
    query_fields = _columns(queries)
    return TextCollection(
        name,
        list(place),
        _columns(documents),
        dict(zip([number for number, _ in queries], query_fields.pop("body"), strict=True)),
        query_fields,
        _judgements(found[2], layout, minus_one),
        {kind: _link_rows(weights, place) for kind, weights in _links(found[0], documents, layout.links).items()},
    )


def _judgements(path: Path, layout: _Layout, minus_one: float | None) -> Qrels:
    named = ("query", "document", "code")[: 3 if layout.has_grades else 2]
    with open_bytes(path) as file:
        lines, words = read_words(
            file, range(len(named)), len(named), name=str(path), expected=" ".join(named), more=True
        )
    numbers = [
        as_numbers(column, np.int64, lines, name=str(path), what=what)
        for column, what in zip(words, named, strict=True)
    ]
    labels = np.ones(lines.size)  # "query document 0 0.000": only relevant pairs are listed
    if layout.has_grades:
        codes = numbers[2]
        for row in np.flatnonzero((codes != -1) & ((codes < 1) | (codes > 5)))[:1]:
            message = f"expected a relevance code 1..5 or -1, found {str(codes[row])!r}."
            raise DataFormatError(str(path), int(lines[row]), message)
        labels = np.where(codes == -1, np.nan if minus_one is None else minus_one, 5.0 - codes)
    is_judged = ~np.isnan(labels)
    return Qrels(numbers[0][is_judged], numbers[1][is_judged], labels[is_judged])


def _links(path: Path, documents, name: str) -> dict[str, dict[tuple[str, str], int]]:
    """Return the weights of the links of each kind."""
    lines = Counter(_link_lines(path, documents) if name else ())
    if name != "kinds":  # the middle column is the weight; the last line of most records is there twice
        return {name: {(one, other): weight for one, other, weight in lines}} if name else {}
    links: dict[str, dict] = {kind: {} for kind in CACM_LINKS.values()}
    for (one, other, code), times in lines.items():  # a line that occurs w times means weight w
        if code not in CACM_LINKS:
            raise DataFormatError(str(path), None, f"record {one}: link code {code} is unknown; expected 4, 5 or 6.")
        links[CACM_LINKS[code]][one, other] = 1 if CACM_LINKS[code] == "citation" else times
    return links


def _columns(records: Sequence[tuple[str, dict[str, list[str]]]]) -> dict[str, list[str]]:
    """Return a list of texts per field that occurs, one text per record."""
    used = {mark for _, texts in records for mark in texts} | {"W"}
    return {
        name: ["\n".join(texts.get(mark, ())).strip() for _, texts in records]
        for mark, name in FIELD_NAMES.items()
        if mark in used
    }


def _read_records(path: Path, *, last_field: str | None = None) -> list[tuple[str, dict[str, list[str]]]]:
    """Yield (number, {mark: lines}) of each record; a repeated mark continues its field.

    With ``last_field`` that field runs to the end of the record, and marks within it are dropped.
    """
    records: list[tuple[str, dict[str, list[str]]]] = []
    seen: set[int] = set()
    mark = None
    with open_bytes(path) as file:
        lines = file.read().decode(ENCODING).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        opened = RECORD.match(line)
        if opened:
            if int(opened[1]) in seen:
                raise DataFormatError(str(path), number, f"record {int(opened[1])} occurs twice.")
            seen.add(int(opened[1]))
            records.append((str(int(opened[1])), {}))
            mark = None
            continue
        started = FIELD.match(line)
        if started and records:
            if mark != last_field or last_field is None:
                mark = started[1]
                records[-1][1].setdefault(mark, [])
        elif mark is not None:
            records[-1][1][mark].append(line.rstrip())
        elif line.strip():
            raise DataFormatError(
                str(path), number, f'expected ".I number" or a field such as ".T", found {line[:40]!r}.'
            )
    if not records:
        raise DataFormatError(str(path), None, 'no record was found; records begin with ".I number".')
    return records


def _link_lines(path: Path, records) -> Iterator[tuple[str, str, int]]:
    """Yield (record, other record, middle column) of each ``.X`` line, without links of a record to itself."""
    known = {number for number, _ in records}
    for number, texts in records:
        for line in texts.get("X", ()):
            words = line.split()
            if len(words) != 3 or words[0] == number:
                continue
            if words[0] not in known or not words[1].isdecimal():
                message = f'record {number}: expected a link "record code record", found {line.strip()!r}.'
                raise DataFormatError(str(path), None, message)
            yield number, words[0], int(words[1])


def _link_rows(weights: dict[tuple[str, str], int], place: dict[str, int]) -> np.ndarray:
    rows = [(place[one], place[other], weight) for (one, other), weight in weights.items()]
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, 3)
