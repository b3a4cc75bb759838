"""The files of the two parts of a UBI log in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

QUERIES, EVENTS = "ubi_queries", "ubi_events"


def ubi_sources(source: Any) -> tuple[list[Path], list[Path]] | None:
    """Return the files of queries and of events in a folder; None for other sources."""
    if not isinstance(source, (str, os.PathLike)) or source == "-" or not Path(source).is_dir():
        return None
    found = []
    for what in (QUERIES, EVENTS):
        files = sorted(path for path in Path(source).iterdir() if path.name.startswith(what) and path.is_file())
        if not files:
            raise ValueError(f"{source} has no file {what}*; pass the two files instead.")
        found.append(files)
    return found[0], found[1]
