"""Work in the background: one thread each, a few at a time, told of in the store and stopped when asked to."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plackett.web.errors import Problem

if TYPE_CHECKING:
    from plackett.web.store import Job, Store

Work = Callable[[int, Callable[[float, str], None], threading.Event], dict[str, Any]]
LOG = logging.getLogger("plackett.web")
BETWEEN_WORDS = 0.25  # seconds: each report waits for the disk
PATIENCE = 3.0  # seconds for jobs to stop when the server does


class Jobs:
    """Jobs of one collection.

    Parameters
    ----------
    store : Store
        Where their state is kept; jobs that an earlier server left unfinished are called interrupted.
    collection : str
    most : int
        Jobs at the same time.
    """

    def __init__(self, store: Store, collection: str, most: int):
        self._store, self._collection, self._most = store, collection, most
        self._lock = threading.Lock()
        self._running: dict[int, tuple[threading.Thread, threading.Event]] = {}
        self._is_closing = False
        store.interrupt_jobs(collection)

    def start(self, kind: str, settings: dict[str, Any], work: Work) -> Job:
        """Begin ``work(job_id, progress, cancel)``, whose answer becomes the job's result."""
        with self._lock:
            if self._is_closing or len(self._running) >= self._most:
                raise Problem(429, "busy", "a job is running already.", "Wait until it is done, or cancel it.")
            job = self._store.create_job(kind, self._collection, settings)
            cancel = threading.Event()
            thread = threading.Thread(target=self._run, args=(job.id, work, cancel), name=f"job {job.id}", daemon=True)
            self._running[job.id] = thread, cancel
            thread.start()
        return job

    def cancel(self, job_id: int) -> Job:
        """The job, cancelled unless it has ended before; a LookupError where there is none."""
        self._store.update_job(job_id, state="cancelled", message="Cancelled")
        with self._lock:
            running = self._running.get(job_id)
        if running is not None:
            running[1].set()
        return self._store.job(job_id)

    def close(self) -> None:
        """Stop all jobs; what does not stop in time is interrupted."""
        with self._lock:
            self._is_closing = True
            running = list(self._running.values())
        for _, cancel in running:
            cancel.set()
        deadline = time.monotonic() + PATIENCE
        for thread, _ in running:
            thread.join(max(deadline - time.monotonic(), 0.0))
        if running:
            self._store.interrupt_jobs(self._collection)

    def _run(self, job_id: int, work: Work, cancel: threading.Event) -> None:
        from plackett.web.workbench.training import Cancelled

        try:
            self._store.update_job(job_id)
            result = work(job_id, _Teller(self._store, job_id, cancel), cancel)
            self._store.update_job(job_id, state="done", progress=1.0, message="Done", result=result)
        except Cancelled:
            if not self._is_closing:
                self._tell_end(job_id, "cancelled", "Cancelled")
        except ValueError as error:
            self._tell_end(job_id, "failed", str(error)[:1000])
        except Exception as error:
            number = secrets.token_hex(4)
            LOG.error("internal error %s in job %d", number, job_id, exc_info=error)
            self._tell_end(job_id, "failed", f"Internal error {number}; the server's log says more.")
        finally:
            with self._lock:
                self._running.pop(job_id, None)

    def _tell_end(self, job_id: int, state: str, message: str) -> None:
        try:
            self._store.update_job(job_id, state=state, message=message.replace("\0", " "))
        except OSError as error:  # the store is gone: after a restart the job is interrupted
            LOG.error("job %d: %s", job_id, error)


class _Teller:
    """Writes progress down, not too often, and learns whether the job was cancelled elsewhere."""

    def __init__(self, store: Store, job_id: int, cancel: threading.Event):
        self._store, self._job_id, self._cancel = store, job_id, cancel
        self._last = -1.0

    def __call__(self, share: float, words: str) -> None:
        now = time.monotonic()
        if now - self._last < BETWEEN_WORDS:
            return
        self._last = now
        if not self._store.update_job(self._job_id, progress=min(max(share, 0.0), 1.0), message=words):
            self._cancel.set()
