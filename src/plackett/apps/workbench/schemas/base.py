"""Base classes of requests, pages of results, and errors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from plackett.apps.workbench.limits import MAX_ID


class RequestModel(BaseModel):
    """Values of a request; unknown fields are refused, because most are misspelt."""

    model_config = ConfigDict(extra="forbid")


class ErrorResponse(BaseModel):
    """The body of every response with a status of 400 or more."""

    error: str = Field(description="What is wrong; several lines if it shows a position in a query.")
    hint: str | None = Field(default=None, description="What to do.")
    code: str = Field(description="One word for programs, such as csrf, not-found or invalid.")
    id: str | None = Field(default=None, description="Id of an internal error in the server's log.")


class PageRequest(RequestModel):
    """A page of a long result."""

    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=MAX_ID)
