"""Packages that belong to an extra: imported where they are needed, named when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_optional(module: str, *, extra: str | None, needed_for: str) -> ModuleType:
    """The imported ``module``, or an error that says how to install it: by our extra, or else by its own name.

    A package that is present but broken shows its own error: only the absence of the package itself is translated.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        wanted = package if extra is None else f"'plackett[{extra}]'"
        raise ModuleNotFoundError(
            f"{needed_for} needs {package}. Install it with: pip install {wanted}", name=error.name
        ) from error
