"""Files and folders that hold texts, as documents with fields: plain text, Markdown, HTML, JSON lines and tables.

Nothing is guessed from a text but its title; null bytes, and halves of surrogate pairs, become U+FFFD.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from plackett.data.documents.markup import text_of_html, text_of_markdown
from plackett.exceptions import DataFormatError
from plackett.storage.decompression import MAX_LINE
from plackett.storage.opening import is_stream, name_of, open_bytes

ID_KEYS = ("id", "_id", "docid", "doc_id")
MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm", ".xhtml")
TEXTS = (".txt", ".text", ".rst", *MARKDOWN, *HTML)
TABLES = (".jsonl", ".ndjson", ".csv", ".tsv")
PACKED = (".gz", ".xz", ".bz2", ".zst")
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEAD = 2048  # bytes in which a file may name its encoding
_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """One document as it was read: its id and its fields."""

    name: str
    fields: dict[str, str]


def read_documents(
    source: str,
    encoding: str = "utf-8",
    *,
    is_alone: bool = True,
    is_lenient: bool = False,
    remedy: str = "Convert the file, or name its encoding.",
    note: Callable[[str], None] | None = None,
) -> Iterator[Document]:
    """The documents of a file, or of all files of known kinds below a folder, in the order of their names.

    Markdown and HTML come as their text without marks and tags, with their first heading or ``<title>`` as title.

    Parameters
    ----------
    source : str
        A file, ``"-"`` for standard input, or a folder; files whose names begin with a dot, and links to
        files outside of it, are left out.
    encoding : str, default="utf-8"
    is_alone : bool, default=True
        Files are named by their path in the folder; where it is not alone, with its name before, as other folders may
        hold files of the same names.
    is_lenient : bool, default=False
        Whether bytes that are no text in this encoding become U+FFFD; else they are an error.
    remedy : str
        What an error about other bytes ends with.
    note : callable, default=None
        Called with a line of text about files that were left out.
    """
    if not os.path.isdir(source):
        yield from _documents_of_file(source, source, encoding, is_lenient, remedy)
        return
    found = 0
    others: Counter[str] = Counter()
    for path in sorted(Path(source).rglob("*")):
        inside = path.relative_to(source)
        if not _is_visible(path, source) or not path.is_file():
            continue
        if _kind(path.name) in TEXTS + TABLES:
            found += 1
            name = (inside if is_alone else path).as_posix()
            yield from _documents_of_file(str(path), name, encoding, is_lenient, remedy)
        else:
            others[path.suffix.lower() or "without an ending"] += 1
    if found and others and note is not None:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in others.most_common(5))
        note(f"files of other kinds in {source} were left out: {kinds}{', …' if len(others) > 5 else ''}")
    if not found:
        raise ValueError(f"the folder {source!r} holds no text: no file that ends in {', '.join(TEXTS + TABLES)}.")


def _is_visible(path: Path, folder: str) -> bool:
    """Whether a file is meant to be read: no part of its name begins with a dot, and no link leads elsewhere."""
    if any(part.startswith(".") for part in path.relative_to(folder).parts):
        return False
    return path.resolve().is_relative_to(Path(folder).resolve())


def _kind(name: str) -> str:
    """The end of a file's name, without that of a compression."""
    path = Path(name.lower())
    return (Path(path.stem) if path.suffix in PACKED else path).suffix


def files_of(source: str) -> list[Path]:
    """The files that ``read_documents`` reads, in its order."""
    if not os.path.isdir(source):
        return [Path(source)]
    found = (path for path in sorted(Path(source).rglob("*")) if _is_visible(path, source) and path.is_file())
    return [path for path in found if _kind(path.name) in TEXTS + TABLES]


def _documents_of_file(path: str, name: str, encoding: str, is_lenient: bool, remedy: str) -> Iterator[Document]:
    kind = _kind(path)
    if kind in (".jsonl", ".ndjson", ".csv", ".tsv") and not is_stream(path) and "\n".encode(encoding) == b"\n":
        yield from _documents_of_table(path, name, kind, encoding, is_lenient, remedy)
        return
    text = read_text(path, encoding, is_lenient=is_lenient, remedy=remedy)
    if is_stream(path):  # its name says nothing about its kind
        name, kind = name_of(path), ".jsonl" if text.lstrip().startswith("{") else ".txt"
    if kind == ".json" and text.lstrip().startswith("["):
        yield from _numbered(name, _json_array(path, text))
    elif kind in (".jsonl", ".ndjson", ".json"):
        yield from _numbered(name, json_lines(path, text.split("\n")))
    elif kind in (".csv", ".tsv"):
        yield from _numbered(name, _csv_rows(path, io.StringIO(text, newline=""), kind))
    else:
        title, body = "", text
        if kind in MARKDOWN:
            title, body = text_of_markdown(text)
        elif kind in HTML:
            title, body = text_of_html(text)
        name = as_text(name)  # of a file whose name is not UTF-8, too
        yield Document(name, {"title": as_text(title) or Path(name).stem, "body": as_text(body)})


def _documents_of_table(
    path: str, name: str, kind: str, encoding: str, is_lenient: bool, remedy: str
) -> Iterator[Document]:
    """Documents of a file with one in a line, which is never in memory as a whole."""
    with open_bytes(path) as file:
        declared = _declared(file.peek(_HEAD)[:_HEAD]) if is_lenient else None  # type: ignore[attr-defined]
        if declared == "utf-16":
            texts = iter(file.read().decode(declared, "replace").removeprefix("\ufeff").splitlines(keepends=True))
        else:
            texts = _decoded_lines(file, path, encoding, declared, is_lenient, remedy)
        rows = _csv_rows(path, texts, kind) if kind in (".csv", ".tsv") else json_lines(path, texts)
        yield from _numbered(name, rows)


def _decoded_lines(
    file: BinaryIO, path: str, encoding: str, declared: str | None, is_lenient: bool, remedy: str
) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            if not is_lenient:
                raise _not_text(path, number, encoding, remedy) from None
            text = line.decode(declared or encoding, "replace")
        yield text.removeprefix("\ufeff") if number == 1 else text


def read_text(
    source: str, encoding: str = "utf-8", *, is_lenient: bool = False, remedy: str = "Convert the file first."
) -> str:
    """A file's text, without the mark that may stand before it."""
    with open_bytes(source) as file:
        content = file.read()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if is_lenient:
            return content.decode(_declared(content) or encoding, "replace").removeprefix("\ufeff")
        line = content.count(b"\n", 0, error.start) + 1
        raise _not_text(source, line, encoding, remedy) from None


def _not_text(source: str, line: int, encoding: str, remedy: str) -> DataFormatError:
    return DataFormatError(name_of(source), line, f"this is not {encoding.upper()} text. {remedy}")


def _declared(content: bytes) -> str | None:
    """The encoding that the first bytes name: by a byte order mark, or as web pages do."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    found = _CHARSET.search(content, 0, _HEAD)
    try:
        return None if found is None else codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None


def as_text(text: str) -> str:
    """The text with U+FFFD for null bytes and halves of surrogate pairs, which neither files nor databases hold."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def json_lines(name: str, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """``(line, object)`` of each line that is not empty."""
    for number, line in enumerate(lines, 1):
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
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(name, getattr(error, "lineno", None), f"this is not JSON: {error}.") from None
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataFormatError(name, None, f"entry {number} of the array is {str(row)[:60]!r}, not an object.")
        yield number, row


def _csv_rows(name: str, lines: Iterator[str], kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    first = next(lines, "")
    # a semicolon where the headings have it alone, as spreadsheets write it in many countries
    delimiter = "\t" if kind == ".tsv" else ";" if ";" in first and "," not in first else ","
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    reader = csv.DictReader(itertools.chain([first], lines), delimiter=delimiter, strict=True)
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
            as_text(field): as_text(text)
            for field, value in row.items()
            if field not in ID_KEYS and (text := _text(value)) is not None
        }
        yield Document(as_text(f"{name}:{number}" if key is None else str(row[key])), texts)


def id_key(row: dict[str, Any]) -> str | None:
    """The key of a row's id, or None."""
    return next((key for key in ID_KEYS if row.get(key) not in (None, "")), None)


def _text(value: Any) -> str | None:
    """Text, or a list of sentences as one text; None for what is no text."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def columns_of(documents: list[Document], sources: Sequence[str]) -> dict[str, list[str]]:
    """One list of texts per field that some document has, ``""`` where another lacks it."""
    names = dict.fromkeys(field for document in documents for field in document.fields)
    if not names:
        raise ValueError(f"{', '.join(sources)} holds no document with text.")
    return {field: [document.fields.get(field, "") for document in documents] for field in names}
