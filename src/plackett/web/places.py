"""Where the workbench keeps what a user gave no place for: judgements for good, indexes as long as they last."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

LONGEST_NAME = 80  # characters of a file's name


def data_folder() -> Path:
    """For what must not be lost: ``$XDG_DATA_HOME/plackett`` or what the system has in its place."""
    return _folder("XDG_DATA_HOME", ".local/share", "Library/Application Support")


def cache_folder() -> Path:
    """For what can be made anew."""
    return _folder("XDG_CACHE_HOME", ".cache", "Library/Caches")


def _folder(variable: str, elsewhere: str, on_macos: str) -> Path:
    given = os.environ.get(variable, "")
    if os.path.isabs(given):  # the rule is that others are ignored
        return Path(given) / "plackett"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "plackett"
    return Path.home() / (on_macos if sys.platform == "darwin" else elsewhere) / "plackett"


def store_file(collection: str) -> Path:
    """The file that keeps the judgements of a collection, in a folder that is made if it is not there.

    Parameters
    ----------
    collection : str
        Its key.
    """
    folder = data_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        words = f"judgements cannot be kept in {folder} ({error.strerror or error}); name a file with --store."
        raise OSError(words) from None
    name = re.sub(r"[^\w.-]+", "-", collection).strip("-.") or "collection"
    return folder / f"{name[-LONGEST_NAME:]}.db"
