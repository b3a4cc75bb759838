"""What the routes of all subjects share: a router, the workbench and the caller of a request, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import StreamingResponse

from plackett.apps.access.errors import ErrorResponse
from plackett.apps.access.errors import invalid as invalid
from plackett.apps.access.errors import missing as missing
from plackett.apps.workbench.middleware import Credentials
from plackett.apps.workbench.values import MAX_ID

if TYPE_CHECKING:
    from plackett.apps.workbench.bench import Workbench
else:
    Workbench = Any  # its parts import this module

PREFIX = "/api/v1"


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


class ExportedFile(StreamingResponse):
    """A file that a browser saves; ``parts`` can be iterated once."""

    def __init__(self, name: str, media_type: str, parts: Iterator[bytes]):
        # the name has only letters, digits, dots, dashes and underscores
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        super().__init__(parts, media_type=media_type, headers=headers)
        self.name, self.parts = name, parts


def file_responses(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of a file in the API's schema."""
    return {200: {"description": "The file.", "content": {one: {"schema": {}} for one in media_types}}}
