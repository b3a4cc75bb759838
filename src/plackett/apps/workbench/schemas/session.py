"""The session of a user, and the collection that is searched."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.values import Name


class Health(BaseModel):
    """Whether the server runs, and whether it has loaded what requests need."""

    status: Literal["ok"]
    is_warm: bool


class UserRequest(RequestModel):
    """The name of the user who judges."""

    user: Name


class BaseRanker(BaseModel):
    """A base ranker, and whether it is a saved one."""

    name: str
    is_saved: bool


class CollectionName(BaseModel):
    """The collection that is searched."""

    name: str
    kind: Literal["text", "letor", "engine"]
    n_docs: int | None = Field(description="Null for a live engine.")


class Session(BaseModel):
    """The user, the CSRF token and the collection, which a page loads first."""

    user: str
    csrf: str
    collection: CollectionName
    bases: list[BaseRanker]
    methods: list[str]
    suggestions: list[str]
    version: str
