"""Atomic writes: files that become visible only when complete.

A writer of ``model.plackett`` holds a lock on its temporary file, ``model.plackett.plackett.part``. The system releases
the lock when the process ends, so the next writer reuses the file of a killed one. If the file is locked, or the file
system has no locks, the writer takes a random name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no flock
    fcntl = None  # type: ignore[assignment]

DRAFT = r"\.plackett(-[0-9a-f]{8})?\.part"  # suffix of a temporary file or folder


@contextlib.contextmanager
def draft_of(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Yield a temporary file beside ``path``; delete it at the end unless ``publish`` has moved it.

    A symbolic link is followed, and the permissions of an existing file are kept.
    """
    target = os.path.realpath(path)
    file = _usual_draft(target) or open(_random_name(target), "x+b")  # noqa: SIM115
    try:
        if os.path.exists(target):
            os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
        yield file
    finally:
        if _is_at(file.name, file.fileno()):
            os.unlink(file.name)  # before its lock is released
        with contextlib.suppress(OSError):  # a full disk: an earlier flush has raised already
            file.close()


def _usual_draft(target: str) -> BinaryIO | None:
    """Return the usual temporary file, locked and empty; None if another process has it, or the random name is due."""
    with contextlib.suppress(OSError):
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        file = open(f"{target}.plackett.part", "r+b", opener=lambda name, _: os.open(name, flags, 0o666))  # noqa: SIM115
        if _is_locked(file.fileno()) and _is_at(file.name, file.fileno()):  # not moved before it was locked
            file.truncate()
            return file
        file.close()
    return None


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
def new_folder(path: str | os.PathLike) -> Iterator[str]:
    """Yield a temporary folder that is moved to ``path`` at the end; after an error nothing is left.

    If another process has written to ``path`` in the meantime, its files stay and a ``FileExistsError`` is raised.
    """
    draft = _random_name(path)
    os.mkdir(draft)
    try:
        yield draft
        os.replace(draft, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        reason = "another process wrote to it in the meantime; its files were kept. Write to another folder"
        raise FileExistsError(errno.EEXIST, reason, os.fspath(path)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _is_locked(handle: int) -> bool:
    """Return whether the lock of a file could be taken."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _random_name(path: str | os.PathLike) -> str:
    return f"{os.fspath(path)}.plackett-{secrets.token_hex(4)}.part"


def _is_at(path: str, handle: int) -> bool:
    """Return whether an open file is still the one at this path: another writer may have published or replaced it."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False
