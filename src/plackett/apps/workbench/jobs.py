"""Background jobs: one at a time, in a thread, with their state in the store."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Query

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench import tables
from plackett.apps.workbench.api import Bench, PathId, missing, new_router
from plackett.apps.workbench.values import PageRequest, Record

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

Report = Callable[[float, str], None]
Work = Callable[[int, Report], dict[str, Any]]
State = Literal["queued", "running", "interrupted", "done", "failed", "cancelled"]
LOG = logging.getLogger("plackett.apps.workbench")
UNFINISHED = ("queued", "running", "interrupted")  # a worker may still report for an interrupted job
REPORT_INTERVAL = 0.25  # seconds: each report waits for the disk
SHUTDOWN_TIMEOUT = 3.0  # seconds for a job to stop when the server does
router = new_router("training")
JOBS = tables.jobs


@dataclass
class Job:
    """A background job; ``progress`` is from 0 to 1."""

    id: int
    kind: str
    state: State
    progress: float
    message: str
    settings: dict[str, Any]
    result: dict[str, Any] | None
    created: datetime
    updated: datetime
    is_finished: bool = False

    def __post_init__(self) -> None:
        self.is_finished = self.state not in ("queued", "running")


class Jobs(Record):
    """Jobs, newest first."""

    jobs: list[Job]


class Cancelled(Exception):
    """A job was cancelled; nothing is saved. A job raises it where it reports its progress."""


class JobRunner:
    """Background jobs of one collection, one at a time. Thread-safe.

    Unfinished jobs of an earlier server are marked as interrupted.
    """

    def __init__(self, store: Store, collection: str):
        self._store, self._collection = store, collection
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None  # of the running job
        self._cancelled: set[int] = set()
        self._is_closing = False
        self._interrupt()

    def start(self, kind: str, settings: dict[str, Any], work: Work) -> Job:
        """Start ``work(job_id, report)`` in a thread; what it returns becomes the job's result."""
        with self._lock:
            if self._is_closing:
                raise RequestError(503, "closing", "the workbench is shutting down.", "Restart it, and try again.")
            if self._thread is not None:
                raise RequestError(429, "busy", "a job is already running.", "Wait until it is done, or cancel it.")
            job_id = self.create(kind, settings)
            self._thread = threading.Thread(target=self._run, args=(job_id, work), name=f"job {job_id}", daemon=True)
            self._thread.start()
        return self.job(job_id)

    def create(self, kind: str, settings: dict[str, Any]) -> int:
        """Store a queued job, and return its id."""
        now = datetime.now(UTC)
        about: dict[str, Any] = {
            "kind": kind,
            "collection": self._collection,
            "settings": settings,
            "created": now,
            "updated": now,
        }
        return self._store.add(JOBS, **about, state="queued", progress=0.0, message="")

    def update(self, job_id: int, state: State = "running", **changes: Any) -> bool:
        """Store the state of a job; every call waits for the disk.

        Returns False, and changes nothing, if the job is done, failed or cancelled; its worker should then stop.
        """
        changed = sa.update(JOBS).where(JOBS.c.id == job_id, JOBS.c.state.in_(UNFINISHED))
        with self._store.writing() as connection:
            values = {**changes, "state": state, "updated": datetime.now(UTC)}
            return connection.execute(changed.values(values)).rowcount == 1

    def job(self, job_id: int) -> Job:
        """Return the state of a job."""
        found = self._store.records(Job, JOBS, JOBS.c.id == job_id)
        if not found:
            raise missing(f"there is no job {job_id}.")
        return found[0]

    def jobs(self) -> list[Job]:
        """Return the jobs of the collection, newest first."""
        return self._store.records(Job, JOBS, JOBS.c.collection == self._collection, order=JOBS.c.id.desc())

    def cancel(self, job_id: int) -> Job:
        """Cancel a job, unless it has ended, and return its state."""
        self.update(job_id, "cancelled", message="Cancelled")
        self._cancelled.add(job_id)
        return self.job(job_id)

    def close(self) -> None:
        """Stop the running job; if it does not stop in time, it is marked as interrupted."""
        with self._lock:
            self._is_closing = True
            thread = self._thread
        if thread is not None:
            thread.join(SHUTDOWN_TIMEOUT)
            self._interrupt()

    def _interrupt(self) -> None:
        own = JOBS.c.collection == self._collection
        left = sa.update(JOBS).where(own, JOBS.c.state.in_(("queued", "running")))
        with self._store.writing() as connection:
            connection.execute(left.values(state="interrupted", updated=datetime.now(UTC)))

    def _run(self, job_id: int, work: Work) -> None:
        try:
            self.update(job_id)
            result = work(job_id, self._report(job_id))
            self.update(job_id, "done", progress=1.0, message="Done", result=result)
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
                self._thread = None

    def _report(self, job_id: int) -> Report:
        """Return a callable that stores progress at intervals, and ends a job that was cancelled, here or elsewhere."""
        last = -REPORT_INTERVAL

        def report(share: float, message: str) -> None:
            nonlocal last
            if self._is_closing or job_id in self._cancelled:
                raise Cancelled
            now = time.monotonic()
            if now - last >= REPORT_INTERVAL:
                last = now
                if not self.update(job_id, progress=share, message=message):
                    raise Cancelled

        return report

    def _end(self, job_id: int, state: State, message: str) -> None:
        try:
            self.update(job_id, state, message=message.replace("\0", " "))
        except OSError as error:  # the store failed; the next server marks the job as interrupted
            LOG.error("job %d: %s", job_id, error)


@router.get("/jobs")
def jobs(bench: Bench, page: Annotated[PageRequest, Query()]) -> Jobs:
    """Return jobs, newest first."""
    return Jobs(bench.jobs.jobs()[page.offset : page.offset + page.limit])


@router.get("/jobs/{job_id}")
def job(bench: Bench, job_id: PathId) -> Job:
    """Return the state of a job."""
    return bench.jobs.job(job_id)


@router.post("/jobs/{job_id}/cancel")
def cancel(bench: Bench, job_id: PathId) -> Job:
    """Cancel a job."""
    return bench.jobs.cancel(job_id)
