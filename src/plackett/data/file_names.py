"""From what a user names to files: a path, a folder of Parquet files, a pattern (``day-*.parquet``), or a list."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Sequence
from typing import Any

_MAGIC = b"PAR1"


def files_of(paths: Any) -> list[str]:
    """The files that ``paths`` stands for, in order; those of a folder or a pattern by name.

    Of a folder the files ``*.parquet`` count, without those whose names begin with "." or "_", where programs keep
    what is unfinished or about the others.
    """
    if isinstance(paths, (str, os.PathLike)):
        return _files_of_one(os.fspath(paths))
    if not isinstance(paths, Sequence) or isinstance(paths, (bytes, bytearray)):
        raise TypeError(f"a path, a folder, a pattern or a list of paths is needed, not {type(paths).__name__}.")
    if not paths:
        raise ValueError("no file was given to read from.")
    return [file for one in paths for file in files_of(one)]


def _files_of_one(path: str) -> list[str]:
    if os.path.isdir(path):
        names = _parquet_names(path)
        if not names:
            raise FileNotFoundError(errno.ENOENT, "the folder holds no files *.parquet", path)
        return [os.path.join(path, name) for name in names]
    if not os.path.exists(path) and glob.has_magic(path):
        found = sorted(glob.glob(path))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file fits the pattern", path)
        return [file for one in found for file in _files_of_one(one)]
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return [path]


def _parquet_names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".parquet") and name[0] not in "._")


def has_parquet(folder: str | os.PathLike) -> bool:
    """Whether a folder holds Parquet files."""
    return bool(_parquet_names(os.fspath(folder)))


def is_parquet(path: str | os.PathLike) -> bool:
    """Whether a file begins as Parquet files do; the name does not matter."""
    if not os.path.isfile(path):  # a pipe would lose what is read from it
        return False
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
