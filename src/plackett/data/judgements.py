"""One reader for files of judgements: LETOR rows, qrels, CSV of this and other tools, JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from plackett.data.docids import docids_of_comments
from plackett.data.text_column import TextColumn
from plackett.data.trec.files import read_qrels
from plackett.data.trec.qrels import Qrels
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_choice

FORMATS = ("json", "qrels", "letor", "csv")
# names of the columns of Quepid's, OpenSearch's and other tools' files, in lower case without spaces and underscores
COLUMNS: dict[str, tuple[str, ...]] = {
    "query": ("query", "querytext", "searchterm", "keywords", "q", "qid", "queryid"),
    "document": ("document", "docid", "documentid", "doc", "id", "sku", "productid"),
    "rating": ("rating", "grade", "judgement", "judgment", "label", "relevance", "score"),
}
MAX_CSV_FIELD = 100_000  # characters
_LETOR_LINE = re.compile(r"\s*(\S+)\s+qid:(\S+)([^#]*)(?:#(.*))?$")


class JudgementFile(NamedTuple):
    r"""The content of a file of judgements.

    Only JSON has ``preferences``, (qid, better, worse). ``n_unjudged`` counts rows without a label, as Quepid exports
    documents that are not judged; they are skipped.

    Examples
    --------
    >>> import io
    >>> from plackett.data.judgements import read
    >>> read(io.BytesIO(b"query,docid,rating\nriver,d1,2\nriver,d2,\n")).to_qrels()
    Qrels(1 query, 1 judgement, labels 2..2)
    """

    format: str
    qid: list[str]
    docid: list[str]
    labels: list[float]
    preferences: Sequence[tuple[str, str, str]] = ()
    n_unjudged: int = 0

    def to_qrels(self) -> Qrels:
        """Return the judgements without the preferences; raise if a document is judged twice for a query."""
        return Qrels(np.array(self.qid, dtype=str), np.array(self.docid, dtype=str), self.labels)


@local_files
def read(source: str | os.PathLike | IO, format: str | None = None) -> JudgementFile:
    """Read judgements from LETOR rows, qrels, CSV or JSON.

    - LETOR: ``label qid:ID index:value ... #docid``; features are ignored.
    - qrels: ``qid iteration docid label``, or BEIR's ``query-id corpus-id score``.
    - CSV: separated by commas, semicolons or tabs; a header names the columns in any order and among others, as in
      Quepid's files. Without a header the columns are query, document and rating.
    - JSON: a list of objects with ``query``, ``docid`` and ``grade`` (or the names of CSV), one object per line, or an
      object with the lists ``judgements`` and ``preferences`` (``query``, ``docid``, ``other``), or
      ``{query: {docid: grade}}``, as ranx has it, or OpenSearch's ``judgmentRatings``. A grade of null is not judged.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard), UTF-8.
    format : {"json", "qrels", "letor", "csv"}, default=None
        None detects it from the first line.
    """
    return parse(text_of(source), name_of(source), format)


def text_of(source: str | os.PathLike | IO) -> str:
    """Return the text of a file, with surrogate escapes for bytes that are not UTF-8."""
    with open_bytes(source) as file:
        return file.read().decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def parse(text: str, name: str, format: str | None = None) -> JudgementFile:
    """Return the judgements in the text of a file; ``name`` is that of the file in messages."""
    if format is None:
        format = format_of(text)
        first = next(((n, line) for n, line in enumerate(text.split("\n"), 1) if line.split("#", 1)[0].strip()), None)
        if format == "qrels" and first is not None and len(first[1].split()) not in (3, 4):
            expected = 'expected LETOR rows ("label qid:ID 1:value …"), qrels ("qid 0 docid label"), CSV or JSON'
            raise DataFormatError(name, first[0], f"{expected}, found {first[1].strip()[:60]!r}.")
    check_choice(format, "format", FORMATS)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataFormatError(name, line, "the file contains zero bytes, so it is not plain text.")
    if format == "qrels":
        file = io.BytesIO(text.encode("utf-8", "surrogateescape"))
        file.name = name
        qrels = read_qrels(file)
        return JudgementFile(format, qrels.qid.tolist(), qrels.docid.tolist(), qrels.labels.tolist())
    return {"json": _read_json, "letor": _read_letor, "csv": _read_csv}[format](text, name)


def format_of(text: str) -> str:
    """Return the format of a text, detected from its first line that is neither blank nor a comment."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "").strip()
    words = first.split()
    if first.startswith(("{", "[")) and not (len(words) == 4 and _number(words[3]) is not None):
        return "json"
    if re.match(r"\S+\s+qid:", first):
        return "letor"
    separator = _separator(first)
    has_header = separator is not None and columns_of(next(csv.reader([first], delimiter=separator))) is not None
    # qrels have four words, or three between tabs, and a document's id may have commas
    is_table = (separator in (",", ";") and len(words) != 4) or (
        len(words) < 3 and re.search("[,;]", first) is not None
    )
    return "csv" if has_header or is_table else "qrels"


def _of_rows(format: str, rows: Sequence[tuple], preferences: Sequence[Any] = (), n_unjudged: int = 0) -> JudgementFile:
    """Return the judgements of rows: query, document, label."""
    qid, docid, labels = ([row[place] for row in rows] for place in range(3))
    return JudgementFile(format, qid, docid, labels, preferences, n_unjudged)


def _read_letor(text: str, name: str) -> JudgementFile:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _LETOR_LINE.match(line.rstrip("\r"))
        label = _number(row[1]) if row else None
        if row is None or label is None:
            raise DataFormatError(name, number, f'expected "label qid:ID index:value ... #docid", found {line[:60]!r}.')
        if not (row[4] or "").strip():
            raise DataFormatError(name, number, "a comment such as # docid = d7 must name the document.")
        found.append((row[2], row[4], label))
    file = _of_rows("letor", found)
    return file._replace(docid=docids_of_comments(TextColumn.from_strings(file.docid)).tolist())


def _separator(line: str) -> str | None:
    """Return the separator of a line with three fields or more, and None if there is none."""
    found = [mark for mark in (",", ";", "\t") if len(next(csv.reader([line], delimiter=mark), [])) >= len(COLUMNS)]
    return found[0] if found else None


def csv_rows(
    text: str,
    name: str,
    expected: str = '"query,document,rating"',
    *,
    separator: str | None = None,
    longest: int = MAX_CSV_FIELD,
) -> list[tuple[int, list[str]]]:
    """Return the line number and the fields of each row; None finds the separator: a comma, semicolon or tab."""
    if separator is None:
        first = next((line for line in text.splitlines() if line.strip(' \t",;')), "")
        separator = _separator(first)
        if separator is None:
            raise DataFormatError(name, 1, f"expected {expected}, found {first[:60]!r}.")
    limit = csv.field_size_limit(longest)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [(lines.line_num, row) for row in lines if any(field.strip() for field in row)]
    except csv.Error as error:
        raise DataFormatError(name, lines.line_num, f"{error}.") from None
    finally:
        csv.field_size_limit(limit)


def _read_csv(text: str, name: str) -> JudgementFile:
    lines = csv_rows(text, name)
    places = columns_of(lines[0][1])
    if places is None:
        places = {"query": 0, "document": 1, "rating": 2}
    else:
        lines = lines[1:]
    rows = []
    for number, fields in lines:
        if len(fields) <= max(places.values()):
            found = f"{len(fields)} fields"
            raise DataFormatError(name, number, f"expected a query, a document and a rating, found {found}.")
        qid, docid, rating = (fields[places[column]].strip() for column in COLUMNS)
        label = _number(rating)
        if rating and (label is None or not qid or not docid):
            found = repr(",".join(fields)[:60])
            raise DataFormatError(name, number, f"expected a query, a document and a rating, found {found}.")
        rows.append((qid, docid, label))
    judged = [row for row in rows if row[2] is not None]
    return _of_rows("csv", judged, n_unjudged=len(rows) - len(judged))


def columns_of(header: Sequence[str]) -> dict[str, int] | None:
    """Return the places of query, document and rating by a header; None if the line is not a header."""
    found = {column: find_column(header, known) for column, known in COLUMNS.items()}
    return None if None in found.values() else {column: header.index(name) for column, name in found.items()}


def find_column(names: Iterable[str], known: Sequence[str]) -> Any:
    """Return the first column with one of these names, in lower case without spaces, underscores and hyphens."""
    spelled = {re.sub(r"[\s_-]", "", str(name)).lower(): name for name in names}
    return next((spelled[name] for name in known if name in spelled), None)


def _number(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _read_json(text: str, name: str) -> JudgementFile:
    """Read an object with lists, a list of judgements, or one judgement per line."""
    content = json_of(text, name)
    if isinstance(content, dict) and content and all(isinstance(one, dict) for one in content.values()):  # of ranx
        rows = [(qid, docid, label) for qid, labels in content.items() for docid, label in labels.items()]
        content = [dict(zip(("query", "docid", "grade"), row, strict=True)) for row in rows]
    if isinstance(content, dict):
        if "click_judgements" in content:
            message = "these judgements come from clicks; if imported, they would count as yours."
            raise DataFormatError(name, None, message)
        if "judgmentRatings" in content:  # of OpenSearch, where ratings are texts
            content = list(_of_opensearch(content, name))
        else:
            content = content if "judgements" in content or "preferences" in content else [content]
    sections = content if isinstance(content, dict) else {"judgements": content}
    entries = list(_entries(sections, "judgements", name))
    judged = [(n, entry) for n, entry in entries if not _is_unjudged(entry)]
    rows = [_fields(entry, name, n, ("query", "docid", "grade")) for n, entry in judged]
    others = _entries(sections, "preferences", name)
    pairs = [_fields(entry, name, n, ("query", "docid", "other")) for n, entry in others]
    return _of_rows("json", rows, pairs, len(entries) - len(judged))


def _of_opensearch(content: dict[str, Any], name: str) -> Iterable[dict[str, Any]]:
    for number, one in _entries(content, "judgmentRatings", name):
        for _, row in _entries(one if isinstance(one, dict) else {"ratings": None}, "ratings", name):
            if not isinstance(row, dict):
                raise DataFormatError(name, None, f"a rating of query {number} is {str(row)[:60]!r}, not an object.")
            rating = row.get("rating")
            grade = _number(rating) if isinstance(rating, str) else rating
            yield {"query": one.get("query"), "docid": row.get("docId"), "grade": grade}


def _is_unjudged(entry: Any) -> bool:
    """Whether an entry has a grade that is null, as where a model gave no valid answer."""
    names = [name for name in ("grade", *COLUMNS["rating"]) if isinstance(entry, dict) and name in entry]
    return bool(names) and entry[names[0]] is None


def json_of(text: str, name: str) -> Any:
    """Return the value of a text of JSON, or the list of the values of its lines."""
    try:
        return json.loads(text)
    except RecursionError:
        raise DataFormatError(name, None, "the JSON is nested too deeply.") from None
    except ValueError as error:
        reason = f"this is not JSON: {error}."
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise DataFormatError(name, None, reason) from None


def _entries(sections: dict[str, Any], section: str, name: str) -> Iterable[tuple[int, Any]]:
    entries = sections.get(section, [])
    if not isinstance(entries, list):
        raise DataFormatError(name, None, f'"{section}" must be a list.')
    return enumerate(entries, 1)


def _fields(entry: Any, name: str, number: int, keys: tuple[str, str, str]) -> Any:
    """Return the values of an entry of JSON by its keys, or by the names that columns of CSV may have."""
    if not isinstance(entry, dict):
        raise DataFormatError(
            name, None, f"entry {number} is {str(entry)[:60]!r}, not an object with {', '.join(keys)}."
        )
    values: list[Any] = []
    for key in keys:
        others = COLUMNS[{"docid": "document", "grade": "rating"}.get(key, key)] if key != "other" else ()
        value = next((entry[other] for other in (key, *others) if other in entry), None)
        if key == "grade":
            is_valid = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
            expected = "a number"
        else:
            expected, is_valid = "text", isinstance(value, str) and bool(value.strip()) and "\0" not in value
        if not is_valid:
            raise DataFormatError(name, None, f"entry {number}: {key} is {str(value)[:60]!r}; expected {expected}.")
        values.append(value)
    return tuple(values)
