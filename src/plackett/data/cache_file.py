"""A file with the arrays of a ``Queries``, to be mapped into memory.

A magic line, the arrays, each from a page of its own, a header (JSON) with its checksum, and its place, length and the
magic again. The header says which files the cache was made from (size, time of change, a hash of samples of their
bytes), how they were read, where each array lies, and the checksum of every block of the file. Nothing in it is ever
unpickled. It is used only if the header, the checksums, the extents and the files it was made from are as they should.

A cache is written to a file of its own name and then moved into place: whoever reads sees an old one, a new one or
none, and two processes may build one at once.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import struct
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.mapped import identity
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn
from plackett.storage.checksums import BLOCK, block_sums, is_verifying
from plackett.storage.drafts import draft_of, publish

FORMAT = 2  # of the file, and of how the readers fill the arrays: raise it when either changes
MAGIC = b"plackett cache\n"
_PAGE = 4096
_WHOLE_BELOW = 1 << 18  # bytes that are hashed completely; more are sampled
_SAMPLES = 16
_LONGEST_HEADER = 1 << 24
# types of the arrays, as numpy writes them; None: the type of X, which the caller may know
_KINDS = {
    "X": None,
    "data": None,
    "indices": "<i4",
    "indptr_of_rows": "<i[48]",
    "y": "<f8",
    "ids": "<i8|<U[1-9][0-9]{0,8}",
    "indptr": "<i8",
    "row_order": "<i8",
    "comments": r"\|u1",
    "comment_bounds": "<i8",
    "docid": "<i8",
    "docids": r"\|u1",
    "docid_bounds": "<i8",
}


class Unusable(Exception):
    """A cache that cannot be used, for whatever reason: it is built anew."""


class Damaged(Unusable):
    """A cache whose bytes are not those that were written."""


def cache_path(paths: list[Path], options: dict[str, str], folder: str | os.PathLike | None = None) -> Path:
    """Where the cache of these files, read in this way, lies: beside the first of them, or in ``folder``.

    Beside the files their names tell caches apart, so that a folder may be moved; elsewhere their full paths do.
    """
    names = [path.name if folder is None else str(path.resolve()) for path in paths]
    key = hashlib.blake2b(json.dumps([FORMAT, names, options]).encode(), digest_size=8).hexdigest()
    where = paths[0].parent if folder is None else Path(folder)
    return where / f"{paths[0].name}.{key}.plackett-cache"


def signature(path: Path) -> list:
    """Size, time of change, and a hash of the content: of all of a small file, of samples of a large one."""
    if not path.is_file():
        if path.exists():
            raise ValueError(f"cache needs plain files, which can be read again; {path} is none.")
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        return [status.st_size, status.st_mtime_ns, _sample_hash(file, status.st_size)]


def mode_of(*paths: Path) -> int:
    """The permissions of a cache: what others may not read in one of the files they may not read here."""
    mode = 0o666
    for path in paths:
        mode &= stat.S_IMODE(path.stat().st_mode)
    return mode | 0o600


def _sample_hash(file, size: int) -> str:
    """A hash of ``size`` bytes: of all if they are few, else of the first page, the last and others."""
    digest = hashlib.blake2b(digest_size=16)
    if size <= _WHOLE_BELOW:
        offsets, length = [0], size
    else:
        length = _PAGE
        offsets = [(size - length) * k // (_SAMPLES - 1) for k in range(_SAMPLES)]
    for offset in offsets:
        file.seek(offset)
        left = length
        while left:
            piece = file.read(left)
            if not piece:
                break
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()


# --- Writing ----------------------------------------------------------------------------------------------------------


class CacheDraft:
    """A cache that is being written: arrays as a whole, or first their place and then their rows, piece by piece.

    ``finish`` moves it into place; leaving the ``with`` block before that removes it.
    """

    def __init__(self, place: Path, mode: int):
        self._place, self._mode = place, mode
        self._stack = contextlib.ExitStack()
        self._entries: dict[str, dict[str, Any]] = {}
        self._end = _PAGE

    def __enter__(self) -> CacheDraft:
        with contextlib.ExitStack() as stack:
            self._file: Any = stack.enter_context(draft_of(self._place.with_name(f".{self._place.name}")))
            os.fchmod(self._file.fileno(), self._mode)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    def reserve(self, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
        """Keep a place for an array whose rows come later."""
        self._entries[name] = {"kind": np.dtype(dtype).str, "shape": list(shape), "offset": self._end}
        self._end = -(-(self._end + self._size(name)) // _PAGE) * _PAGE

    def fill(self, name: str, row: int, rows: np.ndarray) -> None:
        """The rows of an array from ``row`` on."""
        entry = self._entries[name]
        width = self._size(name) // max(1, entry["shape"][0])
        assert rows.dtype.str == entry["kind"]
        assert row + rows.shape[0] <= entry["shape"][0]
        self._write(entry["offset"] + row * width, rows)

    def grow(self, name: str, values: np.ndarray) -> None:
        """Append rows to an array whose length nobody knows before; while it grows no other one may be added."""
        if name not in self._entries:
            self.reserve(name, values.dtype, (0, *values.shape[1:]))
        entry = self._entries[name]
        assert [values.dtype.str, *values.shape[1:]] == [entry["kind"], *entry["shape"][1:]]
        self._write(entry["offset"] + self._size(name), values)
        entry["shape"][0] += values.shape[0]
        self._end = -(-(entry["offset"] + self._size(name)) // _PAGE) * _PAGE

    def add(self, name: str, array: np.ndarray) -> None:
        """An array as a whole."""
        self.reserve(name, array.dtype, array.shape)
        self._write(self._entries[name]["offset"], array)

    def mapped(self, name: str) -> np.ndarray:
        """An array as far as it was written, to be read from the file."""
        entry = self._entries[name]
        if not self._size(name):
            return np.empty(entry["shape"], entry["kind"])
        self._file.flush()
        where = {"offset": entry["offset"], "shape": tuple(entry["shape"])}
        return np.asarray(np.memmap(self._file, dtype=entry["kind"], mode="c", **where))

    def _write(self, offset: int, array: np.ndarray) -> None:
        if array.size:
            self._file.seek(offset)
            self._file.write(np.ascontiguousarray(array).data)

    def _size(self, name: str) -> int:
        entry = self._entries[name]
        return int(np.dtype(entry["kind"]).itemsize * np.prod(entry["shape"], dtype=object))

    def finish(
        self,
        shape: tuple[int, int],
        made_from: list,
        options: dict,
        feature_names: list[str] | None,
        first_index: int | None,
    ) -> None:
        """Write the header and give the file its name."""
        self._file.seek(0)
        self._file.write(MAGIC)
        self._file.flush()
        self._file.truncate(self._end)
        header = {
            "format": FORMAT,
            "made_from": made_from,
            "options": options,
            "shape": list(shape),
            "feature_names": feature_names,
            "first_index": first_index,
            "arrays": self._entries,
            "block_bytes": BLOCK,
            "blocks": block_sums(self._file.fileno(), self._end),
        }
        text = json.dumps(header).encode()
        self._file.seek(self._end)
        self._file.write(text + hashlib.blake2b(text, digest_size=16).digest())
        self._file.write(struct.pack("<QQ", self._end, len(text)) + MAGIC)
        publish(self._file, self._place)


# --- Reading ----------------------------------------------------------------------------------------------------------


def load(place: Path, made_from: list, options: dict[str, str], dtype: np.dtype | None = None) -> Queries:
    """The queries of a cache that was made from these files in this way; of another, ``Unusable``, or any error."""
    if not place.is_file():
        raise Unusable
    with open(place, "rb") as file:
        header = _read_header(file)
        if header["made_from"] != made_from or header["options"] != options:
            raise Unusable
        if is_verifying() and block_sums(file.fileno(), header["end"]) != header["blocks"]:
            raise Damaged(f"the cache {place} is damaged; it is built anew.")
        arrays = _map_arrays(file, header, "<f[48]" if dtype is None else re.escape(dtype.str))
    if ("y" in arrays) != (options.get("label") != "None"):
        raise Unusable
    return _assemble(arrays, tuple(header["shape"]), header["feature_names"], header["first_index"])


def _read_header(file) -> dict:
    """The header, if all of it is as it was written."""
    size = os.fstat(file.fileno()).st_size
    tail_size = 16 + len(MAGIC)
    if size < _PAGE + tail_size or file.read(len(MAGIC)) != MAGIC:
        raise Unusable
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    start, length = struct.unpack("<QQ", tail[:16])
    if tail[16:] != MAGIC or length > _LONGEST_HEADER or start + length + 16 + tail_size != size:
        raise Unusable
    file.seek(start)
    text, checksum = file.read(length), file.read(16)
    if hashlib.blake2b(text, digest_size=16).digest() != checksum:
        raise Unusable
    header = json.loads(text)
    if header["format"] != FORMAT or header["block_bytes"] != BLOCK:
        raise Unusable
    header["end"] = start
    return header


def _map_arrays(file, header: dict, kind_of_X: str) -> dict[str, np.ndarray]:
    """Arrays over the file, each within its bounds.

    Copy-on-write: they can be changed like arrays that were read from text, and the file stays as it is.
    """
    arrays = {}
    for name, entry in header["arrays"].items():
        if name not in _KINDS or not re.fullmatch(_KINDS[name] or kind_of_X, entry["kind"]):
            raise Unusable
        kind, shape, start = np.dtype(entry["kind"]), entry["shape"], entry["offset"]
        if not all(type(n) is int and n >= 0 for n in [*shape, start]):
            raise Unusable
        n_bytes = kind.itemsize * int(np.prod(shape, dtype=object))
        if start % _PAGE or start < _PAGE or start + n_bytes > header["end"]:
            raise Unusable
        if not n_bytes:
            arrays[name] = np.empty(shape, kind)
        else:  # a map of its own each: scipy copies what is a small part of a larger array
            found = np.memmap(file, dtype=kind, mode="c", offset=start, shape=tuple(shape))
            found.plackett_identity = identity(os.fstat(file.fileno()))  # type: ignore[attr-defined]
            arrays[name] = np.asarray(found)
    return arrays


def _assemble(arrays: dict[str, np.ndarray], shape: tuple[int, int], names: Any, first_index: Any) -> Queries:
    """Queries over the arrays, if these belong together."""
    n_docs = shape[0]
    indptr, ids, y = arrays["indptr"], arrays["ids"], arrays.get("y")
    if indptr.shape != (ids.size + 1,) or not _bounds(indptr, n_docs) or (y is not None and y.shape != (n_docs,)):
        raise Unusable
    if "X" in arrays:
        X = arrays["X"]
        if X.shape != shape:
            raise Unusable
    else:
        X = _csr(arrays, shape)
    if names is not None and (
        type(names) is not list or len(set(names)) != shape[1] or not all(type(name) is str for name in names)
    ):
        raise Unusable
    comments, docid = _texts(arrays, "comments", "comment_bounds", n_docs), arrays.get("docid")
    if docid is not None and docid.shape != (n_docs,):
        raise Unusable
    docids = _texts(arrays, "docids", "docid_bounds", n_docs)
    order = arrays.get("row_order")
    if order is not None and (order.shape != (n_docs,) or not _is_permutation(order)):
        raise Unusable
    grouped = Queries.from_groups(
        X, y, ids, indptr, docid=docid if docids is None else docids, comments=comments, feature_names=names,
        first_index=first_index, row_order=order,
    )  # fmt: skip
    return grouped.as_given()


def _texts(arrays: dict[str, np.ndarray], buffer: str, bounds: str, n_docs: int) -> TextColumn | None:
    if bounds not in arrays:
        return None
    column = TextColumn(arrays[buffer], arrays[bounds])
    if len(column) != n_docs or not _bounds(column.bounds, column.buffer.size):
        raise Unusable
    return column


def _is_permutation(order: np.ndarray) -> bool:
    if order.size and not 0 <= int(order.min()) <= int(order.max()) < order.size:
        return False
    is_seen = np.zeros(order.size, dtype=bool)
    is_seen[order] = True
    return bool(is_seen.all())


def _bounds(bounds: np.ndarray, end: int) -> bool:
    return bool(bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def _csr(arrays: dict[str, np.ndarray], shape: tuple[int, int]):
    from scipy.sparse import csr_matrix

    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr_of_rows"]
    if data.shape != indices.shape or indptr.shape != (shape[0] + 1,) or not _bounds(indptr, data.size):
        raise Unusable
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < shape[1]:
        raise Unusable  # compiled loops trust indices
    X = csr_matrix((data, indices, indptr), shape=shape, copy=False)
    X.has_sorted_indices = X.has_canonical_format = True
    return X
