"""Names and shown lists of sessions, from rows or from records, and their cleaning."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plackett import _native
from plackett.clicks.log import ClickLog, ranks
from plackett.clicks.pairs import NameTable, PairTable
from plackett.clicks.reading.cleaning import Cleaning
from plackett.data.text_column import TextColumn
from plackett.exceptions import DataWarning, warn

LONGEST = 1 << 20  # larger positions are invalid
CHECKED_NAMES = 1 << 16  # at a time
BOT_NAMES = re.compile(  # not "abbot" or "spiderman"
    r"[a-z]Bot\b|(?i:(?:\b|_|ro|google|bing|yandex|baidu|ahrefs|apple|petal)bot(?:\b|_)|crawler|spider\b|scraper|headless)"
)
_CUTS = {1: "gap in positions", 2: "two documents at a position", 3: "document shown twice", 4: "missing document"}
BY_LIST = ("session", "query", "times", "ranker", "is_random", "client")
_OUTCOMES = {
    1: "click without a document",
    2: "click at another position",
    3: "click on what was not shown",
    4: "click without document and position",
    5: "click in an unknown session",
}


# --- Names ------------------------------------------------------------------------------------------------------------


@dataclass
class Column:
    """Sorted names, and the position of each code of their table among them; the last one, -1, is that of code -1."""

    names: TextColumn
    place: np.ndarray


class Names:
    """Tables of names, whose codes are in the order of appearance."""

    def __init__(self) -> None:
        self.session, self.query, self.doc = NameTable(), NameTable(), NameTable()
        self.ranker, self.client = NameTable(), NameTable()

    def finish(self) -> dict[str, Column]:
        """Return sorted names, which do not depend on the order of the lines, and empty the tables."""
        columns = {}
        for name, table in list(vars(self).items()):
            found, place = table.finish()
            columns[name] = Column(found, np.append(place, np.int32(-1)))
            if name != "session":
                _warn_of_encoding(found, name)
            setattr(self, name, NameTable())
        return columns


def _warn_of_encoding(names: TextColumn, what: str) -> None:
    """Warn of names that are not UTF-8."""
    for first in range(0, len(names), CHECKED_NAMES):
        last = min(first + CHECKED_NAMES, len(names))
        try:
            names.buffer[names.bounds[first] : names.bounds[last]].tobytes().decode("utf-8")
        except UnicodeDecodeError as error:
            place = int(np.searchsorted(names.bounds, names.bounds[first] + error.start, side="right")) - 1
            noun = {"query": "query", "doc": "document"}.get(what, what)
            warn(
                f"the name of a {noun} is not UTF-8: {names.bytes_of(place)!r}. If the log is Latin-1 or Windows-1252, "
                "convert it first, such as with iconv -f WINDOWS-1252 -t UTF-8.",
                DataWarning,
            )
            return


# --- Lists ------------------------------------------------------------------------------------------------------------


@dataclass
class Lists:
    """Shown lists: list ``i`` has the documents ``doc[indptr[i]:indptr[i + 1]]``, -1 for one without an id."""

    session: np.ndarray
    query: np.ndarray
    indptr: np.ndarray
    doc: np.ndarray
    click: np.ndarray
    rank: np.ndarray | None = None  # None: 1, 2, ... in each list
    times: np.ndarray | None = None
    ranker: np.ndarray | None = None
    is_random: np.ndarray | None = None
    client: np.ndarray | None = None
    propensity: np.ndarray | None = None

    def __len__(self) -> int:
        return self.indptr.size - 1

    def take(self, which: np.ndarray, n_kept: np.ndarray | None = None) -> Lists:
        """Return some lists, the first ``n_kept`` documents of each."""
        lengths = (np.diff(self.indptr) if n_kept is None else n_kept)[which]
        starts = self.indptr[:-1][which]
        parts = {name: values[which] for name in BY_LIST if (values := getattr(self, name)) is not None}
        for name in ("doc", "click", "rank", "propensity"):
            if (values := getattr(self, name)) is not None:
                parts[name] = take_lists(values, starts, lengths)
        return replace(self, indptr=np.append(0, np.cumsum(lengths)), **parts)


def take_lists(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the values of lists that begin at ``starts``."""
    taken = np.empty(int(lengths.sum(dtype=np.int64)), values.dtype)
    spans = np.stack([starts, starts + lengths], axis=1) * values.dtype.itemsize
    _native.clicks.copy_spans(np.ascontiguousarray(values).view(np.uint8), spans, taken.view(np.uint8))
    return taken


@dataclass
class Rows:
    """Shown documents one by one, in any order, in runs of equal session and query.

    Run ``i`` has ``lengths[i]`` rows. Sessions, queries and the optional columns have a value per run.
    """

    session: np.ndarray
    query: np.ndarray
    lengths: np.ndarray
    doc: np.ndarray
    rank: np.ndarray
    click: np.ndarray
    times: np.ndarray | None = None
    ranker: np.ndarray | None = None
    is_random: np.ndarray | None = None
    client: np.ndarray | None = None
    propensity: np.ndarray | None = None  # of each row


def lists_of_rows(rows: Rows, cleaning: Cleaning) -> Lists:
    """Return the lists of rows: by session and query, in order of position, repeated rows merged."""
    unit_of_run, session, query = _units(rows, cleaning)
    unit = np.repeat(unit_of_run, rows.lengths)
    cleaning.first_position = first = _first_position(unit, rows.rank, session.size)
    rank, doc, click, propensity = rows.rank, rows.doc, rows.click, rows.propensity
    order: Any = _order(unit, rows)
    order = slice(None) if order is None else order
    if first == 1 and not rank.all():
        order = np.arange(rank.size)[order]
        order = order[rank[order] > 0]
        cleaning.add("invalid position", rank.size - order.size)
    unit, rank, doc, click = unit[order], rank[order], doc[order], click[order]
    propensity = None if propensity is None else propensity[order]
    is_new = np.append(True, (unit[1:] != unit[:-1]) | (rank[1:] != rank[:-1]) | (doc[1:] != doc[:-1]))[: unit.size]
    starts = np.flatnonzero(is_new)
    if starts.size < unit.size:
        cleaning.add("repeated row", unit.size - starts.size)
        unit, rank, doc, click = unit[starts], rank[starts], doc[starts], np.logical_or.reduceat(click, starts)
        propensity = None if propensity is None else propensity[starts]
    lengths = np.bincount(unit, minlength=session.size)
    indptr = np.append(0, np.cumsum(lengths))
    rank = rank if first == 1 else rank + np.int32(1)
    lists = Lists(session, query, indptr, doc, click, rank, propensity=propensity)
    for name in ("times", "ranker", "is_random", "client"):
        values = getattr(rows, name)
        if values is not None:
            of_list = np.full(session.size, {"times": np.nan, "is_random": False}.get(name, -1), dtype=values.dtype)
            choose = {"times": np.fmin, "is_random": np.logical_or}.get(name, np.maximum)
            choose.at(of_list, unit_of_run, values)
            setattr(lists, name, of_list)
    return lists


def _order(unit: np.ndarray, rows: Rows) -> np.ndarray | None:
    """Return the order of rows by list, position and document; None if they are in order of list and position."""
    key = unit.astype(np.int64) << 20
    key |= rows.rank
    if (key[1:] > key[:-1]).all():
        return None
    order = np.argsort(key, kind="stable")
    key = key[order]
    is_same = key[1:] == key[:-1]
    if is_same.any():  # repeated rows, or several documents at a position
        is_tied = np.append(is_same, False) | np.insert(is_same, 0, False)
        tied = order[is_tied]
        order[is_tied] = tied[np.lexsort((rows.doc[tied], key[is_tied]))]
    return order


def _units(rows: Rows, cleaning: Cleaning) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the list of each run, and the session and query of each list."""
    n_sessions = int(rows.session.max(initial=-1)) + 1
    query = np.full(n_sessions, -1, dtype=np.int32)
    query[rows.session] = rows.query
    if (query[rows.session] == rows.query).all():
        if (query >= 0).all():
            return rows.session, np.arange(n_sessions, dtype=np.int32), query
        used = np.flatnonzero(query >= 0).astype(np.int32)
        place = np.cumsum(query >= 0, dtype=np.int32) - 1
        return place[rows.session], used, query[used]
    n_queries = int(rows.query.max()) + 1
    different, unit = np.unique(rows.session.astype(np.int64) * n_queries + rows.query, return_inverse=True)
    session, query = (different // n_queries).astype(np.int32), (different % n_queries).astype(np.int32)
    cleaning.add("several queries in a session", np.count_nonzero(np.unique(session, return_counts=True)[1] > 1))
    return unit.reshape(-1).astype(np.int32), session, query


def _first_position(unit: np.ndarray, rank: np.ndarray, n_units: int) -> int:
    """Return 0 if more lists begin at position 0 than at 1."""
    firsts = np.full(n_units, LONGEST, dtype=np.int32)
    np.minimum.at(firsts, unit, rank)
    return 0 if np.count_nonzero(firsts == 0) > np.count_nonzero(firsts == 1) else 1


# --- Repeated records -------------------------------------------------------------------------------------------------


def merge_repeats(lists: Lists, key: np.ndarray, cleaning: Cleaning) -> Lists:
    """Return one list for each key.

    Of several lists with a key the longest is kept if it begins with the others and all have one query; otherwise none.
    """
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.append(True, key[order][1:] != key[order][:-1])[: key.size])
    if starts.size == key.size:
        return lists
    kept = []
    ends = np.append(starts[1:], key.size)
    is_single = ends - starts == 1
    kept = order[starts[is_single]].tolist()
    n_merged = n_contradictory = 0
    for start, end in zip(starts[~is_single].tolist(), ends[~is_single].tolist(), strict=True):
        group = order[start:end].tolist()
        shown = [lists.doc[lists.indptr[i] : lists.indptr[i + 1]].tolist() for i in group]
        place = max(range(len(group)), key=lambda i: len(shown[i]))
        same_query = len({int(lists.query[i]) for i in group}) == 1
        if same_query and all(shown[place][: len(one)] == one for one in shown):
            chosen = group[place]
            if lists.times is not None:
                lists.times[chosen] = np.fmin.reduce(lists.times[group])
            for name in ("ranker", "client"):
                values = getattr(lists, name)
                if values is not None:
                    values[chosen] = values[group].max()
            kept.append(chosen)
            n_merged += len(group) - 1
        else:
            n_contradictory += len(group)
    cleaning.add("repeated session", n_merged)
    cleaning.add("contradictory session", n_contradictory)
    return lists.take(np.sort(np.array(kept, dtype=np.int64)))


# --- Clicks -----------------------------------------------------------------------------------------------------------


@dataclass
class ClickEvents:
    """Clicks: the list (-1 if unknown), the document (-1 if missing) and the position (negative if missing) of each."""

    place: np.ndarray
    doc: np.ndarray
    ordinal: np.ndarray


def find_clicks(lists: Lists, clicks: ClickEvents, first: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of each click, -1 for none, and the outcome of the search."""
    row, outcome = np.empty(clicks.place.size, dtype=np.int64), np.empty(clicks.place.size, dtype=np.uint8)
    _native.clicks.find_clicks(lists.indptr, lists.doc, clicks.place, clicks.doc, clicks.ordinal, first, row, outcome)
    return row, outcome


def first_ordinal(lists: Lists, clicks: ClickEvents, cleaning: Cleaning) -> int:
    """Return whether the positions of clicks begin at 0 or 1: where most of the documents that were clicked are."""
    row, _ = find_clicks(lists, clicks, 1)
    is_known = (row >= 0) & (clicks.doc >= 0) & (clicks.ordinal >= 0)
    place = row[is_known] - lists.indptr[clicks.place[is_known]]
    ordinal = clicks.ordinal[is_known]
    first = 0 if np.count_nonzero(ordinal == place) > np.count_nonzero(ordinal == place + 1) else 1
    if (clicks.ordinal >= 0).any():
        cleaning.first_position = first
    return first


def apply_clicks(lists: Lists, row: np.ndarray, outcome: np.ndarray, cleaning: Cleaning) -> None:
    """Mark the clicked rows, and count what was wrong with the clicks."""
    for code, name in _OUTCOMES.items():
        cleaning.add(name, np.count_nonzero(outcome == code))
    found = row[row >= 0]
    before = np.count_nonzero(lists.click)
    lists.click[found] = True
    cleaning.add("repeated click", found.size - (np.count_nonzero(lists.click) - before))


# --- Cleaning of lists ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """What is kept of a log."""

    k: int | None = None
    max_sessions_per_client: int | None = None


def cut_lists(lists: Lists, limits: Limits, cleaning: Cleaning) -> Lists:
    """Return the lists up to the first damage, without those that begin with one."""
    lengths = np.diff(lists.indptr)
    rank = ranks(lists.indptr) if lists.rank is None else lists.rank
    n_kept, why = np.empty(len(lists), dtype=np.int64), np.empty(len(lists), dtype=np.uint8)
    _native.clicks.cut_lists(lists.indptr, rank, lists.doc, n_kept, why)
    for code, name in _CUTS.items():
        cleaning.add(name, np.count_nonzero(why == code))
    cleaning.add("empty list", np.count_nonzero(n_kept == 0))
    n_clicks = np.count_nonzero(lists.click)
    if (n_kept < lengths).any() or not n_kept.all():
        lists = replace(lists, rank=None).take(np.flatnonzero(n_kept), n_kept)
        cleaning.add("click below a cut", n_clicks - np.count_nonzero(lists.click))
    if limits.k is not None and (np.diff(lists.indptr) > limits.k).any():
        lengths = np.diff(lists.indptr)
        cleaning.add("list beyond the cut-off", np.count_nonzero(lengths > limits.k))
        lists = replace(lists, rank=None).take(np.arange(len(lists)), np.minimum(lengths, limits.k))
    return replace(lists, rank=None)


def without_bots(lists: Lists, clients: TextColumn, limits: Limits, cleaning: Cleaning) -> Lists:
    """Return the lists without those of clients whose name says that they are bots, or who have too many sessions."""
    is_bot_name = np.fromiter(map(bool, map(BOT_NAMES.search, clients.tolist())), bool, len(clients))
    is_bot = np.zeros(len(lists), dtype=bool)
    if lists.client is not None and is_bot_name.size:
        is_known = lists.client >= 0
        client = lists.client[is_known]
        is_bot[is_known] = is_bot_name[client]
        if limits.max_sessions_per_client is not None:
            counts = np.bincount(client, minlength=is_bot_name.size)
            is_bot[is_known] |= (counts > limits.max_sessions_per_client)[client]
    cleaning.add("bot", np.count_nonzero(is_bot))
    return lists.take(np.flatnonzero(~is_bot)) if is_bot.any() else lists


def normalized(query: str) -> str:
    r"""Return a query in one case and Unicode form, with single spaces.

    Examples
    --------
    >>> normalized("  Red\tSHOES ")
    'red shoes'
    """
    return " ".join(unicodedata.normalize("NFKC", query).casefold().split())


# --- The log ----------------------------------------------------------------------------------------------------------


def cleaned_log(lists: Lists, names: dict[str, Column], limits: Limits, cleaning: Cleaning) -> ClickLog:
    """Return the log of lists, sorted by the names of their sessions, time and query."""
    lists = cut_lists(lists, limits, cleaning)
    lists = without_bots(lists, names["client"].names, limits, cleaning)
    keys = (lists.query, lists.session) if lists.times is None else (lists.query, lists.times, lists.session)
    order = np.lexsort(keys)
    if not (order[1:] > order[:-1]).all():
        lists = lists.take(order)
    lists = _without_copies(lists, cleaning)
    table = PairTable(len(names["doc"].names))
    code = table.add(np.repeat(lists.query, np.diff(lists.indptr)), lists.doc)
    pairs, place = table.finish(names["query"].names, names["doc"].names)
    used = pairs.subset(np.arange(len(pairs)))  # without the names of dropped sessions
    query_place = np.zeros(len(pairs.queries), dtype=np.int32)
    query_place[pairs.pair_query] = used.pair_query
    has_rankers = lists.ranker is not None and len(lists) > 0 and bool((lists.ranker >= 0).all())
    has_times = lists.times is not None and len(lists) > 0 and bool(np.isfinite(lists.times).all())
    ids: TextColumn | None = names["session"].names
    if not len(names["session"].names):
        ids = None
    elif not np.array_equal(lists.session, np.arange(len(names["session"].names))):
        ids = names["session"].names[lists.session]
    return ClickLog(
        lists.indptr,
        place[code],
        lists.click,
        query_place[lists.query],
        used,
        session_ids=ids,
        times=lists.times if has_times else None,
        ranker=lists.ranker if has_rankers else None,
        rankers=names["ranker"].names if has_rankers else None,
        is_random=lists.is_random if len(lists) else None,
        propensity=lists.propensity if len(lists) else None,
        cleaning=cleaning,
    )


def _without_copies(lists: Lists, cleaning: Cleaning) -> Lists:
    """Return the lists without those that a client was shown for a query at the same time in an earlier session."""
    if lists.client is None or lists.times is None:
        return lists
    known = np.flatnonzero((lists.client >= 0) & np.isfinite(lists.times))
    known = known[np.lexsort((lists.times[known], lists.client[known]))]
    is_same = _equal_before(known, lists.client, lists.times)
    tied = known[is_same | np.append(is_same, False)[1:]]
    if not tied.size:
        return lists
    shown = np.full(len(lists), -1, dtype=np.int32)
    shown[tied] = NameTable().add(
        lists.doc.view(np.uint8), 4 * np.stack([lists.indptr[tied], lists.indptr[tied + 1]], 1)
    )
    tied = tied[np.lexsort((tied, shown[tied], lists.query[tied], lists.times[tied], lists.client[tied]))]
    copied = tied[_equal_before(tied, lists.client, lists.times, lists.query, shown)]
    cleaning.add("copied session", copied.size)
    is_kept = np.ones(len(lists), dtype=bool)
    is_kept[copied] = False
    return lists.take(np.flatnonzero(is_kept)) if copied.size else lists


def _equal_before(rows: np.ndarray, *columns: np.ndarray) -> np.ndarray:
    """Return whether each row has the values of the row before."""
    is_same = np.ones(rows.size, dtype=bool)
    is_same[:1] = False
    for values in columns:
        is_same[1:] &= values[rows[1:]] == values[rows[:-1]]
    return is_same
