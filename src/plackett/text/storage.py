"""Named arrays in a folder: written as a whole or not at all, mapped into memory when opened.

A folder holds ``index.json``, which describes everything, and the file of arrays that it names. A new index is a new
file of arrays first and then a new ``index.json`` in the place of the old: whoever opens the folder, at any moment and
after any interruption, finds the old index, the new one or none. Nothing in the folder is ever run or unpickled.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.storage.atomic import DRAFT, folder_lock, locked_file, remove_abandoned
from plackett.storage.opening import write_bytes

FORMAT = "plackett text index"
VERSION = 1  # raise it when the meaning of a header or of an array changes
HEADER = "index.json"
ARRAYS = re.compile(r"arrays-[0-9a-f]{16}\.bin")
DTYPES = ("|u1", "<i4", "<i8", "<f8")
_PAGE = 4096
_LONGEST_HEADER = 1 << 22  # bytes; parsed, it may take thirty times as many
_BLOCK = 1 << 22


def write_folder(folder: str | os.PathLike, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write ``facts`` (what JSON can say) and ``arrays``; an index that stands there is replaced."""
    place = Path(folder)
    check_folder(place)
    place.mkdir(parents=True, exist_ok=True)
    name = f"arrays-{secrets.token_hex(8)}.bin"
    try:
        with locked_file(place / name) as file:
            entries = _write_arrays(file, arrays)
            body = json.dumps(
                {"facts": dict(facts), "file": name, "size": file.tell(), "arrays": entries}, allow_nan=False
            )
            file.flush()
            os.fsync(file.fileno())
            with folder_lock(place):  # others write their arrays at the same time, and then wait here
                _replace_header(place, body)
                file.close()  # from here on the new index counts, and the next writer may delete this one
                _remove_others(place, name)
    except BaseException:
        if not _names(place / HEADER, name):
            (place / name).unlink(missing_ok=True)
        raise


def _replace_header(place: Path, body: str) -> None:
    heading = {"format": FORMAT, "version": VERSION, "crc32": zlib.crc32(body.encode("ascii"))}
    with write_bytes(place / HEADER) as file:
        file.write(json.dumps(heading).encode("ascii") + b"\n" + body.encode("ascii") + b"\n")


def _write_arrays(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Write all arrays, each from a page of its own: what the header says of them."""
    entries: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        values = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        if values.dtype.str not in DTYPES:
            raise TypeError(f"{key} is of type {values.dtype}, which an index does not hold.")
        content = values.reshape(-1).view(np.uint8).data if values.size else memoryview(b"")
        entries[key] = {
            "dtype": values.dtype.str,
            "shape": list(values.shape),
            "offset": file.tell(),
            "crc32": zlib.crc32(content),
        }
        file.write(content)
        file.write(bytes(-len(content) % _PAGE))
    return entries


def _remove_others(place: Path, name: str) -> None:
    """Delete the arrays of the index before, and what crashed writers left; living ones hold locks on their files."""
    others = (other for other in os.listdir(place) if other not in (name, HEADER) and _is_ours(other))
    remove_abandoned(place / other for other in others)


def check_folder(folder: str | os.PathLike) -> None:
    """Complain about a place that is no folder, or one that holds something else than an index."""
    place = Path(folder)
    if not place.exists():
        return
    if not place.is_dir():
        raise NotADirectoryError(f"{place} is a file; an index needs a folder of its own.")
    names = sorted(os.listdir(place))
    foreign = [name for name in names if not _is_ours(name)]
    if HEADER in names:  # a name that others use as well
        foreign = [] if _names(place / HEADER, FORMAT) else [HEADER]
    if foreign:
        raise FileExistsError(f"{place} holds {foreign[0]} and is no index. Give a new or an empty folder.")


def _is_ours(name: str) -> bool:
    """Whether we write files of this name: the header, its drafts, and arrays."""
    stem = re.sub(f"{DRAFT}$", "", name)
    return stem == HEADER or ARRAYS.fullmatch(stem) is not None


def _names(header: Path, name: str) -> bool:
    try:
        return name.encode("ascii") in header.read_bytes()
    except OSError:
        return False


def open_folder(folder: str | os.PathLike, *, verify: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The facts and the arrays of a folder, these mapped into memory and read-only.

    With ``verify`` every byte is compared with its checksum; without, only the header is, and that each array lies
    within the file.
    """
    place = Path(folder)
    for attempt in range(3):
        header = _read_header(place)
        try:
            return header["facts"], _map_arrays(place / header["file"], header, verify)
        except DataFormatError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(place / HEADER, f"it does not describe an index ({error!r})") from error
        except FileNotFoundError:  # a new index may have taken its place in between
            if attempt == 2 or not _changed(place, header):
                raise DataFormatError(
                    str(place), None, f"its file {header['file']} is missing; build the index anew."
                ) from None
    raise AssertionError("unreachable")


def _changed(place: Path, header: dict[str, Any]) -> bool:
    return not _names(place / HEADER, header["file"])


def _read_header(place: Path) -> dict[str, Any]:
    path = place / HEADER
    if not path.is_file():
        if not place.exists():
            raise FileNotFoundError(f"{place} is not there; an index is made by build_index(...).save(folder).")
        raise DataFormatError(str(place), None, f"it holds no {HEADER}, so it is not an index.")
    if path.stat().st_size > _LONGEST_HEADER:
        raise DataFormatError(str(path), None, "it is too long to describe an index.")
    lines = path.read_bytes().split(b"\n")
    try:
        heading = json.loads(lines[0])
        is_ours = heading["format"] == FORMAT and type(heading["version"]) is int
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise DataFormatError(str(path), None, "it does not begin as an index does.")
    if heading["version"] != VERSION:
        raise DataFormatError(
            str(path),
            None,
            f"the index has format {heading['version']}; this version of plackett reads {VERSION}. Build it anew.",
        )
    if len(lines) != 3 or lines[2] or zlib.crc32(lines[1]) != heading.get("crc32"):
        raise _damaged(path, "its checksum is wrong")
    try:
        header = json.loads(lines[1])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise _damaged(path, "it does not describe an index")
    return header


def _map_arrays(path: Path, header: dict[str, Any], verify: bool) -> dict[str, np.ndarray]:
    if not ARRAYS.fullmatch(header["file"]):
        raise _damaged(path, "it is not a name that an index gives")
    arrays = {}
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size != header["size"]:
            raise _damaged(path, f"it has {size:,} bytes where {header['size']:,} were written")
        for key, entry in header["arrays"].items():
            dtype, shape, start = entry["dtype"], tuple(entry["shape"]), entry["offset"]
            n_bytes = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=object)) if dtype in DTYPES else -1
            are_counts = all(type(number) is int and number >= 0 for number in (*shape, start))
            if n_bytes < 0 or not are_counts or start % _PAGE or start + n_bytes > size:
                raise _damaged(path, f"the array {key} does not lie in it")
            if verify and _checksum(file, start, n_bytes) != entry["crc32"]:
                raise _damaged(path, f"the checksum of the array {key} is wrong")
            if n_bytes:
                arrays[key] = np.asarray(np.memmap(file, dtype=dtype, mode="r", offset=start, shape=shape))
            else:
                arrays[key] = np.empty(shape, dtype)
    return arrays


def _checksum(file, start: int, n_bytes: int) -> int:
    file.seek(start)
    checksum, left = 0, n_bytes
    while left:
        piece = file.read(min(left, _BLOCK))
        if not piece:
            break
        checksum, left = zlib.crc32(piece, checksum), left - len(piece)
    return checksum


def _damaged(path: Path, reason: str) -> DataFormatError:
    return DataFormatError(str(path), None, f"the index is damaged: {reason}. Build it anew.")
