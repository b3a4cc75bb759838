"""Files and folders that hold texts, as documents with fields."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ID_KEYS = ("id", "_id", "docid", "doc_id")
TEXTS = (".txt", ".text", ".md", ".markdown", ".rst")
TABLES = (".jsonl", ".ndjson", ".csv", ".tsv")
PACKED = (".gz", ".xz", ".bz2", ".zst")
HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)


class Document(NamedTuple):
    """One document as it was read: its id and its fields."""

    name: str
    fields: dict[str, str]


def read_documents(source: str, encoding: str, *, is_alone: bool) -> Iterator[Document]:
    """The documents of a file, or of all files of known kinds below a folder, in the order of their names.

    Files are named by their path in the folder; where it is not alone, with its name before, as other folders may hold
    files of the same names.
    """
    from plackett.cli import output

    if not os.path.isdir(source):
        yield from _documents_of_file(source, source, encoding)
        return
    found = 0
    others: Counter[str] = Counter()
    for path in sorted(Path(source).rglob("*")):
        inside = path.relative_to(source)
        if not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        if _kind(path.name) in TEXTS + TABLES:
            found += 1
            yield from _documents_of_file(str(path), (inside if is_alone else path).as_posix(), encoding)
        else:
            others[path.suffix.lower() or "without an ending"] += 1
    if found and others:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in others.most_common(5))
        output.note(f"files of other kinds in {source} were left out: {kinds}{', …' if len(others) > 5 else ''}")
    if not found:
        raise ValueError(f"the folder {source!r} holds no text: no file that ends in {', '.join(TEXTS + TABLES)}.")


def _kind(name: str) -> str:
    """The end of a file's name, without that of a compression."""
    path = Path(name.lower())
    return (Path(path.stem) if path.suffix in PACKED else path).suffix


def _documents_of_file(path: str, name: str, encoding: str) -> Iterator[Document]:
    kind, text = _kind(path), read_text(path, encoding, remedy="Convert the file, or give its --encoding.")
    if path == "-":  # has no name that could tell
        name, kind = "standard input", ".jsonl" if text.lstrip().startswith("{") else ".txt"
    if kind == ".json" and text.lstrip().startswith("["):
        yield from _numbered(name, _json_array(path, text))
    elif kind in (".jsonl", ".ndjson", ".json"):
        yield from _numbered(name, json_lines(path, text))
    elif kind in (".csv", ".tsv"):
        yield from _numbered(name, _csv_rows(path, text, "\t" if kind == ".tsv" else _delimiter(text)))
    else:
        heading = HEADING.search(text) if kind in (".md", ".markdown") else None
        yield Document(name, {"title": heading[1] if heading else Path(name).stem, "body": text})


def read_text(source: str, encoding: str = "utf-8", *, remedy: str = "Convert the file first.") -> str:
    """A file's text, without the mark that may stand before it."""
    from plackett.data.opening import name_of, open_bytes
    from plackett.exceptions import DataFormatError

    with open_bytes(source) as file:
        content = file.read()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataFormatError(name_of(source), line, f"this is not {encoding.upper()} text. {remedy}") from None


def json_lines(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(line, object)`` of each line that is not empty."""
    from plackett.exceptions import DataFormatError

    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                found = line.strip()[:60]
                raise DataFormatError(name, number, f'expected a JSON object such as {{"id": …}}, found {found!r}.')
            yield number, row


def _json_array(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(number from 1, object)`` of each object of an array."""
    from plackett.exceptions import DataFormatError

    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(name, getattr(error, "lineno", None), f"this is not JSON: {error}.") from None
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataFormatError(name, None, f"entry {number} of the array is {str(row)[:60]!r}, not an object.")
        yield number, row


def _delimiter(text: str) -> str:
    """A semicolon where the headings have it alone, as spreadsheets write it in many countries."""
    headings = text.partition("\n")[0]
    return ";" if ";" in headings and "," not in headings else ","


def _csv_rows(name: str, text: str, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from plackett.exceptions import DataFormatError

    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = list(reader.fieldnames or ())
        if len(set(columns)) < len(columns):
            raise DataFormatError(name, 1, f"two columns have the same name, among {', '.join(columns)}.")
        for row in reader:
            if None in row or None in row.values():
                raise DataFormatError(
                    name, reader.line_num, f"this row does not have {len(columns)} cells, as the first."
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise DataFormatError(name, reader.line_num, f"{error}.") from None


def _numbered(name: str, rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[Document]:
    """Rows as documents; one without an id is named by its file and line."""
    for number, row in rows:
        key = id_key(row)
        texts = {
            field: text for field, value in row.items() if field not in ID_KEYS and (text := _text(value)) is not None
        }
        yield Document(f"{name}:{number}" if key is None else str(row[key]), texts)


def id_key(row: dict[str, Any]) -> str | None:
    """The key of a row's id, or None."""
    return next((key for key in ID_KEYS if row.get(key) not in (None, "")), None)


def _text(value: Any) -> str | None:
    """Text, or a list of sentences as one text; None for what is no text."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def columns_of(documents: list[Document], sources: list[str]) -> dict[str, list[str]]:
    """One list of texts per field that some document has, ``""`` where another lacks it."""
    names = dict.fromkeys(field for document in documents for field in document.fields)
    if not names:
        raise ValueError(f"{', '.join(sources)} holds no document with text.")
    return {field: [document.fields.get(field, "") for document in documents] for field in names}
