"""Measure calls alternately, for fair comparisons on a noisy machine, and check targets."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.timing import Result

PAUSE = 0.25  # seconds: idle threads of BLAS and OpenMP spin after a call and would slow down the next


def best_in_turns(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the shortest of ``rounds`` calls of each, in seconds; alternating, so that noise affects all equally."""
    best = dict.fromkeys(calls, float("inf"))
    gc.collect()
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            for _ in range(2):  # the first call warms up caches and threads
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def judged(result: Result) -> Result:
    """Return the result with a note on whether it meets its target."""
    if result.ratio is None or result.target is None:
        return result
    verdict = "met" if result.ratio >= result.target else "missed"
    return replace(result, note=f"{verdict}; {result.note}" if result.note else verdict)
