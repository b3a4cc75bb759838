"""What a piece of work cost: seconds, and how far the memory of this process rose meanwhile."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc/self")
FORGET_PEAK = "5"  # what, written to clear_refs, lets the kernel count the peak anew


@dataclass
class Cost:
    """Seconds by the clock, and megabytes by which resident memory rose to its peak; NaN where that is not known.

    Memory is that of the whole process: of fits that run in several threads at once, each sees what all of them take.
    """

    seconds: float = math.nan
    peak_mb: float = math.nan


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    """Measure what happens inside; the numbers are there when it has ended.

    Examples
    --------
    >>> with measured() as cost:
    ...     total = sum(range(1000))
    >>> cost.seconds >= 0
    True
    """
    cost = Cost()
    before = _resident_mb() if _forget_peak() else math.nan
    start = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - start
        cost.peak_mb = max(_peak_mb() - before, 0.0) if not math.isnan(before) else math.nan


def _forget_peak() -> bool:
    """Let the peak start anew; False where the system cannot, and the peak of a fit is therefore not known."""
    try:
        (PROC / "clear_refs").write_text(FORGET_PEAK)
    except OSError:
        return False
    return True


def _resident_mb() -> float:
    return _status_mb("VmRSS")


def _peak_mb() -> float:
    return _status_mb("VmHWM")


def _status_mb(name: str) -> float:
    try:
        lines = (PROC / "status").read_text().splitlines()
    except OSError:
        return math.nan
    for line in lines:
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return math.nan
