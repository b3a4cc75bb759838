"""Interleaved tests from the records of their lists and clicks, in the schema of UBI."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from plackett.clicks.interleaving.fold import Fold
from plackett.clicks.interleaving.method import Basis
from plackett.clicks.interleaving.methods import METHODS, get_method
from plackett.clicks.reading.ubi import CLICKS, HITS
from plackett.exceptions import DataWarning, warn
from plackett.validation import check_number, check_positive_int, count_of

_DAMAGES = (AttributeError, KeyError, TypeError, ValueError, OverflowError)


class _Click(NamedTuple):
    time: float
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


def fold_records(
    queries: Iterable[Any], events: Iterable[Any], lists_per_unit: int | None, idle: float | None
) -> dict[str, tuple[dict[str, Any], Fold]]:
    """Return the settings and the folded clicks of each test, in the order of their first clicks."""
    if lists_per_unit is not None:
        check_positive_int(lists_per_unit, "lists_per_unit")
    if idle is not None:
        check_number(idle, "idle", least=0)
    clicks: list[_Click] = []
    n_damaged = n_other = 0
    for record in events:
        click = _click_of(record)
        if isinstance(click, _Click):
            clicks.append(click)
        n_damaged += click is False
    clicks.sort(key=lambda click: click.time)
    clicked = {click.query_id for click in clicks}
    lists: dict[str, tuple[list, _List | None]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for record in queries:
        try:
            query_id, hits, found = str(record["query_id"]), list(record.get(HITS) or ()), _list_of(record)
        except _DAMAGES:
            n_damaged += 1
            continue
        if (
            found is not None
            and settings.setdefault(found.test, found.settings)["rankers"] != found.settings["rankers"]
        ):
            n_other += 1  # the numbers of a list are in the order of its rankers
            found = None
        if query_id in clicked:
            lists[query_id] = hits, found
    folds: dict[str, Fold] = {}
    n_unknown = n_elsewhere = 0
    for click in clicks:
        hits, found = lists.get(click.query_id, ([], None))
        n_unknown += click.query_id not in lists
        n_elsewhere += click.query_id in lists and click.docid not in hits
        if found is None:
            continue
        if found.test not in folds:
            folds[found.test] = _fold_of(found.settings, lists_per_unit, idle)
        if click.docid in found.place_of:
            folds[found.test].click(found.unit, found.id, found.basis, [found.place_of[click.docid]], click.time)
    for test, own in settings.items():
        folds.setdefault(test, _fold_of(own, lists_per_unit, idle))
    for fold in folds.values():
        if idle is not None:
            fold.close(clicks[-1].time - idle if idle and clicks else float("inf"))
    for count, what, where in (
        (n_damaged, "damaged record", ""),
        (n_other, "list", " with other rankers, or in another order, than the first list of the test"),
        (n_unknown, "click", " on lists that it does not have"),
        (n_elsewhere, "click", " on documents that the lists do not have"),
    ):
        if count:
            warn(f"ignored in the log: {count_of(count, what)}{where}.", DataWarning)
    return {test: (settings[test], fold) for test, fold in folds.items()}


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


def _click_of(record: Any) -> _Click | bool | None:
    """Return a click; None for another event, and False for a damaged one."""
    try:
        if record["action_name"] not in CLICKS:
            return None
        docid = record["event_attributes"]["object"]["object_id"]
        time = datetime.fromisoformat(record["timestamp"])
        query_id = record["query_id"]
    except (KeyError, TypeError, ValueError):
        return False
    is_whole = isinstance(query_id, str) and isinstance(docid, str) and time.tzinfo is not None
    return _Click(time.timestamp(), query_id, docid) if is_whole else False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value
