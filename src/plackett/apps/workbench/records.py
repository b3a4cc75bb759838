"""Records that the store returns and the use cases work on. Every time is timezone-aware, in UTC."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple


class User(NamedTuple):
    """A person who judges, or an imported annotator such as a click model; the name is unique."""

    id: int
    name: str
    is_person: bool
    created: datetime


class Query(NamedTuple):
    """A query of a collection; ``base`` is the base ranker that it was last searched with."""

    id: int
    collection: str
    text: str
    base: str
    created: datetime


class Event(NamedTuple):
    """One entry in the log of a user's list.

    ``kind`` is ``"judge"`` (``docid`` got ``grade``; None removes the grade), ``"prefer"`` (``docid`` is preferred to
    ``other``), ``"reset"``, or ``"undo"`` (of the event ``target``). ``undone`` is True if a later undo cancelled it.
    """

    id: int
    time: datetime
    user_id: int
    query_id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    target: int | None
    undone: bool


class Judged(NamedTuple):
    """The judgements of a list: the grade of each judged document, and pairs (preferred, other)."""

    labels: dict[str, float]
    pairs: list[tuple[str, str]]


class ListState(NamedTuple):
    """The current judgements of a user's list, in the order in which documents and pairs first appeared.

    Attributes
    ----------
    grades : dict
        By document the current grade and its time.
    pairs : dict
        By the two documents (preferred, other, time).
    changed : set of str
        Documents whose grade replaced a different one.
    can_undo : bool
        Whether an event can be undone.
    """

    grades: dict[str, tuple[float, datetime]]
    pairs: dict[frozenset[str], tuple[str, str, datetime]]
    changed: set[str]
    can_undo: bool

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> ListState:
        """Return the state after the events of one list, oldest first and with ``undone`` filled in.

        Undone events are skipped. A grade replaces the document's earlier grade, and a grade of None removes it. A
        preference replaces an earlier one between the same two documents. A reset clears the list in one event, so
        that undoing it restores everything.
        """
        grades: dict[str, tuple[float, datetime]] = {}
        pairs: dict[frozenset[str], tuple[str, str, datetime]] = {}
        changed: set[str] = set()
        can_undo = False
        for event in events:
            if event.undone or event.kind == "undo":
                continue
            can_undo = True
            if event.kind == "reset":
                grades, pairs, changed = {}, {}, set()
                continue
            assert event.docid is not None
            if event.kind == "prefer":
                assert event.other is not None
                pairs[frozenset((event.docid, event.other))] = (event.docid, event.other, event.time)
            elif event.grade is None:
                grades.pop(event.docid, None)
                changed.discard(event.docid)
            else:
                if event.docid in grades and grades[event.docid][0] != event.grade:
                    changed.add(event.docid)
                grades[event.docid] = (event.grade, event.time)
        return cls(grades, pairs, changed, can_undo)

    @property
    def n_judgements(self) -> int:
        """Grades and pairs."""
        return len(self.grades) + len(self.pairs)

    @property
    def judged(self) -> Judged:
        """The judgements without their times."""
        return Judged(
            {docid: grade for docid, (grade, _) in self.grades.items()},
            [(docid, other) for docid, other, _ in self.pairs.values()],
        )


class Judgement(NamedTuple):
    """A current grade, with names and texts instead of ids."""

    user: str
    query: str
    docid: str
    grade: float
    time: datetime


class Preference(NamedTuple):
    """A current preference: ``docid`` is preferred to ``other``."""

    user: str
    query: str
    docid: str
    other: str
    time: datetime


@dataclass(frozen=True)
class JudgedList:
    """A query with the number of its documents, the number of documents by label, and NDCG@10 on these labels."""

    query: str
    n_docs: int
    labels: dict[str, int]
    ndcg: float | None = None


@dataclass(frozen=True)
class QuerySummary:
    """A judged query with the current numbers of users, grades and pairs, and the time of the last event."""

    query_id: int
    query: str
    base: str
    n_users: int
    n_judged: int
    n_pairs: int
    last: datetime


class RankerSummary(NamedTuple):
    """A saved ranker without its bytes."""

    name: str
    collection: str
    size: int
    summary: dict[str, Any]
    created: datetime


class Job(NamedTuple):
    """A background job. ``state`` is one of ``store.jobs.STATES``; ``progress`` is from 0 to 1."""

    id: int
    kind: str
    collection: str
    state: str
    progress: float
    message: str
    settings: dict[str, Any]
    result: dict[str, Any] | None
    created: datetime
    updated: datetime
