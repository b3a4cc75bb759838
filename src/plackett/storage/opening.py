"""Opening paths, ``"-"`` and file objects for reading and writing, plain or compressed."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from plackett.storage.atomic import draft_of, publish
from plackett.storage.compression import BLOCK, compressed, decompressed
from plackett.storage.remote import COPIES, copy_of_pipe, head_of, is_remote, uploaded


def name_of(source: object) -> str:
    """Return the name of ``source`` for messages."""
    if source == "-":
        return "standard input"
    if isinstance(source, (str, os.PathLike)):
        path = str(os.fspath(source))
        return COPIES.get(path, path)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


@contextmanager
def open_bytes(source: str | os.PathLike | IO) -> Iterator[BinaryIO]:
    """Yield a binary file that reads ``source``, decompressed if it is gzip, xz, bzip2 or Zstandard.

    The first bytes decide, not the name. File objects of the caller stay open.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or a file object (binary or text)

    Examples
    --------
    >>> import gzip, io
    >>> with open_bytes(io.BytesIO(gzip.compress(b"1 0 d7 2"))) as file:
    ...     file.read()
    b'1 0 d7 2'
    """
    is_path = isinstance(source, (str, os.PathLike)) and source != "-"
    # a BufferedReader closes the file that it wraps when it is deleted, so a caller's file is detached at the end
    buffered: Any = open(source, "rb") if is_path else _buffered(source)  # type: ignore[arg-type]  # noqa: SIM115
    try:
        file = buffered
        if not file.seekable():  # a pipe may deliver its first bytes one by one
            file = io.BufferedReader(_Prefixed(file.read(10), file), BLOCK)
        yield decompressed(file, name_of(source))
    finally:
        if is_path:
            buffered.close()
        elif buffered is not source and buffered is not getattr(source, "buffer", None) and source != "-":
            buffered.detach()


def is_stream(source: object) -> bool:
    """Return whether ``source`` is standard input, a pipe or a device, whose bytes can be read only once."""
    if source == "-":
        return True
    return (
        isinstance(source, (str, os.PathLike))
        and os.path.exists(source)
        and not (os.path.isfile(source) or os.path.isdir(source))
    )


def rereadable(source: Any) -> Any:
    """Return ``source`` if it can be opened again, else the path of a copy, which the process deletes at its end."""
    return copy_of_pipe(source, name_of(source)) if is_stream(source) else source


def first_bytes(source: str | os.PathLike, n: int) -> bytes:
    """Return the first ``n`` bytes of a regular file, without decompression; those of anything else are empty."""
    if is_remote(source):
        return head_of(str(source), n)
    if not os.path.isfile(source):
        return b""
    with open(source, "rb") as file:
        return file.read(n)


def _buffered(source: Any) -> Any:
    """Return a reader of a caller's file object that can look ahead."""
    if source == "-":
        return sys.stdin.buffer
    if hasattr(source, "buffer"):  # a text file over a binary one
        return source.buffer
    if isinstance(source, io.BufferedReader):
        return source
    if isinstance(source, (io.RawIOBase, io.BytesIO)):
        return io.BufferedReader(source)
    if not hasattr(source, "read"):
        raise TypeError(f"source is a {type(source).__name__}; expected a path, '-' or a file object.")
    content = source.read()
    return io.BufferedReader(io.BytesIO(content.encode() if isinstance(content, str) else content))


class _Prefixed(io.RawIOBase):
    """Bytes that were read already, followed by the rest of their file."""

    def __init__(self, head: bytes, file: BinaryIO):
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def readinto(self, target) -> int | None:
        if self._head:
            n = min(len(target), len(self._head))
            target[:n], self._head = self._head[:n], self._head[n:]
            return n
        return self._file.readinto1(target)  # type: ignore[attr-defined]


@contextmanager
def write_bytes(target: str | os.PathLike | IO) -> Iterator[BinaryIO]:
    """Yield a binary file that writes ``target``, compressed if its name ends in .gz, .xz, .bz2 or .zst.

    A path is replaced only after everything has been written; an error leaves the previous file unchanged. The target
    is a path, ``"-"`` for standard output, or a file object (binary or text).
    """
    if is_remote(target):
        with uploaded(target) as local, write_bytes(local) as file:
            yield file
        return
    if isinstance(target, (str, os.PathLike)) and target != "-":
        path = os.path.realpath(os.fspath(target))
        if os.path.exists(path) and not os.path.isfile(path):
            with _naming(path), open(path, "wb") as file:  # a pipe or a device cannot be replaced
                yield file
            return
        with _naming(path), draft_of(path) as plain:
            packed = compressed(plain, path)
            yield packed
            if packed is not plain:
                packed.close()
            publish(plain, path)
        return
    stream: Any = sys.stdout if target == "-" else target
    if isinstance(stream, io.TextIOBase) and not hasattr(stream, "buffer"):
        content = io.BytesIO()
        yield content
        stream.write(content.getvalue().decode("utf-8", "surrogateescape"))
        return
    binary = getattr(stream, "buffer", stream)
    stream.flush()
    yield binary
    binary.flush()


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the path to an error about the disk, which has none."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and error.filename is None:
            error.filename = path
        raise
