"""A cache whose missing values are computed in one background thread, so that no request waits for many of them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from cachetools import LRUCache

LOG = logging.getLogger("plackett.apps.workbench")
MAX_WAITING = 20_000  # values to compute; further ones are requested again by the next request
IDLE = 5.0  # seconds after which the thread ends


class BackgroundCache:
    """Values by key. Thread-safe.

    Parameters
    ----------
    max_size : int
        Values in the cache; the least recently used one is dropped first.
    """

    def __init__(self, max_size: int):
        self._values: LRUCache[Hashable, Any] = LRUCache(max_size)
        self._waiting: dict[Hashable, Callable[[], Any]] = {}
        self._order: deque[Hashable] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return a cached value, or None if it has to be computed first, which then happens in the background.

        ``compute`` returns errors that users should see as values; any other error is logged, and the value is computed
        again by the next call.
        """
        with self._changed:
            if key in self._values:
                return self._values[key]
        self.renew(key, compute)
        return None

    def renew(self, key: Hashable, compute: Callable[[], Any]) -> None:
        """Compute a value in the background; an old one stays in the cache until then."""
        with self._changed:
            if key in self._waiting or len(self._waiting) >= MAX_WAITING or self._is_closed:
                return
            self._waiting[key] = compute
            self._order.append(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="rankings", daemon=True)
                self._thread.start()
            self._changed.notify()

    def now(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return a value, computed here if it is not cached."""
        with self._changed:
            if key in self._values:
                return self._values[key]
        value = compute()
        with self._changed:
            self._values[key] = value
        return value

    def drop(self, key: Hashable) -> None:
        """Drop a value, so that it is computed again."""
        with self._changed:
            self._values.pop(key, None)

    def close(self) -> None:
        """Drop pending values; the thread ends after the current one."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._order.clear()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._order:
                    self._changed.wait(IDLE)
                if not self._order:
                    self._thread = None
                    return
                key = self._order.popleft()
                compute = self._waiting[key]
            try:
                value = compute()
            except Exception:
                LOG.exception("a value of the scoreboard cannot be computed")
                value = None
            with self._changed:
                self._waiting.pop(key, None)
                if value is not None:
                    self._values[key] = value
