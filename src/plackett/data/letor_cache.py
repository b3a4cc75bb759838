"""A copy of the arrays of LETOR files that is mapped into memory on the next read.

That it cannot be written is a warning: the data are there all the same.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plackett.data.cache_file import CacheDraft, arrays_of, cache_path, load, mode_of, signature
from plackett.data.letor_parse import Options
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning


def read_through(inputs: list, options: Options, folder: Any, read_text: Callable[[], Queries]) -> Queries:
    """The queries from a cache that fits, or else from the text, leaving a cache behind."""
    for entry in inputs:
        if entry == "-" or not isinstance(entry, (str, os.PathLike)):
            raise ValueError(
                "cache needs files with a name: standard input and file objects cannot be recognised again."
            )
    paths = [Path(entry) for entry in inputs]
    described = _described(options)
    place = cache_path(paths, described, folder)
    made_from = [signature(path) for path in paths]
    try:
        return load(place, made_from, described, options.dtype)
    except Exception:  # absent, torn, foreign, not to be opened: whatever it is, the text is still there
        pass
    queries = read_text()
    try:
        if [signature(path) for path in paths] == made_from:  # otherwise a file changed while it was read
            place.parent.mkdir(parents=True, exist_ok=True)
            _store(place, queries, made_from, described, mode_of(paths[0]))
    except OSError as error:
        warnings.warn(f"the cache {place} could not be written ({error}).", DataWarning, stacklevel=3)
    return queries


def _described(options: Options) -> dict[str, str]:
    """Options as they stand in a header; NaN as text, for JSON has none."""
    return {name: str(getattr(options, name)) for name in options.__dataclass_fields__}


def _store(place: Path, queries: Queries, made_from: list, options: dict[str, str], mode: int) -> None:
    if queries.ids.dtype.kind == "O":
        raise OSError("an id is too long to be stored")
    with CacheDraft(place, mode) as draft:
        for name, array in arrays_of(queries).items():
            draft.add(name, array)
        draft.finish(queries.X.shape, made_from, options, None)
