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
from pathlib import Path
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett.data.categories import Categories
from plackett.data.letor.parse import MAX_EMPTY_CELLS, MAX_UNCHECKED_COLUMNS
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, as_str_array
from plackett.exceptions import DataWarning, warn
from plackett.storage.checksums import is_verifying
from plackett.storage.container import (
    Container,
    ContainerError,
    ContainerWriter,
    OutdatedError,
    open_container,
    write_container,
)

KIND, VERSION = "plackett cache", 4  # of the file, and of how readers fill the arrays: raise it when either changes
_WHOLE_BELOW = 1 << 18  # bytes that are hashed completely; larger files are sampled
_SAMPLES, _SAMPLE_BYTES = 16, 4096
# dtypes of the arrays, as numpy writes them; None: that of X, which the caller may know
_DTYPES = {
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


class CacheFile:
    """The cache of data files read with certain options, stored beside the first file or in ``folder``.

    Beside the files, the name of a cache depends on their names, so that the folder can be moved. In ``folder`` it
    depends on their full paths.

    Parameters
    ----------
    paths : list of Path
    options : dict of str to str
        How the files are read.
    folder : path, default=None
    dtype : dtype, default=None
        Of X; None accepts float32 and float64.

    Attributes
    ----------
    path : Path
        Of the cache.
    """

    def __init__(self, paths: list[Path], options: dict[str, str], folder: Any = None, dtype: np.dtype | None = None):
        self._paths, self._options, self._dtype = paths, options, dtype
        names = [path.name if folder is None else str(path.resolve()) for path in paths]
        key = hashlib.blake2b(json.dumps([VERSION, names, options]).encode(), digest_size=8).hexdigest()
        self.path = (paths[0].parent if folder is None else Path(folder)) / f"{paths[0].name}.{key}.plackett-cache"
        self._signatures = [signature(path) for path in paths]

    def load(self) -> Queries | None:
        """Return the cached queries; None if the cache is missing or outdated, or, with a warning, damaged."""
        try:
            return load(self.path, self._signatures, self._options, self._dtype)
        except (FileNotFoundError, NotADirectoryError, OutdatedError):
            pass
        except Exception as error:  # any failure falls back to the files
            what = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is damaged"
            warn(f"the cache {self.path} {what}; rebuilding it.", DataWarning)
        return None

    def is_outdated(self) -> bool:
        """Return whether the files have changed since this object was created."""
        return [signature(path) for path in self._paths] != self._signatures

    def writer(self) -> contextlib.AbstractContextManager[ContainerWriter]:
        """Return a writer of the cache, for ``finish``.

        It gets the permissions that all of the files have.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o666
        for path in self._paths:
            mode &= stat.S_IMODE(path.stat().st_mode)
        return write_container(self.path, KIND, VERSION, mode=mode | 0o600)

    def finish(
        self,
        writer: ContainerWriter,
        shape: tuple[int, int],
        feature_names: list[str] | None,
        first_index: int | None,
        categories: Categories | None = None,
    ) -> None:
        """Write the header and move the cache to its final path."""
        described: dict[str, Any] = {"shape": list(shape), "feature_names": feature_names, "first_index": first_index}
        if categories:
            described["categories"] = {str(column): names.tolist() for column, names in categories.items()}
        writer.finish({"made_from": self._signatures, "options": self._options, **described})


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

    Arrays are mapped copy-on-write: they can be changed like those read from text, and the file stays as it is.

    Raises
    ------
    ContainerError
        If the cache is damaged; OutdatedError if it belongs to other files, options or another version.
    """
    with open_container(path, KIND, VERSION, verify=False) as container:
        header = container.header
        if header["made_from"] != made_from or header["options"] != options:
            raise OutdatedError("the cache was made from other files, or with other options.")
        if is_verifying():
            container.verify()
        _check_dtypes(container, "<f[48]" if dtype is None else re.escape(dtype.str))
        arrays = {name: container.mapped(name) for name in container.arrays}
    _check(("y" in arrays) == (options.get("label") != "None"))
    shape = tuple(header["shape"])
    if (indices := arrays.get("indices")) is not None:
        widest = int(indices.max()) + 1 if indices.size else 0
        _check(type(shape[1]) is int and shape[1] <= most_columns(indices.size, widest, options))
    categories = {int(column): as_str_array(names) for column, names in header.get("categories", {}).items()}
    _check(all(0 <= column < shape[1] for column in categories))
    return _assemble(arrays, shape, header["feature_names"], header["first_index"], categories)


def most_columns(n_values: int, widest: int, options: dict[str, str]) -> int:
    """Return how many columns a CSR cache may have, by the rules for text: others need too much memory."""
    if options.get("n_features", "None") != "None":
        return max(widest, int(options["n_features"]))
    is_asked_for = options.get("sparse") == "True"
    return max(MAX_UNCHECKED_COLUMNS, widest if is_asked_for else min(widest, MAX_EMPTY_CELLS * n_values))


def _check(is_valid: bool) -> None:
    if not is_valid:
        raise ContainerError("the arrays of the cache are inconsistent.")


def _check_dtypes(container: Container, dtype_of_X: str) -> None:
    for name, entry in container.arrays.items():
        _check(name in _DTYPES and re.fullmatch(_DTYPES[name] or dtype_of_X, entry.dtype.str) is not None)


def _assemble(
    arrays: dict[str, np.ndarray], shape: tuple[int, int], names: Any, first_index: Any, categories: Categories
) -> Queries:
    """Return queries over the arrays if they are consistent; compiled loops trust their indices."""
    n_docs = shape[0]
    indptr, ids, y = arrays["indptr"], arrays["ids"], arrays.get("y")
    _check(indptr.shape == (ids.size + 1,) and _are_bounds(indptr, n_docs))
    _check(y is None or y.shape == (n_docs,))
    X = arrays["X"] if "X" in arrays else _csr(arrays, shape)
    _check(X.shape == shape)
    if names is not None:
        _check(type(names) is list and all(type(name) is str for name in names) and len(set(names)) == shape[1])
    docid, order = arrays.get("docid"), arrays.get("row_order")
    _check(docid is None or docid.shape == (n_docs,))
    _check(order is None or (order.shape == (n_docs,) and _is_permutation(order)))
    texts = _texts(arrays, "docids", "docid_bounds", n_docs)
    grouped = Queries.from_groups(
        X, y, ids, indptr, docid=docid if texts is None else texts,
        comments=_texts(arrays, "comments", "comment_bounds", n_docs), feature_names=names,
        first_index=first_index, categories=categories, row_order=order,
    )  # fmt: skip
    return grouped.as_given()


def _texts(arrays: dict[str, np.ndarray], buffer: str, bounds: str, n_docs: int) -> TextColumn | None:
    if bounds not in arrays:
        return None
    column = TextColumn(arrays[buffer], arrays[bounds])
    _check(len(column) == n_docs and _are_bounds(column.bounds, column.buffer.size))
    return column


def _is_permutation(order: np.ndarray) -> bool:
    if order.size and not 0 <= int(order.min()) <= int(order.max()) < order.size:
        return False
    is_seen = np.zeros(order.size, dtype=bool)
    is_seen[order] = True
    return bool(is_seen.all())


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
