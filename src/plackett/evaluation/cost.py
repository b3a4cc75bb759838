"""How long a piece of work took, without compilation."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

COMPILING = "numba:compiler_lock"  # held while a kernel is compiled, or loaded from the cache on disk


@dataclass
class Cost:
    """Seconds of wall-clock time; NaN until the work has ended."""

    seconds: float = math.nan


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    """Measure the block; the seconds are there when it has ended.

    Time in which kernels were compiled or loaded is not counted: it belongs to the first call in a process, whichever
    ranker makes it.

    Examples
    --------
    >>> with measured() as cost:
    ...     total = sum(range(1000))
    >>> cost.seconds >= 0
    True
    """
    from numba.core import event

    cost, compiling = Cost(), event.TimingListener()
    start = time.perf_counter()
    try:
        with event.install_listener(COMPILING, compiling):
            yield cost
    finally:
        seconds = time.perf_counter() - start
        cost.seconds = max(0.0, seconds - (compiling.duration if compiling.done else 0.0))
