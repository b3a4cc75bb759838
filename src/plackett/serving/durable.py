"""An append-only file of lines: a line is on disk before it is acknowledged.

One thread writes all lines that wait and syncs the file once for them, so many requests share a sync. After a crash the
file may end in part of a line, which was never acknowledged; it is removed when the file is opened again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from concurrent.futures import Future

BATCH = 1000  # lines of one sync


class DurableLog:
    """Appends lines to a file, of which this process is the only writer.

    Parameters
    ----------
    path : str
        Created if missing; its folder must exist.

    Raises
    ------
    OSError
        If the file cannot be opened, or another process writes to it.
    """

    def __init__(self, path: str):
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o640)
        try:
            _lock(self._file, path)
            self._end = _cut_torn_line(self._file)
            _sync_folder(os.path.dirname(path) or ".")
        except BaseException:
            os.close(self._file)
            raise
        self._waiting: queue.SimpleQueue[tuple[bytes, Future[None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="write log", daemon=True)
        self._thread.start()

    def append(self, line: bytes) -> Future[None]:
        """Return what is done when the line, which ends in a newline, is on disk; it fails with an OSError."""
        future: Future[None] = Future()
        self._waiting.put((line, future))
        return future

    def close(self) -> None:
        """Write all lines that wait, and close the file."""
        self._waiting.put(None)
        self._thread.join()
        os.close(self._file)

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = [self._waiting.get()]
            while len(batch) < BATCH and not self._waiting.empty():
                batch.append(self._waiting.get())
            lines = [one for one in batch if one is not None]
            is_open = len(lines) == len(batch)
            if lines:
                self._write(lines)

    def _write(self, lines: list[tuple[bytes, Future[None]]]) -> None:
        try:
            content = memoryview(b"".join(line for line, _ in lines))
            n_written = 0
            while n_written < len(content):
                n_written += os.write(self._file, content[n_written:])
            os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)  # lines that were not acknowledged must not damage later ones
            for _, future in lines:
                future.set_exception(error)
            return
        self._end += len(content)
        for _, future in lines:
            future.set_result(None)


def _lock(file: int, path: str) -> None:
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
