"""Stored state of background jobs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update

from plackett.apps.workbench.db import Database
from plackett.apps.workbench.records import Job
from plackett.apps.workbench.store import tables
from plackett.apps.workbench.store.validation import MAX_NAME, check_id, check_json, check_page, check_text

UNFINISHED = ("queued", "running", "interrupted")
FINISHED = ("done", "failed", "cancelled")
STATES = UNFINISHED + FINISHED


class JobStore(Database):
    """The operations of a store on jobs; it does not run them."""

    def create_job(self, kind: str, collection: str, settings: dict[str, Any]) -> Job:
        """Create a queued job."""
        now = datetime.now(UTC)
        row = {
            "kind": check_text(kind, "a job's kind", max_length=MAX_NAME),
            "collection": check_text(collection, "a collection's name"),
            "state": "queued",
            "progress": 0.0,
            "message": "",
            "settings": check_json(settings, "a job's settings"),
            "result": None,
            "created": now,
            "updated": now,
        }
        with self.writing() as connection:
            job_id = connection.execute(insert(tables.jobs).values(row).returning(tables.jobs.c.id)).scalar_one()
        return _job((job_id, *row.values()))

    def update_job(
        self,
        job_id: int,
        *,
        state: str | None = None,
        progress: float | None = None,
        message: str | None = None,
        result: dict[str, Any] | None = None,
    ) -> bool:
        """Update the state of a job; arguments that are None stay unchanged. Every call waits for the disk.

        Returns False, and changes nothing, if the job is done, failed or cancelled; its worker should then stop. An
        interrupted job whose worker still reports becomes running again.
        """
        changes: dict[str, Any] = {"updated": datetime.now(UTC), "state": "running" if state is None else state}
        if changes["state"] not in STATES:
            raise ValueError(f'a job\'s state must be one of {", ".join(STATES)}, not "{state}".')
        if progress is not None:
            if not 0.0 <= progress <= 1.0:
                raise ValueError(f"a job's progress must be from 0 to 1, not {progress}.")
            changes["progress"] = float(progress)
        if message is not None:
            changes["message"] = check_text(message, "a job's message", may_be_empty=True)
        if result is not None:
            changes["result"] = check_json(result, "a job's result")
        one = tables.jobs.c.id == check_id(job_id, "job")
        with self.writing() as connection:
            changed = connection.execute(
                update(tables.jobs).where(one, tables.jobs.c.state.in_(UNFINISHED)).values(changes)
            ).rowcount
            if not changed and connection.execute(select(tables.jobs.c.id).where(one)).first() is None:
                raise LookupError(f"there is no job {job_id}.")
        return changed == 1

    def job(self, job_id: int) -> Job:
        """Return a job by its id; raise a LookupError if the id is unknown."""
        with self.reading() as connection:
            row = connection.execute(select(tables.jobs).where(tables.jobs.c.id == check_id(job_id, "job"))).first()
            if row is None:
                raise LookupError(f"there is no job {job_id}.")
            return _job(row)

    def jobs(self, collection: str | None = None, *, limit: int = 50, offset: int = 0) -> list[Job]:
        """Return the jobs of one collection or of all, newest first."""
        check_page(limit, offset)
        chosen = select(tables.jobs).order_by(tables.jobs.c.id.desc()).limit(limit).offset(offset)
        if collection is not None:
            chosen = chosen.where(tables.jobs.c.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            return [_job(row) for row in connection.execute(chosen)]

    def interrupt_jobs(self, collection: str | None = None) -> int:
        """Mark queued and running jobs, of one collection or of all, as interrupted; return their number.

        A server calls this when it starts. Opening a store does not, because another process may be running the jobs;
        the next ``update_job`` of such a process marks its job as running again.
        """
        left = update(tables.jobs).where(tables.jobs.c.state.in_(("queued", "running")))
        if collection is not None:
            left = left.where(tables.jobs.c.collection == check_text(collection, "a collection's name"))
        with self.writing() as connection:
            return connection.execute(left.values(state="interrupted", updated=datetime.now(UTC))).rowcount


def _job(row: Sequence[Any]) -> Job:
    job = Job(*row)  # settings and result are JSON texts
    return job._replace(settings=json.loads(row[6]), result=None if row[7] is None else json.loads(row[7]))
