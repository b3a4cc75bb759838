"""Judgements of a list, and their responses."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field, model_validator

from plackett.apps.workbench.schemas.lists import ListOptions, RankedList
from plackett.apps.workbench.schemas.values import Docid, Grade, Id, QueryText


class ListRequest(ListOptions):
    """A list, by the text or the id of its query."""

    query: QueryText | None = None
    query_id: Id | None = None
    with_list: bool = Field(default=True, description="Whether the response has the refined list.")

    @model_validator(mode="after")
    def _check_query(self):
        if (self.query is None) == (self.query_id is None):
            raise ValueError("give either query or query_id")
        return self


class JudgementRequest(ListRequest):
    """A grade for a document; null removes it. 1 and more is relevant, 0 is not."""

    docid: Docid
    grade: Grade | None


class PreferenceRequest(ListRequest):
    """A preference of ``docid`` to ``other``."""

    docid: Docid
    other: Docid


class EventResponse(BaseModel):
    """A judgement in the log."""

    id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    time: datetime


class JudgementResponse(BaseModel):
    """The judgement that is now on disk, and the refined list."""

    query_id: int
    event: EventResponse | None
    n_cleared: int
    list: RankedList | None
