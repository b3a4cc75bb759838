"""One file format for named arrays with a JSON header: aligned, checksummed, memory-mapped, written atomically.

A container begins with a magic line. The arrays follow, each aligned to 64 bytes. Then comes the directory (JSON): the
kind of file and its version, the version of plackett that wrote it, the header of the caller, the dtype, shape and
position of each array, and the CRC-32 of each block of 1 MiB before the directory. The last bytes are the position,
length and checksum of the directory, and the magic line again. Nothing in a container is executable: dtypes are those
of numbers, booleans and text, and the directory is plain JSON.

Model files, caches of data sets, text indexes and the results of comparisons are containers of different kinds.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from plackett import __version__
from plackett.storage.atomic import draft_of, publish
from plackett.storage.checksums import block_sums, is_verifying, read_at
from plackett.storage.remote import is_remote, uploaded

MAGIC = b"plackett container 1\n"
ALIGNMENT = 64  # bytes
_TAIL = struct.Struct(f"<QQ16s{len(MAGIC)}s")  # position, length and checksum of the directory, magic
_DIRECTORY_MEMORY = 50 << 20  # bytes that a parsed directory may take, besides 4 times the size of the file
_MEMORY_PER = {b",": 64, b"[": 80, b"{": 240}  # bytes per value, list and dict, at most
_MAX_EMPTY = 1 << 16  # longest axis of an array without values, unless the file is longer
_DTYPE = re.compile(r"[<>|][biufcSU][0-9]{1,9}")


class ContainerError(ValueError):
    """A file is not a container of the expected kind and version, or it is damaged."""


class OutdatedError(ContainerError):
    """A container has another version, or was made from something else; it need not be damaged."""


@dataclass
class Entry:
    """The location of an array in a container."""

    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    order: str = "C"

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def end(self) -> int:
        return self.offset + self.n_bytes

    def mapped(self, file: BinaryIO, mode: str) -> np.ndarray:
        """Return the array, mapped from an open file. Each has its own map: scipy copies small parts of larger ones."""
        if not self.n_bytes:
            return np.empty(self.shape, self.dtype)
        where: dict[str, Any] = {"offset": self.offset, "shape": self.shape, "order": self.order}
        found = np.memmap(file, dtype=self.dtype, mode=mode, **where)  # type: ignore[call-overload]
        found.plackett_identity = file_identity(os.fstat(file.fileno()))
        return np.asarray(found)


def file_identity(status: os.stat_result) -> list[int]:
    """Return what identifies a file and its content: device, inode, size and modification time."""
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


# --- Writing ----------------------------------------------------------------------------------------------------------


class ContainerWriter:
    """Writes arrays to a container, each at once or row by row, and the directory at the end.

    ``file`` is open for reading and writing, or a BytesIO; ``version`` is that of the header and the arrays of this
    kind. ``finish`` moves the file, a draft, to ``path``, unless that is None.
    """

    def __init__(self, file: Any, kind: str, version: int, path: str | os.PathLike | None = None):
        self._file, self._kind, self._version, self._path = file, kind, version, path
        self._entries: dict[str, Entry] = {}
        self._end = _aligned(len(MAGIC))
        file.write(MAGIC)

    def reserve(self, name: str, dtype: Any, shape: tuple[int, ...], order: str = "C") -> None:
        """Reserve the space of an array whose rows follow later."""
        kind = np.dtype(dtype)
        if not _DTYPE.fullmatch(kind.str) or not kind.itemsize:
            raise ValueError(f"{name} is an array of type {kind}; only numbers, booleans and text can be stored.")
        entry = Entry(kind, tuple(map(int, shape)), self._end, order)
        self._entries[name], self._end = entry, _aligned(entry.end)

    def write_rows(self, name: str, row: int, rows: np.ndarray) -> None:
        """Write rows of a reserved array, from ``row`` on."""
        entry = self._entries[name]
        assert rows.dtype == entry.dtype
        assert row + rows.shape[0] <= entry.shape[0]
        self._write(entry.offset + row * (entry.n_bytes // max(1, entry.shape[0])), rows)

    def append(self, name: str, rows: np.ndarray) -> None:
        """Append rows to an array of unknown length; until it is complete, no other array can be added."""
        if name not in self._entries:
            self.reserve(name, rows.dtype, (0, *rows.shape[1:]))
        entry = self._entries[name]
        assert (rows.dtype, rows.shape[1:]) == (entry.dtype, entry.shape[1:])
        self._write(entry.end, rows)
        entry.shape = (entry.shape[0] + rows.shape[0], *entry.shape[1:])
        self._end = _aligned(entry.end)

    def add(self, name: str, array: np.ndarray) -> None:
        """Write an array."""
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self.reserve(name, array.dtype, array.shape, "F" if is_fortran else "C")
        self._write(self._entries[name].offset, array.T if is_fortran else array)

    def mapped(self, name: str) -> np.ndarray:
        """Return what was written of an array, mapped from the file."""
        self._file.flush()
        return self._entries[name].mapped(self._file, "c")

    def _write(self, offset: int, array: np.ndarray) -> None:
        if array.size:
            self._file.seek(offset)
            self._file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def finish(self, header: Mapping[str, Any]) -> None:
        """Write the directory, and move a draft to its final path."""
        file = self._file
        if file.seek(0, io.SEEK_END) < self._end:
            file.seek(self._end - 1)
            file.write(b"\0")
        file.flush()
        arrays = {
            name: {"dtype": entry.dtype.str, "shape": entry.shape, "offset": entry.offset}
            | ({} if entry.order == "C" else {"order": entry.order})
            for name, entry in self._entries.items()
        }
        about = {"kind": self._kind, "version": self._version, "plackett": __version__}
        blocks = block_sums(file, self._end)
        text = json.dumps({**about, "header": dict(header), "arrays": arrays, "blocks": blocks}).encode("ascii")
        file.write(text + _TAIL.pack(self._end, len(text), _digest(text), MAGIC))
        if self._path is not None:
            publish(file, self._path)


@contextlib.contextmanager
def write_container(
    path: str | os.PathLike, kind: str, version: int, *, mode: int | None = None
) -> Iterator[ContainerWriter]:
    """Yield a writer of a new container, which replaces the file at ``path`` when ``finish`` is called.

    Without ``finish`` the file at ``path`` stays as it is. ``mode`` are the permissions of the new file.
    """
    if is_remote(path):
        with uploaded(path) as local, write_container(local, kind, version, mode=mode) as writer:
            yield writer
        return
    with draft_of(path) as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        yield ContainerWriter(file, kind, version, path)


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


# --- Reading ----------------------------------------------------------------------------------------------------------


class Container:
    """An open container: ``header`` as passed to ``finish``, the version of ``plackett`` that wrote it, ``arrays``."""

    def __init__(self, file: Any, kind: str, version: int):
        self._file = file
        self.size = file.seek(0, io.SEEK_END)
        self._end, text = self._read_directory(kind)
        try:
            directory = self._parsed(text)
            found, found_version = directory["kind"], directory["version"]
            self.header, self.plackett, self._blocks = (directory[key] for key in ("header", "plackett", "blocks"))
            if type(self.header) is not dict or type(self.plackett) is not str:
                raise ValueError("its directory is not valid")
            self.arrays = {name: self._checked_entry(entry) for name, entry in directory["arrays"].items()}
        except ContainerError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ContainerError(f"the file is damaged: {one_line(error)}.") from error
        if found != kind:
            raise ContainerError(f"this is not a {kind}: it is a {shown(found)}.")
        if type(found_version) is not int or found_version != version:
            raise OutdatedError(
                f"it has version {shown(found_version)} of the format and was written by plackett "
                f"{shown(self.plackett)}; plackett {__version__} reads version {version}."
            )
        self._check_overlaps()

    def _read_directory(self, kind: str) -> tuple[int, bytes]:
        head = self._read(0, len(MAGIC))
        if head != MAGIC:
            other = "is another kind of file, or one of an earlier development version"
            what = "is empty" if not head else "begins like a pickle" if head[0] == 0x80 else other
            raise ContainerError(f"this is not a {kind}: it {what}. Nothing in it was run.")
        if self.size < len(MAGIC) + _TAIL.size:
            raise ContainerError("the file is damaged: its end is missing.")
        start, length, checksum, magic = _TAIL.unpack(self._read(self.size - _TAIL.size, _TAIL.size))
        if magic != MAGIC or start + length + _TAIL.size != self.size:
            raise ContainerError("the file is damaged: its end is missing, or bytes follow it.")
        text = self._read(start, length)
        if _digest(text) != checksum:
            raise ContainerError("the file is damaged: the checksum of its directory is wrong.")
        return start, text

    def _parsed(self, text: bytes) -> Any:
        """Parse the directory, unless it would take much more memory than the file has bytes."""
        needed = sum(text.count(mark) * cost for mark, cost in _MEMORY_PER.items())
        if needed > _DIRECTORY_MEMORY + 4 * self.size:
            raise ContainerError("the file is damaged: its directory holds too many values for a file of this size.")
        return json.loads(text.decode("ascii"))

    def _checked_entry(self, node: Any) -> Entry:
        shape, offset, order = node["shape"], node["offset"], node.get("order", "C")
        if not all(type(n) is int and n >= 0 for n in [*shape, offset]) or order not in ("C", "F") or len(shape) > 32:
            raise ValueError(f"an array has shape {shown(shape)} at {shown(offset)}")
        entry = Entry(plain_dtype(node["dtype"]), tuple(shape), offset, order)
        check_empty(entry.shape, self.size)
        if offset % ALIGNMENT or offset < len(MAGIC) or entry.end > self._end:
            raise ValueError("an array is outside the file")
        return entry

    def _check_overlaps(self) -> None:
        """Reject arrays that overlap: a small file could make many large arrays from the same bytes."""
        end = 0
        for entry in sorted((entry for entry in self.arrays.values() if entry.n_bytes), key=lambda one: one.offset):
            if entry.offset < end:
                raise ContainerError("the file is damaged: two of its arrays overlap.")
            end = entry.end

    def _read(self, start: int, length: int) -> bytes:
        content = bytearray(max(0, min(length, self.size - start)))
        return bytes(content[: read_at(self._file, memoryview(content), start)])

    def verify(self) -> None:
        """Compare all bytes with their checksums."""
        if block_sums(self._file, self._end) != self._blocks:
            raise ContainerError("the file is damaged: its checksums are wrong.")

    def array(self, name: str) -> np.ndarray:
        """Return an array, read into memory."""
        entry = self.arrays[name]
        values = np.empty(math.prod(entry.shape), entry.dtype)
        if read_at(self._file, memoryview(values.view(np.uint8)), entry.offset) < entry.n_bytes:  # type: ignore[arg-type]
            raise ContainerError("the file is damaged: it was truncated.")
        check_content(values)
        return values.reshape(entry.shape, order=entry.order)  # type: ignore[call-overload]

    def mapped(self, name: str, mode: str = "c") -> np.ndarray:
        """Return an array mapped from the file: copy-on-write, or read-only with ``mode="r"``."""
        values = self.arrays[name].mapped(self._file, mode)
        if values.dtype.kind in "bU":
            check_content(values)
        return values


@contextlib.contextmanager
def open_container(source: Any, kind: str, version: int, *, verify: bool | None = None) -> Iterator[Container]:
    """Yield a container of this kind and version; mapped arrays stay valid after the block.

    ``source`` is a path or a BytesIO. ``verify`` is whether all bytes are compared with their checksums; None means
    unless ``PLACKETT_VERIFY=0``. Raises a ContainerError, for another version an OutdatedError.
    """
    with contextlib.ExitStack() as stack:
        file = source if isinstance(source, io.BytesIO) else stack.enter_context(open(source, "rb"))
        container = Container(file, kind, version)
        if is_verifying() if verify is None else verify:
            container.verify()
        yield container


def plain_dtype(name: Any) -> np.dtype:
    """Return the dtype of this name, which must be one of numbers, booleans or text."""
    if type(name) is not str or not _DTYPE.fullmatch(name) or not np.dtype(name).itemsize:
        raise ValueError(f"{shown(name)} is not a dtype of numbers, booleans or text")
    return np.dtype(name)


def check_empty(shape: tuple[int, ...], size: int) -> None:
    """Reject a shape without values that is longer than the file: empty rows take no space in it."""
    if 0 in shape and max(shape) > max(_MAX_EMPTY, size):
        raise ValueError(f"an array without values has shape {shown(shape)}")


def check_content(array: np.ndarray) -> None:
    """Reject bytes that are not valid as booleans or characters, which numpy does not check."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise ContainerError("an array holds booleans that are neither true nor false.")
    if array.dtype.kind == "U" and array.size:
        characters = array.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if characters.max() > 0x10FFFF:
            raise ContainerError("an array holds text with characters that do not exist.")


def shown(value: Any) -> str:
    """Return a value of a file as text, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def one_line(error: Exception) -> str:
    """Return the message of an error in one line of limited length."""
    return " ".join(str(error).split())[:200] or type(error).__name__
