"""Interleaved tests from the records of their lists and clicks, in the schema of UBI."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

from plackett.clicks.interleaving.fold import Fold
from plackett.clicks.interleaving.method import Basis
from plackett.clicks.interleaving.methods import METHODS, get_method
from plackett.clicks.reading.ubi import CLICKS, HITS
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_number, check_positive_int, count_of

_DAMAGES = (AttributeError, KeyError, TypeError, ValueError, OverflowError)
# what is ignored in a log, and a description of it behind the count
IGNORED = {
    "damaged": ("damaged record", ""),
    "other": ("list", " with other rankers, or in another order, than the first list of the test"),
    "method": ("list", f" by another method than {', '.join(METHODS)}"),
    "waiting": ("click", " on lists that it does not have"),
    "elsewhere": ("click", " on documents that the lists do not have"),
}


class _Click(NamedTuple):
    time: float
    file: int
    position: int
    query_id: str
    docid: str


class _List(NamedTuple):
    """An interleaved list: the settings of its test, and what credits of its clicks need."""

    test: str
    settings: dict[str, Any]
    id: str
    unit: str
    place_of: dict[str, int]  # of the mixed documents; a list may show others behind them
    basis: Basis


class LogFold:
    """The clicks of a log, folded in the order of time. Its state can be stored, and continued with further records."""

    def __init__(self, lists_per_unit: int | None, idle: float | None):
        if lists_per_unit is not None:
            check_positive_int(lists_per_unit, "lists_per_unit")
        if idle is not None:
            check_number(idle, "idle", least=0)
        self.options = lists_per_unit, idle
        self.settings: dict[str, dict[str, Any]] = {}  # of each test
        self.folds: dict[str, Fold] = {}  # of the tests with a folded click, in the order of their first clicks
        self.waiting: list[_Click] = []  # clicks that are not folded yet, in the order of time
        self._lists: dict[str, tuple[list, _List | None]] = {}
        self._last, self._ignored = (-math.inf, 0, 0), dict.fromkeys(IGNORED, 0)

    def read(
        self, queries: Iterable[Any], events: Iterable[tuple[int, int, Any]], older: Callable | None = None
    ) -> bool:
        """Read further records; return whether the state can be continued with them, whose clicks may be too early.

        ``events`` have the number of a file and a position before each record, which order clicks of the same time.
        ``older`` returns the lists with some ids among the records that were read before.
        """
        for file, position, record in events:
            click = _click_of(record)
            if click:
                time, query_id, docid = click
                self.waiting.append(_Click(time, file, position, query_id, docid))
            self._ignored["damaged"] += click is False
        self.waiting.sort()
        clicked = {click.query_id for click in self.waiting}
        for record in queries:
            self._read_list(record, clicked, self._ignored)
        if older is not None and (missing := clicked - self._lists.keys()):
            for record in older(missing):
                self._read_list(record, missing, dict.fromkeys(self._ignored, 0))
        return all(click[:3] > self._last for click in self.waiting if click.query_id in self._lists)

    def _read_list(self, record: Any, clicked: set[str], ignored: dict[str, int]) -> None:
        try:
            query_id, hits, found = str(record["query_id"]), list(record.get(HITS) or ()), _list_of(record)
        except _DAMAGES:
            ignored["damaged"] += 1
            return
        if found is not None and found.settings["method"] not in METHODS:
            ignored["method"] += 1  # of another version
            found = None
        elif found is not None:
            rankers = self.settings.setdefault(found.test, found.settings)["rankers"]
            if rankers != found.settings["rankers"]:  # the numbers of a list are in the order of its rankers
                ignored["other"] += 1
                found = None
        if query_id in clicked:
            self._lists[query_id] = hits, found

    def fold(self, *, settled: float = 0.0) -> None:
        """Fold the clicks whose lists are known, except those of the last ``settled`` seconds."""
        last = self.waiting[-1].time if self.waiting else 0.0
        waiting = []
        for click in self.waiting:
            if click.query_id not in self._lists or last - click.time < settled:
                waiting.append(click)
                continue
            self._last = click[:3]
            hits, found = self._lists[click.query_id]
            self._ignored["elsewhere"] += click.docid not in hits
            if found is None:
                continue
            if found.test not in self.folds:
                self.folds[found.test] = _fold_of(found.settings, *self.options)
            if click.docid in found.place_of:
                fold = self.folds[found.test]
                fold.click(found.unit, found.id, found.basis, [found.place_of[click.docid]], click.time)
        self.waiting = waiting

    def tests(self) -> dict[str, tuple[dict[str, Any], Fold]]:
        """Fold the rest, and warn; return the settings and the fold of each test, in the order of first clicks."""
        self.fold()
        idle = self.options[1]
        end = max([self._last[0], *(click.time for click in self.waiting)])
        for test, own in self.settings.items():
            self.folds.setdefault(test, _fold_of(own, *self.options))
        for fold in self.folds.values():
            if idle is not None:
                fold.close(end - idle if idle and math.isfinite(end) else math.inf)
        for name, count in {**self._ignored, "waiting": len(self.waiting)}.items():
            if count:
                what, where = IGNORED[name]
                warn(f"ignored in the log: {count_of(count, what)}{where}.", DataWarning)
        return {test: (self.settings[test], fold) for test, fold in self.folds.items()}

    def state(self) -> dict[str, Any]:
        """Return what was folded and what waits, as values of JSON."""
        folds = {test: fold.state() for test, fold in self.folds.items()}
        return {
            "settings": self.settings, "folds": folds, "waiting": self.waiting, "last": self._last,
            "ignored": self._ignored,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.settings, self._ignored = state["settings"], self._ignored | state["ignored"]
        self.waiting, self._last = [_Click(*click) for click in state["waiting"]], tuple(state["last"])
        for test, own in state["folds"].items():
            self.folds[test] = _fold_of(self.settings[test], *self.options)
            self.folds[test].restore(own)


def _fold_of(settings: dict[str, Any], lists_per_unit: int | None, idle: float | None) -> Fold:
    return Fold(get_method(settings["method"], settings["credit"]), len(settings["rankers"]), lists_per_unit, idle)


def _list_of(record: dict[str, Any]) -> _List | None:
    """Return the list of a record, None if it was not interleaved; raise an error if it is damaged."""
    attributes = record.get("query_attributes")
    about = attributes.get("interleaving") if isinstance(attributes, dict) else None
    if not isinstance(about, dict):
        return None
    documents, basis = record[HITS][: int(about["n_mixed"])], about["basis"]
    numbers = [list(map(float, row)) for row in basis]
    if len(numbers) not in (0, len(documents)):
        raise ValueError("a list needs as many rows of numbers as documents.")
    settings: dict[str, Any] = {name: about.get(name) for name in ("method", "k", "credit")}
    settings["rankers"] = [str(one["model"]) for one in about["rankers"]]
    method = METHODS.get(settings["method"])
    width = len(settings["rankers"]) + (method.n_more if method is not None else 0)
    if method is not None and any(len(row) != width or not all(map(math.isfinite, row)) for row in numbers):
        raise ValueError("a shown document needs a finite number for each ranker.")
    place_of = {_text(document): place for place, document in enumerate(documents)}
    return _List(str(about["test"]), settings, _text(about["list"]), _text(record["client_id"]), place_of, numbers)


def _click_of(record: Any) -> tuple[float, str, str] | Literal[False] | None:
    """Return the time, list and document of a click; None for another event, and False for a damaged one."""
    try:
        if record["action_name"] not in CLICKS:
            return None
        docid = record["event_attributes"]["object"]["object_id"]
        time = datetime.fromisoformat(record["timestamp"])
        query_id = record["query_id"]
    except (KeyError, TypeError, ValueError):
        return False
    is_whole = isinstance(query_id, str) and isinstance(docid, str) and time.tzinfo is not None
    return (time.timestamp(), query_id, docid) if is_whole else False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
