"""Decompression within bounds, so that a small file cannot fill the memory.

A file that expands to more than ``MAX_BYTES`` and more than ``MAX_RATIO`` times its size is rejected. So are lines, and
texts that are read at once, that would take too much memory.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from plackett._optional import import_optional
from plackett.exceptions import DataFormatError

COMPRESSED = (".gz", ".xz", ".zst", ".bz2")  # file extensions
BLOCK = 1 << 20
MAX_LINE = 1 << 25  # bytes of one line of a compressed text
WHOLE_BYTES, WHOLE_RATIO = 1 << 26, 8  # of a text that is read at once: these bytes, and 8 per compressed byte
MAX_BYTES, MAX_RATIO = 1 << 27, 200
_STEP = 1 << 16  # compressed bytes read at a time
_MEMORY = 1 << 27  # of a decompressor, as requested by a file: xz -9 needs 65 MiB, zstd --ultra 128 MiB
_ZSTD_STEP = 1 << 10  # compressed bytes at a time: 4 of them may expand to 128 KiB


def decompressor_of(head: bytes, name: str) -> Callable[[], Any] | None:
    """Return a maker of decompressors for a file with these first 10 bytes; None for plain content."""
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


class _Adapted:
    """A decompressor with the interface of those of ``bz2`` and ``lzma``."""

    def __init__(self, inner: Any):
        self._inner = inner

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


class _Zlib(_Adapted):
    """zlib's decompressor."""

    def decompress(self, compressed: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + compressed, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail


class _Zstd(_Adapted):
    """zstandard's decompressor, which cannot bound its output, fed with small pieces."""

    _held = memoryview(b"")

    def decompress(self, compressed: bytes, max_length: int) -> bytes:
        if compressed:
            self._held = memoryview(compressed)
        step, self._held = self._held[:_ZSTD_STEP], self._held[_ZSTD_STEP:]
        return self._inner.decompress(step)

    @property
    def needs_input(self) -> bool:
        return not self._held

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data + self._held


class _Decompressing(io.RawIOBase):
    """Consecutive compressed streams, possibly with zeros between them; a truncated file is an error."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any], name: str):
        self._file, self._make, self._name = file, make, name
        self._decompressor = make()
        self._ready = memoryview(b"")
        self.n_compressed = self.n_decompressed = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            compressed = b""
            if self._decompressor.eof:
                compressed = self._decompressor.unused_data.lstrip(b"\0")
                while not compressed:
                    block = self._take()
                    if not block:
                        return 0
                    compressed = block.lstrip(b"\0")
                self._decompressor = self._make()
            elif self._decompressor.needs_input:
                compressed = self._take()
                if not compressed:
                    raise self._damaged("the last stream has no end")
            self._ready = memoryview(self._decompress(compressed))
        n = min(len(target), len(self._ready))
        target[:n], self._ready = self._ready[:n], self._ready[n:]
        return n

    def _take(self) -> bytes:
        block = self._file.read1(_STEP)  # type: ignore[attr-defined]
        self.n_compressed += len(block)
        return block

    def _decompress(self, compressed: bytes) -> bytes:
        try:
            content = self._decompressor.decompress(compressed, BLOCK)
        except MemoryError:
            raise
        except Exception as error:  # each package has its own
            raise self._damaged(str(error)) from error
        self.n_decompressed += len(content)
        if self.n_decompressed > max(MAX_BYTES, MAX_RATIO * self.n_compressed):
            raise self.too_large(f"{self.n_decompressed // self.n_compressed} times its size")
        return content

    def _damaged(self, reason: str) -> DataFormatError:
        message = f"the compressed data are damaged or truncated ({reason})."
        return DataFormatError(self._name, None, message)

    def too_large(self, what: str) -> DataFormatError:
        """Return the error for a file that expands too far."""
        advice = "If this is intended, decompress the file first."
        message = f"the compressed data expand to {what}, which is rejected. {advice}"
        return DataFormatError(self._name, None, message)


class Decompressed(io.BufferedReader):
    """The decompressed content of ``file``; lines and the whole content are bounded."""

    raw: _Decompressing

    def __init__(self, file: BinaryIO, make: Callable[[], Any], name: str):
        super().__init__(_Decompressing(file, make, name), BLOCK)

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(MAX_LINE + 1 if size is None or size < 0 else size)
        self.check_line(len(line))
        return line

    def check_line(self, length: int) -> None:
        """Reject a line of this many bytes if it is too long."""
        if length > MAX_LINE:
            raise self.raw.too_large(f"a line of more than {MAX_LINE >> 20} MiB")

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size >= 0:
            return super().read(size)
        pieces, n_read = [], 0
        while piece := super().read(BLOCK):
            pieces.append(piece)
            n_read += len(piece)
            if n_read > WHOLE_BYTES + WHOLE_RATIO * self.raw.n_compressed:
                raise self.raw.too_large(f"more than {n_read >> 20} MiB, which would have to be in memory at once")
        return b"".join(pieces)
