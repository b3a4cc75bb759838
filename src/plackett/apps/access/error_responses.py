"""Responses to errors: JSON for an API, a page otherwise, without details of the code."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from plackett.apps.access.errors import RequestError
from plackett.exceptions import StoreError

LOG = logging.getLogger("plackett.apps.access")
API = "/api/"
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "1"},
}
CODES = {404: "not-found", 405: "invalid", 413: "too-large"}


def error_response(request: Request, error: RequestError, error_id: str | None = None) -> Response:
    """Return the response to an error: JSON for an API, or the page of ``app.state.error_page``, or plain text.

    All paths of an application with ``app.state.is_api`` are an API; an unknown path names ``app.state.places``.
    """
    headers = HEADERS.get(error.status, {})
    app = request.scope.get("app")
    if request.url.path.startswith(API) or getattr(getattr(app, "state", None), "is_api", False):
        return JSONResponse(error_content(error, error_id), error.status, headers)
    error_page = None if app is None else getattr(app.state, "error_page", None)
    if error_page is None:
        text = "\n".join(part for part in (error.message, error.hint) if part)
        return PlainTextResponse(text + "\n", error.status, headers)
    response = error_page(request, error.status, error.message, error.hint)
    response.headers.update(headers)
    return response


def error_content(error: RequestError, error_id: str | None = None) -> dict[str, str | None]:
    """Return the JSON form of an error."""
    return {"error": error.message, "hint": error.hint, "code": error.code, "id": error_id}


def internal_error_response(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and return a response with its id in the log."""
    error_id = secrets.token_hex(4)
    LOG.error("internal error %s in %s %.200r", error_id, request.method, request.url.path, exc_info=error)
    hint = f"The server's log has the details under {error_id}."
    return error_response(request, RequestError(500, "internal", "internal error", hint), error_id)


async def _on_request_error(request: Request, error: RequestError) -> Response:
    return error_response(request, error)


async def _on_http(request: Request, error: HTTPException) -> Response:
    allowed = (error.headers or {}).get("Allow")
    message = "there is no such page." if error.status_code == 404 else str(error.detail)
    if allowed is not None:
        message = f"{request.method[:20]} is not allowed here; use {allowed}."
    code, hint = CODES.get(error.status_code, "invalid"), None
    if error.status_code == 404 and (places := getattr(request.app.state, "places", None)):
        hint = f"The paths are {', '.join(places)}."
    response = error_response(request, RequestError(error.status_code, code, message, hint))
    if allowed is not None:
        response.headers["Allow"] = allowed
    return response


async def _on_store(request: Request, error: StoreError) -> Response:
    return error_response(request, RequestError(503, "store", f"the store {error.message}", "Nothing was written."))


EXCEPTION_HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    RequestError: _on_request_error,
    HTTPException: _on_http,
    StoreError: _on_store,
}
