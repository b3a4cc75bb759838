"""Interleaved tests from the log that ``plackett serve --interleave`` wrote."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plackett.clicks.interleaving.interleaver import Interleaver
from plackett.clicks.interleaving.records import LogFold
from plackett.clicks.reading.ubi import ubi_sources
from plackett.exceptions import DataWarning, warn
from plackett.storage.compression import COMPRESSED
from plackett.storage.opening import open_bytes, write_bytes

FORMAT = "plackett checkpoint 1"
SETTLED_AFTER = 60.0  # seconds: younger clicks are read again, since processes write them out of order
EXAMINED = 1 << 12  # bytes at both ends of what was read
QUERY_ID = re.compile(rb'"query_id"\s*:\s*"([^"]*)"')


def read_interleaving(
    source: str | os.PathLike,
    *,
    lists_per_unit: int | None = 1,
    idle: float | None = None,
    checkpoint: str | os.PathLike | None = None,
) -> dict[str, Interleaver]:
    r"""Return the interleaved tests in a log of ``plackett serve``, with all clicks credited.

    Each pair of model files is a separate test: a swapped model starts a new one. The log may still grow. Clicks
    on lists or documents that it does not have are ignored, with a warning.

    Parameters
    ----------
    source : path
        The folder of ``--log``, with files ``ubi_queries*`` and ``ubi_events*``.
    lists_per_unit, idle
        As in ``Interleaver.from_log``. A unit is a user.
    checkpoint : path, default=None
        A file that keeps what was read, so that the next call with it reads only the lines that were added. The result
        is that of a call without it. If the log was truncated or rotated, or a late click changes the order, the log is
        read from its start.

    Returns
    -------
    dict of str to Interleaver
        Tests by name, in the order of their first clicks; those without a click come last. ``preference`` has the
        verdict.

    Examples
    --------
    A log with one list, on which a user clicked the document of the second model:

    >>> from plackett.clicks import read_interleaving
    >>> import json, pathlib, tempfile
    >>> about = {"test": "old and new", "method": "team-draft", "k": 2, "list": "l1"}
    >>> about |= {"rankers": [{"model": "old"}, {"model": "new"}], "n_mixed": 2, "basis": [[0.5, -0.5], [-0.5, 0.5]]}
    >>> shown = {"query_id": "q1", "client_id": "u1", "query_attributes": {"interleaving": about}}
    >>> shown["query_response_hit_ids"] = ["a", "b"]
    >>> click = {"action_name": "click", "query_id": "q1", "timestamp": "2026-03-01T10:00:00Z"}
    >>> click["event_attributes"] = {"object": {"object_id": "b"}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, record in (("ubi_queries", shown), ("ubi_events", click)):
    ...         _ = pathlib.Path(folder, f"{name}.ndjson").write_text(json.dumps(record) + "\n")
    ...     tests = read_interleaving(folder)
    >>> tests["old and new"].preference().mean
    -1.0
    """
    parts = ubi_sources(source)
    if parts is None:
        raise ValueError(f"{os.fspath(source)!r} is not a folder with files ubi_queries* and ubi_events*.")
    log = LogFold(lists_per_unit, idle)
    if checkpoint is None:
        events = list(_lines(parts[1], {}, {}))  # first: the list of a click was written before it
        log.read((record for *_, record in _lines(parts[0], {}, {})), events)
    else:
        log = _continued(log, checkpoint, parts[0], parts[1])
    return {test: Interleaver.of_fold(test, *one) for test, one in log.tests().items()}


def _lines(files: Sequence[Any], starts: Mapping[str, int], ends: dict[str, int]) -> Iterator[tuple[int, int, Any]]:
    """Yield the file, the position and the record of JSON lines, None for a damaged one; note where the files end.

    A line without an end was never acknowledged.
    """
    for number, path in enumerate(files):
        with open_bytes(path) as file:
            ends[str(path)] = position = starts.get(str(path), 0)
            if position:
                file.seek(position)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                if line.strip():
                    yield number, position, _record(line)
                position += len(line)
                ends[str(path)] = position


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# --- Checkpoints ------------------------------------------------------------------------------------------------------


def _continued(log: LogFold, checkpoint: str | os.PathLike, queries: Sequence[Any], events: Sequence[Any]) -> LogFold:
    """Return the log as read from a checkpoint on, or from its start; write the next checkpoint."""
    for path in (*queries, *events):
        if str(path).endswith(COMPRESSED):
            raise ValueError(f"{path} is compressed; a checkpoint is for a log that still grows.")
    ends: dict[str, int] = {}
    options, known = log.options, _stored(checkpoint, log.options)
    starts = {} if known is None else _starts(known["files"], queries, events)
    can_continue = False
    if known is not None and starts:
        log.restore(known["state"])
        added = list(_lines(events, starts, ends))
        older = functools.partial(_older_lists, queries, starts)
        can_continue = log.read((record for *_, record in _lines(queries, starts, ends)), added, older)
    if not can_continue:
        log = LogFold(*options)
        added = list(_lines(events, {}, ends))
        log.read((record for *_, record in _lines(queries, {}, ends)), added)
    log.fold(settled=SETTLED_AFTER)
    files = {path: [end, _digest(path, end)] for path, end in ends.items()}
    with write_bytes(checkpoint) as file:
        file.write(json.dumps({"format": FORMAT, "options": options, "files": files, "state": log.state()}).encode())
    return log


def _stored(checkpoint: str | os.PathLike, options: tuple) -> dict[str, Any] | None:
    """Return a checkpoint; None if there is none for these options."""
    if not os.path.exists(checkpoint):
        return None
    with open(checkpoint, "rb") as file:
        found = _record(file.read())
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(
            f"{os.fspath(checkpoint)!r} is not a checkpoint of a verdict. Choose another name, or delete it."
        )
    return found if found["options"] == list(options) else None


def _starts(known: dict[str, Any], *parts: Sequence[Any]) -> dict[str, int]:
    """Return where the files of a checkpoint end in the log; nothing if the log was truncated, rotated or reordered."""
    paths = [str(path) for part in parts for path in part]
    changed = [path for path, (end, digest) in known.items() if path not in paths or _digest(path, end) != digest]
    if changed:
        what = "was truncated, replaced or removed since the checkpoint; the log is read from its start"
        warn(f"{changed[0]} {what}.", DataWarning)
    for part in parts:  # the place of a file in the log orders clicks of the same time
        is_known = [str(path) in known for path in part]
        if changed or is_known != sorted(is_known, reverse=True):
            return {}
    return {path: end for path, (end, _) in known.items()}


def _digest(path: str, end: int) -> str:
    """Return a digest of the first and the last bytes of a file up to a position; other if the file is shorter."""
    with open_bytes(path) as file:
        head = file.read(min(end, EXAMINED))
        file.seek(max(0, end - EXAMINED))
        return hashlib.blake2b(head + file.read(min(end, EXAMINED)), digest_size=16).hexdigest()


def _older_lists(files: Sequence[Any], ends: Mapping[str, int], wanted: set[str]) -> Iterator[Any]:
    """Yield the records with some ids in the parts of files that were read before; only their lines are parsed."""
    for path in files:
        rest = ends.get(str(path), 0)
        with open_bytes(path) as file:
            for line in file:
                if rest <= 0:
                    break
                rest -= len(line)
                if (
                    any(found.decode("utf-8", "replace") in wanted for found in QUERY_ID.findall(line))
                    or b"\\u" in line
                ):
                    record = _record(line)
                    if isinstance(record, dict) and record.get("query_id") in wanted:
                        yield record
