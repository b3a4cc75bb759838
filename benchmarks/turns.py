"""Timing that is fair on a noisy machine, and whether an aim was met."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.timing import Result

PAUSE = 0.25  # seconds: idle threads of BLAS and OpenMP spin for a while after a call, beside whoever comes next


def best_in_turns(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The shortest of ``rounds`` calls of each, in seconds, in turns: what else runs on the machine hits all alike."""
    best = dict.fromkeys(calls, float("inf"))
    gc.collect()
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            for _ in range(2):  # the first one warms the cache and wakes the threads
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def judged(result: Result) -> Result:
    """The result with a note that says whether its aim is met."""
    if result.ratio is None or result.target is None:
        return result
    verdict = "met" if result.ratio >= result.target else "missed"
    return replace(result, note=f"{verdict}; {result.note}" if result.note else verdict)
