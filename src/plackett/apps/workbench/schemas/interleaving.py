"""Interleaved tests of two rankers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints, model_validator

from plackett.apps.workbench.limits import MAX_BASE, MAX_LISTS_PER_USER
from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.values import NO_NULL, Id, Name

InterleavingMethod = Literal["team-draft", "probabilistic", "optimised"]
INTERLEAVING_METHODS: tuple[InterleavingMethod, ...] = get_args(InterleavingMethod)
RankerChoice = Annotated[str, StringConstraints(min_length=1, max_length=MAX_BASE, pattern=NO_NULL)]


class InterleavingRequest(RequestModel):
    """A test of two base rankers. All users who do not opt out take part."""

    name: Name
    first: RankerChoice
    second: RankerChoice
    method: InterleavingMethod = "team-draft"
    lists_per_user: int = Field(
        default=5,
        ge=1,
        le=MAX_LISTS_PER_USER,
        description="Lists with a click after which a user counts, once, by their mean.",
    )

    @model_validator(mode="after")
    def _check_rankers(self):
        if self.first == self.second:
            raise ValueError("first and second must be two different rankers")
        return self


class InterleavingId(RequestModel):
    """The id of a test."""

    test_id: Id


class ParticipationRequest(RequestModel):
    """Whether this user takes part in tests."""

    takes_part: bool


class ParticipationResponse(BaseModel):
    """Whether this user takes part in tests, and the name of the test that is running."""

    takes_part: bool
    running: str | None


class InterleavingResponse(BaseModel):
    """A test, with sums over its users. The preference is for the first ranker over the second, from -1 to 1.

    A session is a list with a click. A user with enough sessions counts; the others count when the test is stopped. The
    interval may be read at any time, and the test may be stopped as soon as there is a verdict.
    """

    id: int
    name: str
    method: str
    first: str
    second: str
    lists_per_user: int
    is_running: bool
    created: datetime
    stopped: datetime | None
    n_lists: int
    n_contested: int = Field(description="Lists on which the rankers differ, so that clicks are informative.")
    n_sessions: int
    n_waiting: int = Field(description="Users with sessions who do not count yet.")
    n_users: int = Field(description="Users who count.")
    n_first: int = Field(description="Users who prefer the first ranker.")
    n_second: int
    n_ties: int
    mean: float | None = Field(description="Null before a user counts.")
    low: float
    high: float
    level: float
    verdict: str = Field(description='The preferred ranker, or "undecided".')
    users_needed: int | None = Field(
        description="Estimated users, including those so far, to detect a preference of this size; null if unknown."
    )
    sessions_needed: int | None = Field(description="The same in sessions.")
    problem: str | None = Field(description="Why a running test serves no lists.")


class PreferencePoint(BaseModel):
    """The preference after some users."""

    n_users: int
    mean: float
    low: float
    high: float


class InterleavingHistory(InterleavingResponse):
    """A test, and the history of its preference."""

    history: list[PreferencePoint]


class InterleavingsResponse(BaseModel):
    """Tests, newest first."""

    tests: list[InterleavingResponse]
