"""From the log of a user's list to what holds now.

Events are only appended. Reading them in order, an event that was undone counts for nothing; a grade replaces the
document's earlier grade (a grade of None takes it back); a preference replaces an earlier one between the same two
documents; a reset clears the list, and is one event, so that undoing it brings everything back.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from plackett.web.store.records import Event, Judged


class Standing(NamedTuple):
    """What holds now, with the time of each statement, in the order in which documents and pairs first appeared."""

    grades: dict[str, tuple[float, datetime]]
    pairs: dict[frozenset[str], tuple[str, str, datetime]]
    changed: set[str]  # documents whose grade replaced a different one

    @property
    def n_statements(self) -> int:
        return len(self.grades) + len(self.pairs)

    def judged(self) -> Judged:
        return Judged(
            {docid: grade for docid, (grade, _) in self.grades.items()},
            [(docid, other) for docid, other, _ in self.pairs.values()],
        )


def standing(events: Iterable[Event]) -> Standing:
    """What the events of one list, oldest first and with ``undone`` filled in, amount to."""
    now = Standing({}, {}, set())
    for event in events:
        if event.undone or event.kind == "undo":
            continue
        if event.kind == "reset":
            now = Standing({}, {}, set())
            continue
        assert event.docid is not None
        if event.kind == "prefer":
            assert event.other is not None
            now.pairs[frozenset((event.docid, event.other))] = (event.docid, event.other, event.time)
        elif event.grade is None:
            now.grades.pop(event.docid, None)
            now.changed.discard(event.docid)
        else:
            if event.docid in now.grades and now.grades[event.docid][0] != event.grade:
                now.changed.add(event.docid)
            now.grades[event.docid] = (event.grade, event.time)
    return now
