"""From dealt records to a cleaned log."""

from __future__ import annotations

import os
from collections.abc import Callable

from plackett.clicks.log import ClickLog
from plackett.clicks.reading.cleaning import Cleaning
from plackett.clicks.reading.lists import Limits, Lists, cut_lists, without_bots
from plackett.clicks.reading.merging import Results
from plackett.clicks.reading.partitions import Part, Partitions, Totals, UnknownTotalError
from plackett.clicks.reading.records import Scratch
from plackett.clicks.reading.tables import Names, SortedNames

ListsOf = Callable[[Part, SortedNames, Totals, Cleaning], Lists]


def read_in_parts(
    deal: Callable[[Partitions, Names], None],
    lists_of: ListsOf,
    limits: Limits,
    cleaning: Cleaning,
    path: str | os.PathLike | None,
) -> ClickLog:
    """Return the log of sessions that ``deal`` adds to partitions and ``lists_of`` makes lists of.

    All records of a session are cleaned together, and few sessions are held in memory at once. Rules that look at other
    sessions ask for totals, or compare hashes. The result does not depend on the parts.
    """
    with Scratch(path) as scratch:
        partitions, names = Partitions(scratch), Names()
        deal(partitions, names)
        ranges, found = partitions.finish(), names.finish()
        is_bot, totals = found.is_bot(), Totals(len(ranges))
        while True:
            results, damage, is_last = Results(scratch, found), [], True
            for first, last in ranges:
                part, own = partitions.read(first, last), Cleaning()
                try:
                    lists = cut_lists(lists_of(part, found, totals, own), limits, own)
                    lists = without_bots(lists, is_bot, limits, totals, own)
                except UnknownTotalError:
                    is_last = False
                    continue
                damage.append(own)
                if is_last:
                    results.add(lists, part)
            if totals.settle():
                break
        partitions.forget()
        for own in damage:
            cleaning.first_position = min(cleaning.first_position, own.first_position)
            for name, count in own.counts.items():
                cleaning.add(name, count)
        return results.log(partitions.session_ids, limits.keep_session_ids, cleaning, path)
