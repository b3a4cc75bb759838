"""Snapshots, and comparisons of snapshots and rankers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_BASE, MAX_BOARD_RANKERS
from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.scoreboard import BoardRequest, MeasuringRequest, Pool
from plackett.apps.workbench.schemas.values import NO_NULL, Id, Name, QueryText

# "now/bm25", or "12/bm25" for the ranker of a snapshot
Side = Annotated[str, StringConstraints(max_length=MAX_BASE + 20, pattern=r"^(now|[0-9]{1,18})/[^\x00]+$")]


class SnapshotRequest(BoardRequest):
    """Rankings to freeze, with the judgements that they are measured on."""

    name: Name


class SnapshotId(RequestModel):
    """The id of a snapshot."""

    snapshot_id: Id


class SnapshotResponse(BaseModel):
    """A snapshot; the summary has its query set, judgements, and the measure with the means of that time."""

    id: int
    name: str
    rankers: list[str]
    n_queries: int
    summary: dict[str, Any]
    created: datetime


class SnapshotsResponse(BaseModel):
    """Snapshots, newest first."""

    snapshots: list[SnapshotResponse]


class ComparisonRequest(MeasuringRequest):
    """The compared sides: two or more, each a ranker now ("now/bm25") or in a snapshot ("12/bm25").

    Judgements may also be "frozen": those of the newest snapshot among the sides.
    """

    side: list[Side] = Field(min_length=2, max_length=MAX_BOARD_RANKERS)
    measures: Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=NO_NULL)] = Field(
        default="ndcg@10,p@10,mrr", description="Measures, comma-separated; the first one orders the queries."
    )
    set_id: Id | None = Field(default=None, description="The query set, if no side is a snapshot.")


class PairResponse(BaseModel):
    """The difference of two sides by one measure, B minus A, over the queries that count for both.

    ``p`` is that of Fisher's randomisation test, ``p_holm`` the same after Holm's correction for all pairs by this
    measure.
    """

    a: str
    b: str
    measure: str
    higher_is_better: bool
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    wins: int
    ties: int
    losses: int
    p: float | None
    p_holm: float | None


class ComparedQuery(BaseModel):
    """A query with its values by the first measure, one per side.

    ``n_new`` is the number of documents in the first ten of the last side that the first side does not have there.
    """

    query: str
    values: list[float | None]
    n_judged: int
    n_new: int | None


class ComparisonResponse(BaseModel):
    """A comparison; missing rankings are computed in the background."""

    sides: list[str]
    names: list[str]
    measures: list[str]
    convention: str
    higher_is_better: bool
    judgements: str
    judgements_in_words: str
    n_ready: int
    n_needed: int
    is_complete: bool
    unexplained: list[str | None] = Field(description="Why a side has no explanations; null if it has them.")
    sentence: str = Field(description="The result by the first measure in words; empty without judgements.")
    judged: list[float | None] = Field(description="The judged share of the first ten places, one per side.")
    pool: Pool
    pairs: list[PairResponse]
    queries: list[ComparedQuery]
    changed_most: list[str] = Field(description="Queries whose first ten documents changed most.")
    notes: list[str]


class ComparedListsRequest(ComparisonRequest):
    """The lists of one query."""

    q: QueryText


class ComparedLists(BaseModel):
    """The first documents of each side, in the form of the page's lists side by side."""

    documents: list[dict[str, Any]]
    lists: list[list[list[Any]]]
    lengths: list[int] = Field(description="Documents of each whole list, up to place 100.")
