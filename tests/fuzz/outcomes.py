"""Distinguish errors that plackett raises from those of other packages."""

from __future__ import annotations

import contextlib
import traceback


class Foreign(Exception):
    """A ValueError of numpy or Python, which received an invalid argument from plackett."""


@contextlib.contextmanager
def our_errors():
    """Let a ValueError pass only if a statement of plackett raised it."""
    try:
        yield
    except ValueError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "plackett" in last.filename and (last.line or "").lstrip().startswith("raise"):
            raise
        raise Foreign(f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})") from error
