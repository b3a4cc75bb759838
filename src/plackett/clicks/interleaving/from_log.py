"""Interleaved tests from the log that ``plackett serve --interleave`` wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from plackett.clicks.interleaving.interleaver import Interleaver
from plackett.clicks.interleaving.records import fold_records
from plackett.clicks.reading.ubi_sources import ubi_sources
from plackett.storage.opening import open_bytes


def read_interleaving(
    source: str | os.PathLike, *, lists_per_unit: int | None = 1, idle: float | None = None
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
    found = fold_records(_records(parts[0]), _records(parts[1]), lists_per_unit, idle)
    return {test: Interleaver.of_fold(test, *one) for test, one in found.items()}


def _records(sources: Iterable[Any]) -> Iterator[Any]:
    """Yield the records of JSON lines, None for a damaged line; a line without an end was never acknowledged."""
    for source in sources:
        with open_bytes(source) as file:
            for line in file:
                if line.endswith(b"\n") and line.strip():
                    try:
                        yield json.loads(line)
                    except (ValueError, RecursionError):
                        yield None
