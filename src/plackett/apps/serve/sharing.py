"""A model as one file in memory that all worker processes map, so that its arrays exist once.

The model is pickled with its arrays beside the pickle (protocol 5). Only the parent process writes such a file; model
files on disk are never read as pickles.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import struct
import tempfile
from typing import Any

from plackett.scorers.trees import FlatTrees

ALIGNMENT = 64
_HEAD = struct.Struct("<Q")


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, FlatTrees):  # with the bitmaps, which pickles of trees leave out
            return _trees, (obj.__dict__,)
        return NotImplemented


def _trees(state: dict[str, Any]) -> FlatTrees:
    trees = FlatTrees()
    trees.__dict__.update(state)
    return trees


def share(model: Any) -> int:
    """Return a descriptor of a file in memory with the object; the caller closes it."""
    arrays: list[pickle.PickleBuffer] = []
    pickled = io.BytesIO()
    _Pickler(pickled, protocol=5, buffer_callback=arrays.append).dump(model)
    views = [array.raw() for array in arrays]
    sizes = [view.nbytes for view in views]
    head = pickle.dumps((pickled.getvalue(), sizes))
    descriptor = _memory_file()
    with open(descriptor, "wb", closefd=False) as file:
        file.write(_HEAD.pack(len(head)) + head)
        for view in views:
            file.seek(_aligned(file.tell()))
            file.write(view)
        file.truncate(max(file.tell(), 1))
    return descriptor


def take(descriptor: int) -> Any:
    """Return the object of :func:`share`, with read-only arrays in a shared mapping; closes the descriptor."""
    try:
        mapped = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    (length,) = _HEAD.unpack_from(mapped, 0)
    place = _HEAD.size + length
    pickled, sizes = pickle.loads(mapped[_HEAD.size : place])
    view, buffers = memoryview(mapped), []
    for size in sizes:
        place = _aligned(place)
        buffers.append(view[place : place + size])
        place += size
    return pickle.loads(pickled, buffers=buffers)


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("plackett-model")
    with tempfile.TemporaryFile() as file:  # elsewhere an unnamed file
        return os.dup(file.fileno())
