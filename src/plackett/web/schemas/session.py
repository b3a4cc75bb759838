"""Who asks, and what is here to be searched."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from plackett.web.schemas.base import Request
from plackett.web.schemas.values import Name


class Health(BaseModel):
    """Whether the server is there, and whether its first search will be as quick as the others."""

    status: Literal["ok"]
    is_warm: bool


class UserRequest(Request):
    """Who judges; a name is enough."""

    user: Name


class BaseRanker(BaseModel):
    """A base ranker, and whether it is one that was saved."""

    name: str
    is_saved: bool


class CollectionName(BaseModel):
    """What is searched."""

    name: str
    kind: Literal["text", "letor"]
    n_docs: int


class Session(BaseModel):
    """What a page needs to know first."""

    user: str
    csrf: str
    collection: CollectionName
    bases: list[BaseRanker]
    methods: list[str]
    suggestions: list[str]
    version: str
