"""Training jobs, and trained rankers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.values import Base, Id, Name


class TrainRequest(RequestModel):
    """The judgements to train on, and the base ranker to compare with."""

    base: Base = Field(default="", description="The base ranker to compare with; empty means the default.")
    name: Name | None = Field(default=None, description='The name of the ranker; null means "trained-" and a number.')
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")
    annotator: Id | None = Field(default=None, description="An imported annotator to train on instead of people.")

    @model_validator(mode="after")
    def _check_source(self):
        if self.mine and self.annotator is not None:
            raise ValueError("give either mine or annotator")
        return self


class JobResponse(BaseModel):
    """A background job; ``progress`` is from 0 to 1."""

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


class JobsResponse(BaseModel):
    """Jobs, newest first."""

    jobs: list[JobResponse]


class RankerName(RequestModel):
    """The name of a trained ranker."""

    name: Name


class RankerRequest(RequestModel):
    """Whether a trained ranker is a base ranker, and its new name."""

    name: Name
    new_name: Name | None = None
    is_base: bool = True


class RankerResponse(BaseModel):
    """A trained ranker."""

    name: str
    is_base: bool
    size: int
    created: datetime
    summary: dict[str, Any]


class RankersResponse(BaseModel):
    """Trained rankers, oldest first."""

    rankers: list[RankerResponse]
