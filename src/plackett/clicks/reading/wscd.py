"""The log of the Relevance Prediction Challenge (Web Search Click Data workshop 2012, Yandex)."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.reading.assembling import read_in_parts
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Fields, no_fields
from plackett.clicks.reading.lists import ClickEvents, Limits, Lists, apply_clicks, find_clicks, merge_repeats
from plackett.clicks.reading.partitions import Part, Partitions, Totals
from plackett.clicks.reading.records import Ragged, Records
from plackett.clicks.reading.tables import Names, SortedNames


def read_wscd(
    blocks: Iterable[tuple[Fields, np.ndarray]], limits: Limits, cleaning: Cleaning, path: str | os.PathLike | None
) -> ClickLog:
    """Return the log of lines ``session time Q query region docs...`` and ``session time C doc``, tab-separated.

    Each query of a session has its own list. A click belongs to the last list of its session that was shown before it
    and holds the document; the order of lines is not used, but the times are.
    """

    def deal(partitions: Partitions, names: Names) -> None:
        _deal(no_fields(["session", "time", "name"]), np.empty(0, dtype=bool), partitions, names, cleaning)
        for block, is_click in blocks:
            cleaning.n_lines += block.n_lines
            _deal(block, is_click, partitions, names, cleaning)

    return read_in_parts(deal, _lists, limits, cleaning, path)


def _deal(block: Fields, is_click: np.ndarray, partitions: Partitions, names: Names, cleaning: Cleaning) -> None:
    seconds = block.times("time")
    is_wrong = np.isnan(seconds)
    cleaning.add("damaged line", block.n_damaged + np.count_nonzero(is_wrong))
    n_items = np.diff(block.item_end, prepend=0)
    doc = names.doc.add(block.buffers["items"], block.items[np.repeat(~is_wrong, n_items)])
    shown, clicked = np.flatnonzero(~is_click & ~is_wrong), np.flatnonzero(is_click & ~is_wrong)
    buffer, spans = block.buffers["session"], block.spans["session"]
    queries, clicks = (block.take(rows) for rows in (shown, clicked))
    records = Records(
        {"query": queries.codes("name", names.query), "times": seconds[shown]},
        {"doc": Ragged(n_items[shown].astype(np.int32), doc)},
    )
    partitions.add("lists", buffer, spans[shown], records)
    records = Records({"doc": clicks.codes("name", names.doc), "times": seconds[clicked]})
    partitions.add("clicks", buffer, spans[clicked], records)


def _lists(part: Part, names: SortedNames, totals: Totals, cleaning: Cleaning) -> Lists:
    columns, shown = part.records["lists"].columns, part.records["lists"].lists["doc"]
    doc = names.doc.place[shown.values]
    lists = Lists(
        columns["session"],
        names.query.place[columns["query"]],
        np.append(0, np.cumsum(shown.lengths, dtype=np.int64)),
        doc,
        np.zeros(doc.size, dtype=bool),
        times=columns["times"],
    )
    order = np.lexsort((lists.query, columns["times"], lists.session))
    lists = lists.take(order)
    keys = (lists.session, columns["times"][order], lists.query)
    is_new = np.logical_or.reduce([np.append(True, one[1:] != one[:-1])[: len(lists)] for one in keys])
    lists = merge_repeats(lists, np.cumsum(is_new), cleaning)
    columns = part.records["clicks"].columns
    found = names.doc.place[columns["doc"]]
    clicks = ClickEvents(columns["session"], found, np.full(found.size, -1, dtype=np.int32))
    apply_clicks(lists, *_find(lists, clicks, columns["times"]), cleaning)
    return lists


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
