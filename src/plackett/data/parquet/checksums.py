"""Checksums of a whole Parquet file, stored where other readers ignore them.

Parquet has checksums of pages, but not of page headers and the footer, where a flipped bit can change values without an
error. So ``write_parquet`` writes checksums between the last page and the footer: one of each block of the bytes
before, then one of these checksums and the footer, then ``MAGIC``.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable
from typing import BinaryIO

from plackett.exceptions import DataFormatError
from plackett.storage.checksums import BLOCK, block_sums, is_verifying

MAGIC = b"plackett crc32\n"
PARQUET = b"PAR1"
_NEAR = 64  # bytes around its position: parts of MAGIC there mean that the file was changed
_END = len(PARQUET) + 4  # length of the footer, and the format's name


class SummedFile:
    """The target of a Parquet writer; after ``hold`` and the end of the writer, ``finish`` adds the checksums."""

    def __init__(self, file: BinaryIO):
        self._file, self._sums = file, [0]
        self._size, self._is_held, self._rest = 0, False, bytearray()
        self.closed = False

    def write(self, content: bytes) -> int:
        if self._is_held:
            self._rest += content
        else:
            self._add(content)
            self._file.write(content)
        return len(content)

    def _add(self, content: bytes) -> None:
        view = memoryview(content).cast("B")
        while view:
            step = view[: BLOCK - self._size % BLOCK]
            if self._size and self._size % BLOCK == 0:
                self._sums.append(0)
            self._sums[-1] = zlib.crc32(step, self._sums[-1])
            self._size += len(step)
            view = view[len(step) :]

    def hold(self) -> None:
        """Buffer what follows, the footer, until ``finish``."""
        self._is_held = True

    def finish(self) -> None:
        """Write the checksums and the footer."""
        start = len(self._rest) - _END - int.from_bytes(self._rest[-_END:-4], "little")
        head, footer = bytes(self._rest[:start]), bytes(self._rest[start:])
        self._add(head)  # indexes of columns, if any
        sums = struct.pack(f"<{len(self._sums)}I", *self._sums)
        self._file.write(head + sums + struct.pack("<I", zlib.crc32(sums + footer)) + MAGIC + footer)

    def flush(self) -> None:
        self._file.flush()


class Sums:
    """The checksums of an open Parquet file; ``is_there`` is whether it has any. The footer is verified at once."""

    def __init__(self, path: str, file: BinaryIO):
        self.path, self.handle = path, file.fileno()
        size = os.fstat(self.handle).st_size
        end = os.pread(self.handle, _END, max(0, size - _END))
        length = int.from_bytes(end[:4], "little")
        self.footer_start = start = size - _END - length
        if size < 2 * _END or end[4:] != PARQUET or start < 0 or not length:
            raise DataFormatError(path, None, "not a Parquet file, or a damaged one (its end is missing).")
        self.footer = os.pread(self.handle, length, start)
        before = start - len(MAGIC) - 4
        self.is_there = before > 0 and os.pread(self.handle, len(MAGIC), start - len(MAGIC)) == MAGIC
        self._sums: tuple[int, ...] = ()
        if not self.is_there:
            around = os.pread(self.handle, 2 * _NEAR, max(0, start - _NEAR))
            if any(half in around for half in (MAGIC[:8], MAGIC[8:])):
                raise self._damaged("footer")
            return
        n_blocks = -(-before // (BLOCK + 4))
        self._size = before - 4 * n_blocks
        sums = os.pread(self.handle, 4 * n_blocks, self._size)
        (expected,) = struct.unpack("<I", os.pread(self.handle, 4, before))
        if is_verifying() and zlib.crc32(sums + self.footer + end) != expected:
            raise self._damaged("footer")
        self._sums = struct.unpack(f"<{n_blocks}I", sums)

    def check(self, extents: Iterable[tuple[int, int]]) -> None:
        """Verify all blocks that these extents ``(start, stop)`` touch."""
        if not self.is_there or not is_verifying():
            return
        touched: set[int] = set()
        for start, stop in extents:
            touched.update(range(max(0, start) // BLOCK, min(len(self._sums), -(-stop // BLOCK))))
        blocks = sorted(touched)
        for block, found in zip(blocks, block_sums(self.handle, self._size, blocks), strict=True):
            if found != self._sums[block]:
                raise self._damaged(f"bytes {block * BLOCK:,} to {min(self._size, (block + 1) * BLOCK):,}")

    def _damaged(self, where: str) -> DataFormatError:
        return DataFormatError(self.path, None, f"the file is damaged: the checksum of its {where} is wrong.")
