"""From the columns of a source to a cleaned log."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.names import NameTable
from plackett.clicks.pairs import PairTable
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.lists import Limits, Lists, cut_lists, without_bots
from plackett.clicks.reading.tables import SortedNames
from plackett.data.text_column import TextColumn


class Columns:
    """Columns that grow block by block."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = defaultdict(list)

    def add(self, **columns: np.ndarray) -> None:
        """Add the values of a block."""
        for name, values in columns.items():
            self._parts[name].append(values)

    def join(self) -> dict[str, np.ndarray]:
        """Return the columns, and forget their blocks one by one."""
        return {name: np.concatenate(self._parts.pop(name)) for name in list(self._parts)}


def cleaned_log(lists: Lists, names: SortedNames, limits: Limits, cleaning: Cleaning) -> ClickLog:
    """Return the log of lists, sorted by the names of their sessions, time and query."""
    lists = cut_lists(lists, limits, cleaning)
    lists = without_bots(lists, names.is_bot(), limits, cleaning)
    keys = (lists.query, lists.session) if lists.times is None else (lists.query, lists.times, lists.session)
    order = np.lexsort(keys)
    if not (order[1:] > order[:-1]).all():
        lists = lists.take(order)
    lists = _without_copies(lists, cleaning)
    table = PairTable(len(names.doc.names))
    code = table.add(np.repeat(lists.query, np.diff(lists.indptr)), lists.doc)
    pairs, place = table.finish(names.query.names, names.doc.names)
    used = pairs.subset(np.arange(len(pairs)))  # without the names of dropped sessions
    query_place = np.zeros(len(pairs.queries), dtype=np.int32)
    query_place[pairs.pair_query] = used.pair_query
    has_rankers = lists.ranker is not None and len(lists) > 0 and bool((lists.ranker >= 0).all())
    has_times = lists.times is not None and len(lists) > 0 and bool(np.isfinite(lists.times).all())
    ids: TextColumn | None = names.session.names
    if not len(names.session.names):
        ids = None
    elif not np.array_equal(lists.session, np.arange(len(names.session.names))):
        ids = names.session.names[lists.session]
    return ClickLog(
        lists.indptr,
        place[code],
        lists.click,
        query_place[lists.query],
        used,
        session_ids=ids,
        times=lists.times if has_times else None,
        ranker=lists.ranker if has_rankers else None,
        rankers=names.ranker.names if has_rankers else None,
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
