"""The log of the Relevance Prediction Challenge (Web Search Click Data workshop 2012, Yandex)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Fields
from plackett.clicks.reading.lists import (
    ClickEvents,
    Limits,
    Lists,
    Names,
    apply_clicks,
    as_log,
    find_clicks,
    merge_repeats,
)


def read_wscd(blocks: Iterable[tuple[Fields, np.ndarray]], limits: Limits, cleaning: Cleaning) -> ClickLog:
    """Return the log of lines ``session time Q query region docs...`` and ``session time C doc``, between tabs.

    Each query of a session has its own list. A click belongs to the last list of its session that was shown before it
    and holds the document; the order of lines is not used, but the times are.
    """
    names = Names.empty()
    lists, clicks, clicked_at = _collect(blocks, names, cleaning)
    name_place = names.query.finish()[1] if len(names.query) else np.empty(0, dtype=np.int32)
    assert lists.times is not None
    order = np.lexsort((name_place[lists.query], lists.times, lists.session))
    columns = (lists.session[order], lists.times[order], lists.query[order])
    lists = lists.take(order)
    is_new = np.logical_or.reduce([np.append(True, one[1:] != one[:-1])[: len(lists)] for one in columns])
    lists = merge_repeats(lists, np.cumsum(is_new), cleaning)
    apply_clicks(lists, *_find(lists, clicks, clicked_at), cleaning)
    return as_log(lists, names, limits, cleaning)


def _collect(
    blocks: Iterable[tuple[Fields, np.ndarray]], names: Names, cleaning: Cleaning
) -> tuple[Lists, ClickEvents, np.ndarray]:
    codes = np.empty(0, dtype=np.int32)
    parts: dict[str, list] = {name: [codes] for name in ("session", "query", "doc", "clicked in", "clicked")}
    times, clicked_at, lengths = [np.empty(0)], [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for block, is_click in blocks:
        cleaning.n_lines += block.n_lines
        seconds = block.times("time")
        is_wrong = np.isnan(seconds)
        cleaning.add("damaged line", block.n_damaged + np.count_nonzero(is_wrong))
        queries, clicks = np.flatnonzero(~is_click & ~is_wrong), np.flatnonzero(is_click & ~is_wrong)
        n_items = np.diff(block.item_end, prepend=0)
        session = block.codes("session", names.session)
        parts["session"].append(session[queries])
        parts["clicked in"].append(session[clicks])
        parts["query"].append(names.query.add(block.buffers["name"], block.spans["name"][queries]))
        parts["clicked"].append(names.doc.add(block.buffers["name"], block.spans["name"][clicks]))
        parts["doc"].append(names.doc.add(block.buffers["items"], block.items[np.repeat(~is_wrong, n_items)]))
        times.append(seconds[queries])
        clicked_at.append(seconds[clicks])
        lengths.append(n_items[queries])
    columns = {name: np.concatenate(one) for name, one in parts.items()}
    indptr, doc = np.append(0, np.cumsum(np.concatenate(lengths))), columns["doc"]
    is_clicked = np.zeros(doc.size, dtype=bool)
    lists = Lists(columns["session"], columns["query"], indptr, doc, is_clicked, times=np.concatenate(times))
    ordinal = np.full(columns["clicked"].size, -1, dtype=np.int32)
    return lists, ClickEvents(columns["clicked in"], columns["clicked"], ordinal), np.concatenate(clicked_at)


def _find(lists: Lists, clicks: ClickEvents, clicked_at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the outcome of each click; lists are sorted by session and time."""
    bounds = np.searchsorted(lists.session, np.arange(int(clicks.place.max(initial=-1)) + 1))
    first = bounds[clicks.place] if clicks.place.size else np.empty(0, dtype=np.int64)
    moments, moment = np.unique(np.concatenate([lists.times, clicked_at]), return_inverse=True)
    session = np.concatenate([lists.session, clicks.place]).astype(np.int64)
    key = session * moments.size + moment.reshape(-1)
    place = np.searchsorted(key[: len(lists)], key[len(lists) :], side="right") - 1
    row = np.full(len(clicks), -1, dtype=np.int64)
    outcome = np.full(len(clicks), 5, dtype=np.uint8)
    pending = np.flatnonzero(place >= first)
    while pending.size:
        part = ClickEvents(place[pending].astype(np.int32), clicks.doc[pending], clicks.ordinal[pending])
        row[pending], outcome[pending] = find_clicks(lists, part, 1)
        place[pending] -= 1
        pending = pending[(row[pending] < 0) & (place[pending] >= first[pending])]
    return row, outcome
