"""Decompression within bounds, so that a small file cannot fill the memory.

What expands to more than ``MOST_BYTES`` and more than ``MOST_TIMES`` its size is refused, and so are lines, and texts
that are read as a whole, that would take much memory.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError

BLOCK = 1 << 20
LONGEST_LINE = 1 << 25  # bytes of one line of a compressed text
WHOLE_BYTES, WHOLE_TIMES = 1 << 26, 8  # of a text that is read at once: these bytes, and 8 for each compressed byte
MOST_BYTES, MOST_TIMES = 1 << 27, 200
_STEP = 1 << 16  # compressed bytes read at a time
_MEMORY = 1 << 27  # of a decompressor, which the head of a file may ask for: xz -9 needs 65 MiB, zstd --ultra 128 MiB
_ZSTD_STEP = 1 << 10  # compressed bytes at a time: they may stand for 128 KiB for every 4


def unpacker_of(head: bytes, name: str) -> Callable[[], Any] | None:
    """What makes decompressors for a file that begins with these (at least 10) bytes; None where it is plain."""
    if head.startswith(b"\x1f\x8b"):
        return lambda: _Zlib(zlib.decompressobj(wbits=31))
    if head.startswith(b"\xfd7zXZ\x00"):
        import lzma

        return lambda: lzma.LZMADecompressor(memlimit=_MEMORY)
    if head.startswith(b"BZh") and head[4:] == b"1AY&SY":  # "BZh" alone may begin a text
        import bz2

        return bz2.BZ2Decompressor
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        zstd = import_optional("zstandard", extra="zstd", needed_for=f"Reading {name}")
        return lambda: _Zstd(zstd.ZstdDecompressor(max_window_size=_MEMORY).decompressobj())
    return None


class _Zlib:
    """zlib's decompressor with the interface of those of ``bz2`` and ``lzma``."""

    def __init__(self, inner: Any):
        self._inner = inner

    def decompress(self, packed: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + packed, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class _Zstd:
    """zstandard's decompressor, which cannot bound its output, fed with little at a time."""

    def __init__(self, inner: Any):
        self._inner, self._held = inner, memoryview(b"")

    def decompress(self, packed: bytes, max_length: int) -> bytes:
        if packed:
            self._held = memoryview(packed)
        step, self._held = self._held[:_ZSTD_STEP], self._held[_ZSTD_STEP:]
        return self._inner.decompress(step)

    @property
    def needs_input(self) -> bool:
        return not self._held

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._held


class _Unpacking(io.RawIOBase):
    """Compressed streams one after the other, with zeros between them at most; notices a file that was cut off."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any], name: str):
        self._file, self._make, self._name = file, make, name
        self._unpacker = make()
        self._ready = memoryview(b"")
        self.n_packed = self.n_unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            packed = b""
            if self._unpacker.eof:
                packed = self._unpacker.unused_data.lstrip(b"\0")
                while not packed:
                    block = self._take()
                    if not block:
                        return 0
                    packed = block.lstrip(b"\0")
                self._unpacker = self._make()
            elif self._unpacker.needs_input:
                packed = self._take()
                if not packed:
                    raise self._damaged("the last stream has no end")
            self._ready = memoryview(self._unpack(packed))
        n = min(len(target), len(self._ready))
        target[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def _take(self) -> bytes:
        block = self._file.read1(_STEP)  # type: ignore[attr-defined]
        self.n_packed += len(block)
        return block

    def _unpack(self, packed: bytes) -> bytes:
        try:
            content = self._unpacker.decompress(packed, BLOCK)
        except MemoryError:
            raise
        except Exception as error:  # each package has its own
            raise self._damaged(str(error)) from error
        self.n_unpacked += len(content)
        if self.n_unpacked > max(MOST_BYTES, MOST_TIMES * self.n_packed):
            raise self.too_large(f"{self.n_unpacked // self.n_packed} times its size")
        return content

    def _damaged(self, reason: str) -> DataFormatError:
        message = f"the compressed data are damaged or end too early ({reason})."
        return DataFormatError(self._name, None, message)

    def too_large(self, what: str) -> DataFormatError:
        """The error about a file that expands too far."""
        message = f"the compressed data expand to {what}; this is refused. If they are meant so, unpack the file first."
        return DataFormatError(self._name, None, message)


class Unpacked(io.BufferedReader):
    """The decompressed content of ``file``, bounded where a reader asks for a line, or for all of it."""

    raw: _Unpacking

    def __init__(self, file: BinaryIO, make: Callable[[], Any], name: str):
        super().__init__(_Unpacking(file, make, name), BLOCK)

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(LONGEST_LINE + 1 if size is None or size < 0 else size)
        self.check_line(len(line))
        return line

    def check_line(self, length: int) -> None:
        """Refuse a line of so many bytes."""
        if length > LONGEST_LINE:
            raise self.raw.too_large(f"a line of more than {LONGEST_LINE >> 20} MiB")

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size >= 0:
            return super().read(size)
        pieces, n_read = [], 0
        while piece := super().read(BLOCK):
            pieces.append(piece)
            n_read += len(piece)
            if n_read > WHOLE_BYTES + WHOLE_TIMES * self.raw.n_packed:
                raise self.raw.too_large(f"more than {n_read >> 20} MiB, which would have to be in memory at once")
        return b"".join(pieces)
