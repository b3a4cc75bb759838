"""The arrays of LETOR files in a cache that is mapped into memory, now and on the next read.

That it cannot be written is a warning: the text can be read into memory all the same.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from plackett.data.cache_file import Damaged, cache_path, load, mode_of, signature
from plackett.data.letor.build import NotWritten, build
from plackett.data.letor.parse import Options
from plackett.data.queries import Queries
from plackett.exceptions import DataWarning


def read_through(inputs: list, options: Options, folder: Any, read_text: Callable[[], Queries]) -> Queries:
    """The queries over a cache that fits, which is made where there is none; of text that allows none, in memory."""
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
    except Damaged as error:
        warnings.warn(str(error), DataWarning, stacklevel=3)
    except Exception:  # absent, torn, foreign, not to be opened: whatever it is, the text is still there
        pass

    is_built = has_changed = False

    def may_finish(n_rows: int) -> bool:
        """Not without rows, nor when a file changed while it was read."""
        nonlocal has_changed
        has_changed = [signature(path) for path in paths] != made_from
        return n_rows > 0 and not has_changed

    try:
        is_built = build(place, mode_of(*paths), inputs, options, may_finish, made_from, described)
    except NotWritten as error:
        warnings.warn(f"the cache {place} could not be written ({error}).", DataWarning, stacklevel=3)
    if has_changed:
        message = f"there is no cache {place}, for the text changed while it was read; it is read into memory instead."
        warnings.warn(message, DataWarning, stacklevel=3)
    with contextlib.suppress(Exception):  # whatever became of it since
        if is_built:
            return load(place, made_from, described, options.dtype)
    return read_text()


def _described(options: Options) -> dict[str, str]:
    """Options as they stand in a header; NaN as text, for JSON has none."""
    return {name: str(getattr(options, name)) for name in options.__dataclass_fields__}
