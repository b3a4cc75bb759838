"""Responses to errors: JSON for an API, a page otherwise, without details of the code."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from plackett.exceptions import StoreError
from plackett.http.errors import RequestError

LOG = logging.getLogger("plackett.http")
API = "/api/"
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "1"},
}
CODES = {404: "not-found", 405: "invalid", 413: "too-large"}
FAULTS_SHOWN = 5  # of a request, in one message


def error_response(request: Request, error: RequestError, error_id: str | None = None) -> Response:
    """Return the response to an error: JSON for an API, or the page of ``app.state.error_page``, or plain text.

    All paths of an application with ``app.state.is_api`` are an API.
    """
    headers = HEADERS.get(error.status, {})
    app = request.scope.get("app")
    if request.url.path.startswith(API) or getattr(getattr(app, "state", None), "is_api", False):
        content = {"error": error.message, "hint": error.hint, "code": error.code, "id": error_id}
        return JSONResponse(content, error.status, headers)
    error_page = None if app is None else getattr(app.state, "error_page", None)
    if error_page is None:
        text = "\n".join(part for part in (error.message, error.hint) if part)
        return PlainTextResponse(text + "\n", error.status, headers)
    response = error_page(request, error.status, error.message, error.hint)
    response.headers.update(headers)
    return response


def internal_error_response(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and return a response with its id in the log."""
    error_id = secrets.token_hex(4)
    LOG.error("internal error %s in %s %.200r", error_id, request.method, request.url.path, exc_info=error)
    hint = f"The server's log has the details under {error_id}."
    return error_response(request, RequestError(500, "internal", "internal error", hint), error_id)


async def _on_request_error(request: Request, error: RequestError) -> Response:
    return error_response(request, error)


async def _on_invalid(request: Request, error: RequestValidationError) -> Response:
    """Return what is wrong with the values of a request, without the values themselves."""
    faults = []
    is_malformed = False
    for fault in error.errors()[:FAULTS_SHOWN]:
        is_malformed = is_malformed or fault["type"] == "json_invalid"
        field = ".".join(str(part)[:60] for part in fault["loc"][1:])  # the first is body, query or path
        message = "the body is not JSON" if is_malformed else str(fault["msg"]).removeprefix("Value error, ")
        faults.append(f"{field}: {message}" if field and not is_malformed else message)
    n_more = len(error.errors()) - len(faults)
    text = "; ".join(faults) + (f"; and {n_more} more" if n_more > 0 else "") + "."
    hint = f"{request.app.openapi_url} describes what is expected."
    return error_response(request, RequestError(400 if is_malformed else 422, "invalid", text, hint))


async def _on_http(request: Request, error: HTTPException) -> Response:
    message = "there is no such page." if error.status_code == 404 else str(error.detail)
    code = CODES.get(error.status_code, "invalid")
    response = error_response(request, RequestError(error.status_code, code, message))
    allowed = (error.headers or {}).get("Allow")
    if allowed is not None:
        response.headers["Allow"] = allowed
    return response


async def _on_store(request: Request, error: StoreError) -> Response:
    return error_response(request, RequestError(503, "store", f"the store {error.message}", "Nothing was written."))


EXCEPTION_HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    RequestError: _on_request_error,
    RequestValidationError: _on_invalid,
    HTTPException: _on_http,
    StoreError: _on_store,
}
