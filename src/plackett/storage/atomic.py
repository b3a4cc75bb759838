"""Atomic writes: files that become visible only when complete; temporary files of crashed writers are deleted.

A writer holds a lock on its temporary file ("draft"). The system releases the lock when the process ends, so a draft
whose lock is free no longer has a writer. A draft of ``model.plackett`` is called ``model.plackett.plackett-0.part``;
the next writer to the same path deletes it if its writer has ended, and otherwise takes the number 1. So no folder
needs to be searched, and there are at most as many drafts as writers.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no flock: only the age of a draft counts there
    fcntl = None  # type: ignore[assignment]

ABANDONED_AFTER = 24 * 3600.0  # seconds since the last write, where the file system has no locks
DRAFT = r"\.plackett-\d{1,3}\.part"  # suffix of a draft
_MAX_WRITERS = 1000


@contextlib.contextmanager
def draft_of(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Yield a locked temporary file beside ``path``; delete it at the end unless ``publish`` has moved it.

    A symbolic link is followed, and the permissions of an existing file are kept.
    """
    target = os.path.realpath(path)
    for draft in _draft_names(target):
        try:
            file = open(draft, "x+b")  # noqa: SIM115
        except FileExistsError:
            continue
        if _take(file.fileno(), draft):
            break
        file.close()
    try:
        if os.path.exists(target):
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
        yield file
    finally:
        if _is_same(file.fileno(), draft):
            os.unlink(draft)  # before its lock is released
        with contextlib.suppress(OSError):  # a full disk: an earlier flush has raised already
            file.close()


def publish(file: BinaryIO, path: str | os.PathLike) -> None:
    """Move a draft to its final path once its content is on disk: a power cut must not leave an empty file."""
    target = os.path.realpath(path)
    file.flush()
    os.fsync(file.fileno())
    os.replace(file.name, target)
    with contextlib.suppress(OSError):  # not all systems can flush the entry of a folder
        handle = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def draft_folder(path: str | os.PathLike) -> Iterator[str]:
    """Yield a locked temporary folder beside ``path``; delete it at the end unless it was moved."""
    for draft in _draft_names(path):
        try:
            os.mkdir(draft)
        except FileExistsError:
            continue
        handle = os.open(draft, os.O_RDONLY)
        if _take(handle, draft):
            break
        os.close(handle)
    try:
        yield draft
    finally:
        if _is_same(handle, draft):
            shutil.rmtree(draft, ignore_errors=True)
        os.close(handle)


@contextlib.contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[str]:
    """Yield a temporary folder that is moved to ``path`` at the end; after an error nothing is left.

    If another process has written to ``path`` in the meantime, its files stay and a ``FileExistsError`` is raised.
    """
    with draft_folder(path) as draft:
        yield draft
        try:
            os.replace(draft, path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            reason = "another process wrote to it in the meantime; its files were kept. Write to another folder"
            raise FileExistsError(errno.EEXIST, reason, os.fspath(path)) from error


def remove_abandoned(paths: Iterable[str | os.PathLike]) -> None:
    """Delete drafts whose writer has ended."""
    for path in paths:
        with contextlib.suppress(OSError):  # already deleted, or no permission
            _remove_if_abandoned(os.fspath(path))


def _locked(handle: int) -> bool | None:
    """Return whether the lock could be taken; None if the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else None
    return True


def _draft_names(path: str | os.PathLike) -> Iterator[str]:
    """Yield names for a draft, after deleting abandoned files; the caller stops at the first that it can create."""
    for number in range(_MAX_WRITERS):
        draft = f"{os.fspath(path)}.plackett-{number}.part"
        yield draft
        if os.path.lexists(draft):
            with contextlib.suppress(OSError):
                _remove_if_abandoned(draft)
            yield draft
    raise FileExistsError(errno.EEXIST, f"{_MAX_WRITERS} other processes are writing the same file", os.fspath(path))


def _take(handle: int, draft: str) -> bool:
    """Lock a new draft; return False if another process deleted it as abandoned before it was locked."""
    return _locked(handle) is not False and _is_same(handle, draft)


def _is_same(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:  # deleted by another writer
        return False


def _remove_if_abandoned(path: str) -> None:
    status = os.lstat(path)
    is_folder = stat.S_ISDIR(status.st_mode)
    if not is_folder and not stat.S_ISREG(status.st_mode):
        return
    is_writable = not is_folder and os.access(path, os.W_OK)  # network file systems lock only files open for writing
    handle = os.open(path, os.O_RDWR if is_writable else os.O_RDONLY)
    try:
        is_free = _locked(handle)
        if is_free is None:
            is_free = time.time() - status.st_mtime > ABANDONED_AFTER
        if not is_free or not _is_same(handle, path):
            return
        if is_folder:
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    finally:
        os.close(handle)
