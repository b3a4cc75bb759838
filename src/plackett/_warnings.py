"""Recording the warnings of one thread.

``warnings.catch_warnings`` changes the whole process: where blocks of several threads overlap, the last one to end
restores what another one had set, and all later warnings of the process are swallowed.
"""

from __future__ import annotations

import contextlib
import re
import threading
import warnings
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_own = threading.local()  # .stack: the lists that this thread records into, the innermost last
_users = 0  # blocks of all threads, under the lock
_filters: list[Any] = []  # those from before the first block
_show: Any = None


@contextlib.contextmanager
def recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Record every warning of this thread inside the block, instead of showing it.

    Warnings of other threads are shown or ignored as before.

    Examples
    --------
    >>> with recorded() as caught:
    ...     warnings.warn("so few queries", stacklevel=1)
    >>> [str(one.message) for one in caught]
    ['so few queries']
    """
    global _users, _filters, _show
    caught: list[warnings.WarningMessage] = []
    stack = _own.__dict__.setdefault("stack", [])
    with _lock:
        if _users == 0:
            _filters, _show = list(warnings.filters), warnings.showwarning
            warnings.showwarning = _dispatch
        warnings.simplefilter("always")  # again, in case catch_warnings has put other filters in front
        _users += 1
    stack.append(caught)
    try:
        yield caught
    finally:
        stack.pop()
        with _lock:
            _users -= 1
            if _users == 0 and warnings.showwarning is _dispatch:
                warnings.showwarning = _show
                warnings.simplefilter("ignore", _Never)  # lets Python notice that the filters change
                active: Any = warnings.filters
                active[:] = _filters


@contextlib.contextmanager
def without(pattern: str) -> Iterator[None]:
    """Drop the warnings of this thread whose message matches; the others are issued after the block."""
    with recorded() as caught:
        yield
    for one in caught:
        if not re.match(pattern, str(one.message)):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


class _Never(Warning):
    """A warning that is never issued."""


def _dispatch(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    stack = getattr(_own, "stack", None)
    if stack:
        stack[-1].append(warnings.WarningMessage(message, category, filename, lineno, file, line))
        return
    for action, text, kind, module, number in _filters:
        is_meant = (text is None or text.match(str(message))) and issubclass(category, kind) and number in (0, lineno)
        if is_meant and module is None:  # the module that warned is unknown here
            if action == "error":
                raise message
            if action == "ignore":
                return
            break
    _show(message, category, filename, lineno, file, line)
