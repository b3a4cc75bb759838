"""The OpenAPI description of the scoring service, from its routes and from the models of requests and responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import Route

from plackett import __version__
from plackett.apps.serve import requests

DESCRIPTION = (
    "Ranks lists of documents by their features. Errors are objects with `error` and `hint`.\n\n"
    "If the server has a token, requests send `Authorization: Bearer TOKEN`."
)
BODIES: dict[str, type[BaseModel]] = {"/rank": requests.RankRequest, "/click": requests.ClickRequest}
RESPONSES: dict[str, type[BaseModel]] = {
    "/rank": requests.RankResponse,
    "/click": requests.ClickResponse,
    "/models": requests.ModelsResponse,
    "/live": requests.Status,
    "/ready": requests.Status,
}
TEXTS = {"/": "text/html", "/metrics": "text/plain"}
ERRORS = {"4XX": "The request has an error.", "5XX": "The server cannot process the request now."}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the description of all routes; their summaries are the docstrings of their handlers."""
    models: list[type[BaseModel]] = [*BODIES.values(), *RESPONSES.values(), requests.ErrorResponse]
    schemas = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )[1]["$defs"]
    paths: dict[str, Any] = {}
    for route in routes:
        text = " ".join((route.endpoint.__doc__ or "").split())
        operation: dict[str, Any] = {"summary": text, "operationId": route.name}
        if route.path in BODIES:
            operation["requestBody"] = {"required": True, "content": _content(BODIES[route.path])}
        kind = TEXTS.get(route.path)
        content = {kind: {"schema": {"type": "string"}}} if kind else _content(RESPONSES[route.path])
        responses = {"200": {"description": "Success.", "content": content}}
        for status, meaning in ERRORS.items():
            responses[status] = {"description": meaning, "content": _content(requests.ErrorResponse)}
        (method,) = (route.methods or set()) - {"HEAD"}
        paths[route.path] = {method.lower(): {**operation, "responses": responses}}
    info = {"title": "plackett serve", "version": __version__, "description": DESCRIPTION}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _content(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
