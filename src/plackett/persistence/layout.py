"""The layout of a model file, known to both those who write it and those who read it."""

from __future__ import annotations

FORMAT = "plackett model"
FORMAT_VERSION = 1
MAX_DEPTH = 64  # of values within values
MAX_RATIO = 100  # of what a file unpacks to, over its size
MAX_NPY_HEADER = 4096

# what may stand as "type" in model.json
KINDS = frozenset(
    ("float", "bytes", "tuple", "dict", "measure", "numpy", "dtype", "numpy type", "objects", "array", "csr", "skops")
) | {"object"}


def is_learned(cls: type, name: str) -> bool:
    """Whether an attribute belongs into the file: learned by its name, or listed in ``_persisted``."""
    return (name.endswith("_") and not name.startswith("_")) or name in getattr(cls, "_persisted", ())
