"""Finished results on disk, one container each, so that an interrupted run can resume.

The header of a file holds the key and the record, and the array of the result, if it has one, is beside it. Files are
written atomically: any number of processes may use a folder. Damaged results, and those of another key, are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett.evaluation.store import fingerprints
from plackett.storage.atomic import remove_abandoned
from plackett.storage.container import open_container, write_container

KIND, VERSION = "plackett run", 3
ENDING = ".run"
DRAFTS = f"*{ENDING}.plackett-*.part"
NAME_LENGTH = 32  # of the 64 digits of a key; the file holds them all


class Record(NamedTuple):
    """What was stored: plain values, and an array or None."""

    values: dict[str, Any]
    array: np.ndarray | None


class RunStore:
    """A folder of finished results.

    Any number of runs may use one folder at the same time; where two finish the same result, either file will do, since
    they hold the same but for the time it took.

    Parameters
    ----------
    folder : path
        Made when it is not there.

    Examples
    --------
    >>> import tempfile
    >>> store = RunStore(tempfile.mkdtemp())
    >>> store.put({"ranker": "listmle", "fold": 1}, {"validation": 0.5})
    >>> store.get({"ranker": "listmle", "fold": 1}).values
    {'validation': 0.5}
    >>> store.get({"ranker": "listmle", "fold": 2}) is None
    True
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file; results are kept in a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK | os.X_OK):  # every fit would fail at its end
            raise PermissionError(f"{self.folder} cannot be written to; results are kept there. Choose another folder.")
        remove_abandoned(self.folder.glob(DRAFTS))

    def get(self, parts: Mapping[str, Any], kinds: Mapping[str, Any] | None = None) -> Record | None:
        """Return the record stored under exactly these parts of a key; None if it is missing or damaged.

        ``kinds`` are the names and types of all values that a record must have; any other record is ignored.
        """
        key = fingerprints.of_key(parts)
        try:
            with open_container(self._path(key), KIND, VERSION, verify=True) as container:
                record = Record(container.header["record"], None)
                if container.header["key"] != key or not isinstance(record.values, dict):
                    return None
                if "array" in container.arrays:
                    record = record._replace(array=container.array("array"))
        except (OSError, ValueError, KeyError):
            return None  # missing, damaged, or another file: the result is computed again
        return record if kinds is None or has_kinds(record.values, kinds) else None

    def put(self, parts: Mapping[str, Any], values: Mapping[str, Any], array: np.ndarray | None = None) -> None:
        """Store a record; it is complete on disk when this returns."""
        key = fingerprints.of_key(parts)
        with write_container(self._path(key), KIND, VERSION) as writer:
            if array is not None:
                writer.add("array", array)
            writer.finish({"key": key, "parts": dict(parts), "record": dict(values)})

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:NAME_LENGTH]}{ENDING}"

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob(f"*{ENDING}"))

    def __repr__(self) -> str:
        return f"RunStore({str(self.folder)!r})"


def has_kinds(values: Any, kinds: Mapping[str, Any]) -> bool:
    """Whether these are values of exactly these names, each of its type; a list of warnings holds text."""
    return (
        isinstance(values, dict)
        and values.keys() == kinds.keys()
        and all(isinstance(values[name], kind) for name, kind in kinds.items())
        and all(isinstance(text, str) for text in values.get("warnings", ()))
    )
