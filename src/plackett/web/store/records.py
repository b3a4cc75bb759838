"""What the store answers with: plain records, detached from any connection. Every time is aware and in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple


class User(NamedTuple):
    """Somebody who judges; the name is unique."""

    id: int
    name: str
    created: datetime


class Query(NamedTuple):
    """What was asked of a collection. ``base`` is the base ranker it was last asked with."""

    id: int
    collection: str
    text: str
    base: str
    created: datetime


class Event(NamedTuple):
    """One line of the log of a user's list.

    ``kind`` is ``"judge"`` (``docid`` got ``grade``; None takes the grade back), ``"prefer"`` (``docid`` belongs above
    ``other``), ``"reset"``, or ``"undo"`` (of the event ``target``). ``undone`` says that a later undo struck it out.
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
    """What holds now in one user's list: the latest grade of each document, and pairs (preferred, other)."""

    labels: dict[str, float]
    pairs: list[tuple[str, str]]


class Judgement(NamedTuple):
    """A grade that holds now: names and texts rather than ids, to be exported and compared."""

    user: str
    query: str
    docid: str
    grade: float
    time: datetime


class Preference(NamedTuple):
    """A pair that holds now: ``docid`` belongs above ``other``."""

    user: str
    query: str
    docid: str
    other: str
    time: datetime


class QuerySummary(NamedTuple):
    """A query that somebody judged, with what holds now: users with a judgement, grades, pairs, the last event."""

    id: int
    text: str
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
    """Work in the background. ``state`` is one of ``jobs.STATES``; ``progress`` goes from 0 to 1."""

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
