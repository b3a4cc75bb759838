"""Records of the scoreboard: query sets and snapshots. Every time is timezone-aware, in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple


class QuerySet(NamedTuple):
    """A set of queries without their texts; ``source`` says where they come from."""

    id: int
    name: str
    source: str
    n_queries: int
    created: datetime


class Snapshot(NamedTuple):
    """Frozen rankings without their lists; ``summary`` describes their queries and judgements."""

    id: int
    name: str
    rankers: list[str]
    n_queries: int
    summary: dict[str, Any]
    created: datetime


class Ranking(NamedTuple):
    """The documents of a list, best first, with their scores."""

    docid: list[str]
    scores: list[float]


class FrozenQuery(NamedTuple):
    """A query of a snapshot: the labels of that time, and one ranking for each ranker of the snapshot."""

    query: str
    labels: dict[str, float]
    rankings: list[Ranking]
