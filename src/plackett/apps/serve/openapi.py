"""The OpenAPI description of the scoring service, which FastAPI generates from its routes and schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from plackett import __version__
from plackett.apps.serve import schemas

DESCRIPTION = (
    "Ranks lists of documents by their features. Errors are objects with `error` and `hint`.\n\n"
    "If the server has a token, requests send `Authorization: Bearer TOKEN`."
)
ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": schemas.ErrorResponse, "description": "The request has an error."},
    "5XX": {"model": schemas.ErrorResponse, "description": "The server cannot process the request now."},
}
# parts of the description that FastAPI cannot derive from the handler of a route
DETAILS: dict[str, dict[str, Any]] = {
    "/rank": {"response_model": schemas.RankResponse, "openapi_extra": schemas.RANK_BODY},
    "/click": {"response_model": schemas.ClickResponse, "openapi_extra": schemas.CLICK_BODY},
    "/models": {"response_model": schemas.ModelsResponse},
    "/live": {"response_model": schemas.Status},
    "/ready": {"response_model": schemas.Status},
    "/metrics": {"response_class": PlainTextResponse},
}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the description of all routes; their summaries are the docstrings of their handlers."""
    app = FastAPI(title="plackett serve", version=__version__, description=DESCRIPTION)
    for route in routes:
        methods = sorted((route.methods or set()) - {"HEAD"})
        app.add_api_route(route.path, route.endpoint, methods=methods, responses=ERRORS, **DETAILS[route.path])
    return app.openapi()
