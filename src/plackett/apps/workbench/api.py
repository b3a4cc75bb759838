"""Shared parts of the API routes: router, values of a request, and responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from plackett.apps.workbench.bench import Workbench
from plackett.apps.workbench.limits import MAX_ID
from plackett.apps.workbench.middleware import Credentials
from plackett.apps.workbench.schemas.base import ErrorResponse

if TYPE_CHECKING:
    from plackett.apps.workbench.exporting import ExportedFile

PREFIX = "/api/v1"
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": ErrorResponse, "description": "The request has an error."},
    "5XX": {"model": ErrorResponse, "description": "The server cannot process the request now."},
}


async def _workbench(request: Request) -> Workbench:
    return request.app.state.workbench


async def _credentials(request: Request) -> Credentials:
    return request.state.credentials


Bench = Annotated[Workbench, Depends(_workbench)]
Caller = Annotated[Credentials, Depends(_credentials)]
PathId = Annotated[int, Path(ge=1, le=MAX_ID)]


def new_router() -> APIRouter:
    """Return a router of the API for the routes of one topic."""
    return APIRouter(prefix=PREFIX, responses=RESPONSES)


def as_json(response: BaseModel, status: int = 200) -> Response:
    """Return a response; handlers serialise it in their thread."""
    return Response(response.model_dump_json(), status, media_type="application/json")


def as_download(file: ExportedFile) -> Response:
    """Return a file that a browser saves."""
    # the name has only letters, digits, dots, dashes and underscores
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingResponse(file.parts, media_type=file.media_type, headers=headers)
