"""Logs of searches and clicks, and judgements from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_ID
from plackett.apps.workbench.schemas.base import PageRequest, RequestModel
from plackett.apps.workbench.schemas.values import Docid, Id, Name

ShownId = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[0-9A-Za-z-]+$")]


class ClickRequest(RequestModel):
    """A document that a user opened from a list; ``shown_id`` came with the list."""

    shown_id: ShownId
    docid: Docid


class ClickResponse(BaseModel):
    """The click that is now on disk; ``ordinal`` is the place of the document, from 1."""

    shown_id: str
    docid: str
    ordinal: int
    time: datetime


class LogFileRequest(RequestModel):
    """The part of the log to return."""

    until: Id | None = Field(default=None, description="The last list, by its number; null means all.")


class LogColumns(RequestModel):
    """Columns of a table, if they do not have usual names; for UBI, ``ranker`` is a path in a query."""

    session: Name | None = None
    query: Name | None = None
    docid: Name | None = None
    rank: Name | None = None
    click: Name | None = None
    ranker: Name | None = None


class UploadRequest(LogColumns):
    """The log in the body: a table with a row for each shown document, or ``ubi_queries`` and then ``ubi_events``."""

    name: Name
    events_at: Annotated[int, Field(ge=1, le=MAX_ID)] | None = Field(
        default=None, description="For UBI, the number of bytes of ubi_queries, after which ubi_events begins."
    )


class LogResponse(BaseModel):
    """A stored log; the summary has what ``plackett clicks info`` shows."""

    id: int
    name: str
    size: int
    summary: dict[str, Any]
    created: datetime


class ClickLogsResponse(BaseModel):
    """The size of the workbench's own log, with the number of its last list, and the stored logs, newest first."""

    is_logging: bool
    n_lists: int
    n_clicks: int
    n_clients: int
    last: int | None
    logs: list[LogResponse]


class LogId(RequestModel):
    """The id of a stored log."""

    log_id: Id


ClickModelName = Literal["dctr", "pbm", "cm", "dcm", "ccm", "dbn", "sdbn", "ubm"]
CLICK_MODELS: tuple[ClickModelName, ...] = get_args(ClickModelName)


class ClickJudgeRequest(LogId):
    """The log to grade, and the click model."""

    model: ClickModelName = "ubm"
    grades: int = Field(default=5, ge=2, le=10, description="Number of grades, from 0 up.")
    min_impressions: int = Field(default=10, ge=0, le=1_000_000, description="Pairs with fewer have no grade.")
    lower: bool = Field(default=False, description="Whether the lower end of the interval is graded.")


class SetId(RequestModel):
    """The id of a set of judgements from clicks."""

    set_id: Id


class ClickSetResponse(BaseModel):
    """Judgements that a click model derived from a log."""

    id: int
    origin: str
    summary: dict[str, Any]
    created: datetime


class ClickSetsResponse(BaseModel):
    """Sets of judgements from clicks, newest first."""

    sets: list[ClickSetResponse]


class ClickGradesRequest(PageRequest):
    """A page of the judgements of a set."""

    set_id: Id


class ClickGradeResponse(BaseModel):
    """A judgement from clicks, and the mean grade that people gave to the same document, if any."""

    query: str
    docid: str
    grade: int
    value: float
    low: float
    high: float
    impressions: int
    people: float | None


class ClickGradesResponse(BaseModel):
    """Judgements of a set, in the order of queries and documents."""

    set: ClickSetResponse
    total: int
    grades: list[ClickGradeResponse]
