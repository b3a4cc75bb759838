"""Parts that installed packages add through entry points: measures, losses, rankers."""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any


@functools.cache
def plugins(kind: str) -> dict[str, EntryPoint]:
    """Return the entry points of the group ``plackett.<kind>`` by name; nothing is imported."""
    return {one.name: one for one in entry_points(group=f"plackett.{kind}")}


def load_plugin(kind: str, name: str) -> Any:
    """Return the object of an entry point; an error names the package that provides it."""
    one = plugins(kind)[name]
    try:
        return one.load()
    except Exception as error:  # any code of the package may have run
        package = "an installed package" if one.dist is None else f"the package {one.dist.name}"
        raise ImportError(
            f"{name!r} is provided by {package} as {one.value}, which cannot be imported: {error}"
        ) from error
