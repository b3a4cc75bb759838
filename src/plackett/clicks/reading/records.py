"""Records dealt into partitions, in memory or in a temporary file, so that few are in memory at once."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from plackett import _native
from plackett.storage.checksums import read_at

N_PARTS = 256  # partitions, by a byte
CHUNK = 1 << 24  # bytes of records that are sorted by partition at a time


# --- Arrays in memory or in a file ------------------------------------------------------------------------------------


class Scratch:
    """Arrays kept in memory or, for results written to ``path``, in a temporary file beside it.

    The file has no name: it disappears when it is closed, or when the process ends. ``PLACKETT_CACHE`` names another
    folder for it.
    """

    def __init__(self, path: str | os.PathLike | None = None):
        self.is_file = path is not None
        self._file: Any = None
        self._end = 0
        if path is None:
            return
        beside = os.path.dirname(os.path.realpath(path))
        self._folder = os.environ.get("PLACKETT_CACHE") or beside
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "is a folder; the log needs the name of a file", os.fspath(path))
        if not os.path.isdir(beside) or not os.access(beside, os.W_OK):
            reason = "cannot be written to" if os.path.isdir(beside) else "does not exist"
            raise OSError(errno.EACCES, f"the folder of the log {reason}", beside)
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".plackett-")  # noqa: SIM115
        except OSError as error:
            raise OSError(error.errno, f"no temporary file can be made ({error.strerror})", self._folder) from error

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # a full disk, which was reported before
                self._file.close()

    def keep(self, values: np.ndarray) -> Kept:
        """Keep an array."""
        values = np.ascontiguousarray(values)
        if not self.is_file:
            return Kept(values)
        offset = self._end
        try:
            if values.size:
                self._file.write(values.reshape(-1).view(np.uint8).data)
            self._end += values.nbytes
        except OSError as error:
            raise self._explained(error) from error
        return Kept(np.empty((0, *values.shape[1:]), values.dtype), self, offset, len(values))

    def read(self, target: np.ndarray, offset: int) -> None:
        """Fill an array with kept bytes."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._explained(error) from error
        if target.size and read_at(self._file, target.reshape(-1).view(np.uint8).data, offset) < target.nbytes:
            raise OSError(errno.EIO, "a temporary file is shorter than what was written to it", self._folder)

    def _explained(self, error: OSError) -> OSError:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return error
        message = (
            f"no space for the temporary file of the click log ({error.strerror}). Write the log to another disk, or "
            "set the environment variable PLACKETT_CACHE to a folder with enough space"
        )
        return OSError(error.errno, message, self._folder)


@dataclass
class Kept:
    """An array kept by a scratch."""

    values: np.ndarray
    scratch: Scratch | None = None
    offset: int = 0
    n_rows: int = -1

    def __len__(self) -> int:
        return len(self.values) if self.scratch is None else self.n_rows

    def read(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return some rows; those in memory are not copied."""
        stop = len(self) if stop is None else stop
        if self.scratch is None:
            return self.values[start:stop]
        found = np.empty((stop - start, *self.values.shape[1:]), self.values.dtype)
        self.scratch.read(found, self.offset + start * (found.nbytes // max(1, len(found))))
        return found


# --- Records ----------------------------------------------------------------------------------------------------------


@dataclass
class Ragged:
    """Lists of values: list ``i`` has ``lengths[i]`` of them."""

    lengths: np.ndarray
    values: np.ndarray

    def take(self, order: np.ndarray) -> Ragged:
        """Return some of the lists."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        return take_lists(self.values, (ends - self.lengths)[order], self.lengths[order])


def take_lists(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> Ragged:
    """Return lists that begin at ``starts``."""
    values = np.ascontiguousarray(values)
    taken = np.empty((int(lengths.sum(dtype=np.int64)), *values.shape[1:]), values.dtype)
    spans = np.empty((starts.size, 2), dtype=np.int64)
    spans[:, 0], spans[:, 1] = starts, starts + lengths
    spans *= values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    _native.clicks.copy_spans(values.reshape(-1).view(np.uint8), spans, taken.reshape(-1).view(np.uint8))
    return Ragged(lengths, taken)


@dataclass
class Records:
    """Columns with a value for each record, and lists of values for each."""

    columns: dict[str, np.ndarray] = field(default_factory=dict)
    lists: dict[str, Ragged] = field(default_factory=dict)


def joined(parts: list[Records]) -> Records:
    """Return the records of all parts, at least one."""
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    lists = {
        name: Ragged(
            np.concatenate([part.lists[name].lengths for part in parts]),
            np.concatenate([part.lists[name].values for part in parts]),
        )
        for name in parts[0].lists
    }
    return Records(columns, lists)


@dataclass
class _Chunk:
    """Records sorted by partition, and where each partition begins: in the columns (None) and in each list."""

    bounds: dict[str | None, np.ndarray]
    columns: dict[str, Kept]
    lengths: dict[str, Kept]
    values: dict[str, Kept]


class Store:
    """Records of one kind, dealt into partitions."""

    def __init__(self, scratch: Scratch):
        self._scratch = scratch
        self._pending: list[tuple[np.ndarray, Records]] = []
        self._n_bytes = 0
        self._chunks: list[_Chunk] = []
        self.sizes = np.zeros(N_PARTS, dtype=np.int64)  # values in each partition

    def add(self, part: np.ndarray, records: Records) -> None:
        """Add records of the partitions ``part``."""
        self._pending.append((part, records))
        arrays = [*records.columns.values(), *(array for one in records.lists.values() for array in vars(one).values())]
        self._n_bytes += sum(array.nbytes for array in arrays)
        if self._n_bytes >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Sort the last records by partition."""
        if not self._pending:
            return
        part = np.concatenate([part for part, _ in self._pending])
        records = joined([records for _, records in self._pending])
        self._pending, self._n_bytes = [], 0
        order = np.argsort(part, kind="stable")
        bounds: dict[str | None, np.ndarray] = {None: _bounds(np.bincount(part, minlength=N_PARTS))}
        columns = {name: self._scratch.keep(values[order]) for name, values in records.columns.items()}
        lengths, values = {}, {}
        for name in list(records.lists):
            dealt = records.lists.pop(name).take(order)
            ends = np.append(0, np.cumsum(dealt.lengths, dtype=np.int64))
            bounds[name] = ends[bounds[None]]
            lengths[name], values[name] = self._scratch.keep(dealt.lengths), self._scratch.keep(dealt.values)
        self._chunks.append(_Chunk(bounds, columns, lengths, values))
        self.sizes += sum(np.diff(bounds[name]) for name in bounds if name != "session")

    def read(self, first: int, last: int) -> Records | None:
        """Return the records of partitions ``first`` to ``last``; None if there are none at all."""
        parts = []
        for chunk in self._chunks:
            bounds = {name: values[[first, last]].tolist() for name, values in chunk.bounds.items()}
            columns = {name: kept.read(*bounds[None]) for name, kept in chunk.columns.items()}
            lists = {
                name: Ragged(kept.read(*bounds[None]), chunk.values[name].read(*bounds[name]))
                for name, kept in chunk.lengths.items()
            }
            parts.append(Records(columns, lists))
        return joined(parts) if parts else None


def _bounds(counts: np.ndarray) -> np.ndarray:
    return np.append(0, np.cumsum(counts))
