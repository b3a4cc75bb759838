"""Memory-mapped arrays: rows selected or concatenated from them are written to files again, in blocks.

Such a file has no name and is deleted with the last array that is mapped from it, or with the process. It is created in
the folder ``PLACKETT_CACHE``, else beside the file that the rows came from, else in the folder for temporary files.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.storage.container import file_identity
from plackett.validation import is_sparse

BLOCK_BYTES = 1 << 22  # in memory at once
SPILL_ABOVE = 1 << 22  # smaller results are copied into memory
_SENT_BY_REFERENCE_ABOVE = 1 << 16  # bytes


def is_mapped(X: Any) -> bool:
    """Return whether an array, or the data of a CSR matrix, is mapped from a file."""
    return _map_under(X.data if is_sparse(X) else X) is not None


def _map_under(array: Any) -> np.memmap | None:
    """Return the memmap that an array is a view of; None for an array in memory."""
    while array is not None:
        if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
            return array
        array = getattr(array, "base", None)
    return None


def n_bytes(X: Any) -> int:
    """Return the bytes of the rows, dense or sparse."""
    return X.data.nbytes + X.indices.nbytes if is_sparse(X) else X.nbytes


def is_large(X: Any) -> bool:
    """Return whether X is mapped from a file and so large that results of its size should be, too."""
    return n_bytes(X) > SPILL_ABOVE and is_mapped(X)


# --- Files without a name ---------------------------------------------------------------------------------------------


class Spill:
    """An unnamed temporary file to which values are appended, and which is mapped at the end."""

    def __init__(self, dtype: Any, folder: str | None = None):
        self._dtype, self._size = np.dtype(dtype), 0
        wanted = os.environ.get("PLACKETT_CACHE")
        self._folder = wanted or folder or tempfile.gettempdir()
        try:
            if wanted:
                os.makedirs(wanted, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        except OSError as error:
            if wanted:
                message = f"the folder PLACKETT_CACHE cannot be written to ({error.strerror})"
                raise OSError(error.errno, message, wanted) from error
            if folder is None:
                raise
            self._folder = tempfile.gettempdir()  # the folder of the data may be read-only
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._close = weakref.finalize(self, _close, self._file)

    def append(self, values: np.ndarray) -> None:
        """Append values, row by row."""
        if not values.size:
            return
        try:
            self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        except OSError as error:
            self._close()
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            message = (
                f"no space for rows that do not fit into memory ({error.strerror}); set the environment variable "
                "PLACKETT_CACHE to a folder with enough space"
            )
            raise OSError(error.errno, message, self._folder) from error
        self._size += values.size

    def finish(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return all values, mapped copy-on-write."""
        if not self._size:
            return np.empty(shape, self._dtype)
        self._file.flush()
        found = np.memmap(self._file, dtype=self._dtype, mode="c", shape=shape)
        self._close.detach()
        weakref.finalize(found, _close, self._file)  # until then other processes may open it by its number
        found.plackett_file = self._file  # type: ignore[attr-defined]
        found.plackett_folder = self._folder  # type: ignore[attr-defined]
        return np.asarray(found)


def _close(file: Any) -> None:
    with contextlib.suppress(OSError):  # a full disk, which was reported before
        file.close()


def spilled(blocks: Iterable[Any], folder: str | None) -> Any:
    """Return the rows of all blocks, of a dense or sparse X or of a vector, mapped from a file in this folder."""
    parts: list[Spill] = []
    lengths: list[np.ndarray] = []
    n_rows = 0
    for block in blocks:
        arrays = [block.data, block.indices] if is_sparse(block) else [block]
        parts = parts or [Spill(array.dtype, folder) for array in arrays]
        for part, array in zip(parts, arrays, strict=True):
            part.append(array)
        n_rows += block.shape[0]
        if is_sparse(block):
            lengths.append(np.diff(block.indptr))
    shape = (n_rows, *block.shape[1:])
    if not lengths:
        return parts[0].finish(shape)
    indptr = np.append(0, np.cumsum(np.concatenate(lengths), dtype=np.int64))
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # scipy would copy the indices to make the dtypes equal
    data, indices = (part.finish((int(indptr[-1]),)) for part in parts)
    X = type(block)((data, indices, indptr), shape=shape, copy=False)
    X.has_sorted_indices = X.has_canonical_format = True
    return X


def folder_of(X: Any) -> str | None:
    """Return the folder of the file that X is mapped from."""
    found: Any = _map_under(X.data if is_sparse(X) else X)
    if found is None:
        return None
    folder = getattr(found, "plackett_folder", None)
    return folder if folder or found.filename is None else os.path.dirname(found.filename)


# --- Selecting and concatenating --------------------------------------------------------------------------------------


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return ``X[rows]`` of a matrix or a vector; mapped from a file if X is and the result is large."""
    width = n_bytes(X) // max(1, X.shape[0])
    if rows.size * width <= SPILL_ABOVE or not is_mapped(X):
        return X[rows]
    step = max(1, BLOCK_BYTES // max(1, width))
    return spilled((X[rows[start : start + step]] for start in range(0, rows.size, step)), folder_of(X))


def stack_rows(parts: list) -> Any:
    """Concatenate the rows of all parts; the result is mapped from a file if a part is and the result is large."""
    if sum(map(n_bytes, parts)) <= SPILL_ABOVE or not any(map(is_mapped, parts)):
        if any(map(is_sparse, parts)):
            with importing:
                from scipy import sparse

            return sparse.vstack(parts, format="csr")
        return np.concatenate(parts)
    all_sparse = all(map(is_sparse, parts))
    dtype = np.result_type(*(part.dtype for part in parts))

    def blocks() -> Iterator[Any]:
        for part in parts:
            step = max(1, BLOCK_BYTES // max(1, n_bytes(part) // max(1, part.shape[0])))
            for start in range(0, part.shape[0], step):
                block = part[start : start + step].astype(dtype, copy=False)
                yield block if is_sparse(block) == all_sparse else block.toarray()

    return spilled(blocks(), next(folder for folder in map(folder_of, parts) if folder is not None))


def take_bytes(buffer: np.ndarray, blocks: Iterable[np.ndarray], size: int) -> np.ndarray:
    """Return the bytes at the positions in ``blocks``, ``size`` in all."""
    if size <= SPILL_ABOVE or _map_under(buffer) is None:
        chosen, filled = np.empty(size, dtype=np.uint8), 0
        for places in blocks:
            chosen[filled : filled + places.size] = buffer[places]
            filled += places.size
        return chosen
    return spilled((buffer[places] for places in blocks), folder_of(buffer))


# --- Sending arrays to other processes --------------------------------------------------------------------------------


def by_reference(value: Any) -> Any:
    """Return ``value`` in a form to be pickled for another process on this machine: mapped arrays by reference.

    The receiver gets an equal value. A reference to an unnamed file is valid only while this process has it open.
    Arrays, CSR matrices and objects of classes with ``may_hold_mapped_arrays`` are searched for them; everything else
    is sent unchanged.
    """
    if isinstance(value, np.ndarray):
        is_worth_it = type(value) in (np.ndarray, np.memmap) and value.nbytes > _SENT_BY_REFERENCE_ABOVE
        place = _place_of(value) if is_worth_it and value.flags.c_contiguous else None
        return value if place is None else _RemoteCall(_mapped_again, *place, value.dtype.str, value.shape)
    if is_sparse(value) or getattr(type(value), "may_hold_mapped_arrays", False):
        fields = {name: by_reference(field) for name, field in vars(value).items()}
        return _RemoteCall(_with_fields, type(value), fields)
    return value


class _RemoteCall:
    """A pickled call of ``make(*arguments)``, executed by the receiver."""

    def __init__(self, make: Callable[..., Any], *arguments: Any):
        self._call = make, arguments

    def __reduce__(self) -> tuple:
        return self._call


def _with_fields(kind: Any, fields: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    made.__dict__.update(fields)
    return made


def _place_of(array: np.ndarray) -> tuple[str, list[int], int] | None:
    """Return the path under which another process finds the file of a mapped array, its identity, and the offset.

    None if there is no such path, or if the file was replaced.
    """
    found: Any = _map_under(array)
    if found is None:
        return None
    file = getattr(found, "plackett_file", None)
    try:
        path = str(found.filename) if file is None else f"/proc/{os.getpid()}/fd/{file.fileno()}"
        known = file_identity(os.stat(path))
    except (OSError, ValueError):
        return None
    if getattr(found, "plackett_identity", known) != known:
        return None
    return path, known, found.offset + array.ctypes.data - found.ctypes.data


def _mapped_again(path: str, known: list[int], offset: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        with open(path, "rb") as file:
            if file_identity(os.fstat(file.fileno())) == known:
                found = np.memmap(file, dtype=np.dtype(dtype), mode="c", offset=offset, shape=shape)
                found.plackett_identity = known  # type: ignore[attr-defined]
                return np.asarray(found)
    except OSError:
        pass
    raise OSError(
        errno.ENOENT,
        "the file that rows are mapped from has changed or is on another machine; read the data into memory instead "
        "(cache=False)",
        path,
    )
