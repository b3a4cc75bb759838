"""Compressed files by their first bytes (to read) or their extension (to write): gzip, xz, bzip2 and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from typing import Any, BinaryIO

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError

COMPRESSED = (".gz", ".xz", ".zst", ".bz2")  # file extensions
BLOCK = 1 << 20
_ZSTD_STEP = 1 << 10  # compressed bytes at a time: 4 of them may expand to 128 KiB


def decompressed(file: Any, name: str) -> Any:
    """Return a reader of the content of a buffered file; ``name`` is for messages."""
    head = file.peek(10)[:10]
    inner: Any
    if head.startswith(b"\x1f\x8b"):
        inner = gzip.GzipFile(fileobj=file)
    elif head.startswith(b"\xfd7zXZ\x00"):
        inner = lzma.LZMAFile(file)  # noqa: SIM115
    elif head.startswith(b"BZh") and head[4:] == b"1AY&SY":  # "BZh" alone may begin a text
        inner = bz2.BZ2File(file)
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        inner = _ZstdFile(file, import_optional("zstandard", extra="zstd", needed_for=f"Reading {name}"))
    else:
        return file
    return io.BufferedReader(_Named(inner, name), BLOCK)


def compressed(file: BinaryIO, path: str) -> Any:
    """Return a writer of a file that compresses as its extension says."""
    ending = os.path.splitext(path)[1].lower()
    if ending == ".gz":
        # no name and time, so that equal contents give equal files
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    if ending == ".xz":
        return lzma.LZMAFile(file, "wb")
    if ending == ".bz2":
        return bz2.BZ2File(file, "wb")
    if ending == ".zst":
        zstd = import_optional("zstandard", extra="zstd", needed_for=f"Writing {path}")
        return zstd.ZstdCompressor().stream_writer(file, closefd=False)
    return file


class _Named(io.RawIOBase):
    """A reader whose errors about its content name the file."""

    def __init__(self, inner: Any, name: str):
        self._inner, self._name = inner, name

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        try:
            return self._inner.readinto(target)
        except (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            reason = f"the compressed data are damaged or truncated ({error})."
            raise DataFormatError(self._name, None, reason) from error


class _ZstdFile:
    """Consecutive frames; zstandard's own reader takes the end of a truncated file for the end of the content."""

    def __init__(self, file: BinaryIO, zstd: Any):
        self._file, self._zstd = file, zstd
        self._frame: Any = None
        self._ready = self._rest = b""

    def readinto(self, target: Any) -> int:
        while not self._ready:
            block, self._rest = self._rest or self._file.read(_ZSTD_STEP), b""
            if not block and self._frame is None:
                return 0
            if not block:
                raise EOFError("the last frame has no end")
            if self._frame is None:
                self._frame = self._zstd.ZstdDecompressor().decompressobj()
            try:
                self._ready = self._frame.decompress(block)
            except self._zstd.ZstdError as error:
                raise ValueError(error) from error
            if self._frame.eof:
                self._rest, self._frame = self._frame.unused_data, None
        n = min(len(target), len(self._ready))
        target[:n], self._ready = self._ready[:n], self._ready[n:]
        return n
