"""Importing optional packages, with an error that says how to install a missing one."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from plackett._lazy import importing


def import_optional(module: str, *, extra: str | None, needed_for: str) -> ModuleType:
    """Return the imported ``module``, or raise an error that says how to install it: by an extra, or by its name.

    A package that is installed but broken raises its own error.
    """
    package = module.partition(".")[0]
    try:
        with importing:
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        wanted = package if extra is None else f"'plackett[{extra}]'"
        raise ModuleNotFoundError(
            f"{needed_for} needs {package}. Install it with: pip install {wanted}", name=error.name
        ) from error


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    return importlib.util.find_spec(package) is not None
