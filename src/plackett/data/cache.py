"""Caches of data files: the arrays of a ``Queries`` in a container that is mapped into memory.

The header of a cache names the files that it was made from (size, modification time, a hash of samples of their bytes)
and the options they were read with. A cache is used only if these match and its checksums, shapes and indices are
valid.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.data.categories import Categories
from plackett.data.grouping import group_runs
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataWarning, warn
from plackett.storage.checksums import is_verifying
from plackett.storage.container import (
    ContainerError,
    ContainerWriter,
    OutdatedError,
    open_container,
    write_container,
)
from plackett.storage.mapped import Spill
from plackett.validation import plain

INCONSISTENT = "the arrays of the cache are inconsistent."
KIND, VERSION = "plackett cache", 5  # of the file, and of how readers fill the arrays: raise it when either changes
MAX_UNCHECKED_COLUMNS = 1 << 22  # of a CSR matrix, allowed with any number of values
_WHOLE_BELOW = 1 << 18  # bytes that are hashed completely; larger files are sampled
_SAMPLES, _SAMPLE_BYTES = 16, 4096
_DOCIDS, _COMMENTS = ("docids", "docid_bounds"), ("comments", "comment_bounds")  # texts as bytes, and their bounds
# dtypes of the arrays, as numpy writes them; those of X and its data are known to the caller
_DTYPES = {
    "indices": "<i4",
    "indptr_of_rows": "<i[48]",
    "y": "<f8",
    "ids": "<i8|<U[1-9][0-9]{0,8}",
    "indptr": "<i8",
    "comments": r"\|u1",
    "comment_bounds": "<i8",
    "docid": "<i8",
    "docids": r"\|u1",
    "docid_bounds": "<i8",
}


class CacheFile:
    """The cache of data files that are read with some options, stored beside the first file or in ``folder``.

    Beside the files, the name of a cache depends on their names, so that the folder can be moved. In ``folder`` it
    depends on their full paths. ``dtype`` is that of X; None accepts float32 and float64. ``signatures`` are those of
    the files when this object was created.
    """

    def __init__(self, paths: list[Path], options: dict[str, str], folder: Any = None, dtype: np.dtype | None = None):
        self.paths, self.options, self._dtype = paths, options, dtype
        names = [path.name if folder is None else str(path.resolve()) for path in paths]
        key = hashlib.blake2b(json.dumps([VERSION, names, options]).encode(), digest_size=8).hexdigest()
        self.path = (paths[0].parent if folder is None else Path(folder)) / f"{paths[0].name}.{key}.plackett-cache"
        self.signatures = [signature(path) for path in paths]

    def load(self) -> Queries | None:
        """Return the cached queries; None if the cache is missing or outdated, or, with a warning, damaged."""
        try:
            return load(self.path, self.signatures, self.options, self._dtype)
        except (FileNotFoundError, NotADirectoryError, OutdatedError):
            pass
        except Exception as error:  # any failure falls back to the files
            what = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is damaged"
            warn(f"the cache {self.path} {what}; rebuilding it.", DataWarning)
        return None

    @contextlib.contextmanager
    def draft(self) -> Iterator[CacheDraft]:
        """Yield a draft of the cache; it gets the permissions that all of the files have."""
        with contextlib.ExitStack() as stack:
            with _writing():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                mode = 0o666
                for path in self.paths:
                    mode &= stat.S_IMODE(path.stat().st_mode)
                writer = stack.enter_context(write_container(self.path, KIND, VERSION, mode=mode | 0o600))
            yield CacheDraft(self, writer)


class NotCachedError(Exception):
    """The cache could not be written; the cause is an OSError, or None if the files changed while they were read."""


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotCachedError(error.strerror or str(error)) from error


class CacheDraft:
    """A cache that is being written: rows of X directly to the file, other columns through unnamed files.

    X is never completely in memory. The rows of a query must be adjacent.
    """

    def __init__(self, cache: CacheFile, writer: ContainerWriter):
        self._cache, self._writer = cache, writer
        self._spills: dict[str, Spill] = {}
        self._sizes: dict[str, int] = {}
        self._run_ids: list[np.ndarray | list[str]] = []
        self._run_lengths: list[np.ndarray] = []
        self._widest = 0  # columns that a CSR matrix needs for its values

    @_writing()
    def append_dense(self, X: np.ndarray) -> None:
        self._writer.append("X", X)

    @_writing()
    def append_csr(self, data: np.ndarray, indices: np.ndarray, row_ends: np.ndarray) -> None:
        """Append rows of a CSR matrix; ``row_ends`` is its ``indptr`` without the first."""
        n_before = self._sizes.get("indices", 0)
        self._widest = max(self._widest, 1 + int(indices.max(initial=-1)))
        self._writer.append("data", data)
        self._spill("indices", indices)
        self._spill("indptr_of_rows", row_ends + n_before, first=0)

    @_writing()
    def append_columns(
        self,
        run_ids: np.ndarray | list[str],
        run_lengths: np.ndarray,
        labels: np.ndarray | None,
        docid: np.ndarray | TextColumn | None,
        comments: TextColumn | None,
    ) -> None:
        """Append the columns of rows; query ids are those of runs of equal ids, which may continue in the next rows."""
        self._run_ids.append(run_ids)
        self._run_lengths.append(run_lengths)
        if labels is not None:
            self._spill("y", labels)
        if docid is not None and not isinstance(docid, TextColumn):
            self._spill("docid", docid)
        for column, names in ((docid, _DOCIDS), (comments, _COMMENTS)):
            if isinstance(column, TextColumn):
                n_before = self._sizes.get(names[0], 0)
                self._spill(names[0], column.buffer)
                self._spill(names[1], column.bounds[1:] + n_before, first=0)

    def _spill(self, name: str, values: np.ndarray, first: int | None = None) -> None:
        if name not in self._spills:
            self._spills[name] = Spill(values.dtype, str(self._cache.path.parent))
            self._sizes[name] = 0
            if first is not None:
                self._spill(name, np.array([first]))
        self._spills[name].append(values)
        self._sizes[name] += values.size

    @_writing()
    def finish(self, width: int, remedy: str, categories: Categories | None = None, **described: Any) -> None:
        """Move the cache to its final path; ``described`` are ``feature_names`` and ``first_index`` of the columns."""
        name = str(self._cache.paths[0])
        if [signature(path) for path in self._cache.paths] != self._cache.signatures:
            raise NotCachedError(f"{name} or another of the files changed while it was read")
        groups = group_runs(_joined(self._run_ids), np.concatenate(self._run_lengths))
        if groups.order is not None:
            torn = np.searchsorted(groups.indptr, np.argmax(np.diff(groups.order) != 1), side="right") - 1
            raise ValueError(
                f"the rows of query {plain(groups.ids[torn])!r} are not adjacent in {name}, which a memory-mapped "
                f"cache requires. Sort the rows once, such as: {remedy}."
            )
        if groups.ids.dtype.kind == "O":
            raise NotCachedError("a query id is too long to be stored")
        if "indices" in self._spills and width > _most_columns(self._widest, self._cache.options):
            raise NotCachedError("the values are too few for so many columns")
        for column, spill in self._spills.items():
            values = spill.finish((self._sizes[column],))
            if column == "indptr_of_rows" and values[-1] < 2**31:
                values = values.astype(np.int32)
            if column not in _COMMENTS or self._sizes["comments"]:  # empty ones are none
                self._writer.add(column, values)
        self._writer.add("ids", groups.ids)
        self._writer.add("indptr", groups.indptr)
        header: dict[str, Any] = {"shape": [int(groups.indptr[-1]), width], **described}
        if categories:
            header["categories"] = {str(column): names.tolist() for column, names in categories.items()}
        self._writer.finish({"made_from": self._cache.signatures, "options": self._cache.options, **header})


def _joined(run_ids: list[np.ndarray | list[str]]) -> np.ndarray:
    """Return ids as integers, or as text if some are."""
    if all(isinstance(ids, np.ndarray) for ids in run_ids):
        return np.concatenate(run_ids)
    return as_str_array([str(key) for ids in run_ids for key in (ids if isinstance(ids, list) else ids.tolist())])


def signature(path: Path) -> list:
    """Return the size of a file, its modification time, and a hash of its content, sampled if it is large."""
    if not path.is_file():
        if path.exists():
            raise ValueError(f"cache needs regular files, which can be read again; {path} is not one.")
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with open(path, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size, length = status.st_size, min(status.st_size, _WHOLE_BELOW)
        offsets = [0]
        if size > _WHOLE_BELOW:
            length = _SAMPLE_BYTES
            offsets = [(size - length) * k // (_SAMPLES - 1) for k in range(_SAMPLES)]
        digest = hashlib.blake2b(digest_size=16)
        for offset in offsets:
            digest.update(os.pread(file.fileno(), length, offset))
        return [size, status.st_mtime_ns, digest.hexdigest()]


def load(path: Path, made_from: list, options: dict[str, str], dtype: np.dtype | None = None) -> Queries:
    """Return the queries of a cache that was made from these files with these options.

    Arrays are mapped copy-on-write: they can be changed like those read from text, and the file stays as it is. Raises
    ContainerError if the cache is damaged, OutdatedError if it belongs to other files, options or another version.
    """
    with open_container(path, KIND, VERSION, verify=False) as container:
        header = container.header
        if header["made_from"] != made_from or header["options"] != options:
            raise OutdatedError("the cache was made from other files, or with other options.")
        if is_verifying():
            container.verify()
        dtypes = _DTYPES | dict.fromkeys(("X", "data"), "<f[48]" if dtype is None else re.escape(dtype.str))
        for name, entry in container.arrays.items():
            _check(name in dtypes and re.fullmatch(dtypes[name], entry.dtype.str) is not None)
        arrays = {name: container.mapped(name) for name in container.arrays}
    shape = n_docs, width = tuple(header["shape"])
    names, y, ids, indptr, docid = header["feature_names"], *map(arrays.get, ("y", "ids", "indptr", "docid"))
    # compiled loops trust the indices
    label = options.get("label")  # files without labels may be read with the default
    _check((y is not None) == (label != "None") or (y is None and label == "label"))
    _check(y is None or y.shape == (n_docs,))
    if ids is None or indptr is None:
        raise ContainerError(INCONSISTENT)
    _check(indptr.shape == (ids.size + 1,) and _are_bounds(indptr, n_docs))
    _check(docid is None or docid.shape == (n_docs,))
    if names is not None:
        _check(type(names) is list and all(type(name) is str for name in names) and len(set(names)) == width)
    if "indices" in arrays:
        widest = 1 + int(arrays["indices"].max(initial=-1))
        _check(type(width) is int and width <= _most_columns(widest, options))
    X = arrays["X"] if "X" in arrays else _csr(arrays, shape)
    _check(X.shape == shape)
    categories = {int(column): as_str_array(texts) for column, texts in header.get("categories", {}).items()}
    _check(all(0 <= column < width for column in categories))
    texts, comments = (_texts(arrays, column, n_docs) for column in (_DOCIDS, _COMMENTS))
    return Queries.from_groups(
        X, y, ids, indptr, docid=docid if texts is None else texts, comments=comments, feature_names=names,
        first_index=header["first_index"], categories=categories,
    )  # fmt: skip


def _most_columns(widest: int, options: dict[str, str]) -> int:
    """Return how many columns a CSR cache may declare whose values need ``widest``: more take too much memory."""
    n_features = options.get("n_features", "None")
    return max(widest, MAX_UNCHECKED_COLUMNS if n_features == "None" else int(n_features))


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise ContainerError(INCONSISTENT)


def _texts(arrays: dict[str, np.ndarray], names: tuple[str, str], n_docs: int) -> TextColumn | None:
    if names[1] not in arrays:
        return None
    column = TextColumn(arrays[names[0]], arrays[names[1]])
    _check(len(column) == n_docs and _are_bounds(column.bounds, column.buffer.size))
    return column


def _are_bounds(bounds: np.ndarray, end: int) -> bool:
    return bool(bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def _csr(arrays: dict[str, np.ndarray], shape: tuple[int, int]):
    with importing:
        from scipy.sparse import csr_matrix

    data, indices, indptr = arrays["data"], arrays["indices"], arrays["indptr_of_rows"]
    _check(data.shape == indices.shape and indptr.shape == (shape[0] + 1,) and _are_bounds(indptr, data.size))
    _check(not indices.size or 0 <= int(indices.min()) <= int(indices.max()) < shape[1])
    X = csr_matrix((data, indices, indptr), shape=shape, copy=False)
    X.has_sorted_indices = X.has_canonical_format = True
    return X
