"""Import of judgements from files of plackett and of other tools."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.limits import MAX_GRADE
from plackett.apps.workbench.workbench.exporting import unescape_id
from plackett.data.docids import docids_of_comments
from plackett.data.documents.read import as_text
from plackett.data.text_column import TextColumn
from plackett.data.trec.files import read_qrels
from plackett.exceptions import DataFormatError
from plackett.validation import check_choice, count_of

FORMATS = ("json", "qrels", "letor", "csv")
# names of the columns of Quepid's, OpenSearch's and other tools' files, in lower case without spaces and underscores
COLUMNS = {
    "query": ("query", "querytext", "searchterm", "keywords", "q", "qid", "queryid"),
    "document": ("document", "docid", "documentid", "doc", "id"),
    "rating": ("rating", "grade", "judgement", "judgment", "label", "relevance", "score"),
}
MAX_CSV_FIELD = 100_000  # characters
_LETOR_LINE = re.compile(r"\s*(\S+)\s+qid:(\S+)([^#]*)(?:#(.*))?$")


class ImportedJudgements(NamedTuple):
    """The content of a file, as ``Store.import_judgements`` takes it, with notes for the user.

    Attributes
    ----------
    rows : list of (query, docid, grade)
    preferences : list of (query, docid, other)
    notes : list of str
    """

    rows: list[tuple[str, str, float]]
    preferences: list[tuple[str, str, str]]
    notes: list[str]


class _NamedFile(io.BytesIO):
    """A file with the name that errors show."""

    name = "qrels"


def read_judgements(data: bytes, format: str | None = None, collection: Collection | None = None) -> ImportedJudgements:
    """Return the judgements in the bytes of a file.

    Parameters
    ----------
    data : bytes
        UTF-8 text; compressed files are refused, because a small one may expand beyond memory.
    format : {"json", "qrels", "letor", "csv"}, default=None
        None detects it from the first line.
    collection : Collection, default=None
        Documents that it does not have are skipped, and counted in the notes.

    Returns
    -------
    ImportedJudgements

    Raises
    ------
    DataFormatError, ValueError
        The file has an error.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text (byte {error.start}); compressed files are not supported."
        raise ValueError(message) from None
    if text.startswith("BZh"):
        raise ValueError("compressed files are not supported; send the uncompressed text.")
    format = format or _detect_format(text)
    check_choice(format, "format", FORMATS)
    notes: list[str] = []
    preferences: list[tuple[str, str, str]] = []
    if format == "json":
        rows, preferences = _read_json(text)
    elif format == "letor":
        rows = _read_letor(text)
    elif format == "csv":
        rows = _read_csv(text, notes)
    else:
        qrels = read_qrels(_NamedFile(text.encode()))
        words = zip(qrels.qid.tolist(), qrels.docid.tolist(), qrels.labels.tolist(), strict=True)
        rows = [(unescape_id(qid), unescape_id(docid), grade) for qid, docid, grade in words]
    # requests strip queries too
    rows = [(as_text(query).strip(), as_text(docid), _grade(grade, notes)) for query, docid, grade in rows]
    preferences = [(as_text(query).strip(), as_text(docid), as_text(other)) for query, docid, other in preferences]
    if collection is not None:
        n_before = len(rows) + len(preferences)
        named = [row[1] for row in rows] + [docid for pair in preferences for docid in pair[1:]]
        missing = collection.missing(list(dict.fromkeys(named)))
        rows = [row for row in rows if row[1] not in missing]
        preferences = [pair for pair in preferences if missing.isdisjoint(pair[1:])]
        n_skipped = n_before - len(rows) - len(preferences)
        if n_skipped:
            notes.append(
                f"{count_of(n_skipped, 'row names a document', 'rows name documents')} not in {collection.name}."
            )
    return ImportedJudgements(rows, preferences, list(dict.fromkeys(notes)))


def _detect_format(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "").strip()
    if first.startswith(("{", "[")):
        return "json"
    if re.match(r"\S+\s+qid:", first):
        return "letor"
    separator = _separator(first)
    has_header = separator is not None and _columns(next(csv.reader([first], delimiter=separator))) is not None
    # qrels have four words, or three between tabs, and a document's id may have commas
    n_words = len(first.split())
    is_table = (separator in (",", ";") and n_words != 4) or (n_words < 3 and re.search("[,;]", first) is not None)
    return "csv" if has_header or is_table else "qrels"


def _grade(grade: float, notes: list[str]) -> float:
    if not math.isfinite(grade) or grade > MAX_GRADE:
        raise ValueError(f"a grade is {grade:g}; grades are numbers from 0 to {MAX_GRADE:g}.")
    if grade < 0:
        notes.append("Grades below 0, as TREC gives them to spam, count as 0.")
    return max(float(grade), 0.0)


def _read_letor(text: str) -> list[tuple[str, str, float]]:
    """Return (query, docid, label) of each row; features are ignored."""
    found = []
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _LETOR_LINE.match(line)
        label = _number(row[1]) if row else None
        if row is None or label is None:
            raise DataFormatError(
                "LETOR", number, f'expected "label qid:ID index:value ... #docid", found {line[:60]!r}.'
            )
        if not (row[4] or "").strip():
            raise DataFormatError("LETOR", number, "a comment such as # docid = d7 must name the document.")
        found.append((unescape_id(row[2]), label))
        comments.append(row[4])
    docid = docids_of_comments(TextColumn.from_strings(comments)).tolist() if comments else []
    return [(query, unescape_id(one), label) for (query, label), one in zip(found, docid, strict=True)]


def _separator(line: str) -> str | None:
    """Return the separator of a line with three fields or more, and None if there is none."""
    found = [one for one in (",", ";", "\t") if len(next(csv.reader([line], delimiter=one), [])) >= len(COLUMNS)]
    return found[0] if found else None


def _read_csv(text: str, notes: list[str]) -> list[tuple[str, str, float]]:
    """Return (query, docid, rating) of each row; a header names the columns, in any order and among others.

    Without a header the columns are query, document and rating. Rows without a rating, as Quepid exports those that are
    not judged, are skipped.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = _separator(first)
    if separator is None:
        raise DataFormatError("CSV", 1, f'expected "query,document,rating", found {first[:60]!r}.')
    limit = csv.field_size_limit(MAX_CSV_FIELD)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [(lines.line_num, row) for row in lines if any(field.strip() for field in row)]
    except csv.Error as error:
        raise DataFormatError("CSV", lines.line_num, f"{error}.") from None
    finally:
        csv.field_size_limit(limit)
    places = _columns(rows[0][1])
    if places is None:
        places = {"query": 0, "document": 1, "rating": 2}
    else:
        rows = rows[1:]
    found, n_unrated = [], 0
    for number, row in rows:
        if len(row) <= max(places.values()):
            raise DataFormatError("CSV", number, f"expected a query, a document and a rating, found {len(row)} fields.")
        query, docid, rating = (row[places[name]].strip() for name in COLUMNS)
        grade = _number(rating)
        if not rating:
            n_unrated += 1
        elif grade is None or not query or not docid:
            raise DataFormatError(
                "CSV", number, f"expected a query, a document and a rating, found {separator.join(row)[:60]!r}."
            )
        else:
            found.append((query, docid, grade))
    if n_unrated:
        notes.append(f"{count_of(n_unrated, 'row has', 'rows have')} no rating.")
    return found


def _columns(header: list[str]) -> dict[str, int] | None:
    """Return the places of the columns by a header; None if the line is not a header."""
    names = [re.sub(r"[\s_-]", "", name).lower() for name in header]
    places = {}
    for column, known in COLUMNS.items():
        place = next((names.index(name) for name in known if name in names), None)
        if place is None:
            return None
        places[column] = place
    return places


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _read_json(text: str) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, str]]]:
    """Read a JSON export, a list of judgements, or one judgement per line."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply.") from None
    except ValueError as error:
        content = _json_lines(text, error)
    if isinstance(content, dict):
        if "click_judgements" in content:
            raise ValueError("these judgements come from clicks; if imported, they would count as yours.")
        content = content if "judgements" in content or "preferences" in content else [content]
    sections = content if isinstance(content, dict) else {"judgements": content}
    rows = [_fields(entry, n, ("query", "docid", "grade")) for n, entry in _entries(sections, "judgements")]
    pairs = [_fields(entry, n, ("query", "docid", "other")) for n, entry in _entries(sections, "preferences")]
    return rows, pairs


def _json_lines(text: str, error: ValueError) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise ValueError(f"this is not JSON: {error}.") from None


def _entries(sections: dict[str, Any], name: str) -> Iterable[tuple[int, Any]]:
    entries = sections.get(name, [])
    if not isinstance(entries, list):
        raise ValueError(f'"{name}" must be a list.')
    return enumerate(entries, 1)


def _fields(entry: Any, number: int, names: tuple[str, str, str]) -> Any:
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number} is {str(entry)[:60]!r}, not an object with {', '.join(names)}.")
    values: list[Any] = []
    for name in names:
        value = entry.get(name)
        if name == "grade":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
            expected, is_valid = "a number", is_number
        else:
            expected, is_valid = "text", isinstance(value, str) and bool(value.strip())
        if not is_valid:
            raise ValueError(f"entry {number}: {name} is {str(value)[:60]!r}; expected {expected}.")
        values.append(value)
    return tuple(values)
