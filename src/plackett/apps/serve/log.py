"""The log of one process: returned lists and clicks, appended as lines of JSON.

Records have the schema of OpenSearch's User Behavior Insights (UBI 1.3), which ``plackett.clicks.read_clicks`` reads.
A line has been passed to the operating system before its request is answered, so killing the process loses no line.
``Log.sync``, called once per second, moves lines to the disk.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from plackett.apps.serve.ranking import Ranked
    from plackett.apps.serve.requests import ClickRequest

APPLICATION = "plackett-serve"
SEED = "interleaving-seed"  # the name of a file


class Log:
    """The two files of a process, ``ubi_queries-N.ndjson`` and ``ubi_events-N.ndjson``, for lists and for clicks.

    N is the first number whose files no other process writes to. The folder must exist.
    """

    def __init__(self, folder: str):
        self.queries = _first_free(folder)
        self.events = _Lines(self.queries.path.replace("ubi_queries", "ubi_events"))

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        self.queries.sync()
        self.events.sync()

    def close(self) -> None:
        """Move all lines to the disk, and close the files."""
        # the events first: the other file is the one that another process tries to take
        try:
            self.events.close()
        finally:
            self.queries.close()


class _Lines:
    """A file of lines whose only writer is this process; a BlockingIOError if another process writes to it.

    Thread-safe.
    """

    def __init__(self, path: str):
        self.path, self._lock, self._is_synced = path, threading.Lock(), True
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o640)
        try:
            _lock(self._file)
            # a crash may leave part of a line; readers count it as damaged
            self._is_torn = os.lseek(self._file, 0, os.SEEK_END) > 0
            if self._is_torn:
                os.lseek(self._file, -1, os.SEEK_END)
                self._is_torn = os.read(self._file, 1) != b"\n"
        except BaseException:
            os.close(self._file)
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Append a record; raise an OSError if that fails."""
        with self._lock:
            rest = memoryview(b"\n" * self._is_torn + json.dumps(record).encode() + b"\n")
            self._is_torn, self._is_synced = True, False
            while rest:
                rest = rest[os.write(self._file, rest) :]
            self._is_torn = False

    def sync(self) -> None:
        if not self._is_synced:
            self._is_synced = True  # before the sync, or a line written in the meantime could be left out
            os.fsync(self._file)

    def close(self) -> None:
        try:
            self.sync()
        finally:
            os.close(self._file)


def _first_free(folder: str) -> _Lines:
    for number in itertools.count():
        try:
            return _Lines(os.path.join(folder, f"ubi_queries-{number}.ndjson"))
        except BlockingIOError:
            continue
    raise AssertionError


def _lock(file: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows, where a service has one process
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def list_record(ranked: Ranked) -> dict[str, Any] | None:
    """Return the record of a list with a new id; None if it is not logged, for want of ids, a query or documents."""
    request = ranked.request
    if request.ids is None or request.query is None or not ranked.shown.size:
        return None
    query_id, model = uuid4().hex, ranked.model
    attributes: dict[str, Any] = {"ranker": model.spec.name, "version": model.version, "checksum": model.short_checksum}
    if ranked.mixed is not None:
        names = ",".join(ranker["model"] for ranker in ranked.mixed["rankers"])
        attributes = {"ranker": f"interleaved:{names}", "interleaving": ranked.mixed}
    return {
        "application": APPLICATION,
        "query_id": query_id,
        "client_id": request.user,
        "user_query": request.query,
        "timestamp": _now(),
        "query_attributes": attributes,
        "query_response_id": query_id,
        "query_response_hit_ids": [request.ids[row] for row in ranked.shown[: request.k].tolist()],
    }


def event_record(click: ClickRequest) -> dict[str, Any]:
    """Return the record of a click; whether its list was returned is checked when the log is read."""
    attributes: dict[str, Any] = {"object": {"object_id": click.id}}
    if click.position is not None:
        attributes["position"] = {"ordinal": click.position}
    return {
        "application": APPLICATION,
        "action_name": "click",
        "query_id": click.query_id,
        "client_id": click.user,
        "timestamp": _now(),
        "event_attributes": attributes,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def prepare_log(folder: str) -> None:
    """Make the folder of a log, with the seed of its interleaved lists; raise an OSError if that fails."""
    scheme, is_url, _ = folder.partition("://")
    if is_url:  # not shown, because it may have a password
        raise ValueError(f"--log takes a folder, not {scheme}://…; load its files into the database instead.")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OSError(f"{folder!r}, given for the log, cannot be used as a folder: {error.strerror}.") from None
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder!r}, given for the log, cannot be written to.")
    path = os.path.join(folder, SEED)
    if not os.path.exists(path):
        with open(path, "x") as file:
            file.write(f"{secrets.randbits(128)}\n")
    read_seed(folder)


def read_seed(folder: str) -> int:
    """Return the seed of a folder, which gives a user the same list from any process."""
    path = os.path.join(folder, SEED)
    with open(path) as file:
        text = file.read(50).strip()
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{path} is damaged: expected a whole number. Delete it; users are then shown other lists.")
    return int(text)
