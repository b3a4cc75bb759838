"""``plackett index``: index texts for ``plackett search``."""

from __future__ import annotations

import os
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

import plackett as pk
from plackett._names import count_of
from plackett._progress import Progress, is_watched
from plackett.cli.shared import completion, files, options, output
from plackett.cli.shared.options import argument, command, option, written
from plackett.storage.remote import local_files

if TYPE_CHECKING:
    from plackett.data.documents.collections import TextCollection
    from plackett.data.documents.read import Document

BUILT_IN = "stdlib"
COLLECTIONS = ("cranfield", "cisi", "cacm", "adi")
LINKS = {"python-stdlib": "containment", "cacm": "citation", "cisi": "cocitation"}  # used for PageRank


@command()
def index(
    sources: list[str] = argument(
        "Folders or files: text, Markdown, HTML, JSONL, JSON, CSV, TSV; stdlib; a collection.",
        metavar="SOURCE",
        required=True,
        complete=completion.texts,
    ),
    target: str = written("index", "The file of the index.", required=True),
    positions: bool = option("Store word positions, for phrases in --boolean."),
    stem: str | None = option("A Snowball stemmer, such as english.", metavar="LANGUAGE"),
    all_words: bool = option("Keep English stop words."),
    encoding: str = option("Encoding of the files.", metavar="NAME", default="utf-8", panel=options.FILES),
    fields: str | None = option("Fields to index, with commas.", metavar="NAMES", show_default="all"),
    collection: str | None = option(
        f"Format of the folder SOURCE: {', '.join(COLLECTIONS)}.", choice=COLLECTIONS, panel=options.FILES
    ),
    as_json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Index texts, so that they can be searched."""
    from plackett.data.documents.read import columns_of
    from plackett.text.index import check_target

    start = time.perf_counter()
    wanted = None if fields is None else [name.strip() for name in fields.split(",") if name.strip()]
    if wanted == []:
        raise click.BadParameter("--fields names no field.")
    if collection is not None and len(sources) != 1:
        raise click.BadParameter("--collection takes one folder as SOURCE.")
    _check_encoding(encoding)
    known = _collection(sources, collection)
    check_target(target)  # fail before the work
    analyser = pk.text.Analyser(stop_words=None if all_words else "english", stemmer=stem)
    texts: Any = known
    if known is None:
        documents = _read(sources, encoding, is_quiet=quiet)
        texts = columns_of(documents, sources)
    n_docs = len(documents) if known is None else known.n_docs
    with Progress("indexing", 1.0, is_shown=is_watched() and not quiet) as bar:
        built = pk.text.build_index(
            texts,
            docid=None if known is not None else [one.name for one in documents],
            fields=wanted,
            analyser=analyser,
            positions=positions,
            links=None if known is None else LINKS.get(known.name),
            progress=lambda n_done, n_texts: bar.advance_to(n_done / n_texts, count_of(n_docs, "document")),
        )
    built.save(target)
    size, seconds = local_files(os.path.getsize)(target), time.perf_counter() - start
    found: dict[str, Any] = {"documents": built.n_docs, "terms": built.n_terms, "fields": built.fields}
    if as_json:
        output.write_json({**found, "bytes": size, "seconds": round(seconds, 3)})
        return
    rows = [(name, f"{value:,}" if isinstance(value, int) else ", ".join(value)) for name, value in found.items()]
    output.write_pairs([*rows, ("size", f"{size / 1e6:.1f} MB"), ("seconds", f"{seconds:.1f}")])
    if not quiet:
        output.next_step(f"Search it: plackett search {shlex.quote(target)} WORDS")


def _read(sources: list[str], encoding: str, *, is_quiet: bool) -> list[Document]:
    """Return the documents of files and folders."""
    from plackett.data.documents.read import read_documents

    note = None if is_quiet else output.note
    is_alone, remedy = len(sources) == 1, "Convert the file, or give its --encoding."
    documents: list[Document] = []
    with Progress("reading", None, is_shown=is_watched() and not is_quiet) as bar:
        for source in sources:
            for one in read_documents(source, encoding, is_alone=is_alone, remedy=remedy, note=note):
                documents.append(one)
                bar.show(count_of(len(documents), "document"))
    return documents


def load_collection(name: str) -> TextCollection | None:
    """Return the built-in collection or a known one from ``PLACKETT_DATA``; None for other names."""
    if os.path.exists(name):
        return None
    if name == BUILT_IN:
        return pk.datasets.read_stdlib()
    if name in COLLECTIONS:
        return pk.datasets.load(name)
    return None


def _collection(sources: list[str], collection: str | None) -> TextCollection | None:
    if collection is not None:
        from plackett.data.documents.collections import read_smart

        files.check_exists(sources[0])
        return read_smart(collection, sources[0])
    loaded = [load_collection(source) for source in sources]
    if loaded[0] is not None and len(sources) == 1:
        return loaded[0]
    for source, found in zip(sources, loaded, strict=True):
        if found is not None:
            raise ValueError(f"{source} is a collection; index it separately.")
    files.check_exists(*sources)
    return None


def _check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise click.BadParameter(f"--encoding {encoding!r} is unknown; try utf-8, latin-1 or utf-16.") from None
