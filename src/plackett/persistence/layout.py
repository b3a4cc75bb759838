"""The layout of a model file, known to both those who write it and those who read it."""

from __future__ import annotations

FORMAT = "plackett model"
FORMAT_VERSION = 1
MAX_DEPTH = 64  # of values within values
MAX_RATIO = 10  # of what a file unpacks to, over its size
SMALL = 1 << 20  # bytes that a file may always unpack to
MAX_EMPTY = 1 << 16  # lengths of an array without values, in a file that is shorter
ROOM = 50 << 20  # bytes of memory for the values of model.json, besides a few times the size of the file
BYTES_PER = {b",": 64, b"[": 80, b"{": 240}  # of memory that a value, a list, a dict take at most
MAX_NPY_HEADER = 4096

# what may stand as "type" in model.json
KINDS = frozenset(
    ("float", "bytes", "tuple", "dict", "measure", "numpy", "dtype", "numpy type", "objects", "array", "csr", "sklearn")
) | {"object"}


def is_learned(cls: type, name: str) -> bool:
    """Whether an attribute belongs into the file: learned by its name, or listed in ``_persisted``."""
    return (name.endswith("_") and not name.startswith("_")) or name in getattr(cls, "_persisted", ())
