"""Cache of text indexes, by the content of their documents."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs

from plackett.data.documents import markup, stdlib_corpus
from plackett.data.documents import read as documents
from plackett.exceptions import DataFormatError
from plackett.text import TextIndex, analyse, open_index
from plackett.text import build as build_module

_BLOCK = 1 << 20
# modules whose code determines the content of an index
_SOURCES = (documents, markup, stdlib_corpus, analyse, build_module)


def default_cache_folder() -> Path:
    """Return the user's cache folder: ``$XDG_CACHE_HOME/plackett``, or that of the system."""
    return platformdirs.user_cache_path("plackett", appauthor=False)


def cached_index(cache: str | os.PathLike | None, name: str, key: str, build: Callable[[], TextIndex]) -> TextIndex:
    """Return the index under ``key`` in the folder ``cache``, or build and cache it.

    A damaged index is rebuilt, and an index of the same name under another key is deleted. If the cache cannot be
    written, the index is built again at the next start.
    """
    if cache is None:
        return build()
    prefix = hashlib.sha256(name.encode()).hexdigest()[:16]
    path = Path(cache) / f"{prefix}-{key}.index"
    with contextlib.suppress(DataFormatError, OSError):
        return open_index(path)
    index = build()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        index.save(path)
        for other in path.parent.glob(f"{prefix}-*.index"):
            if other != path:
                other.unlink()
        return open_index(path)  # memory-mapped
    return index


def content_key(source: str) -> str:
    """Return a digest of the names and bytes of all files that ``read_documents`` reads."""
    digest = _code_digest()
    for path in documents.files_of(source):
        digest.update(os.fsencode(path) + b"\0")
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def stdlib_key() -> str:
    """Return a digest of what determines the built-in corpus: the Python and the system."""
    digest = _code_digest()
    digest.update("\0".join((sys.version, sys.platform, platform.machine(), sys.prefix)).encode())
    return digest.hexdigest()[:32]


def _code_digest():
    """Return a digest of our own source: another version may index the same files differently."""
    digest = hashlib.sha256()
    for module in _SOURCES:
        with contextlib.suppress(OSError, TypeError):
            digest.update(Path(str(module.__file__)).read_bytes())
    return digest
