"""Reading the classic text collections Cranfield, CISI, CACM and ADI: documents, queries and judgements.

All four come in the format of the SMART system: ``.I 12`` opens a record, a line such as ``.T`` or ``.W`` opens one of
its fields, and the lines below are the field's text. The files are latin-1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from plackett.data.trec.qrels import Qrels
from plackett.exceptions import DataFormatError, DatasetNotFoundError
from plackett.storage.file_names import find_file
from plackett.storage.opening import open_bytes
from plackett.validation import count_of

ENCODING = "latin-1"
RECORD = re.compile(r"\.I\s*(\d+)\s*$")
FIELD = re.compile(r"\.([A-Z])\s*$")
BOOLEAN = re.compile(r"#q(\d+)\s*=(.*?);", re.DOTALL)

FIELD_NAMES = {
    "T": "title",
    "A": "author",
    "B": "source",
    "W": "body",
    "K": "keywords",
    "C": "categories",
    "N": "note",
}
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
    boolean : dict of str
        Query id -> its Boolean form as in the file, e.g. ``#and ('information', #or ('science', 'definition'))``.

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
    boolean: dict[str, str] = field(default_factory=dict)

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


def read_cranfield(folder: str | PathLike, *, minus_one: float | None = 4.0) -> TextCollection:
    r"""Read Cranfield: 1,400 abstracts on aerodynamics, 225 queries, 1,837 graded judgements.

    Query ids are positions 1..225 in ``cran.qry``, which is what the judgements use; the numbers after ``.I`` there
    (1, 2, 4, 8, ... 365) are not. Labels are ``5 - code``: code 1, "a complete answer to the question", becomes 4, and
    code 4, "of minimum interest", becomes 1. The body of a document begins with its title, as in the file.

    Parameters
    ----------
    folder : path
        Holds ``cran.all.1400``, ``cran.qry`` and ``cran.qrels`` (or ``cranqrel``), compressed or not.
    minus_one : float or None, default=4
        Label of the code -1, which occurs once in every query and which the read-me does not explain; None skips these
        pairs. The older judgements without codes list these pairs too, and they are the closest by far: by the
        cosine of tf-idf vectors their median rank is 2, against 11, 22, 32 and 62 for the codes 1 to 4. They therefore
        count as complete answers.

    Returns
    -------
    TextCollection

    Examples
    --------
    >>> from plackett.data.documents.collections import read_cranfield
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {
    ...         "cran.all.1400": ".I 1\n.T\nOn wings\n.W\nLift of thin wings.\n",
    ...         "cran.qry": ".I 1\n.W\nlift of wings\n",
    ...         "cran.qrels": "1 1 2\n",
    ...     }.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     collection = read_cranfield(folder)
    >>> collection.queries, collection.qrels.to_dict()
    ({'1': 'lift of wings'}, {'1': {'1': 3}})
    """
    files = _Files("cranfield", folder)
    # three records (240, 576, 578) have stray marks in their text: after .W nothing but the next record ends it
    documents = _read_records(files.path("cran.all.1400", "cran.all"), last_field="W")
    queries = _read_records(files.path("cran.qry"))
    queries = [(str(place), texts) for place, (_, texts) in enumerate(queries, 1)]
    judged = []
    path = files.path("cran.qrels", "cranqrel", "cranqrel.text", "cranqrel.txt")
    for line, words in _read_words(path, at_least=3):
        code = _whole_number(path, line, words[2])
        if code != -1 and not 1 <= code <= 5:
            raise DataFormatError(str(path), line, f"expected a relevance code 1..5 or -1, found {words[2]!r}.")
        label = minus_one if code == -1 else 5.0 - code
        if label is not None:
            judged.append((words[0], words[1], label))
    return _collection("cranfield", documents, queries, judged)


def read_cisi(folder: str | PathLike) -> TextCollection:
    r"""Read CISI: 1,460 abstracts on information science, 112 queries (76 of them judged), 3,114 relevant pairs.

    ``links["cocitation"]`` holds how often two documents are cited together (``.X`` of the records); ``boolean`` the 35
    Boolean queries of ``CISI.BLN`` if that file exists. Queries 58 to 112 are abstracts themselves, with title,
    author and source in ``query_fields``.

    Parameters
    ----------
    folder : path
        Holds ``CISI.ALL``, ``CISI.QRY``, ``CISI.REL`` and optionally ``CISI.BLN``, compressed or not.

    Returns
    -------
    TextCollection

    Examples
    --------
    >>> from plackett.data.documents.collections import read_cisi
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {
    ...         "CISI.ALL": ".I 1\n.T\nOn wings\n.W\nLift of thin wings.\n",
    ...         "CISI.QRY": ".I 1\n.W\nlift of wings\n",
    ...         "CISI.REL": "1 1 0 0.0\n",
    ...     }.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     collection = read_cisi(folder)
    >>> collection.queries, collection.qrels.to_dict()
    ({'1': 'lift of wings'}, {'1': {'1': 1}})
    """
    files = _Files("cisi", folder)
    path = files.path("CISI.ALL")
    documents = _read_records(path)
    # the middle column of .X is the weight; the last line of most records is there twice
    links = {"cocitation": {(one, other): weight for one, other, weight in _link_lines(path, documents)}}
    return _collection(
        "cisi",
        documents,
        _read_records(files.path("CISI.QRY")),
        _binary_judgements(files.path("CISI.REL")),
        links=links,
        boolean=_read_boolean(find_file(files.folder, "CISI.BLN")),
    )


def read_cacm(folder: str | PathLike) -> TextCollection:
    r"""Read CACM: 3,204 records of the Communications of the ACM, 64 queries (52 judged), 796 relevant pairs.

    ``links`` has three kinds, all symmetric: ``citation`` (one cites the other; the file does not say which),
    ``coupling`` (weight: references in common) and ``cocitation`` (weight: documents that cite both).

    Parameters
    ----------
    folder : path
        Holds ``cacm.all``, ``query.text`` and ``qrels.text``, compressed or not.

    Returns
    -------
    TextCollection

    Examples
    --------
    >>> from plackett.data.documents.collections import read_cacm
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {
    ...         "cacm.all": ".I 1\n.T\nOn wings\n.W\nLift of thin wings.\n",
    ...         "query.text": ".I 1\n.W\nlift of wings\n",
    ...         "qrels.text": "1 1 0 0\n",
    ...     }.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     collection = read_cacm(folder)
    >>> collection.queries, collection.qrels.to_dict()
    ({'1': 'lift of wings'}, {'1': {'1': 1}})
    """
    files = _Files("cacm", folder)
    path = files.path("cacm.all")
    documents = _read_records(path)
    links: dict[str, dict] = {kind: {} for kind in CACM_LINKS.values()}
    for one, other, code in _link_lines(path, documents):
        if code not in CACM_LINKS:
            raise DataFormatError(str(path), None, f"record {one}: link code {code} is unknown; expected 4, 5 or 6.")
        weights = links[CACM_LINKS[code]]
        weights[one, other] = weights.get((one, other), 0) + 1  # a line that occurs w times means weight w
    links["citation"] = dict.fromkeys(links["citation"], 1)
    queries = _read_records(files.path("query.text"))
    return _collection("cacm", documents, queries, _binary_judgements(files.path("qrels.text")), links=links)


def read_adi(folder: str | PathLike) -> TextCollection:
    r"""Read ADI: 82 short documents on documentation, 35 queries, 170 relevant pairs, and 35 Boolean queries.

    Parameters
    ----------
    folder : path
        Holds ``ADI.ALL``, ``ADI.QRY``, ``ADI.REL`` and optionally ``ADI.BLN``, compressed or not.

    Returns
    -------
    TextCollection

    Examples
    --------
    >>> from plackett.data.documents.collections import read_adi
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in {
    ...         "ADI.ALL": ".I 1\n.T\nOn wings\n.W\nLift of thin wings.\n",
    ...         "ADI.QRY": ".I 1\n.W\nlift of wings\n",
    ...         "ADI.REL": "1 1 0 0.0\n",
    ...     }.items():
    ...         _ = pathlib.Path(folder, name).write_text(text)
    ...     collection = read_adi(folder)
    >>> collection.queries, collection.qrels.to_dict()
    ({'1': 'lift of wings'}, {'1': {'1': 1}})
    """
    files = _Files("adi", folder)
    return _collection(
        "adi",
        _read_records(files.path("ADI.ALL")),
        _read_records(files.path("ADI.QRY")),
        _binary_judgements(files.path("ADI.REL")),
        boolean=_read_boolean(find_file(files.folder, "ADI.BLN")),
    )


class _Files:
    def __init__(self, name: str, folder: str | PathLike):
        self.name, self.folder = name, Path(folder)

    def path(self, *names: str) -> Path:
        found = find_file(self.folder, *names)
        if found is None:
            wanted = " or ".join(names)
            raise DatasetNotFoundError(f"{self.name}: {self.folder} has no file {wanted} (compressed or not).")
        return found


def _collection(name, documents, queries, judged, *, links=None, boolean=None) -> TextCollection:
    docid = [number for number, _ in documents]
    fields, query_fields = _columns(documents), _columns(queries)
    place = {number: row for row, number in enumerate(docid)}
    return TextCollection(
        name,
        docid,
        fields,
        dict(zip([number for number, _ in queries], query_fields.pop("body"), strict=True)),
        query_fields,
        Qrels(*zip(*judged, strict=True)) if judged else Qrels([], [], []),
        {kind: _link_rows(weights, place) for kind, weights in (links or {}).items()},
        boolean or {},
    )


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
    for number, line in enumerate(_read_lines(path), 1):
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


def _binary_judgements(path: Path) -> list[tuple[str, str, float]]:
    # "query document 0 0.000": only relevant pairs are listed, and the last two columns carry no information
    return [
        (str(_whole_number(path, line, words[0])), str(_whole_number(path, line, words[1])), 1.0)
        for line, words in _read_words(path, at_least=2)
    ]


def _read_boolean(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    text = "\n".join(_read_lines(path))
    return {number: " ".join(query.split()) for number, query in BOOLEAN.findall(text)}


def _read_words(path: Path, *, at_least: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(_read_lines(path), 1):
        words = line.split()
        if words and len(words) < at_least:
            raise DataFormatError(str(path), number, f"expected at least {at_least} columns, found {line.strip()!r}.")
        if words:
            yield number, words


def _whole_number(path: Path, line: int, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise DataFormatError(str(path), line, f"expected a whole number, found {word!r}.") from None


def _read_lines(path: Path) -> list[str]:
    with open_bytes(path) as file:
        return file.read().decode(ENCODING).replace("\r\n", "\n").split("\n")
