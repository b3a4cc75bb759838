"""Reading files and folders of texts as documents with fields: plain text, Markdown, HTML, JSON lines and tables.

Only the title is derived from a text; null bytes and lone surrogates become U+FFFD.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from plackett.data.documents.markup import text_of_html, text_of_markdown
from plackett.data.judgements import csv_rows
from plackett.exceptions import DataFormatError
from plackett.storage.compression import COMPRESSED
from plackett.storage.opening import is_stream, name_of, open_bytes
from plackett.storage.remote import local_files

MAX_FIELD = 1 << 25  # bytes
ID_KEYS = ("id", "_id", "docid", "doc_id")
MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm", ".xhtml")
TEXTS = (".txt", ".text", ".rst", *MARKDOWN, *HTML)
TABLES = (".jsonl", ".ndjson", ".csv", ".tsv")
KNOWN = TEXTS + TABLES
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE)
_HEAD = 2048  # bytes in which a file may name its encoding
_SURROGATE = re.compile("[\ud800-\udfff]")


class Document(NamedTuple):
    """One document as it was read: its id and its fields."""

    name: str
    fields: dict[str, str]


@local_files
def read_documents(
    source: str,
    encoding: str = "utf-8",
    *,
    is_alone: bool = True,
    is_lenient: bool = False,
    remedy: str = "Convert the file, or name its encoding.",
    note: Callable[[str], None] | None = None,
) -> Iterator[Document]:
    """Yield the documents of a file, or of all files of known types below a folder, in the order of their names.

    Markdown and HTML become text without markup; their first heading or ``<title>`` is the title.

    Parameters
    ----------
    source : str
        A file, ``"-"`` for standard input, or a folder; files whose names begin with a dot, and links to files outside
        of the folder, are skipped.
    encoding : str, default="utf-8"
    is_alone : bool, default=True
        Whether this is the only source. Files are named by their path in the folder; with several sources, preceded by
        the path of the folder.
    is_lenient : bool, default=False
        Whether bytes that are invalid in this encoding become U+FFFD; otherwise they raise an error.
    remedy : str
        The last sentence of the error for invalid bytes.
    note : callable, default=None
        Called with a line of text about skipped files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from plackett.data.documents.read import read_documents
    >>> size = Path("boats.md").write_text("They *float*.")
    >>> [document.fields["body"] for document in read_documents("boats.md")]
    ['They float.']
    """
    if not os.path.isdir(source):
        yield from _documents_of_file(source, source, encoding, is_lenient, remedy)
        return
    files = _visible_files(source)
    texts = [path for path in files if _kind(path.name) in KNOWN]
    if not texts:
        raise ValueError(f"the folder {source!r} holds no text: no file that ends in {', '.join(KNOWN)}.")
    for path in texts:
        name = (path.relative_to(source) if is_alone else path).as_posix()
        yield from _documents_of_file(str(path), name, encoding, is_lenient, remedy)
    others = Counter(path.suffix.lower() or "no extension" for path in files if _kind(path.name) not in KNOWN)
    if others and note is not None:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in others.most_common(5))
        note(f"files of other types in {source} were skipped: {kinds}{', …' if len(others) > 5 else ''}")


def _visible_files(folder: str) -> list[Path]:
    """Return the files below a folder by name, without hidden ones and links to files outside of it."""
    root = Path(folder).resolve()
    return [
        path
        for path in sorted(Path(folder).rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.resolve().is_relative_to(root)
        and path.is_file()
    ]


def _kind(name: str) -> str:
    """Return the extension of a file name, without that of a compression."""
    path = Path(name.lower())
    return (Path(path.stem) if path.suffix in COMPRESSED else path).suffix


def files_of(source: str) -> list[Path]:
    """Return the files that ``read_documents`` reads, in its order."""
    if not os.path.isdir(source):
        return [Path(source)]
    return [path for path in _visible_files(source) if _kind(path.name) in KNOWN]


def _documents_of_file(path: str, name: str, encoding: str, is_lenient: bool, remedy: str) -> Iterator[Document]:
    text, kind = read_text(path, encoding, is_lenient=is_lenient, remedy=remedy), _kind(path)
    if is_stream(path):  # its name does not contain its type
        name, kind = name_of(path), ".jsonl" if text.lstrip().startswith("{") else ".txt"
    if kind == ".json" and text.lstrip().startswith("["):
        yield from _numbered(name, _json_array(path, text))
    elif kind in (".jsonl", ".ndjson", ".json"):
        yield from _numbered(name, json_lines(path, text.split("\n")))
    elif kind in (".csv", ".tsv"):
        yield from _numbered(name, _csv_rows(path, text, kind))
    else:
        title, body = "", text
        if kind in MARKDOWN:
            title, body = text_of_markdown(text)
        elif kind in HTML:
            title, body = text_of_html(text)
        name = as_text(name)  # of a file whose name is not UTF-8, too
        yield Document(name, {"title": as_text(title) or Path(name).stem, "body": as_text(body)})


def read_text(
    source: str | os.PathLike | IO,
    encoding: str = "utf-8",
    *,
    is_lenient: bool = False,
    remedy: str = "Convert the file first.",
) -> str:
    """Return the text of a file, without a byte order mark."""
    with open_bytes(source) as file:
        content = file.read()
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if is_lenient:
            return content.decode(_declared(content) or encoding, "replace").removeprefix("\ufeff")
        line = content.count(b"\n", 0, error.start) + 1
        raise DataFormatError(name_of(source), line, f"this is not {encoding.upper()} text. {remedy}") from None


def _declared(content: bytes) -> str | None:
    """Return the encoding declared by the first bytes: by a byte order mark, or as in web pages."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    found = _CHARSET.search(content, 0, _HEAD)
    try:
        return None if found is None else codecs.lookup(found[1].decode("ascii")).name
    except LookupError:
        return None


def as_text(text: str) -> str:
    """Return the text with U+FFFD for null bytes and lone surrogates, which files and databases cannot store."""
    text = text.replace("\0", "\ufffd")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def json_lines(name: str, lines: Iterable[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield ``(line, object)`` of each line that is not empty."""
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
    """Yield ``(number from 1, object)`` of each object of an array."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(name, getattr(error, "lineno", None), f"this is not JSON: {error}.") from None
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataFormatError(name, None, f"entry {number} of the array is {str(row)[:60]!r}, not an object.")
        yield number, row


def _csv_rows(name: str, text: str, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    first = text.partition("\n")[0]
    # a semicolon if the header has only that, as spreadsheets in many countries write it
    delimiter = "\t" if kind == ".tsv" else ";" if ";" in first and "," not in first else ","
    (_, columns), *rows = csv_rows(text, name, separator=delimiter, longest=MAX_FIELD) or [(1, [])]
    if len(set(columns)) < len(columns):
        raise DataFormatError(name, 1, f"column names must be unique: {', '.join(columns)}.")
    for number, row in rows:
        if len(row) != len(columns):
            raise DataFormatError(name, number, f"this row does not have {len(columns)} cells like the header.")
        yield number, dict(zip(columns, row, strict=True))


def _numbered(name: str, rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[Document]:
    """Yield rows as documents; a row without an id is named by its file and line."""
    for number, row in rows:
        key = id_key(row)
        texts = {
            as_text(field): as_text(text)
            for field, value in row.items()
            if field not in ID_KEYS and (text := _text(value)) is not None
        }
        yield Document(as_text(f"{name}:{number}" if key is None else str(row[key])), texts)


def id_key(row: dict[str, Any]) -> str | None:
    """Return the key of the id of a row, or None."""
    return next((key for key in ID_KEYS if row.get(key) not in (None, "")), None)


def _text(value: Any) -> str | None:
    """Return text, or a list of sentences as one text; None for other values."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return value if isinstance(value, str) else None


def columns_of(documents: list[Document], sources: Sequence[str]) -> dict[str, list[str]]:
    """Return a list of texts per field, ``""`` for documents without it."""
    names = dict.fromkeys(field for document in documents for field in document.fields)
    if not names:
        raise ValueError(f"{', '.join(sources)} holds no document with text.")
    return {field: [document.fields.get(field, "") for document in documents] for field in names}
