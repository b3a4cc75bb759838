"""Interleaved tests from a log alone: the lists and clicks that ``plackett serve --interleave`` wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from plackett.clicks.interleaving.interleaver import Interleaver, ShownList
from plackett.clicks.interleaving.records import checked_list
from plackett.clicks.reading.ubi import CLICKS, HITS
from plackett.clicks.reading.ubi_sources import ubi_sources
from plackett.exceptions import DataWarning, warn
from plackett.storage.opening import open_bytes
from plackett.validation import count_of


class _Click(NamedTuple):
    time: datetime
    query_id: str
    docid: str


class LoggedList(NamedTuple):
    """An interleaved list of a log: what ``Interleaver`` needs to credit its clicks.

    Attributes
    ----------
    options : dict
        Parameters of the ``Interleaver`` whose test showed it, with its name.
    shown : ShownList
        The mixed documents; a list may show others behind them.
    unit : str
    """

    options: dict[str, Any]
    shown: ShownList
    unit: str

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> LoggedList | None:
        """Return the list of a record of UBI, None if it was not interleaved; raise an error if it is damaged."""
        attributes = record.get("query_attributes")
        about = attributes.get("interleaving") if isinstance(attributes, dict) else None
        if not isinstance(about, dict):
            return None
        n_mixed = int(about["n_mixed"])
        body = {"id": about["list"], "unit": record["client_id"], "documents": record[HITS][:n_mixed]}
        checked = checked_list({**body, "basis": about["basis"], "time": 0.0, "clicked": [], "is_counted": False})
        options = {
            "method": about["method"],
            "k": int(about["k"]),
            "rankers": [str(one["model"]) for one in about["rankers"]],
            "test": str(about["test"]),
        }
        shown = ShownList(checked.id, checked.documents, bool(checked.basis), checked.basis)
        return cls(options, shown, checked.unit)


def read_interleaving(source: str | os.PathLike, *, lists_per_unit: int | None = 1) -> dict[str, Interleaver]:
    r"""Return the interleaved tests in a log of ``plackett serve``, with all clicks credited.

    Each pair of model files is a separate test: a swapped model starts a new one. The log may still grow. Clicks
    on lists or documents that it does not have are ignored, with a warning.

    Parameters
    ----------
    source : path
        The folder of ``--log``, with files ``ubi_queries*`` and ``ubi_events*``.
    lists_per_unit : int, default=1
        Clicked lists after which a user counts; None counts users only after ``close``.

    Returns
    -------
    dict of str to Interleaver
        Tests by name, in the order of their first clicks; those without a click come last. ``preference`` has the
        verdict. If users count by several lists, call ``close`` after the end of a test to count those with fewer.

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
    clicks: list[_Click] = []
    n_damaged = 0
    for record in _records(parts[1]):
        click = _click_of(record)
        if isinstance(click, _Click):
            clicks.append(click)
        n_damaged += click is False
    clicks.sort(key=lambda click: click.time)
    shown, options, n_damaged_lists = _lists(parts[0], {click.query_id for click in clicks})
    tests: dict[str, Interleaver] = {}
    n_unknown = n_elsewhere = 0
    for click in clicks:
        hits, found = shown.get(click.query_id, ((), None))
        n_unknown += click.query_id not in shown
        n_elsewhere += click.query_id in shown and click.docid not in hits
        if found is not None:
            test = _test(tests, found.options, lists_per_unit)
            test.keep(found.shown, unit=found.unit)
            test.credit(found.shown.id, [click.docid])
    for one in options.values():
        _test(tests, one, lists_per_unit)
    for count, what, where in (
        (n_damaged + n_damaged_lists, "damaged record", ""),
        (n_unknown, "click", " on lists that it does not have"),
        (n_elsewhere, "click", " on documents that the lists do not have"),
    ):
        if count:
            warn(f"ignored in the log: {count_of(count, what)}{where}.", DataWarning)
    return tests


def _test(tests: dict[str, Interleaver], options: dict[str, Any], lists_per_unit: int | None) -> Interleaver:
    if options["test"] not in tests:
        tests[options["test"]] = Interleaver(**options, lists_per_unit=lists_per_unit, random_state=0)
    return tests[options["test"]]


def _lists(
    sources: Iterable[Any], clicked: set[str]
) -> tuple[dict[str, tuple[list, LoggedList | None]], dict[str, dict[str, Any]], int]:
    """Return the documents of clicked lists, with the list if it was mixed; the options of all tests; and damages."""
    lists: dict[str, tuple[list, LoggedList | None]] = {}
    options: dict[str, dict[str, Any]] = {}
    n_damaged = 0
    for record in _records(sources):
        try:
            query_id, hits = str(record["query_id"]), list(record.get(HITS) or ())
            found = LoggedList.from_record(record)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            n_damaged += 1
            continue
        if query_id in clicked:
            lists[query_id] = hits, found
        if found is not None:
            options.setdefault(found.options["test"], found.options)
    return lists, options, n_damaged


def _click_of(record: Any) -> _Click | bool | None:
    """Return a click; None for another event, and False for a damaged one."""
    try:
        if record["action_name"] not in CLICKS:
            return None
        docid = record["event_attributes"]["object"]["object_id"]
        time = datetime.fromisoformat(record["timestamp"])
    except (KeyError, TypeError, ValueError):
        return False
    query_id = record.get("query_id")
    is_whole = isinstance(query_id, str) and isinstance(docid, str) and time.tzinfo is not None
    return _Click(time, query_id, docid) if is_whole else False


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
