"""Checksums of blocks of a file, computed on all threads.

CRC-32 of zlib runs near the speed of memory and releases the GIL. The environment variable ``PLACKETT_VERIFY=0`` turns
the verification of files off, for those that are larger than memory and lie on slow disks.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

from plackett._threads import deal

BLOCK = 1 << 20
_PER_TASK = 16  # blocks


def is_verifying() -> bool:
    """Whether checksums are compared when files are opened."""
    asked = os.environ.get("PLACKETT_VERIFY", "").strip()
    if asked not in ("", "0", "1"):
        raise ValueError(f"PLACKETT_VERIFY is {asked!r}; it must be 0 or 1.")
    return asked != "0"


def block_sums(handle: int, size: int, blocks: Sequence[int] | range | None = None) -> list[int]:
    """Checksums of the first ``size`` bytes of an open file, one for each block, or for some of the blocks."""
    chosen = range(-(-size // BLOCK)) if blocks is None else blocks
    tasks = [(handle, size, chosen[start : start + _PER_TASK]) for start in range(0, len(chosen), _PER_TASK)]
    return [checksum for part in deal(_sums_of, tasks) for checksum in part]


def _sums_of(handle: int, size: int, blocks: Sequence[int]) -> list[int]:
    buffer = bytearray(BLOCK)
    sums = []
    for block in blocks:
        with memoryview(buffer)[: min(BLOCK, size - block * BLOCK)] as view:
            filled = 0
            while filled < len(view):
                n = os.preadv(handle, [view[filled:]], block * BLOCK + filled)
                if not n:
                    break  # the file was cut: the checksum of what is left differs
                filled += n
            sums.append(zlib.crc32(view[:filled]))
    return sums
