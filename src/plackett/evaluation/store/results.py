"""A folder of finished results, one file each, so that an interrupted run can resume.

The header of a file holds the key and the record, and the array of the result, if it has one, is beside it. Files are
written atomically: any number of processes may use a folder. Damaged results, and those of another key, are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett.evaluation.store.fingerprints import key_fingerprint
from plackett.evaluation.store.identity import NotIdentifiable, identity_of
from plackett.evaluation.store.versions import code_versions
from plackett.storage.atomic import remove_abandoned
from plackett.storage.container import open_container, write_container

KIND, VERSION = "plackett run", 3
ENDING = ".run"
DRAFTS = f"*{ENDING}.plackett-*.part"
NAME_LENGTH = 32  # of the 64 digits of a key; the file holds them all


class Record(NamedTuple):
    """A stored result: plain values, and an array or None."""

    values: dict[str, Any]
    array: np.ndarray | None


class ResultStore:
    """A folder of finished results.

    Several runs may use one folder at the same time. If two of them finish the same result, either file is kept: both
    are equal except for the measured time.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> store = ResultStore(tempfile.mkdtemp())
    >>> store.put({"ranker": "listmle", "fold": 1}, {"validation": 0.5})
    >>> store.get({"ranker": "listmle", "fold": 1}).values
    {'validation': 0.5}
    >>> store.get({"ranker": "listmle", "fold": 2}) is None
    True
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"{self.folder} is a file; results need a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not os.access(self.folder, os.W_OK | os.X_OK):  # otherwise every fit would fail at its end
            raise PermissionError(f"{self.folder} is not writable; results are stored there. Choose another folder.")
        remove_abandoned(self.folder.glob(DRAFTS))

    def get(self, parts: Mapping[str, Any], kinds: Mapping[str, Any] | None = None) -> Record | None:
        """Return the record stored under exactly these parts of a key; None if it is missing or damaged.

        ``kinds`` are the names and types of all values that a record must have; any other record is ignored.
        """
        key = key_fingerprint(parts)
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
        key = key_fingerprint(parts)
        with write_container(self._path(key), KIND, VERSION) as writer:
            if array is not None:
                writer.add("array", array)
            writer.finish({"key": key, "parts": dict(parts), "record": dict(values)})

    def _path(self, key: str) -> Path:
        return self.folder / f"{key[:NAME_LENGTH]}{ENDING}"

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob(f"*{ENDING}"))

    def __repr__(self) -> str:
        return f"ResultStore({str(self.folder)!r})"


class ResultCache:
    """Results in a store, keyed by estimators, versions of code, and data; without a store it is always empty.

    Parameters
    ----------
    store : ResultStore or None
    **common : plain values
        Parts of every key.

    Attributes
    ----------
    notes : list of str
        Why results could not be stored.
    """

    def __init__(self, store: ResultStore | None, common: Callable[[], Mapping[str, Any]] = dict):
        self._store, self._common = store, {} if store is None else common()
        self._identities: dict[int, tuple[Any, Any, Any]] = {}  # by id; each entry keeps its estimator alive
        self.notes: list[str] = []

    def get(self, what: str, estimators: Sequence[Any], kinds: Mapping[str, Any], **more: Any) -> Record | None:
        """Return the result of ``estimators``, none of them fitted, if it is stored and its values are of ``kinds``."""
        key = self._key(what, estimators, more)
        return None if self._store is None or key is None else self._store.get(key, kinds)

    def put(
        self,
        what: str,
        estimators: Sequence[Any],
        values: Mapping[str, Any],
        array: np.ndarray | None = None,
        **more: Any,
    ) -> None:
        """Store a result unless an estimator is not identifiable."""
        key = self._key(what, estimators, more)
        if self._store is not None and key is not None:
            self._store.put(key, values, array)

    def _key(self, what: str, estimators: Sequence[Any], more: Mapping[str, Any]) -> dict[str, Any] | None:
        if self._store is None:
            return None
        try:
            found = [self._identified(estimator) for estimator in estimators]
        except NotIdentifiable as problem:  # its results could be those of another estimator
            note = f"not stored in the folder: {problem}"
            self.notes += [note] if note not in self.notes else []
            return None
        code = [versions for _, _, versions in found] or [code_versions(None)]
        return {**self._common, **more, "what": what, "estimators": [one for _, one, _ in found], "code": code}

    def _identified(self, estimator: Any) -> tuple[Any, Any, Any]:
        if id(estimator) not in self._identities:
            self._identities[id(estimator)] = (estimator, identity_of(estimator), code_versions(estimator))
        return self._identities[id(estimator)]


def has_kinds(values: Any, kinds: Mapping[str, Any]) -> bool:
    """Whether the values have exactly these names and types, and warnings are strings."""
    return (
        isinstance(values, dict)
        and values.keys() == kinds.keys()
        and all(isinstance(values[name], kind) for name, kind in kinds.items())
        and all(isinstance(text, str) for text in values.get("warnings", ()))
    )
