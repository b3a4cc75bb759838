"""A copy of the arrays of LETOR files that is mapped into memory on the next read.

A cache is one file: a magic line, the arrays, each from a page of its own, a header (JSON) with its checksum, and its
place, length and the magic again. The header says which files the cache was made from (size, time of change, a hash of
samples of their bytes), how they were read, and where each array lies. Nothing in it is ever unpickled, and nothing is
believed before the header, the extents, the files it was made from and samples of the arrays have been checked.

A cache is written to a file of its own name and then moved into place: whoever reads sees an old one, a new one or
none, and two processes may build one at once. That it cannot be written is a warning: the data are there all the same.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from plackett.data.letor_parse import Options
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataWarning
from plackett.validation import is_sparse

FORMAT = 1  # of the file, and of how the reader fills the arrays: raise it when either changes
_MAGIC = b"plackett letor cache\n"
_PAGE = 4096
_WHOLE_BELOW = 1 << 18  # bytes that are hashed completely; more are sampled
_SAMPLES = 16
_LONGEST_HEADER = 1 << 24
# types of the arrays, as numpy writes them; None: the type that X was asked for in
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
}


class _Unusable(Exception):
    """A cache that cannot be used, for whatever reason: it is built anew."""


def read_through(inputs: list, options: Options, folder: Any, read_text: Callable[[], Queries]) -> Queries:
    """The queries from a cache that fits, or else from the text, leaving a cache behind."""
    for entry in inputs:
        if entry == "-" or not isinstance(entry, (str, os.PathLike)):
            raise ValueError(
                "cache needs files with a name: standard input and file objects cannot be recognised again."
            )
    paths = [Path(entry) for entry in inputs]
    place = cache_path(paths, options, folder)
    made_from = [_signature(path) for path in paths]
    try:
        return _load(place, made_from, options)
    except Exception:  # absent, torn, foreign, not to be opened: whatever it is, the text is still there
        pass
    queries = read_text()
    try:
        if [_signature(path) for path in paths] == made_from:  # otherwise a file changed while it was read
            place.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(paths[0].stat().st_mode) & 0o666  # what others may not read they may not read here
            _store(place, queries, made_from, options, mode | 0o600)
    except OSError as error:
        warnings.warn(f"the cache {place} could not be written ({error}).", DataWarning, stacklevel=3)
    return queries


def cache_path(paths: list[Path], options: Options, folder: str | os.PathLike | None = None) -> Path:
    """Where the cache of these files, read in this way, lies: beside the first of them, or in ``folder``.

    Beside the files their names tell caches apart, so that a folder may be moved; elsewhere their full paths do.
    """
    names = [path.name if folder is None else str(path.resolve()) for path in paths]
    key = hashlib.blake2b(json.dumps([FORMAT, names, _described(options)]).encode(), digest_size=8).hexdigest()
    where = paths[0].parent if folder is None else Path(folder)
    return where / f"{paths[0].name}.{key}.plackett-cache"


def _described(options: Options) -> dict:
    """Options as they stand in a header; NaN as text, for JSON has none."""
    values = {name: getattr(options, name) for name in options.__dataclass_fields__}
    return {name: str(value) for name, value in values.items()}


def _signature(path: Path) -> list:
    """Size, time of change, and a hash of the content: of all of a small file, of samples of a large one."""
    if not path.is_file():
        if path.exists():
            raise ValueError(f"cache needs plain files, which can be read again; {path} is none.")
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        return [status.st_size, status.st_mtime_ns, _sample_hash(file, 0, status.st_size)]


def _sample_hash(file, start: int, size: int) -> str:
    """A hash of ``size`` bytes from ``start``: of all if they are few, else of the first page, the last and others."""
    digest = hashlib.blake2b(digest_size=16)
    if size <= _WHOLE_BELOW:
        offsets, length = [0], size
    else:
        length = _PAGE
        offsets = [(size - length) * k // (_SAMPLES - 1) for k in range(_SAMPLES)]
    for offset in offsets:
        file.seek(start + offset)
        left = length
        while left:
            piece = file.read(left)
            if not piece:
                break
            digest.update(piece)
            left -= len(piece)
    return digest.hexdigest()


def _arrays_of(queries: Queries) -> dict[str, np.ndarray]:
    arrays = {"y": queries.y, "ids": queries.ids, "indptr": queries.indptr}
    if is_sparse(queries.X):
        arrays |= {"data": queries.X.data, "indices": queries.X.indices, "indptr_of_rows": queries.X.indptr}
    else:
        arrays["X"] = queries.X
    if queries.comments is not None:
        arrays |= {"comments": queries.comments.buffer, "comment_bounds": queries.comments.bounds}
    if queries.row_order is not None:
        arrays["row_order"] = queries.row_order
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _store(place: Path, queries: Queries, made_from: list, options: Options, mode: int) -> None:
    arrays = _arrays_of(queries)
    if arrays["ids"].dtype.kind == "O":
        raise OSError("an id is too long to be stored")
    draft = place.with_name(f".{place.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "x+b") as file:
            os.fchmod(file.fileno(), mode)
            entries: dict[str, dict[str, Any]] = {}
            end = _PAGE
            for name, array in arrays.items():
                file.seek(end)
                array.tofile(file)
                entries[name] = {"kind": array.dtype.str, "shape": list(array.shape), "offset": end}
                end = -(-(end + array.nbytes) // _PAGE) * _PAGE
            file.flush()
            for name, entry in entries.items():
                entry["hash"] = _sample_hash(file, entry["offset"], arrays[name].nbytes)
            header = {
                "format": FORMAT,
                "made_from": made_from,
                "options": _described(options),
                "shape": list(queries.X.shape),
                "arrays": entries,
            }
            text = json.dumps(header).encode()
            file.seek(end)
            file.write(text + hashlib.blake2b(text, digest_size=16).digest())
            file.write(struct.pack("<QQ", end, len(text)) + _MAGIC)
            file.seek(0)
            file.write(_MAGIC)
            file.flush()
            os.fsync(file.fileno())  # a name must never point to data that a power cut could still take away
        os.replace(draft, place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _load(place: Path, made_from: list, options: Options) -> Queries:
    if not place.is_file():
        raise _Unusable
    with open(place, "rb") as file:
        header = _read_header(file)
        if header["made_from"] != made_from or header["options"] != _described(options):
            raise _Unusable
        arrays = _map_arrays(file, header, options)
    return _assemble(arrays, tuple(header["shape"]))


def _read_header(file) -> dict:
    """The header, if all of it is as it was written."""
    size = os.fstat(file.fileno()).st_size
    tail_size = 16 + len(_MAGIC)
    if size < _PAGE + tail_size or file.read(len(_MAGIC)) != _MAGIC:
        raise _Unusable
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    start, length = struct.unpack("<QQ", tail[:16])
    if tail[16:] != _MAGIC or length > _LONGEST_HEADER or start + length + 16 + tail_size != size:
        raise _Unusable
    file.seek(start)
    text, checksum = file.read(length), file.read(16)
    if hashlib.blake2b(text, digest_size=16).digest() != checksum:
        raise _Unusable
    header = json.loads(text)
    if header["format"] != FORMAT:
        raise _Unusable
    header["end"] = start
    return header


def _map_arrays(file, header: dict, options: Options) -> dict[str, np.ndarray]:
    """Arrays over the file, each within its bounds and with the samples that were taken of it.

    Writing to one changes this process's copy alone. Read-only arrays would make numba compile every kernel again.
    """
    arrays = {}
    for name, entry in header["arrays"].items():
        if name not in _KINDS or not re.fullmatch(_KINDS[name] or re.escape(options.dtype.str), entry["kind"]):
            raise _Unusable
        kind, shape, start = np.dtype(entry["kind"]), entry["shape"], entry["offset"]
        if not all(type(n) is int and n >= 0 for n in [*shape, start]):
            raise _Unusable
        n_bytes = kind.itemsize * int(np.prod(shape, dtype=object))
        if start % _PAGE or start < _PAGE or start + n_bytes > header["end"]:
            raise _Unusable
        if _sample_hash(file, start, n_bytes) != entry["hash"]:
            raise _Unusable
        if not n_bytes:
            arrays[name] = np.empty(shape, kind)
        else:  # a map of its own each: scipy copies what is a small part of a larger array
            arrays[name] = np.asarray(np.memmap(file, dtype=kind, mode="c", offset=start, shape=tuple(shape)))
    return arrays


def _assemble(arrays: dict[str, np.ndarray], shape: tuple[int, int]) -> Queries:
    """Queries over the arrays, if these belong together."""
    n_docs = shape[0]
    indptr, ids = arrays["indptr"], arrays["ids"]
    if arrays["y"].shape != (n_docs,) or indptr.shape != (ids.size + 1,) or not _bounds(indptr, n_docs):
        raise _Unusable
    if "X" in arrays:
        X = arrays["X"]
        if X.shape != shape:
            raise _Unusable
    else:
        X = _csr(arrays, shape)
    comments = None
    if "comments" in arrays:
        comments = TextColumn(arrays["comments"], arrays["comment_bounds"])
        if len(comments) != n_docs or not _bounds(comments.bounds, comments.buffer.size):
            raise _Unusable
    queries = Queries.from_groups(X, arrays["y"], ids, indptr, comments=comments)
    if "row_order" in arrays:
        order = arrays["row_order"]
        if order.shape != (n_docs,) or not np.array_equal(np.sort(order), np.arange(n_docs)):
            raise _Unusable
        queries.row_order = arrays["row_order"]
    return queries


def _bounds(bounds: np.ndarray, end: int) -> bool:
    return bool(bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def _csr(arrays: dict[str, np.ndarray], shape: tuple[int, int]):
    from scipy.sparse import csr_matrix

    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr_of_rows"]
    if data.shape != indices.shape or indptr.shape != (shape[0] + 1,) or not _bounds(indptr, data.size):
        raise _Unusable
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < shape[1]:
        raise _Unusable  # compiled loops trust indices
    X = csr_matrix((data, indices, indptr), shape=shape, copy=False)
    X.has_sorted_indices = X.has_canonical_format = True
    return X
