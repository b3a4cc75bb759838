"""A thread that writes pending items in groups, so that many requests share one disk sync or one commit."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import Any

GROUP = 1000  # items of one sync
PATIENCE = 2.5  # seconds


class GroupWriter:
    """Writes items in the order in which they were submitted; subclasses define ``_write``.

    Parameters
    ----------
    name : str
        The name of the thread.
    patience : float
        If a group takes more seconds than this, new items are refused until it is done, so that they do not pile up.
    """

    def __init__(self, name: str, patience: float = PATIENCE):
        self._patience = patience
        self._waiting: queue.SimpleQueue[tuple[Any, Future[Any]] | None] = queue.SimpleQueue()
        self._began: float | None = None  # start time of the group that is being written
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write all pending items, and end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _submit(self, item: Any) -> Future[Any]:
        """Return a future for the result of an item, set when it is written; it may fail with an OSError."""
        future: Future[Any] = Future()
        self._waiting.put((item, future))
        return future

    def _refusal(self) -> Future[Any] | None:
        """Return a failed future if the group that is being written takes too long."""
        began = self._began
        if began is None or time.monotonic() - began < self._patience:
            return None
        future: Future[Any] = Future()
        future.set_exception(OSError(f"the log has not responded for {self._patience:g} s"))
        return future

    def _write(self, items: list[Any]) -> list[Any]:
        """Write some items durably; return the result, or an error, of each. A raised error applies to all."""
        raise NotImplementedError

    def _run(self) -> None:
        is_open = True
        while is_open:
            waited = [self._waiting.get()]
            while len(waited) < GROUP and not self._waiting.empty():
                waited.append(self._waiting.get())
            group = [one for one in waited if one is not None]
            is_open = len(group) == len(waited)
            if group:
                self._finish(group)

    def _finish(self, group: list[tuple[Any, Future[Any]]]) -> None:
        # a request that timed out cancels its future, but its item is still written
        futures = [future if future.set_running_or_notify_cancel() else None for _, future in group]
        self._began = time.monotonic()
        try:
            results = self._write([item for item, _ in group])
        except Exception as error:
            results = [error] * len(group)
        self._began = None
        for future, result in zip(futures, results, strict=True):
            if future is not None and isinstance(result, Exception):
                future.set_exception(result)
            elif future is not None:
                future.set_result(result)
