"""Training in the background, and the rankers that came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from plackett.web.schemas.base import Request
from plackett.web.schemas.values import Base, Name


class TrainRequest(Request):
    """What to learn from, and what to compare with."""

    base: Base = Field(default="", description="The base ranker to compare with; empty: the collection's first.")
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class JobAnswer(BaseModel):
    """Work in the background; ``progress`` goes from 0 to 1."""

    id: int
    kind: str
    state: Literal["queued", "running", "interrupted", "done", "failed", "cancelled"]
    progress: float
    message: str
    settings: dict[str, Any]
    result: dict[str, Any] | None
    created: datetime
    updated: datetime
    is_finished: bool


class JobsAnswer(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobAnswer]


class RankerName(Request):
    """Which trained ranker."""

    name: Name


class RankerRequest(Request):
    """Whether a trained ranker is offered as a base ranker, and under which name."""

    name: Name
    new_name: Name | None = None
    is_base: bool = True


class RankerAnswer(BaseModel):
    """A ranker that was trained here."""

    name: str
    is_base: bool
    size: int
    created: datetime
    summary: dict[str, Any]


class RankersAnswer(BaseModel):
    """Trained rankers, the oldest first."""

    rankers: list[RankerAnswer]
