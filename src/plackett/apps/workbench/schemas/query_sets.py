"""Query sets: the queries of a scoreboard."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints, model_validator

from plackett.apps.workbench.limits import MAX_IMPORT, MAX_SET_QUERIES
from plackett.apps.workbench.schemas.base import PageRequest, RequestModel
from plackett.apps.workbench.schemas.values import Id, Name

QuerySource = Literal["text", "judged-file", "judged", "lists"]


class QuerySetRequest(RequestModel):
    """A new query set.

    ``source`` is "text" (one query per line of ``text``), "judged-file" (the queries of ``text``, a file that
    ``/import`` reads), "judged" (the queries that people judged here) or "lists" (those of a collection with labels).
    """

    name: Name
    source: QuerySource = "text"
    text: Annotated[str, StringConstraints(max_length=MAX_IMPORT)] = ""
    limit: int = Field(default=50, ge=1, le=MAX_SET_QUERIES, description="Maximum queries; a text is never cut.")

    @model_validator(mode="after")
    def _check_text(self):
        if bool(self.text.strip()) != (self.source in ("text", "judged-file")):
            raise ValueError('the sources "text" and "judged-file" need text, and the others must not have it')
        return self


class QuerySetId(RequestModel):
    """The id of a query set."""

    set_id: Id


class QuerySetResponse(BaseModel):
    """A query set without its queries."""

    id: int
    name: str
    source: str
    n_queries: int
    created: datetime


class QuerySetsResponse(BaseModel):
    """Query sets, newest first."""

    sets: list[QuerySetResponse]


class SetQueriesRequest(PageRequest):
    """A page of the queries of a set."""

    set_id: Id


class SetQueriesResponse(BaseModel):
    """Queries of a set in their order."""

    set: QuerySetResponse
    queries: list[str]
