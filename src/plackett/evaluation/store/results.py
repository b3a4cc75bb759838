"""A folder of finished results, one file each, so that an interrupted run can resume.

The header of a file holds the key and the record, and the array of the result, if it has one, is beside it. Files are
written atomically: any number of processes may use a folder. Damaged results, and those of another key, are ignored.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett.evaluation.store.keys import NotIdentifiable, code_of, identity_of, key_fingerprint
from plackett.exceptions import warn
from plackett.storage.container import open_container, write_container

KIND, VERSION = "plackett run", 4
ENDING = ".run"
NAME_LENGTH = 32  # of the 64 digits of a key; the file holds them all


class Record(NamedTuple):
    """A stored result: plain values, and an array or None."""

    values: dict[str, Any]
    array: np.ndarray | None


class ResultStore:
    """A folder of finished results, created if it does not exist; without a folder it finds and stores nothing.

    Several runs may use one folder at the same time. If two of them finish the same result, either file is kept: both
    are equal except for the measured time.
    """

    def __init__(self, folder: str | os.PathLike | None = None):
        self.folder = None if folder is None else Path(folder)
        self._common: dict[str, Any] = {}
        self.notes: list[str] = []
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file; results need a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK | os.X_OK):  # otherwise every fit would fail at its end
            raise PermissionError(f"{self.folder} is not writable; results are stored there. Choose another folder.")

    def under(self, **parts: Any) -> ResultStore:
        """Return a store of the same folder that adds these parts to every key."""
        answer = copy.copy(self)
        answer._common = {**self._common, **parts}
        return answer

    def with_code(self, name: str, *values: Any) -> ResultStore:
        """Return a store for results of the code of the values; one that stores nothing if it is not identifiable.

        In that case there is a warning, and ``notes`` has its text.
        """
        if self.folder is None:
            return self
        try:
            return self.under(code=code_of(*values))
        except NotIdentifiable as error:
            answer = ResultStore()
            answer.notes = [f"{name} is not stored in the folder: {error}"]
            warn(answer.notes[0], UserWarning)
            return answer

    def get(self, parts: Mapping[str, Any]) -> Record | None:
        """Return the record stored under exactly these parts of a key; None if it is missing or damaged."""
        if self.folder is None:
            return None
        key = self._key(parts)
        try:
            with open_container(self._path(key), KIND, VERSION, verify=True) as container:
                if container.header["key"] != key or not isinstance(container.header["record"], dict):
                    return None
                array = container.array("array") if "array" in container.arrays else None
                return Record(container.header["record"], array)
        except (OSError, ValueError, KeyError):
            return None  # missing, damaged, or another file: the result is computed again

    def put(self, parts: Mapping[str, Any], values: Mapping[str, Any], array: np.ndarray | None = None) -> None:
        """Store a record; it is complete on disk when this returns."""
        if self.folder is None:
            return
        key = self._key(parts)
        with write_container(self._path(key), KIND, VERSION) as writer:
            if array is not None:
                writer.add("array", array)
            writer.finish({"key": key, "what": parts.get("what"), "record": dict(values)})

    def _key(self, parts: Mapping[str, Any]) -> str:
        every = {**self._common, **parts}
        return key_fingerprint({name: identity_of(value, name) for name, value in every.items()})

    def _path(self, key: str) -> Path:
        return Path(self.folder or "") / f"{key[:NAME_LENGTH]}{ENDING}"

    def __len__(self) -> int:
        return 0 if self.folder is None else sum(1 for _ in self.folder.glob(f"*{ENDING}"))

    def __repr__(self) -> str:
        return f"ResultStore({None if self.folder is None else str(self.folder)!r})"
