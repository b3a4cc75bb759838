"""What the routes of all subjects share: a router, the workbench and the caller of a request, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.middleware import Credentials
from plackett.apps.workbench.values import MAX_ID

if TYPE_CHECKING:
    from plackett.apps.workbench.bench import Workbench
else:
    Workbench = Any  # its parts import this module

PREFIX = "/api/v1"


class ErrorResponse(BaseModel):
    """The body of every response with a status of 400 or more."""

    error: str = Field(description="What is wrong; several lines if it shows a position in a query.")
    hint: str | None = Field(default=None, description="What to do.")
    code: str = Field(description="One word for programs, such as csrf, not-found or invalid.")
    id: str | None = Field(default=None, description="Id of an internal error in the server's log.")


RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorResponse, "description": "The request has an error."},
    "5XX": {"model": ErrorResponse, "description": "The server cannot process the request now."},
}


async def _workbench(request: Request) -> Any:
    return request.app.state.workbench


async def _credentials(request: Request) -> Credentials:
    return request.state.credentials


Bench = Annotated[Workbench, Depends(_workbench)]
Caller = Annotated[Credentials, Depends(_credentials)]
PathId = Annotated[int, Path(ge=1, le=MAX_ID)]


def new_router(subject: str) -> APIRouter:
    """Return a router of the API for the routes of one subject."""
    return APIRouter(prefix=PREFIX, responses=RESPONSES, tags=[subject])


def missing(message: str, hint: str | None = None) -> RequestError:
    """Return the error for what does not exist."""
    return RequestError(404, "not-found", message, hint)


def invalid(message: str, hint: str | None = None) -> RequestError:
    """Return the error for values that cannot be used."""
    return RequestError(422, "invalid", message, hint)


class ExportedFile(NamedTuple):
    """A file to download; ``parts`` can be iterated once."""

    name: str
    media_type: str
    parts: Iterator[bytes]


def as_download(file: ExportedFile) -> Response:
    """Return a file that a browser saves."""
    # the name has only letters, digits, dots, dashes and underscores
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingResponse(file.parts, media_type=file.media_type, headers=headers)


def file_responses(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of a file in the API's schema."""
    return {200: {"description": "The file.", "content": {one: {"schema": {}} for one in media_types}}}
