"""Requests and responses of the scoring service: what is checked, and what the OpenAPI description says."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import from_json

from plackett.apps.access.errors import RequestError, invalid

MAX_ID = 512  # characters of a document's id, a query or a user
MAX_CONTRIBUTIONS = 1000
MAX_POSITION = 1_000_000
_TEXT = "characters without null characters"  # which PostgreSQL refuses
EXPECTED = {
    "documents": "an array of documents",
    "ids": "an array with an id for each document",
    "id": f"the id of a document, a string of 1 to {MAX_ID} {_TEXT}",
    "k": "a whole number of at least 1",
    "explain": f"a number of contributions up to {MAX_CONTRIBUTIONS:,}",
    "query_id": "that of a response of POST /rank",
    "position": f"a whole number from 1 to {MAX_POSITION:,}",
}
_VALUE = {"anyOf": [{"type": "number"}, {"type": "null"}]}
_FORMS = [{"type": "array", "items": _VALUE}, {"type": "object", "additionalProperties": _VALUE}]
# values are checked by the features of the model
Document = Annotated[Any, WithJsonSchema({"anyOf": _FORMS})]
Text = Annotated[str, Field(max_length=MAX_ID, pattern=r"^[^\x00]*$")]
Id = Annotated[Text, Field(min_length=1)]


class Request(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True)


class RankRequest(Request):
    """A list of documents to rank."""

    documents: list[Document] = Field(
        description="Arrays of values in the order of GET /models, or objects with named features."
    )
    ids: Annotated[list[Id], Field(fail_fast=True)] | None = None
    model: Text | None = Field(default=None, description="NAME or NAME@VERSION; default: the first model.")
    k: int | None = Field(default=None, ge=1, description="Documents returned; default: all.")
    explain: int | None = Field(default=None, ge=0, le=MAX_CONTRIBUTIONS, description="Contributions to each score.")
    query: Text | None = Field(default=None, description="For the log of lists.")
    user: Text | None = Field(default=None, description="For the log of lists.")


class ClickRequest(Request):
    """A click on a document of a returned list."""

    query_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="From the response of POST /rank.")
    id: Id
    position: int | None = Field(default=None, ge=1, le=MAX_POSITION, description="Counted from 1.")
    user: Text | None = None


R = TypeVar("R", bound=Request)


def parse(kind: type[R], body: bytes) -> R:
    """Return the request in a body; raise a `RequestError` that says what is wrong."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        hint = "Numbers are finite; a missing value is null."
        raise RequestError(400, "invalid", f"the body is not JSON: {str(error)[:200]}.", hint) from None
    fields = kind.model_fields
    if type(content) is not dict:
        required = " and ".join(name for name, field in fields.items() if field.is_required())
        raise invalid(f"the body must be an object with {required}.")
    unknown = content.keys() - fields.keys()  # found here: pydantic makes an error of each
    if unknown:
        raise invalid(f"unknown field {min(unknown)[:100]!r}.", f"The fields are {', '.join(sorted(fields))}.")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        name, *place = error.errors(include_url=False)[0]["loc"]
        if place:
            raise invalid(f"the id of document {place[0]} must be a string of 1 to {MAX_ID} {_TEXT}.") from None
        expected = EXPECTED.get(str(name), f"a string of at most {MAX_ID} {_TEXT}")
        raise invalid(f"{name} must be {expected}.") from None


# responses


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


class RankResponse(BaseModel):
    """The documents, best first; ties keep the order of the request."""

    model: str
    version: str
    request_id: str
    ranking: list[RankedDocument]
    query_id: str | None = Field(default=None, description="The id for clicks, if lists are logged.")
    interleaved: list[str] | None = Field(default=None, description="The models that the list mixes, if it does.")


class ClickResponse(BaseModel):
    """The click that is now in the log."""

    query_id: str
    timestamp: str
