"""The scoreboard: measures of several rankers on the queries of a set."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_BASE, MAX_BOARD_RANKERS
from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.query_sets import QuerySetResponse
from plackett.apps.workbench.schemas.values import NO_NULL, Id

RankerChoice = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BASE, pattern=NO_NULL)]
MeasureText = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_NULL)]
Order = Literal["worst", "best", "lost", "gained", "given"]


class MeasuringRequest(RequestModel):
    """The convention and the judgements for measuring rankings."""

    convention: str = Field(default="standard", max_length=40, description="The rules of a tool, such as trec.")
    judgements: str = Field(
        default="",
        max_length=40,
        pattern=r"^[a-z]*(:[0-9]{1,18})?$",
        description="people, mine, labels (of the collection) or annotator:ID; empty means labels if there are any, "
        "else people.",
    )


class BoardRequest(MeasuringRequest):
    """A query set, rankers, and how they are measured."""

    set_id: Id
    ranker: list[RankerChoice] = Field(
        default=[], max_length=MAX_BOARD_RANKERS, description="Rankers; empty means the default and the trained ones."
    )
    measure: MeasureText = "ndcg@10"


class ScoreboardRequest(BoardRequest):
    """A scoreboard, and the order of its queries."""

    order: Order = Field(
        default="worst",
        description="The order of the queries by one ranker: worst or best first, by what it lost or gained against "
        "the first ranker, or as in the set.",
    )
    by: str = Field(
        default="", max_length=MAX_BASE, description="That ranker; empty: the first, or the last if lost or gained."
    )


class Pool(BaseModel):
    """The documents without a judgement among the first ten of all rankers: their number, and their queue."""

    queue: str
    n_documents: int
    is_uneven: bool = Field(description="Whether the judged shares of the rankers differ.")
    words: str


class RankerTotal(BaseModel):
    """A ranker over all queries: its mean with the 95 % interval, over the queries that count.

    ``judged`` is the share of judged documents in the first ten places.
    """

    name: str
    mean: float | None
    low: float | None
    high: float | None
    n_counted: int
    judged: float | None
    n_ready: int
    is_trained: bool = Field(description="Whether it was trained here, and can be exported.")
    note: str | None
    mark: Literal["best", "worse", ""] = Field(description="The best mean, or significantly worse than it (corrected).")


class QueryRow(BaseModel):
    """A query; the lists have one entry per ranker.

    ``values`` are null if the query does not count, or is not ranked yet. ``judged`` counts the judged ones of the
    first ten documents, ``shown`` all of them. ``trends`` has the values in earlier snapshots of the set, oldest first.
    """

    query: str
    values: list[float | None]
    judged: list[int | None]
    shown: list[int | None]
    trends: list[list[float | None]]
    errors: list[str | None]


class HistoryPoint(BaseModel):
    """The means of a snapshot on the judgements of its time, one per ranker; null if it has no such ranker."""

    snapshot_id: int
    name: str
    created: datetime
    means: list[float | None]


class ScoreboardResponse(BaseModel):
    """A scoreboard. Lists are ranked and snapshots measured in the background: ``n_ready`` of ``n_needed``."""

    set: QuerySetResponse
    measure: str
    convention: str
    higher_is_better: bool
    judgements: str
    judgements_in_words: str
    order: Order
    n_ready: int
    n_needed: int
    is_complete: bool
    n_judged_queries: int
    sentence: str = Field(description="The result in words; empty for one ranker, or without judgements.")
    pool: Pool
    rankers: list[RankerTotal]
    rows: list[QueryRow]
    history: list[HistoryPoint] = Field(description="The last snapshots of the set, oldest first.")
    notes: list[str]
