"""Use cases of click logs: upload one, take the workbench's own, describe, delete. Logs are read in the background."""

from __future__ import annotations

import io
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.errors import RequestError, client_errors
from plackett.apps.workbench.schemas.clicks import ClickLogsResponse, LogColumns, LogResponse, UploadRequest
from plackett.apps.workbench.schemas.training import JobResponse
from plackett.apps.workbench.workbench.jobs import JobRunner
from plackett.apps.workbench.workbench.search_log import RANKER, SearchLog

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.workbench.exporting import ExportedFile
    from plackett.apps.workbench.workbench.training import Progress
    from plackett.clicks.log import ClickLog

OWN_NAME = "workbench"
ZSTD = b"\x28\xb5\x2f\xfd"  # recognised even without its package
NOTHING_LOGGED = "nothing was logged yet. Search for something, and open a result."


class ClickLogs:
    """The click logs of a collection. Thread-safe."""

    def __init__(self, collection: Collection, store: Store, log: SearchLog, jobs: JobRunner):
        self._collection, self._store, self._log, self._jobs = collection, store, log, jobs

    def logs(self) -> ClickLogsResponse:
        """Return the size of the workbench's own log, and the stored logs, newest first."""
        size = self._log.size()
        return ClickLogsResponse(
            is_logging=self._log.is_on,
            n_lists=size.n_lists,
            n_clicks=size.n_clicks,
            n_clients=size.n_clients,
            last=size.last or None,
            logs=[LogResponse(**one._asdict()) for one in self._store.click_logs(self._collection.key)],
        )

    def upload(self, file: BinaryIO, request: UploadRequest) -> JobResponse:
        """Start a job that reads a log from a temporary file, which is closed when it ends.

        Parameters
        ----------
        file : binary file
            A table with a row for each shown document, or ``ubi_queries`` followed by ``ubi_events``.
        request : UploadRequest
            The name, the columns, and where ``ubi_events`` begins.
        """
        name, events_at, end = request.name, request.events_at, file.seek(0, os.SEEK_END)
        columns = request.model_dump(include=set(LogColumns.model_fields))
        bounds = [(0, end)] if events_at is None else [(0, events_at), (events_at, end)]
        parts = [_Part(file, start, stop, name) for start, stop in bounds]

        def read() -> ClickLog:
            from plackett.clicks.reading.read import read_clicks

            with file:
                return read_clicks(*parts, **columns, keep_session_ids=False)

        try:
            if not all(part.size for part in parts):
                raise RequestError(422, "invalid", "the file is empty.", "events_at is the size of the first file.")
            for part in parts:
                part.check_text()
            return self._start(name, read)
        except BaseException:
            file.close()
            raise

    def take_own(self) -> JobResponse:
        """Start a job that takes what the workbench has logged so far as a log."""
        size = self._log.size()
        if not size.n_lists:
            raise RequestError(422, "invalid", NOTHING_LOGGED)

        def read() -> ClickLog:
            from plackett.clicks.reading.read import read_clicks

            with tempfile.TemporaryDirectory(prefix="plackett-") as folder:
                for made in (self._log.queries_file, self._log.events_file):
                    _write(made(size.last), Path(folder))
                return read_clicks(folder, ranker=RANKER, keep_session_ids=False)

        return self._start(OWN_NAME, read)

    def delete(self, log_id: int) -> ClickLogsResponse:
        """Delete a stored log. Judgements from it, and the workbench's own log, stay."""
        with client_errors():
            if not self._store.delete_click_log(self._collection.key, log_id):
                raise LookupError(f"there is no click log {log_id}.")
        return self.logs()

    @contextmanager
    def loaded(self, log_id: int) -> Iterator[tuple[str, ClickLog]]:
        """Return the name and the content of a stored log, mapped from a temporary file inside the block."""
        from plackett.clicks.log import ClickLog

        name, data = self._store.click_log(self._collection.key, log_id)
        with tempfile.TemporaryDirectory(prefix="plackett-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "log"
            path.write_bytes(data)
            yield name, ClickLog.load(path)

    def _start(self, name: str, read: Callable[[], ClickLog]) -> JobResponse:
        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
            from plackett._warnings import recorded
            from plackett.apps.workbench.workbench.training import Cancelled

            progress(0.0, "Reading the log")
            with recorded() as caught:
                log = read()
            if cancel.is_set():
                raise Cancelled("the reading was cancelled.")
            if not len(log):
                raise ValueError(f"no session of the log can be used. {log.cleaning}")
            progress(0.7, "Describing it")
            summary = {**describe(log), "notes": [str(one.message) for one in caught]}
            progress(0.9, "Saving it")
            log_id = self._store.save_click_log(self._collection.key, name, _saved(log), summary)
            return {"log_id": log_id, "name": name}

        return self._jobs.start("read log", {"name": name}, work)


def describe(log: ClickLog) -> dict[str, Any]:
    """Return the output of ``plackett clicks info`` as plain values: sizes, rows by rank, findings and cleaning."""
    found = log.describe()
    return {
        "sizes": [list(row) for row in found.rows()],
        "n_sessions": found.n_sessions,
        "shown_by_rank": found.shown_by_rank,
        "click_rate_by_rank": found.click_rate_by_rank,
        "findings": found.findings,
        "n_lines": 0 if log.cleaning is None else log.cleaning.n_lines,
        "cleaning": [] if log.cleaning is None else [list(row) for row in log.cleaning.rows()],
    }


class _Part(io.RawIOBase):
    """Some bytes of a file as a separate file."""

    def __init__(self, file: BinaryIO, start: int, end: int, name: str):
        self._file, self._start, self._at, self._end, self.name = file, start, start, max(start, end), name

    @property
    def size(self) -> int:
        return self._end - self._start

    def readable(self) -> bool:
        return True

    def readinto(self, target) -> int:
        self._file.seek(self._at)
        part = self._file.read(min(len(target), self._end - self._at))
        target[: len(part)] = part
        self._at += len(part)
        return len(part)

    def check_text(self) -> None:
        """Refuse compressed files, because a small one may expand beyond memory."""
        from plackett.storage.decompression import decompressor_of

        self._file.seek(self._start)
        head = self._file.read(10)
        if head.startswith((b"PAR1", ZSTD)) or decompressor_of(head, self.name) is not None:
            message = "Parquet and compressed files are not supported; send CSV or NDJSON text."
            raise RequestError(422, "invalid", message)


def _write(file: ExportedFile, folder: Path) -> None:
    with open(folder / file.name, "wb") as target:
        target.writelines(file.parts)


def _saved(log: ClickLog) -> bytes:
    with tempfile.TemporaryDirectory(prefix="plackett-") as folder:
        path = Path(folder) / "log"
        log.save(path)
        return path.read_bytes()
