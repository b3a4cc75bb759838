"""Finished results on disk, one file each, so that a run that was killed goes on where it stood.

A file is one line of JSON (what it is, its record, a checksum) and, where the result has an array, its bytes in numpy's
format. It is written beside its place and moved there when it is complete, so that a reader finds all of it or
nothing, whoever else writes into the folder. What is damaged, or was made from anything else, does not count.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett.data.drafts import remove_abandoned
from plackett.data.opening import write_bytes
from plackett.evaluation import fingerprints

FORMAT = "plackett run 1"
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

    def get(self, parts: Mapping[str, Any]) -> Record | None:
        """The record stored under exactly these parts of a key; None when there is none that is whole."""
        key = fingerprints.of_key(parts)
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        try:
            return _parsed(content, key)
        except (ValueError, KeyError, TypeError, AttributeError, EOFError):
            return None  # torn, changed, or not ours: it is made again

    def put(self, parts: Mapping[str, Any], values: Mapping[str, Any], array: np.ndarray | None = None) -> None:
        """Store a record; it is complete on disk when this returns."""
        key = fingerprints.of_key(parts)
        content = b"" if array is None else _array_bytes(array)
        body = {"format": FORMAT, "key": key, "parts": dict(parts), "record": dict(values)}
        heading = json.dumps({**body, "sha256": _checksum(body, content)})
        path = self._path(key)
        with write_bytes(path) as file:
            file.write(heading.encode() + b"\n" + content)
        _sync_folder(self.folder)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:NAME_LENGTH]}{ENDING}"

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob(f"*{ENDING}"))

    def __repr__(self) -> str:
        return f"RunStore({str(self.folder)!r})"


def _parsed(content: bytes, key: str) -> Record:
    heading, newline, rest = content.partition(b"\n")
    body = json.loads(heading)
    checksum = body.pop("sha256")
    if not newline or body["format"] != FORMAT or body["key"] != key or checksum != _checksum(body, rest):
        raise ValueError("not the whole of the file that was asked for.")
    array = np.load(io.BytesIO(rest), allow_pickle=False) if rest else None
    return Record(body["record"], array)


def _checksum(body: Mapping[str, Any], content: bytes) -> str:
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode())
    digest.update(content)
    return digest.hexdigest()


def _array_bytes(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def _sync_folder(folder: Path) -> None:
    """Let the name survive a power cut as well; not all systems can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
