"""Finding files: by path, folder of Parquet files, pattern (``day-*.parquet``) or list; and those of data sets.

A folder may be partitioned into folders called ``day=7``, as by Hive, Spark, Dask and pyarrow. The files then lack that
column: its value is in the name of the folder. Other subfolders are ignored, since they may hold other data sets.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from plackett.storage.compression import COMPRESSED
from plackett.storage.opening import first_bytes
from plackett.storage.remote import is_remote, urls_of

_MAGIC = b"PAR1"

DELIMITED = {".csv": ",", ".tsv": "\t"}
ARROW = (".arrow", ".feather", ".ipc")
DATABASES = (".db", ".sqlite", ".sqlite3")


def files_of(paths: Any) -> list[str]:
    """Return the files that ``paths`` matches, in order; those of a folder or a pattern by name.

    The files of a folder are those called ``*.parquet``, including those in its folders ``column=value``. Names that
    begin with "." or "_" are skipped: programs use them for unfinished files and metadata.
    """
    if isinstance(paths, (str, os.PathLike)):
        return urls_of(paths) if isinstance(paths, str) and is_remote(paths) else _files_of_one(os.fspath(paths))
    if not isinstance(paths, Sequence) or isinstance(paths, (bytes, bytearray)):
        raise TypeError(f"paths is a {type(paths).__name__}; expected a path, a folder, a pattern or a list of paths.")
    if not paths:
        raise ValueError("no file was given.")
    return [file for one in paths for file in files_of(one)]


def _files_of_one(path: str) -> list[str]:
    if os.path.isdir(path):
        files = list(_parquet_files(path))
        if not files:
            raise FileNotFoundError(errno.ENOENT, f"the folder has no files *.parquet{_where_else(path)}", path)
        return files
    if not os.path.exists(path) and glob.has_magic(path):
        found = sorted(glob.glob(path))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", path)
        return [file for one in found for file in _files_of_one(one)]
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return [path]


def _parquet_files(folder: str) -> Iterator[str]:
    """Yield the files of the folder itself, then those of its folders ``column=value``."""
    names = sorted(name for name in os.listdir(folder) if name[0] not in "._")
    paths = [os.path.join(folder, name) for name in names]
    yield from (path for path in paths if path.endswith(".parquet") and not os.path.isdir(path))
    for name, path in zip(names, paths, strict=True):
        if "=" in name and os.path.isdir(path):
            yield from _parquet_files(path)


def _where_else(folder: str) -> str:
    """Return a hint about subfolders with such files."""
    inside = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] not in "._")
    found = [path for path in inside if has_parquet(path)]
    everything = os.path.join(folder, "*")
    return f'; pass a subfolder that has them ("{found[0]}"), or all of them ("{everything}")' if found else ""


def has_parquet(folder: str | os.PathLike) -> bool:
    """Return whether a folder holds Parquet files."""
    return any(_parquet_files(os.fspath(folder)))


def value_in_path(path: str, column: str) -> str | None:
    """Return the value of a column from the folders of a file, such as ``day=7``; None if they do not name it."""
    for folder in reversed(os.path.dirname(os.path.abspath(path)).split(os.sep)):
        name, equals, value = folder.partition("=")
        if equals and unquote(name) == column:
            return unquote(value)
    return None


def is_parquet(path: str | os.PathLike) -> bool:
    """Return whether the first bytes of a file are those of Parquet. False for the path of a pipe."""
    return first_bytes(path, len(_MAGIC)) == _MAGIC


def parquet_in_pipe(name: str) -> ValueError:
    """Return the error for Parquet from a pipe."""
    return ValueError(
        f"{name} is a pipe, but Parquet needs a file: its metadata is at the end. Save the content as a file first."
    )


# --- Files of published data sets -------------------------------------------------------------------------------------


def find_folder(root: Path, relative: str) -> Path | None:
    """Return the folder ``relative`` below ``root``, in any letter case, or None; ``""`` is the root itself."""
    place: Path | None = root if root.is_dir() else None
    for part in Path(relative).parts:
        place = None if place is None else _entry(place, part, folders=True)
    return place


def find_file(folder: Path, *relative: str) -> Path | None:
    """Return the first of these files below ``folder``, in any letter case, plain or compressed, or None."""
    for parents, name in map(os.path.split, relative):
        place = find_folder(folder, parents)
        found = (_entry(place, name + suffix, folders=False) for suffix in ("", *COMPRESSED) if place is not None)
        path = next(filter(None, found), None)
        if path is not None:
            return path
    return None


def _entry(folder: Path, name: str, *, folders: bool) -> Path | None:
    def fits(path: Path) -> bool:
        return path.is_dir() if folders else path.is_file()

    if fits(folder / name):
        return folder / name
    alike = sorted(path for path in folder.iterdir() if path.name.lower() == name.lower() and fits(path))
    return alike[0] if alike else None


def is_table(path: object) -> bool:
    """Return whether a path has the extension of a CSV, TSV, Arrow or SQLite file."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    return table_ending(path) in (*DELIMITED, *ARROW) or os.fspath(path).lower().endswith(DATABASES)


def table_ending(path: str | os.PathLike) -> str:
    """Return the extension of a path without that of a compression: ``.csv`` of ``log.csv.gz``."""
    name = os.fspath(path).lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return os.path.splitext(name)[1]
