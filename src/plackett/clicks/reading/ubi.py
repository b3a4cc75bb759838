"""Logs in the schema of OpenSearch's User Behavior Insights (UBI): queries with their hits, and events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.names import NameTable, code_names
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.fields import Fields
from plackett.clicks.reading.lists import (
    LONGEST,
    ClickEvents,
    Limits,
    Lists,
    Names,
    Rows,
    apply_clicks,
    as_log,
    find_clicks,
    first_ordinal,
    lists_of_rows,
    merge_repeats,
    normalized,
    ranks,
)
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataWarning, warn

HITS = "query_response_hit_ids"
QUERY_KEYS = ("query_id", "user_query", "client_id", "timestamp")
OBJECT, ORDINAL = "event_attributes.object.object_id", "event_attributes.position.ordinal"
EVENT_KEYS = ("query_id", "action_name", "client_id", OBJECT, ORDINAL)
CLICKS, IMPRESSIONS = ("click", "click_through"), ("impression",)
FILTERS = ("query_attributes.filters",)
_ACTIONS_NAMED = 6

Reader = Callable[[Sequence[str], str | None], Iterator[Fields]]


def read_ubi(
    queries: Reader,
    events: Reader,
    *,
    clicks: Sequence[str],
    impressions: Sequence[str],
    filters: Sequence[str],
    ranker: str | None,
    limits: Limits,
    cleaning: Cleaning,
) -> ClickLog:
    """Return the log of queries and events.

    A session is a ``query_id``, and its list is ``query_response_hit_ids``. Sessions without hits take their list from
    impression events. ``queries`` and ``events`` return the fields of the two sources by their keys.
    """
    names = Names.empty()
    lists = _read_queries(queries, names, filters, ranker, cleaning)
    seen, clicked = _read_events(events, names, clicks, impressions, cleaning)
    lists = _with_impressions(lists, seen, cleaning)
    place = np.full(len(names.session) + 1, -1, dtype=np.int32)  # the last one is for clicks without a session
    place[lists.session] = np.arange(len(lists), dtype=np.int32)
    given = ClickEvents(place[clicked.place], clicked.doc, clicked.ordinal)
    first = first_ordinal(lists, given)
    if (given.ordinal >= 0).any():
        cleaning.first_position = first
    apply_clicks(lists, *find_clicks(lists, given, first), cleaning)
    return as_log(lists, names, limits, cleaning)


def _read_queries(
    queries: Reader, names: Names, filters: Sequence[str], ranker: str | None, cleaning: Cleaning
) -> Lists:
    parts = {name: [np.empty(0, np.int32)] for name in ("session", "text", "client", "ranker", "doc")}
    texts = NameTable()
    tables = [NameTable() for _ in filters]
    values: list[list[np.ndarray]] = [[np.empty(0, np.int32)] for _ in filters]
    times, lengths = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for block in queries([*QUERY_KEYS, *filters, *([ranker] if ranker else [])], HITS):
        cleaning.n_lines += block.n_lines
        cleaning.add("damaged line", block.n_damaged)
        has_session, has_query = block.is_given("query_id"), block.is_given("user_query")
        cleaning.add("missing session", np.count_nonzero(~has_session))
        cleaning.add("missing query", np.count_nonzero(has_session & ~has_query))
        kept = np.flatnonzero(has_session & has_query)
        n_items = np.diff(block.item_end, prepend=0)
        is_item_kept = np.repeat(has_session & has_query, n_items)
        parts["session"].append(block.codes("query_id", names.session)[kept])
        parts["text"].append(block.codes("user_query", texts)[kept])
        parts["client"].append(block.codes("client_id", names.client)[kept])
        if ranker:
            parts["ranker"].append(block.codes(ranker, names.ranker)[kept])
        parts["doc"].append(names.doc.add(block.buffers["items"], block.items[is_item_kept]))
        for name, table, codes in zip(filters, tables, values, strict=True):
            codes.append(block.codes(name, table)[kept])
        seconds = block.times("timestamp")
        cleaning.add("invalid time", np.count_nonzero(np.isnan(seconds) & block.is_given("timestamp")))
        times.append(seconds[kept])
        lengths.append(n_items[kept])
    columns = {name: np.concatenate(one) for name, one in parts.items()}
    query = _query_codes(texts, columns["text"], tables, [np.concatenate(one) for one in values], names)
    lists = Lists(
        columns["session"],
        query,
        np.append(0, np.cumsum(np.concatenate(lengths))),
        columns["doc"],
        np.zeros(columns["doc"].size, dtype=bool),
        times=np.concatenate(times),
        ranker=columns["ranker"] if ranker else None,
        client=columns["client"],
    )
    return merge_repeats(lists, lists.session, cleaning)


def _query_codes(
    texts: NameTable, text: np.ndarray, tables: list[NameTable], values: list[np.ndarray], names: Names
) -> np.ndarray:
    """Return codes of the normalised queries, with the values of their filters behind them, in ``names.query``."""
    own, place = texts.finish()
    spelled, codes = code_names(TextColumn.from_strings(map(normalized, own)), "query")
    code = codes[place][text]
    for table, filter_code in zip(tables, values, strict=True):
        found, place = table.finish()
        wanted, codes = code_names(TextColumn.from_strings(["", *map(_spelled_filter, found)]), "filter")
        own_code = codes[np.append(place + 1, 0)][filter_code]  # -1, no filter, is the last place
        different, code = np.unique(code.astype(np.int64) * len(wanted) + own_code, return_inverse=True)
        joined = (f"{spelled[one // len(wanted)]} {wanted[one % len(wanted)]}".strip() for one in different.tolist())
        spelled, code = TextColumn.from_strings(joined), code.reshape(-1)
    return names.query.add_column(spelled)[code]


def _spelled_filter(value: str) -> str:
    """Return a filter in one form: JSON with sorted keys; nothing for an empty one."""
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return json.dumps(found, sort_keys=True, ensure_ascii=False, separators=(",", ":")) if found else ""


def _read_events(
    events: Reader, names: Names, clicks: Sequence[str], impressions: Sequence[str], cleaning: Cleaning
) -> tuple[ClickEvents, ClickEvents]:
    """Return the impressions and the clicks; their place is the code of the session, -1 without one."""
    actions = NameTable()
    wanted = [*clicks, *impressions]
    actions.add_column(TextColumn.from_strings(wanted))
    counts = np.zeros(0, dtype=np.int64)
    found: dict[bool, list[tuple[np.ndarray, ...]]] = {False: [], True: []}
    for block in events(EVENT_KEYS, None):
        cleaning.n_lines += block.n_lines
        cleaning.add("damaged line", block.n_damaged)
        action = block.codes("action_name", actions)
        more = np.bincount(action[action >= 0], minlength=len(actions))
        more[: counts.size] += counts
        counts = more
        session, ordinal = block.codes("query_id", names.session), block.whole(ORDINAL)
        doc = block.codes(OBJECT, names.doc)
        cleaning.add("invalid position", np.count_nonzero((ordinal == -2) & (action >= 0) & (action < len(wanted))))
        for is_click in (False, True):
            first, last = (0, len(clicks)) if is_click else (len(clicks), len(wanted))
            rows = np.flatnonzero((action >= first) & (action < last))
            found[is_click].append((session[rows], doc[rows], ordinal[rows]))
    if not counts[: len(clicks)].any() and counts.any():
        _warn_of_actions(actions, counts, clicks)
    seen, clicked = (
        ClickEvents(*(np.concatenate([np.empty(0, np.int32), *column]) for column in zip(*parts, strict=True)))
        if parts
        else ClickEvents(*np.empty((3, 0), dtype=np.int32))
        for parts in (found[False], found[True])
    )
    return seen, clicked


def _warn_of_actions(actions: NameTable, counts: np.ndarray, clicks: Sequence[str]) -> None:
    texts, place = actions.finish()
    by_count = sorted((-int(counts[code]), texts[int(place[code])]) for code in np.flatnonzero(counts))
    others = ", ".join(f"{name!r} ({-count:,})" for count, name in by_count[:_ACTIONS_NAMED])
    warn(
        f"no event has an action_name of clicks ({', '.join(map(repr, clicks))}), so that no document was clicked. The "
        f"events have {others}. Name those that are clicks, such as clicks=[{by_count[0][1]!r}].",
        DataWarning,
    )


def _with_impressions(lists: Lists, seen: ClickEvents, cleaning: Cleaning) -> Lists:
    """Return the lists, those without hits filled from impression events."""
    is_empty = np.diff(lists.indptr) == 0
    if not len(seen) or not is_empty.any():
        return lists
    place = np.full(max(int(seen.place.max(initial=-1)), int(lists.session.max(initial=-1))) + 2, -1, dtype=np.int64)
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
