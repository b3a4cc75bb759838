"""Measure and describe the results of benchmarks."""

from __future__ import annotations

import gc
import importlib
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One comparison: seconds of plackett and of the peer (None if it is not installed), and the target ratio.

    Other quantities than times, such as memory, have another ``unit``.
    """

    what: str
    ours: float
    peer_name: str
    peer: float | None
    target: float | None = None
    note: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None else self.peer / self.ours


def best_of(call: Callable[[], object], repeat: int = 5, *, at_most: float = 30.0) -> float:
    """Return the shortest of ``repeat`` calls in seconds, as noise only adds; stop after ``at_most`` seconds."""
    best, spent = float("inf"), 0.0
    gc.collect()
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > at_most:
            break
    return best


def shortest(call: Callable[[], object], seconds: float) -> float:
    """Return the shortest of the calls that fit into some seconds, at least of one."""
    best, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - start)
        if now > end:
            return best


def peer(module: str):
    """Return the peer's module, or None if it is not installed; errors of a broken installation are raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
                raise
            return None
