"""Which errors are ours."""

from __future__ import annotations

import contextlib
import traceback


class Foreign(Exception):
    """A ValueError that we did not raise: whatever had it, numpy or Python, was given what it cannot take."""


@contextlib.contextmanager
def our_errors():
    """Let a ValueError pass only if a statement of ours raised it."""
    try:
        yield
    except ValueError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if "plackett" in last.filename and (last.line or "").lstrip().startswith("raise"):
            raise
        raise Foreign(f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})") from error
