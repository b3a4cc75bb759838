"""Counters of a service in Prometheus' text format, added up over its worker processes.

Each worker has a row of a shared anonymous mapping, so any worker can answer for all of them.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
STATUSES = (200, 400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 503)
SKIPPED = ("no ids or query", "no user", "explain", "failed")  # why a list was not interleaved
HELP = {
    "requests_total": "Requests by path and status.",
    "rank_seconds": "Time from the headers of POST /rank to the end of its response, in seconds.",
    "lists_total": "Lists that were ranked.",
    "documents_total": "Documents that were scored.",
    "swaps_total": "Model files that replaced a model.",
    "swap_failures_total": "Model files that could not replace a model.",
    "shadow_total": "Requests that the shadow model scored.",
    "shadow_failures_total": "Requests that the shadow model could not score.",
    "shadow_dropped_total": "Requests that the shadow model skipped because it fell behind.",
    "log_failures_total": "Lists and clicks that could not be logged.",
    "clicks_total": "Clicks that were logged.",
    "interleaved_total": "Lists that mix models.",
    "interleaving_skipped_total": "Lists of requests for an interleaved model that were not mixed, by reason.",
}


class Metrics:
    """Counters of all workers; made before they start.

    Parameters
    ----------
    paths : iterable of str
        Others are counted as "other".
    models : iterable of str
    n_workers : int
    """

    def __init__(self, paths: Iterable[str], models: Iterable[str], n_workers: int = 1):
        self._paths, self._worker, self._lock = (*paths, "other"), 0, threading.Lock()
        self._slots: dict[tuple[str, str], int] = {}
        for path in self._paths:
            for status in (*STATUSES, "other"):
                self._add("requests_total", f'path="{path}",status="{status}"')
        for bound in (*BUCKETS, "+Inf"):
            self._add("rank_seconds", f'le="{bound}"')
        self._add("rank_seconds", "sum")
        for name in ("lists_total", "documents_total", "swaps_total", "swap_failures_total"):
            for model in models:
                self._add(name, f'model="{model}"')
        for name in ("shadow_total", "shadow_failures_total", "shadow_dropped_total", "log_failures_total"):
            self._add(name, "")
        for name in ("clicks_total", "interleaved_total"):
            self._add(name, "")
        for reason in SKIPPED:
            self._add("interleaving_skipped_total", f'reason="{reason}"')
        shape = (n_workers, len(self._slots))
        shared = mmap.mmap(-1, max(1, n_workers * len(self._slots)) * 8)
        self._values = np.frombuffer(shared, dtype=np.float64)[: shape[0] * shape[1]].reshape(shape)

    def _add(self, name: str, labels: str) -> None:
        self._slots[name, labels] = len(self._slots)

    def use_row(self, worker: int) -> None:
        """Count in the row of this worker from now on."""
        self._worker, self._lock = worker, threading.Lock()

    def add(self, name: str, labels: str = "", value: float = 1.0) -> None:
        """Add to a counter."""
        with self._lock:
            self._values[self._worker, self._slots[name, labels]] += value

    def add_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request, and the time of a ranking."""
        shown = path if path in self._paths else "other"
        self.add("requests_total", f'path="{shown}",status="{status if status in STATUSES else "other"}"')
        if shown == "/rank" and status == 200:
            place = bisect_left(BUCKETS, seconds)
            self.add("rank_seconds", f'le="{BUCKETS[place] if place < len(BUCKETS) else "+Inf"}"')
            self.add("rank_seconds", "sum", seconds)

    def value(self, name: str, labels: str = "") -> float:
        """Return a counter, over all workers."""
        return float(self._values[:, self._slots[name, labels]].sum())

    def text(self, more: Iterable[str] = ()) -> str:
        """Return all counters in the text format, then further lines."""
        lines, last = [], ""
        totals = self._values.sum(axis=0)
        below = 0.0
        for (name, labels), slot in self._slots.items():
            if name != last:
                kind = "histogram" if name == "rank_seconds" else "counter"
                lines += [f"# HELP plackett_{name} {HELP[name]}", f"# TYPE plackett_{name} {kind}"]
                last = name
            value = float(totals[slot])
            if name == "rank_seconds" and labels == "sum":
                lines += [f"plackett_{name}_sum {value!r}", f"plackett_{name}_count {below:.0f}"]
            elif name == "rank_seconds":
                below += value
                lines.append(f"plackett_{name}_bucket{{{labels}}} {below:.0f}")
            elif value or not labels.startswith("path="):
                lines.append(f"plackett_{name}{{{labels}}} {value:.0f}" if labels else f"plackett_{name} {value:.0f}")
        return "\n".join([*lines, *more]) + "\n"
