"""The log of one process: returned lists and clicks, appended as lines of JSON in UBI's schema.

A line has been passed to the operating system before its request is answered, so killing the process loses no line.
``Log.sync``, called once per second, moves lines to the disk.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import threading
from typing import Any

SEED = "interleaving-seed"  # the name of a file


class Log:
    """The two files of a process, ``ubi_queries-N.ndjson`` and ``ubi_events-N.ndjson``; thread-safe.

    N is the first number whose files no other process writes to. The folder must exist.
    """

    def __init__(self, folder: str):
        self._queries = _first_free(folder)
        self._events = _Lines(self._queries.path.replace("ubi_queries", "ubi_events"))

    def add_list(self, record: dict[str, Any]) -> None:
        """Append a returned list; raise an OSError if that fails."""
        self._queries.append(record)

    def add_event(self, record: dict[str, Any]) -> None:
        """Append a click; raise an OSError if that fails."""
        self._events.append(record)

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        self._queries.sync()
        self._events.sync()

    def close(self) -> None:
        """Move all lines to the disk, and close the files."""
        # the events first: the other file is the one that another process tries to take
        try:
            self._events.close()
        finally:
            self._queries.close()


class _Lines:
    """A file of lines whose only writer is this process; a BlockingIOError if another process writes to it."""

    def __init__(self, path: str):
        self.path, self._lock, self._is_synced = path, threading.Lock(), True
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o640)
        try:
            _lock(self._file)
            # a crash may leave part of a line; readers count it as damaged
            self._is_torn = os.fstat(self._file).st_size > 0 and _last_byte(path) != b"\n"
        except BaseException:
            os.close(self._file)
            raise

    def append(self, record: dict[str, Any]) -> None:
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


def _last_byte(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read()


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
