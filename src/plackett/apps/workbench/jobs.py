"""Background jobs: one thread each, a limited number at a time, with their state in the store."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.records import Job
from plackett.apps.workbench.schemas.training import JobResponse, JobsResponse

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

Work = Callable[[int, Callable[[float, str], None], threading.Event], dict[str, Any]]
LOG = logging.getLogger("plackett.apps.workbench")
FINISHED = ("done", "failed", "cancelled", "interrupted")
REPORT_INTERVAL = 0.25  # seconds: each report waits for the disk
SHUTDOWN_TIMEOUT = 3.0  # seconds for jobs to stop when the server does


class JobRunner:
    """Background jobs of one collection. Thread-safe.

    Parameters
    ----------
    store : Store
        The state of the jobs; unfinished jobs of an earlier server are marked as interrupted.
    collection : str
    max_jobs : int
        Jobs at the same time.
    """

    def __init__(self, store: Store, collection: str, max_jobs: int):
        self._store, self._collection, self._max_jobs = store, collection, max_jobs
        self._lock = threading.Lock()
        self._running: dict[int, tuple[threading.Thread, threading.Event]] = {}
        self._is_closing = False
        store.interrupt_jobs(collection)

    def start(self, kind: str, settings: dict[str, Any], work: Work) -> JobResponse:
        """Start ``work(job_id, progress, cancel)`` in a thread; what it returns becomes the job's result."""
        with self._lock:
            if self._is_closing:
                raise RequestError(503, "closing", "the workbench is shutting down.", "Restart it, and try again.")
            if len(self._running) >= self._max_jobs:
                raise RequestError(429, "busy", "a job is already running.", "Wait until it is done, or cancel it.")
            job = self._store.create_job(kind, self._collection, settings)
            cancel = threading.Event()
            thread = threading.Thread(target=self._run, args=(job.id, work, cancel), name=f"job {job.id}", daemon=True)
            self._running[job.id] = thread, cancel
            thread.start()
        return _response(job)

    def job(self, job_id: int) -> JobResponse:
        """Return the state of a job."""
        with client_errors():
            return _response(self._store.job(job_id))

    def jobs(self, limit: int, offset: int) -> JobsResponse:
        """Return the jobs of the collection, newest first."""
        with client_errors():
            found = self._store.jobs(self._collection, limit=limit, offset=offset)
        return JobsResponse(jobs=[_response(job) for job in found])

    def cancel(self, job_id: int) -> JobResponse:
        """Cancel a job, unless it has ended, and return its state."""
        with client_errors():
            self._store.update_job(job_id, state="cancelled", message="Cancelled")
            with self._lock:
                running = self._running.get(job_id)
            if running is not None:
                running[1].set()
            return _response(self._store.job(job_id))

    def close(self) -> None:
        """Stop all jobs; those that do not stop in time are marked as interrupted."""
        with self._lock:
            self._is_closing = True
            running = list(self._running.values())
        for _, cancel in running:
            cancel.set()
        deadline = time.monotonic() + SHUTDOWN_TIMEOUT
        for thread, _ in running:
            thread.join(max(deadline - time.monotonic(), 0.0))
        if running:
            self._store.interrupt_jobs(self._collection)

    def _run(self, job_id: int, work: Work, cancel: threading.Event) -> None:
        from plackett.apps.workbench.training import Cancelled

        try:
            self._store.update_job(job_id)
            result = work(job_id, self._progress(job_id, cancel), cancel)
            self._store.update_job(job_id, state="done", progress=1.0, message="Done", result=result)
        except Cancelled:
            if not self._is_closing:
                self._end(job_id, "cancelled", "Cancelled")
        except (ValueError, RequestError) as error:
            self._end(job_id, "failed", str(error)[:1000])
        except Exception as error:
            error_id = secrets.token_hex(4)
            LOG.error("internal error %s in job %d", error_id, job_id, exc_info=error)
            self._end(job_id, "failed", f"Internal error {error_id}; see the server's log.")
        finally:
            with self._lock:
                self._running.pop(job_id, None)

    def _progress(self, job_id: int, cancel: threading.Event) -> Callable[[float, str], None]:
        """Return a callable that stores progress at intervals, and stops the job if it was cancelled elsewhere."""
        last = -REPORT_INTERVAL

        def report(share: float, message: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= REPORT_INTERVAL:
                last = now
                if not self._store.update_job(job_id, progress=min(max(share, 0.0), 1.0), message=message):
                    cancel.set()

        return report

    def _end(self, job_id: int, state: str, message: str) -> None:
        try:
            self._store.update_job(job_id, state=state, message=message.replace("\0", " "))
        except OSError as error:  # the store failed; the next server marks the job as interrupted
            LOG.error("job %d: %s", job_id, error)


def _response(job: Job) -> JobResponse:
    return JobResponse(
        **{name: value for name, value in job._asdict().items() if name != "collection"},
        is_finished=job.state in FINISHED,
    )
