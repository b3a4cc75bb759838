"""Logs in the schema of OpenSearch's User Behavior Insights (UBI): queries with their hits, and events."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.pairs import NameTable
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Columns, Fields, SpelledTable
from plackett.clicks.reading.lists import (
    LONGEST,
    ClickEvents,
    Column,
    Limits,
    Lists,
    Names,
    Rows,
    apply_clicks,
    cleaned_log,
    find_clicks,
    first_ordinal,
    lists_of_rows,
    merge_repeats,
    normalized,
    ranks,
)
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataWarning, warn

QUERIES, EVENTS = "ubi_queries", "ubi_events"  # names of files begin so
HITS = "query_response_hit_ids"
# in the order in which they are looked for; OpenSearch's generator of UBI data writes flat tables, and other paths
TIMES = ("timestamp", "@timestamp")
OBJECTS = ("event_attributes.object.object_id", "object_id")
ORDINALS = ("event_attributes.position.ordinal", "event_attributes.rank", "position.ordinal", "ordinal", "rank")
BULK = ("index", "create")  # lines of the bulk format, before each record
QUERY_KEYS = ("query_id", "user_query", "client_id", "action_name", *TIMES, *BULK)
EVENT_KEYS = ("query_id", "action_name", *OBJECTS, *ORDINALS)
CLICKS = ("click", "click_through")
_ACTIONS_NAMED = 6

Reader = Callable[[Sequence[str], str | None], Iterator[Fields]]


@dataclass(frozen=True)
class UbiNames:
    """Names in a log of UBI.

    Parameters
    ----------
    clicks, impressions : sequence of str
        Values of ``action_name`` that are clicks, and impressions, which give the lists of queries without hits.
    filters : sequence of str, default=("query_attributes.filters",)
        Paths of filters, which are part of the query.

    Examples
    --------
    >>> import plackett as pk
    >>> pk.clicks.UbiNames(clicks=["add_to_cart"]).impressions
    ('impression',)
    """

    clicks: Sequence[str] = CLICKS
    impressions: Sequence[str] = ("impression",)
    filters: Sequence[str] = ("query_attributes.filters",)

    def __post_init__(self) -> None:
        for name, words in vars(self).items():
            if isinstance(words, str):
                raise TypeError(f"{name}={words!r}; a list is needed, such as {name}=[{words!r}].")


def ubi_sources(source: Any) -> tuple[list[Path], list[Path]] | None:
    """Return the files of queries and of events in a folder; None for other sources."""
    if not isinstance(source, (str, os.PathLike)) or source == "-" or not Path(source).is_dir():
        return None
    found = []
    for what in (QUERIES, EVENTS):
        files = sorted(path for path in Path(source).iterdir() if path.name.startswith(what) and path.is_file())
        if not files:
            raise ValueError(f"{source} has no file {what}*; pass the two files instead.")
        found.append(files)
    return found[0], found[1]


def read_ubi(
    queries: Reader, events: Reader, names: UbiNames, *, ranker: str | None, limits: Limits, cleaning: Cleaning
) -> tuple[ClickLog, bool]:
    """Return the log of queries and events, and whether there are events.

    A session is a ``query_id``, and its list is ``query_response_hit_ids``. Sessions without hits take their list from
    impression events. ``queries`` and ``events`` return the fields of the two sources by their keys.
    """
    tables, keys = Names(), [*QUERY_KEYS, *names.filters, *([ranker] if ranker else [])]
    shown = Columns("session", "query", "client", "times", "lengths", "doc", *(["ranker"] if ranker else []))
    spelled = SpelledTable(tables.query, normalized, *[_spelled_filter] * len(names.filters))
    for block in queries(keys, HITS):
        _add_queries(block, spelled, ["user_query", *names.filters], ranker, tables, shown, cleaning)
    acted = Columns("session", "is_click", "doc", "ordinal")
    has_events = _add_events(events(EVENT_KEYS, None), names, tables, acted, cleaning)
    found = tables.finish()
    lists = _lists(shown.join(), acted.join(), found, cleaning)
    return cleaned_log(lists, found, limits, cleaning), has_events


# --- Queries ----------------------------------------------------------------------------------------------------------


def _spelled_filter(value: str) -> str:
    """Return a filter in one form: JSON with sorted keys; nothing for an empty one."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value.strip()
    return json.dumps(found, sort_keys=True, ensure_ascii=False, separators=(",", ":")) if found else ""


def _add_queries(
    block: Fields,
    spelled: SpelledTable,
    of_query: Sequence[str],
    ranker: str | None,
    names: Names,
    shown: Columns,
    cleaning: Cleaning,
) -> None:
    cleaning.n_lines += block.n_lines
    cleaning.add("damaged line", block.n_damaged)
    has_session, has_query = block.is_given("query_id"), block.is_given("user_query")
    is_other = block.is_given("action_name")  # events in the same file
    for name in BULK:
        is_other |= block.is_given(name) & ~has_session
    cleaning.add("missing session", np.count_nonzero(~has_session & ~is_other))
    cleaning.add("missing query", np.count_nonzero(has_session & ~has_query & ~is_other))
    is_kept = has_session & has_query & ~is_other
    code = spelled.add(block.take(np.flatnonzero(is_kept)), of_query)
    has_name = np.diff(names.query.take(code).bounds) > 0  # neither a text nor a filter
    cleaning.add("missing query", np.count_nonzero(~has_name))
    is_kept[is_kept] = has_name
    n_items = np.diff(block.item_end, prepend=0)
    doc = names.doc.add(block.buffers["items"], block.items[np.repeat(is_kept, n_items)])
    kept = np.flatnonzero(is_kept)
    block = block.take(kept)
    columns = {"query": code[has_name], "client": block.codes("client_id", names.client)}
    if ranker:
        columns["ranker"] = block.codes(ranker, names.ranker)
    columns["times"] = block.times(TIMES[0])
    has_time = block.is_given(TIMES[0])
    if (other := block.is_given(TIMES[1])).any():
        columns["times"] = np.where(has_time, columns["times"], block.times(TIMES[1]))
        has_time |= other
    cleaning.add("invalid time", np.count_nonzero(np.isnan(columns["times"]) & has_time))
    session = names.session.add(block.buffers["query_id"], block.spans["query_id"])
    shown.add(session=session, lengths=n_items[kept], doc=doc, **columns)


# --- Events -----------------------------------------------------------------------------------------------------------


def _add_events(
    blocks: Iterator[Fields], wanted_names: UbiNames, names: Names, acted: Columns, cleaning: Cleaning
) -> bool:
    """Add clicks and impressions; return whether there is an event of any kind."""
    clicks, impressions = wanted_names.clicks, wanted_names.impressions
    actions, wanted = NameTable(), [*clicks, *impressions]
    actions.add_column(TextColumn.from_strings(wanted))
    counts = np.zeros(0, dtype=np.int64)
    for block in blocks:
        cleaning.n_lines += block.n_lines
        cleaning.add("damaged line", block.n_damaged)
        action = block.codes("action_name", actions)
        more = np.bincount(action[action >= 0], minlength=len(actions))
        more[: counts.size] += counts
        counts = more
        is_wanted, is_click = (action >= 0) & (action < len(wanted)), (action >= 0) & (action < len(clicks))
        has_session = block.is_given("query_id")
        cleaning.add("click in an unknown session", np.count_nonzero(is_click & ~has_session))
        ordinal, doc = block.whole(ORDINALS[0]), block.codes(OBJECTS[0], names.doc)
        for name in ORDINALS[1:]:
            ordinal = np.where(ordinal == -1, block.whole(name), ordinal) if block.is_given(name).any() else ordinal
        for name in OBJECTS[1:]:
            doc = np.where(doc < 0, block.codes(name, names.doc), doc) if block.is_given(name).any() else doc
        cleaning.add("invalid position", np.count_nonzero((ordinal == -2) & is_wanted))
        rows = np.flatnonzero(is_wanted & has_session)
        session = names.session.add(block.buffers["query_id"], block.spans["query_id"][rows])
        acted.add(session=session, is_click=is_click[rows], doc=doc[rows], ordinal=ordinal[rows])
    if not counts[: len(clicks)].any() and counts.any():
        _warn_of_actions(actions, counts, clicks, impressions)
    return bool(counts.any())


def _warn_of_actions(actions: NameTable, counts: np.ndarray, clicks: Sequence[str], impressions: Sequence[str]) -> None:
    texts, place = actions.finish()
    by_count = sorted((-int(counts[code]), texts[int(place[code])]) for code in np.flatnonzero(counts))
    named = ", ".join(f"{name!r} ({-count:,})" for count, name in by_count[:_ACTIONS_NAMED])
    others = [name for _, name in by_count if name not in impressions]
    advice = (
        f"Name those that are clicks, such as ubi=UbiNames(clicks=[{others[0]!r}])"
        if others
        else "Also pass events with clicks"
    )
    warn(
        f"no event has an action_name of clicks ({', '.join(map(repr, clicks))}), so that no document was clicked. The "
        f"events have {named}. {advice}.",
        DataWarning,
    )


# --- Lists ------------------------------------------------------------------------------------------------------------


def _lists(
    shown: dict[str, np.ndarray], acted: dict[str, np.ndarray], names: dict[str, Column], cleaning: Cleaning
) -> Lists:
    lists = Lists(
        names["session"].place[shown["session"]],
        names["query"].place[shown["query"]],
        np.append(0, np.cumsum(shown["lengths"], dtype=np.int64)),
        names["doc"].place[shown["doc"]],
        np.zeros(shown["doc"].size, dtype=bool),
        times=shown["times"],
        ranker=names["ranker"].place[shown["ranker"]] if "ranker" in shown else None,
        client=names["client"].place[shown["client"]],
    )
    lists = merge_repeats(lists, lists.session, cleaning)
    session, doc, is_click = (
        names["session"].place[acted["session"]],
        names["doc"].place[acted["doc"]],
        acted["is_click"],
    )
    seen = ClickEvents(session[~is_click], doc[~is_click], acted["ordinal"][~is_click])
    clicked = ClickEvents(session[is_click], doc[is_click], acted["ordinal"][is_click])
    lists = _with_impressions(lists, seen, cleaning)
    place = np.full(len(names["session"].names), -1, dtype=np.int32)
    place[lists.session] = np.arange(len(lists), dtype=np.int32)
    clicked.place = place[clicked.place]
    apply_clicks(lists, *find_clicks(lists, clicked, first_ordinal(lists, clicked, cleaning)), cleaning)
    return lists


def _with_impressions(lists: Lists, seen: ClickEvents, cleaning: Cleaning) -> Lists:
    """Return the lists, those without hits filled from impression events."""
    is_empty = np.diff(lists.indptr) == 0
    if not seen.place.size or not is_empty.any():
        return lists
    place = np.full(max(int(seen.place.max()), int(lists.session.max())) + 1, -1, dtype=np.int64)
    place[lists.session[is_empty]] = np.flatnonzero(is_empty)
    of_event = place[seen.place]
    is_kept = of_event >= 0
    for name, is_wrong in (
        ("missing document", seen.doc < 0),
        ("missing position", seen.ordinal == -1),
        ("invalid position", seen.ordinal >= LONGEST - 1),
    ):
        cleaning.add(name, np.count_nonzero(is_wrong & is_kept))
        is_kept &= ~is_wrong
    is_kept &= seen.ordinal >= 0
    of_event = of_event[is_kept]
    rows = Rows(
        of_event.astype(np.int32),
        lists.query[of_event],
        np.ones(of_event.size, dtype=np.int32),
        seen.doc[is_kept],
        seen.ordinal[is_kept],
        np.zeros(of_event.size, dtype=bool),
    )
    found = lists_of_rows(rows, cleaning)
    rest = np.setdiff1d(np.arange(len(lists)), found.session)
    old, filled = lists.take(rest), lists.take(found.session)
    rank = ranks(old.indptr)
    joined = {
        name: np.concatenate([values, getattr(filled, name)])
        for name in ("session", "query", "times", "ranker", "client")
        if (values := getattr(old, name)) is not None
    }
    return Lists(
        indptr=np.append(old.indptr, old.indptr[-1] + found.indptr[1:]),
        doc=np.concatenate([old.doc, found.doc]),
        click=np.zeros(old.doc.size + found.doc.size, dtype=bool),
        rank=np.concatenate([rank, found.rank]),
        **joined,
    )
