"""The file of a text index: a container in a folder of its own, replaced atomically and mapped into memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from plackett.exceptions import DataFormatError
from plackett.storage.atomic import DRAFT
from plackett.storage.container import MAGIC, ContainerError, open_container, write_container
from plackett.storage.opening import first_bytes

KIND, VERSION = "plackett text index", 1  # raise it when the meaning of the header or of an array changes
INDEX_FILE = "index.plackett"


def write_folder(folder: str | os.PathLike, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write ``header`` (values of JSON) and ``arrays`` to a folder; an index that is there is replaced."""
    place = Path(folder)
    check_folder(place)
    place.mkdir(parents=True, exist_ok=True)
    with write_container(place / INDEX_FILE, KIND, VERSION) as writer:
        for name, array in arrays.items():
            writer.add(name, array.astype(array.dtype.newbyteorder("<"), copy=False))
        writer.finish(header)


def check_folder(folder: str | os.PathLike) -> None:
    """Raise an error unless ``folder`` is new or empty, or holds an index."""
    place = Path(folder)
    if not place.exists():
        return
    if not place.is_dir():
        raise NotADirectoryError(f"{place} is a file; an index needs a folder of its own.")
    names = sorted(os.listdir(place))
    foreign = [name for name in names if re.sub(f"{DRAFT}$", "", name) != INDEX_FILE]
    if INDEX_FILE in names and first_bytes(place / INDEX_FILE, len(MAGIC)) != MAGIC:
        foreign = [INDEX_FILE]
    if foreign:
        raise FileExistsError(f"{place} holds {foreign[0]} and is no index. Give a new or an empty folder.")


def open_folder(folder: str | os.PathLike, *, verify: bool = True) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays of a folder, these mapped into memory and read-only.

    With ``verify`` every byte is compared with its checksum; without, only the directory of the file is.
    """
    place = Path(folder)
    if not place.exists():
        raise FileNotFoundError(f"{place} does not exist; build_index(...).save(folder) makes an index.")
    path = place / INDEX_FILE
    if not path.is_file():
        raise DataFormatError(str(place), None, f"it holds no {INDEX_FILE}, so it is not an index.")
    try:
        with open_container(path, KIND, VERSION, verify=verify) as container:
            return container.header, {name: container.mapped(name, "r") for name in container.arrays}
    except ContainerError as error:
        raise DataFormatError(str(path), None, f"{error} Build the index anew.") from error
