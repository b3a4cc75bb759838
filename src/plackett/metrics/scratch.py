"""Scratch arrays that a thread reuses from one block of queries to the next.

Touching the pages of a newly allocated large array costs more than computing a measure.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np

LARGEST_KEPT = 1 << 22  # bytes of one array; a block with one very long list may need more, and then allocates it

_thread = threading.local()


class Scratch:
    """Arrays by name and dtype. An array is valid until the same one is requested again."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, type], np.ndarray] = {}

    def empty(self, name: str, size: int, dtype: type) -> np.ndarray:
        """Return an uninitialised array."""
        array = self._arrays.get((name, dtype))
        if array is None or array.size < size:
            array = np.empty(size, dtype=dtype)
            if array.nbytes <= LARGEST_KEPT:
                self._arrays[name, dtype] = array
        return array[:size]


@contextlib.contextmanager
def thread_scratch() -> Iterator[Scratch]:
    """Yield the scratch arrays of this thread; a nested call gets new ones."""
    scratch = getattr(_thread, "scratch", None) or Scratch()
    _thread.scratch = None
    try:
        yield scratch
    finally:
        _thread.scratch = scratch
