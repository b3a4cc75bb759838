"""Opening what users name: paths, ``"-"``, file objects; plain or compressed."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError

BLOCK = 1 << 20


def name_of(source: object) -> str:
    """What to call ``source`` in a message."""
    if source == "-":
        return "standard input"
    if isinstance(source, (str, os.PathLike)):
        return str(os.fspath(source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{type(source).__name__}>"


@contextmanager
def open_bytes(source: str | os.PathLike | IO) -> Iterator[BinaryIO]:
    """A binary file that reads ``source``, decompressed when it begins as gzip, xz, bzip2 or Zstandard files do.

    The first bytes decide, never the name. What was opened here is closed here; file objects of the caller stay open.

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
    # a BufferedReader that is collected closes what it wraps, so a caller's file is detached from it at the end
    buffered: Any = open(source, "rb") if is_path else _buffered(source)  # type: ignore[arg-type]  # noqa: SIM115
    try:
        yield _decompressed(buffered, name_of(source))
    except _damage() as error:
        message = f"the compressed data are damaged or end too early ({error})."
        raise DataFormatError(name_of(source), None, message) from error
    except OSError as error:
        if error.errno is not None:  # bz2 raises an OSError without one
            raise
        message = f"the compressed data are damaged or end too early ({error})."
        raise DataFormatError(name_of(source), None, message) from error
    finally:
        if is_path:
            buffered.close()
        elif buffered is not source and buffered is not getattr(source, "buffer", None) and source != "-":
            buffered.detach()


def _damage() -> tuple[type[Exception], ...]:
    """What the decompressors raise."""
    try:
        import lzma
    except ImportError:  # a Python that was built without it
        return EOFError, zlib.error, gzip.BadGzipFile
    return EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError


def _buffered(source: Any) -> Any:
    """A reader of a caller's file object that can look ahead."""
    if source == "-":
        return sys.stdin.buffer
    if hasattr(source, "buffer"):  # a text file over a binary one
        return source.buffer
    if isinstance(source, io.BufferedReader):
        return source
    if isinstance(source, (io.RawIOBase, io.BytesIO)):
        return io.BufferedReader(source)
    if not hasattr(source, "read"):
        raise TypeError(f"a path, '-' or a file object is needed, not {type(source).__name__}.")
    content = source.read()
    return io.BufferedReader(io.BytesIO(content.encode() if isinstance(content, str) else content))


def _decompressed(file: io.BufferedReader, name: str) -> Any:
    if not file.seekable():  # a pipe may deliver its first bytes one by one
        file = io.BufferedReader(_Prefixed(file.read(10), file), BLOCK)
    head = file.peek(10)[:10]
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lzma.LZMAFile(file)
    if head.startswith(b"BZh") and head[4:] == b"1AY&SY":  # "BZh" alone may begin a text
        import bz2

        return bz2.BZ2File(file)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return io.BufferedReader(_ZstdReader(file, name), BLOCK)
    return file


class _Prefixed(io.RawIOBase):
    """Bytes that were read already, and then the file that they came from."""

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


class _ZstdReader(io.RawIOBase):
    """Frames of Zstandard one after the other; unlike the package's own reader it notices a file that was cut off."""

    def __init__(self, file: BinaryIO, name: str):
        self._zstd = import_optional("zstandard", extra="zstd", needed_for=f"Reading {name}")
        self._file, self._name = file, name
        self._frame = self._zstd.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target) -> int:
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            packed = packed or self._file.read(BLOCK)
            if not packed:
                if not self._frame.eof:
                    raise EOFError("Zstandard frame without an end")
                return 0
            if self._frame.eof:
                self._frame = self._zstd.ZstdDecompressor().decompressobj()
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._zstd.ZstdError as error:
                raise EOFError(str(error)) from error
        n = min(len(target), len(self._ready))
        target[:n], self._ready = self._ready[:n], self._ready[n:]
        return n


@contextmanager
def write_bytes(target: str | os.PathLike | IO) -> Iterator[BinaryIO]:
    """A binary file that writes ``target``, compressed when its name ends in .gz, .xz, .bz2 or .zst.

    A path appears, or changes, only when everything was written: an error leaves what stood there before.

    Parameters
    ----------
    target : path, ``"-"`` for standard output, or a file object (binary or text)
    """
    if isinstance(target, (str, os.PathLike)) and target != "-":
        path = os.path.realpath(os.fspath(target))  # through a link to the file itself
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "wb") as file:  # a pipe or a device cannot be replaced
                yield file
            return
        yield from _replacing(path)
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


def _replacing(path: str) -> Iterator[BinaryIO]:
    draft = f"{path}.{os.getpid()}.{secrets.token_hex(4)}.part"  # threads, and other machines, may write here as well
    try:
        with open(draft, "xb") as plain:
            if os.path.exists(path):
                os.fchmod(plain.fileno(), stat.S_IMODE(os.stat(path).st_mode))
            packed = _compressed(plain, path)
            yield packed
            if packed is not plain:
                packed.close()
            plain.flush()
            os.fsync(plain.fileno())
        os.replace(draft, path)
    except BaseException:
        if os.path.exists(draft):
            os.unlink(draft)
        raise


def _compressed(file: BinaryIO, path: str):
    ending = os.path.splitext(path)[1].lower()
    if ending == ".gz":
        # without name and time, so that equal contents give equal files
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    if ending == ".xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if ending == ".bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if ending == ".zst":
        zstd = import_optional("zstandard", extra="zstd", needed_for=f"Writing {path}")
        return zstd.ZstdCompressor().stream_writer(file, closefd=False)
    return file
