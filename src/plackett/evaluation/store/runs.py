"""Finished results on disk, one file each, so that an interrupted run can resume.

A file is a line with the format and a checksum of all that follows, a line of JSON (the key, the record), and the
bytes of the result's array if it has one. It is written beside its place and moved there when it is complete, so that a
reader finds all of it or nothing, even while other processes write to the folder. Damaged results, and those made from
anything else, are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett.evaluation.store import fingerprints
from plackett.storage.atomic import remove_abandoned
from plackett.storage.opening import write_bytes

FORMAT = "plackett run 2"
ENDING = ".run"
DRAFTS = f"*{ENDING}.plackett-*.part"
NAME_LENGTH = 32  # of the 64 digits of a key; the file holds them all
LONGEST_RECORD = 16 << 20  # bytes of JSON; lists of lists take twenty times as much once they are parsed


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
            content = self._path(key).read_bytes()
        except OSError:
            return None
        try:
            record = _parsed(content, key)
            return record if kinds is None or has_kinds(record.values, kinds) else None
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            return None  # damaged, changed, or not ours: the result is made again

    def put(self, parts: Mapping[str, Any], values: Mapping[str, Any], array: np.ndarray | None = None) -> None:
        """Store a record; it is complete on disk when this returns."""
        key = fingerprints.of_key(parts)
        body: dict[str, Any] = {"key": key, "parts": dict(parts), "record": dict(values)}
        content = b""
        if array is not None:
            if array.dtype.hasobject:
                raise ValueError("an array of objects cannot be stored; give one of numbers or of text.")
            body["array"] = {"dtype": array.dtype.str, "shape": array.shape}
            content = array.tobytes()
        whole = json.dumps(body).encode() + b"\n" + content
        path = self._path(key)
        with write_bytes(path) as file:
            file.write(_heading(whole) + whole)
        _sync_folder(self.folder)

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


def _heading(whole: bytes) -> bytes:
    return f"{FORMAT} {hashlib.sha256(whole).hexdigest()}\n".encode()


def _parsed(content: bytes, key: str) -> Record:
    """The record of a file; ValueError and its like where the file is not what `RunStore.put` wrote under this key."""
    heading, _, whole = content.partition(b"\n")
    if heading + b"\n" != _heading(whole):
        raise ValueError("damaged, or of another format.")
    text, _, rest = whole.partition(b"\n")
    if len(text) > LONGEST_RECORD:
        raise ValueError(f"a record of {len(text):,} bytes.")
    body = json.loads(text)
    if body["key"] != key or not isinstance(body["record"], dict):
        raise ValueError("another result.")
    if "array" not in body:
        return Record(body["record"], None)
    values = np.frombuffer(rest, dtype=np.dtype(body["array"]["dtype"]))  # a view: no shape can ask for memory
    return Record(body["record"], values.reshape(body["array"]["shape"]).copy())


def _sync_folder(folder: Path) -> None:
    """Let the name survive a power cut as well; not all systems can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
