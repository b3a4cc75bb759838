"""The argument ``progress=`` of comparisons: a bar, lines of text, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from plackett._progress import is_watched

Progress = Callable[[str], Any] | bool | None


def is_bar(progress: Callable[..., Any] | bool | None) -> bool:
    """Return whether to draw a bar: if one would be seen, unless progress is turned off or a callable."""
    return not callable(progress) and progress is not False and is_watched()


def tell(progress: Progress, line: str) -> None:
    """Pass a line to a callable; if progress was requested where no bar would be seen, write it to standard error."""
    if callable(progress):
        progress(line)
    elif progress and not is_watched():
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
