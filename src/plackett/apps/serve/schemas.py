"""Requests and responses of the scoring service, for its OpenAPI description.

The body of ``POST /rank`` is checked by ``ranking.py``, whose errors name the document and the feature.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class ErrorResponse(BaseModel):
    """The body of every response with a status of 400 or more."""

    error: str = Field(description="What is wrong.")
    hint: str | None = Field(default=None, description="What to do.")
    code: str = Field(description="One word for programs, such as token, not-found or invalid.")
    id: str | None = Field(default=None, description="Id of an internal error in the server's log.")


class Status(BaseModel):
    """The state of the server."""

    status: str


class FeatureInfo(BaseModel):
    """A feature of a model; ``name`` is null if the model has no names."""

    name: str | None
    may_be_missing: bool


class ModelInfo(BaseModel):
    """A model that is served."""

    name: str
    version: str = Field(description="As given, or the first digits of the checksum.")
    checksum: str = Field(description="SHA-256 of the file.")
    ranker: str
    loaded: str
    depends_on_list: bool = Field(description="Whether a score depends on the other documents of the list.")
    features: list[FeatureInfo] = Field(description="In the order of the values in arrays.")
    is_shadow: bool
    error: str | None = Field(description="Why the file, which has changed, is not served; null if it is.")


class ModelsResponse(BaseModel):
    """All models; the first one is the default."""

    models: list[ModelInfo]


class RankedDocument(BaseModel):
    """A document of a ranking, with its place in the request from 0."""

    index: int
    id: str | None = None
    score: float
    contributions: list[dict[str, Any]] | None = None


class RankedListResponse(BaseModel):
    """The documents of a list, best first; ties keep the order of the request."""

    ranking: list[RankedDocument]
    query_id: str | None = Field(default=None, description="The id for clicks, if lists are logged.")
    interleaved: list[str] | None = Field(default=None, description="The models that the list mixes, if it does.")


class RankResponse(BaseModel):
    """The ranking of one list, or ``lists`` if the request had lists."""

    model: str
    version: str
    request_id: str
    ranking: list[RankedDocument] | None = None
    query_id: str | None = None
    interleaved: list[str] | None = None
    lists: list[RankedListResponse] | None = None


class ClickResponse(BaseModel):
    """The click that is now in the log."""

    query_id: str
    timestamp: str


_VALUE = {"type": ["number", "null"]}
_LIST: dict[str, Any] = {
    "documents": {
        "description": "Arrays of values in the order of GET /models, or objects with named features.",
        "type": "array",
        "items": {
            "anyOf": [{"type": "array", "items": _VALUE}, {"type": "object", "additionalProperties": _VALUE}],
        },
    },
    "ids": {"type": ["array", "null"], "items": {"type": "string", "minLength": 1, "maxLength": 512}},
    "query": {"type": ["string", "null"], "maxLength": 512, "description": "For the log of lists."},
}
_OPTIONS: dict[str, Any] = {
    "model": {"type": ["string", "null"], "maxLength": 512, "description": "Default: the first model."},
    "version": {"type": ["string", "null"], "maxLength": 512},
    "k": {"type": ["integer", "null"], "minimum": 1, "description": "Documents returned of each list; default: all."},
    "explain": {"type": ["boolean", "integer", "null"], "description": "Return contributions; true returns 5."},
    "user": {"type": ["string", "null"], "maxLength": 512, "description": "For the log of lists."},
}
_ONE = {"type": "object", "required": ["documents"], "additionalProperties": False, "properties": _LIST}
RANK_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        {**_ONE, "properties": {**_LIST, **_OPTIONS}},
                        {
                            "type": "object",
                            "required": ["lists"],
                            "additionalProperties": False,
                            "properties": {"lists": {"type": "array", "items": _ONE}, **_OPTIONS},
                        },
                    ]
                }
            }
        },
    }
}
CLICK_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["query_id", "id"],
                    "additionalProperties": False,
                    "properties": {
                        "query_id": {"type": "string", "description": "From the response of POST /rank."},
                        "id": {"type": "string", "minLength": 1, "maxLength": 512},
                        "position": {"type": ["integer", "null"], "minimum": 1, "description": "Counted from 1."},
                        "user": {"type": ["string", "null"], "maxLength": 512},
                    },
                }
            }
        },
    }
}
