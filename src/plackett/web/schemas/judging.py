"""What a user says of a list, and what was written of it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field, model_validator

from plackett.web.schemas.lists import RankedList, View
from plackett.web.schemas.values import Docid, Grade, Id, QueryText


class Target(View):
    """Whose list is meant: that of a query by its text, or by its id."""

    query: QueryText | None = None
    query_id: Id | None = None
    with_list: bool = Field(default=True, description="Whether the refined list comes with the answer.")

    @model_validator(mode="after")
    def _names_one_query(self):
        if (self.query is None) == (self.query_id is None):
            raise ValueError("give query or query_id, and not both")
        return self


class JudgementRequest(Target):
    """A grade for a document; null takes its grade back. 1 and more is relevant, 0 is not."""

    docid: Docid
    grade: Grade | None


class PreferenceRequest(Target):
    """``docid`` belongs above ``other``."""

    docid: Docid
    other: Docid


class EventAnswer(BaseModel):
    """A line of the log."""

    id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    time: datetime


class Saved(BaseModel):
    """What was written; it is on disk when this is read."""

    query_id: int
    event: EventAnswer | None
    n_cleared: int
    list: RankedList | None
