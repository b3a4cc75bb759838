"""Logs of searches and clicks, and judgements from them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from plackett.web.schemas.base import RequestModel
from plackett.web.schemas.values import Docid, Id

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
    """Which part of the log."""

    until: Id | None = Field(default=None, description="The last list, by its number; null means all.")
