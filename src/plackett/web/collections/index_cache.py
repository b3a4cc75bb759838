"""Indexes that were built before, kept by what they were built from."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from plackett.data.documents import markup, stdlib_corpus
from plackett.data.documents import read as documents
from plackett.exceptions import DataFormatError
from plackett.text import TextIndex, analyse, build, open_index

_BLOCK = 1 << 20
# whose words decide what an index holds
_SOURCES = (documents, markup, stdlib_corpus, analyse, build)


def kept_index(cache: str | os.PathLike | None, name: str, key: str, make: Callable[[], TextIndex]) -> TextIndex:
    """The index under ``key`` in the folder ``cache``; else what ``make`` gives, and kept there for the next time.

    A damaged index is built anew, and one of the same name under another key is deleted. Whatever keeps an index from
    being written (no room, no right to) costs the next start some time and nothing else.
    """
    if cache is None:
        return make()
    start = hashlib.sha256(name.encode()).hexdigest()[:16]
    folder = Path(cache) / f"{start}-{key}"
    with contextlib.suppress(DataFormatError, OSError):
        return open_index(folder)
    index = make()
    with contextlib.suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)
        index.save(folder)
        for other in Path(cache).glob(f"{start}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        return open_index(folder)  # mapped into memory, as after the next start
    return index


def content_key(source: str) -> str:
    """A key of the names and bytes of all files that ``read_documents`` reads."""
    digest = _start()
    for path in documents.files_of(source):
        digest.update(os.fsencode(path) + b"\0")
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def stdlib_key() -> str:
    """A key of all that the built-in corpus follows from: this Python on this system."""
    digest = _start()
    digest.update("\0".join((sys.version, sys.platform, platform.machine(), sys.prefix)).encode())
    return digest.hexdigest()[:32]


def _start():
    """The digest of our own words: another version of them may read other things from the same files."""
    digest = hashlib.sha256()
    for module in _SOURCES:
        with contextlib.suppress(OSError, TypeError):
            digest.update(Path(str(module.__file__)).read_bytes())
    return digest
