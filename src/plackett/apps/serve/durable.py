"""An append-only file of lines: a line is on disk before it is acknowledged.

After a crash the file may end in part of a line, which was never acknowledged; it is removed when the file is opened
again.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future

from plackett.apps.serve.group_writer import PATIENCE, GroupWriter


class DurableLog(GroupWriter):
    """Appends lines to a file whose only writer is this process.

    Parameters
    ----------
    path : str
        Created if missing; its folder must exist.
    patience : float

    Raises
    ------
    OSError
        If the file cannot be opened, or another process writes to it.
    """

    def __init__(self, path: str, patience: float = PATIENCE):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o640)
        try:
            lock(self._file, path)
            self._end = self._next = _cut_torn_line(self._file)
            _sync_folder(os.path.dirname(path) or ".")
        except BaseException:
            os.close(self._file)
            raise
        self._is_torn, self._lock = False, threading.Lock()
        super().__init__("write log", patience)

    def append(self, lines: Callable[[int], bytes]) -> Future[None]:
        """Return a future that is done when lines are on disk, or fails with an OSError.

        ``lines`` returns them, given the offset at which they will begin. The last one ends in a newline.
        """
        with self._lock:
            refused = self._refusal()
            if refused is not None:
                return refused
            content = lines(self._next)
            self._next += len(content)
            return self._submit(content)

    def close(self) -> None:
        """Write all pending lines, and close the file."""
        super().close()
        os.close(self._file)

    def _write(self, items: list[bytes]) -> list[None]:
        try:
            if self._is_torn:
                self._cut()
            content = memoryview(b"".join(items))
            n_written = 0
            while n_written < len(content):
                n_written += os.write(self._file, content[n_written:])
            os.fsync(self._file)
        except OSError as error:
            self._fail_waiting(error)
            raise
        self._end += len(content)
        return [None] * len(items)

    def _cut(self) -> None:
        os.ftruncate(self._file, self._end)
        self._is_torn = False

    def _fail_waiting(self, error: OSError) -> None:
        """Remove lines that were not acknowledged, and fail pending lines made for later offsets."""
        self._is_torn = True
        with contextlib.suppress(OSError):  # tried again before the next lines
            self._cut()
        with self._lock:
            failed, is_closing = [], False
            while not self._waiting.empty():
                waited = self._waiting.get()
                is_closing |= waited is None
                failed += [] if waited is None else [waited[1]]
            if is_closing:
                self._waiting.put(None)
            self._next = self._end
        for future in failed:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)


def lock(file: int, path: str) -> None:
    """Lock an open file until it is closed; raise an OSError if another process has."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(f"{path}: another process writes to this log; choose another folder.") from None


def _cut_torn_line(file: int) -> int:
    """Cut the file after its last newline; return its size."""
    size = os.fstat(file).st_size
    end = size
    while end:
        start = max(0, end - 65536)
        os.lseek(file, start, os.SEEK_SET)
        place = os.read(file, end - start).rfind(b"\n")
        if place >= 0:
            end = start + place + 1
            break
        end = start
    if end < size:
        os.ftruncate(file, end)
        os.fsync(file)
    return end


def _sync_folder(folder: str) -> None:
    """Make the file's entry in its folder durable."""
    if os.name != "posix":  # elsewhere folders cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
