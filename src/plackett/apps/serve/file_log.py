"""The log of one worker in a folder: a file of lists and a file of clicks. Futures are done when a record is on disk.

The id of a list encodes the offset of its record, so that any worker finds it with one read, even after a restart and
without an index in memory. The offset is masked with a key in the folder, because it would reveal the size of the log.
The record contains the id as well, so that ids cannot be forged.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from plackett.apps.serve.durable import DurableLog, lock
from plackett.apps.serve.group_writer import PATIENCE

KEY = "click-key"  # the name of a file
_N_RANDOM, _N_PLACE, _N_KEY = 12, 9, 32  # bytes
_BLOCK = 1 << 16


class FileLog:
    """The files of one worker; thread-safe.

    Parameters
    ----------
    folder : str
        Created if missing.
    worker : int
        The number in the names of its files, at most 255.
    patience : float
        Seconds without a response from the disk after which records are refused.
    """

    def __init__(self, folder: str, worker: int, patience: float = PATIENCE):
        os.makedirs(folder, exist_ok=True)
        self._folder, self._worker, self._key = folder, worker, read_key(folder)
        self._queries = DurableLog(_queries_of(folder, worker), patience)
        try:
            self._events = DurableLog(os.path.join(folder, f"ubi_events-{worker}.ndjson"), patience)
        except BaseException:
            self._queries.close()
            raise
        self._reader = ThreadPoolExecutor(1, "read log")

    def add_lists(self, records: list[dict[str, Any]]) -> tuple[list[str], Future[None]]:
        """Write lists with new ids; return the ids, and a future that is done when they are on disk."""
        ids: list[str] = []

        def lines(place: int) -> bytes:
            content = b""
            for record in records:
                ids.append(self._id(place + len(content)))
                content += _line({**record, "query_id": ids[-1], "query_response_id": ids[-1]})
            return content

        return ids, self._queries.append(lines)

    def add_event(self, record: dict[str, Any]) -> Future[None]:
        """Write an event; return a future that is done when it is on disk."""
        line = _line(record)
        return self._events.append(lambda _: line)

    def find(self, query_id: str) -> Future[dict[str, Any] | None]:
        """Return a future for the record of a list, which is None if there is no such list."""
        return self._reader.submit(self._find, query_id)

    def close(self) -> None:
        """Write pending records, and close the files."""
        self._reader.shutdown()
        self._queries.close()
        self._events.close()

    def _id(self, place: int) -> str:
        random = secrets.token_bytes(_N_RANDOM)
        return (random + self._masked(random, bytes([self._worker]) + place.to_bytes(_N_PLACE - 1, "big"))).hex()

    def _masked(self, random: bytes, place: bytes) -> bytes:
        mask = hashlib.blake2b(random, key=self._key, digest_size=_N_PLACE).digest()
        return bytes(one ^ other for one, other in zip(place, mask, strict=True))

    def _find(self, query_id: str) -> dict[str, Any] | None:
        try:
            content = bytes.fromhex(query_id)
        except ValueError:
            return None
        if len(content) != _N_RANDOM + _N_PLACE:
            return None
        place = self._masked(content[:_N_RANDOM], content[_N_RANDOM:])
        line = _line_at(_queries_of(self._folder, place[0]), int.from_bytes(place[1:], "big"))
        try:
            record = json.loads(line)
        except ValueError:
            return None
        return record if isinstance(record, dict) and record.get("query_id") == query_id else None


def _queries_of(folder: str, worker: int) -> str:
    return os.path.join(folder, f"ubi_queries-{worker}.ndjson")


def _line_at(path: str, place: int) -> bytes:
    """Return the line that begins at an offset of a file; empty if there is none."""
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115
    except FileNotFoundError:
        return b""
    with file:
        if place >= os.fstat(file.fileno()).st_size:
            return b""
        file.seek(place)
        line = b""
        while b"\n" not in line[-_BLOCK:] and (block := file.read(_BLOCK)):
            line += block
    return line.partition(b"\n")[0]


def read_key(folder: str) -> bytes:
    """Return the key of a folder, which is drawn for a new one. Called once before several workers start."""
    path = os.path.join(folder, KEY)
    if not os.path.exists(path):
        number, draft = tempfile.mkstemp(dir=folder, prefix=f".{KEY}-")
        with open(number, "wb") as file:
            file.write(secrets.token_bytes(_N_KEY))
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    with open(path, "rb") as file:
        key = file.read(_N_KEY + 1)
    if len(key) != _N_KEY:
        advice = "Delete it; clicks on old lists are then refused."
        raise OSError(f"{path} is damaged: it has {len(key)} bytes, not {_N_KEY}. {advice}")
    return key


def claim(folder: str) -> BinaryIO:
    """Return the open key of a folder; until it is closed, another service that claims the folder gets an OSError."""
    read_key(folder)
    file = open(os.path.join(folder, KEY), "rb")  # noqa: SIM115
    try:
        lock(file.fileno(), folder)
    except BaseException:
        file.close()
        raise
    return file


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode("ascii") + b"\n"
