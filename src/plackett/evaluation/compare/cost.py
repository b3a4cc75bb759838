"""How long a piece of work took."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Cost:
    """Seconds of wall-clock time; NaN until the work has ended."""

    seconds: float = math.nan


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    """Measure the block; the seconds are there when it has ended.

    Examples
    --------
    >>> with measured() as cost:
    ...     total = sum(range(1000))
    >>> cost.seconds >= 0
    True
    """
    cost = Cost()
    start = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - start
