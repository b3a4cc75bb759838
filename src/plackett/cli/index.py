"""``plackett index``: texts become a folder that ``plackett search`` looks through."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from plackett.data.text_collections import TextCollection

BUILT_IN = "stdlib"
COLLECTIONS = ("cranfield", "cisi", "cacm", "adi")
LINKS = {"python-stdlib": "containment", "cacm": "citation", "cisi": "cocitation"}  # the kind that PageRank follows
ID_KEYS = ("id", "_id", "docid", "doc_id")
TEXTS = (".txt", ".text", ".md", ".markdown", ".rst")
TABLES = (".jsonl", ".ndjson", ".csv", ".tsv")
PACKED = (".gz", ".xz", ".bz2", ".zst")
HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)


class Document(NamedTuple):
    """One document as it was read: its id and its fields."""

    name: str
    fields: dict[str, str]


def index(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folders or files: text, Markdown, JSONL, CSV, TSV; or stdlib, or a known collection's name.",
        ),
    ],
    target: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the index goes.")],
    positions: Annotated[
        bool, typer.Option("--positions", help="Keep the order of words, which phrases in --boolean need.")
    ] = False,
    stem: Annotated[
        str | None, typer.Option("--stem", metavar="LANGUAGE", help="A Snowball stemmer, such as english.")
    ] = None,
    fields: Annotated[
        str | None, typer.Option("--fields", help="Fields that are indexed, with commas; all when not given.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help=f"What SOURCE is the folder of: {', '.join(COLLECTIONS)}.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make texts searchable: an index of their words in a folder."""
    from plackett.cli import output

    start = time.perf_counter()
    wanted = None if fields is None else [name.strip() for name in fields.split(",") if name.strip()]
    if wanted == []:
        raise typer.BadParameter("--fields names no field.")
    if collection is not None and (collection not in COLLECTIONS or len(sources) != 1):
        raise typer.BadParameter(f"--collection takes one of {', '.join(COLLECTIONS)}, and one folder as SOURCE.")
    output.tell_when_compiling()
    from plackett.text import Analyser, build_index

    analyser = Analyser(stemmer=stem)
    known = _collection(sources, collection)
    if known is None:
        documents = [document for source in sources for document in _documents(source)]
        columns = _columns(documents, sources)
        built = build_index(
            columns, docid=[one.name for one in documents], fields=wanted, analyser=analyser, positions=positions
        )
    else:
        links = LINKS.get(known.name)
        built = build_index(known, fields=wanted, analyser=analyser, positions=positions, links=links)
    built.save(target)
    size = sum(file.stat().st_size for file in Path(target).iterdir())
    seconds = time.perf_counter() - start
    if as_json:
        output.write_json(
            {"documents": built.n_docs, "terms": built.n_terms, "fields": built.fields, "bytes": size,
             "seconds": round(seconds, 3)}
        )  # fmt: skip
        return
    output.write_pairs(
        [
            ("documents", f"{built.n_docs:,}"),
            ("terms", f"{built.n_terms:,}"),
            ("fields", ", ".join(built.fields)),
            ("size", f"{size / 1e6:.1f} MB"),
            ("seconds", f"{seconds:.1f}"),
        ]
    )


def load_collection(name: str) -> TextCollection | None:
    """The built-in collection, or a known one found in ``PLACKETT_DATA``; None where ``name`` is neither's."""
    if os.path.exists(name):
        return None
    if name == BUILT_IN:
        from plackett.data.stdlib_corpus import read_stdlib

        return read_stdlib()
    if name in COLLECTIONS:
        from plackett.data import datasets

        return datasets.load(name)  # type: ignore[return-value]
    return None


def _collection(sources: list[str], collection: str | None) -> TextCollection | None:
    from plackett.cli import inputs

    if collection is not None:
        from plackett.data import text_collections

        inputs.check_exists(sources[0])
        return getattr(text_collections, f"read_{collection}")(sources[0])
    loaded = [load_collection(source) for source in sources]
    if loaded[0] is not None and len(sources) == 1:
        return loaded[0]
    for source, found in zip(sources, loaded, strict=True):
        if found is not None:
            raise ValueError(f"{source} is a collection of its own; index it alone.")
    inputs.check_exists(*sources)
    return None


def _documents(source: str) -> Iterator[Document]:
    """The documents of a file, or of all files of known kinds below a folder, in the order of their names."""
    if not os.path.isdir(source):
        yield from _documents_of_file(source, source)
        return
    found = 0
    for path in sorted(Path(source).rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and _kind(path.name) in TEXTS + TABLES and not any(p.startswith(".") for p in inside.parts):
            found += 1
            yield from _documents_of_file(str(path), inside.as_posix())
    if not found:
        raise ValueError(f"the folder {source!r} holds no text: no file that ends in {', '.join(TEXTS + TABLES)}.")


def _kind(name: str) -> str:
    """The end of a file's name, without that of a compression."""
    path = Path(name.lower())
    return (Path(path.stem) if path.suffix in PACKED else path).suffix


def _documents_of_file(path: str, name: str) -> Iterator[Document]:
    kind, text = _kind(path), read_text(path)
    if path == "-":  # has no name that could tell
        name, kind = "standard input", ".jsonl" if text.lstrip().startswith("{") else ".txt"
    if kind in (".jsonl", ".ndjson"):
        yield from _numbered(name, json_lines(path, text))
    elif kind in (".csv", ".tsv"):
        yield from _numbered(name, _csv_rows(path, text, "\t" if kind == ".tsv" else ","))
    else:
        heading = HEADING.search(text) if kind in (".md", ".markdown") else None
        yield Document(name, {"title": heading[1] if heading else Path(name).stem, "body": text})


def read_text(source: str) -> str:
    """A file's text, which must be UTF-8."""
    from plackett.data.opening import name_of, open_bytes
    from plackett.exceptions import DataFormatError

    with open_bytes(source) as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataFormatError(name_of(source), line, "this is not UTF-8 text. Convert the file first.") from None


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


def _columns(documents: list[Document], sources: list[str]) -> dict[str, list[str]]:
    """One list of texts per field that some document has, ``""`` where another lacks it."""
    names = dict.fromkeys(field for document in documents for field in document.fields)
    if not names:
        raise ValueError(f"{', '.join(sources)} holds no document with text.")
    return {field: [document.fields.get(field, "") for document in documents] for field in names}
