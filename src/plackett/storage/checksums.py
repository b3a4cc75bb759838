"""CRC-32 checksums of the blocks of a file, computed on all threads.

``zlib.crc32`` runs near memory speed and releases the GIL. The environment variable ``PLACKETT_VERIFY=0`` turns
verification off, for files on slow disks that are larger than memory.
"""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Sequence
from typing import Any

from plackett._threads import map_blocks

BLOCK = 1 << 20
_PER_TASK = 16  # blocks


def is_verifying() -> bool:
    """Return whether checksums are compared when files are opened."""
    setting = os.environ.get("PLACKETT_VERIFY", "").strip()
    if setting not in ("", "0", "1"):
        raise ValueError(f"PLACKETT_VERIFY is {setting!r}; it must be 0 or 1.")
    return setting != "0"


def read_at(file: Any, target: memoryview, start: int) -> int:
    """Fill ``target`` with the bytes of an open file from ``start`` on; return how many there were. Thread-safe.

    ``file`` is a file, a file descriptor, or a BytesIO.
    """
    if isinstance(file, io.BytesIO):
        with file.getbuffer() as content:
            n = max(0, min(len(target), len(content) - start))
            target[:n] = content[start : start + n]
        return n
    handle, filled = file if isinstance(file, int) else file.fileno(), 0
    while filled < len(target) and (n := os.preadv(handle, [target[filled:]], start + filled)):
        filled += n
    return filled


def block_sums(file: Any, size: int, blocks: Sequence[int] | None = None) -> list[int]:
    """Return the checksums of the first ``size`` bytes of an open file, one per block, or of some blocks only."""
    chosen = range(-(-size // BLOCK)) if blocks is None else blocks
    tasks = [(file, size, chosen[start : start + _PER_TASK]) for start in range(0, len(chosen), _PER_TASK)]
    return [checksum for part in map_blocks(_sums_of, tasks) for checksum in part]


def _sums_of(file: Any, size: int, blocks: Sequence[int]) -> list[int]:
    buffer = bytearray(BLOCK)
    sums = []
    for block in blocks:
        with memoryview(buffer)[: min(BLOCK, size - block * BLOCK)] as view:
            filled = read_at(file, view, block * BLOCK)  # less for a truncated file, whose checksum then differs
            sums.append(zlib.crc32(view[:filled]))
    return sums
