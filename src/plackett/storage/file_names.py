"""From what a user names to files: a path, a folder of Parquet files, a pattern (``day-*.parquet``), or a list.

The files of a folder may lie in folders called ``day=7``, as Hive, Spark, Dask and pyarrow lay them out by a column
that the files then lack: its value is in the name. Other folders inside are not looked into: they may hold other sets.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from plackett.storage.opening import Stream, first_bytes

_MAGIC = b"PAR1"


def files_of(paths: Any) -> list[str]:
    """The files that ``paths`` stands for, in order; those of a folder or a pattern by name.

    Of a folder the files ``*.parquet`` count, and those in its folders ``column=value``, without names that begin with
    "." or "_", where programs keep what is unfinished or about the others.
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
        files = list(_parquet_files(path))
        if not files:
            raise FileNotFoundError(errno.ENOENT, f"the folder holds no files *.parquet{_where_else(path)}", path)
        return files
    if not os.path.exists(path) and glob.has_magic(path):
        found = sorted(glob.glob(path))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file fits the pattern", path)
        return [file for one in found for file in _files_of_one(one)]
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return [path]


def _parquet_files(folder: str) -> Iterator[str]:
    """Those of the folder itself, then those of its folders ``column=value``."""
    names = sorted(name for name in os.listdir(folder) if name[0] not in "._")
    paths = [os.path.join(folder, name) for name in names]
    yield from (path for path in paths if path.endswith(".parquet") and not os.path.isdir(path))
    for name, path in zip(names, paths, strict=True):
        if "=" in name and os.path.isdir(path):
            yield from _parquet_files(path)


def _where_else(folder: str) -> str:
    """A hint at folders inside that hold such files."""
    inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] not in "._")
    found = [path for path in inside if has_parquet(path)]
    return (
        f'; name those inside that do ("{found[0]}"), or all of them ("{os.path.join(folder, "*")}")' if found else ""
    )


def has_parquet(folder: str | os.PathLike) -> bool:
    """Whether a folder holds Parquet files."""
    return any(_parquet_files(os.fspath(folder)))


def value_in_path(path: str, column: str) -> str | None:
    """What the folders that a file lies in say about a column, as ``day=7`` does; None where they do not name it."""
    for folder in reversed(os.path.dirname(os.path.abspath(path)).split(os.sep)):
        name, equals, value = folder.partition("=")
        if equals and unquote(name) == column:
            return unquote(value)
    return None


def is_parquet(path: str | os.PathLike | Stream) -> bool:
    """Whether a file begins as Parquet files do; the name does not matter. False for the path of a pipe."""
    return first_bytes(path, len(_MAGIC)) == _MAGIC


def parquet_in_pipe(name: str) -> ValueError:
    """The error for Parquet that comes from a pipe."""
    return ValueError(
        f"{name} is a pipe, from which Parquet cannot be read: such files have their directory at the end. "
        "Save its content as a file first."
    )


# --- Files of published data sets -------------------------------------------------------------------------------------

_COMPRESSED = ("", ".gz", ".xz", ".zst", ".bz2")


def find_folder(root: Path, relative: str) -> Path | None:
    """The folder ``relative`` below ``root``, its parts in any case, or None; ``""`` is the root itself."""
    place: Path | None = root if root.is_dir() else None
    for part in Path(relative).parts:
        place = None if place is None else _entry(place, part, folders=True)
    return place


def find_file(folder: Path, relative: str) -> Path | None:
    """The file ``relative`` below ``folder``, its parts in any case, plain or compressed, or None."""
    *parents, name = Path(relative).parts
    place = find_folder(folder, "/".join(parents))
    if place is None:
        return None
    found = (_entry(place, name + suffix, folders=False) for suffix in _COMPRESSED)
    return next((path for path in found if path is not None), None)


def _entry(folder: Path, name: str, *, folders: bool) -> Path | None:
    def fits(path: Path) -> bool:
        return path.is_dir() if folders else path.is_file()

    if fits(folder / name):
        return folder / name
    alike = sorted(path for path in folder.iterdir() if path.name.lower() == name.lower() and fits(path))
    return alike[0] if alike else None
