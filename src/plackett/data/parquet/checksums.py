"""Checksums of a whole Parquet file, stored where other readers ignore them.

Parquet has checksums of pages, but not of page headers and the footer, where a flipped bit can change values without an
error. So ``write_parquet`` writes checksums between the last page and the footer: one of each block of the bytes
before, then one of these checksums and the footer, then ``MAGIC``.
"""

from __future__ import annotations

import io
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


def add_checksums(file: BinaryIO) -> None:
    """Write the checksums of a complete Parquet file into it; it is open for reading and writing."""
    end = file.seek(-_END, io.SEEK_END)
    start = file.seek(end - int.from_bytes(file.read(4), "little"))
    footer = file.read()
    sums = block_sums(file, start)
    content = struct.pack(f"<{len(sums)}I", *sums)
    file.seek(start)
    file.write(content + struct.pack("<I", zlib.crc32(content + footer)) + MAGIC + footer)


class Ending:
    """The footer of an open Parquet file and the checksums before it, if any; those of the footer are compared."""

    def __init__(self, path: str, file: BinaryIO):
        self.path, self.handle = path, file.fileno()
        size = os.fstat(self.handle).st_size
        end = os.pread(self.handle, _END, max(0, size - _END))
        length = int.from_bytes(end[:4], "little")
        self.start = start = size - _END - length
        if size < 2 * _END or end[4:] != PARQUET or start < 0 or not length:
            raise DataFormatError(path, None, "not a Parquet file, or a damaged one (its end is missing).")
        self.footer = os.pread(self.handle, length, start)
        before = start - len(MAGIC) - 4
        near = os.pread(self.handle, 2 * _NEAR, max(0, start - _NEAR))
        self._sums: tuple[int, ...] = ()
        self.is_verified = before > 0 and near[min(start, _NEAR) - len(MAGIC) :].startswith(MAGIC)
        if not self.is_verified:
            if MAGIC[:8] in near or MAGIC[8:] in near:
                raise self._damaged("footer")
            return
        n_blocks = -(-before // (BLOCK + 4))
        self._size = before - 4 * n_blocks
        sums = os.pread(self.handle, 4 * n_blocks + 4, self._size)
        self.is_verified = is_verifying()
        if self.is_verified and zlib.crc32(sums[:-4] + self.footer + end) != int.from_bytes(sums[-4:], "little"):
            raise self._damaged("footer")
        self._sums = struct.unpack(f"<{n_blocks}I", sums[:-4])

    def check(self, extents: Iterable[tuple[int, int]]) -> None:
        """Verify all blocks that these extents ``(start, stop)`` touch."""
        touched: set[int] = set()
        for start, stop in extents:
            touched.update(range(max(0, start) // BLOCK, min(len(self._sums), -(-stop // BLOCK))))
        blocks = sorted(touched)
        for block, found in zip(blocks, block_sums(self.handle, self._size, blocks), strict=True):
            if found != self._sums[block]:
                raise self._damaged(f"bytes {block * BLOCK:,} to {min(self._size, (block + 1) * BLOCK):,}")

    def _damaged(self, where: str) -> DataFormatError:
        return DataFormatError(self.path, None, f"the file is damaged: the checksum of its {where} is wrong.")
