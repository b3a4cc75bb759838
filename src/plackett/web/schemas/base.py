"""What all requests, all errors and all requests for a page of something have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from plackett.web.limits import MAX_ID


class Request(BaseModel):
    """What is sent: a field that is not known is refused, since it is more likely misspelt than meant."""

    model_config = ConfigDict(extra="forbid")


class Error(BaseModel):
    """Every answer with a status of 400 or more."""

    error: str = Field(description="What is wrong, in words; several lines where a place in a query is pointed at.")
    hint: str | None = Field(default=None, description="What to do about it.")
    code: str = Field(description="One word for programs, such as csrf, not-found or invalid.")
    id: str | None = Field(default=None, description="Of an internal error, to be found in the server's log.")


class PageRequest(Request):
    """A part of a long answer."""

    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=MAX_ID)
