"""Arrays that are used again, block after block of queries, by the same thread.

The system hands out large arrays as pages that cost more to touch for the first time than a measure costs to compute.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np

LARGEST_KEPT = 1 << 22  # bytes of one array; a block with one very long list may need more, for once

_own = threading.local()


class Room:
    """Arrays by name, each valid until the same name is asked for again."""

    def __init__(self) -> None:
        self._arrays: dict[str, np.ndarray] = {}

    def empty(self, name: str, size: int, dtype: type) -> np.ndarray:
        """An array of any content."""
        array = self._arrays.get(name)
        if array is None or array.size < size:
            array = np.empty(size, dtype=dtype)
            if array.nbytes <= LARGEST_KEPT:
                self._arrays[name] = array
        return array[:size]


@contextlib.contextmanager
def own_room() -> Iterator[Room]:
    """The room of this thread, for the time of the block; another one where it is in use already."""
    room = getattr(_own, "room", None) or Room()
    _own.room = None
    try:
        yield room
    finally:
        _own.room = room
