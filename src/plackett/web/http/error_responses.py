"""Errors as answers: JSON for programs, a page for people, and never where in our code something went wrong."""

from __future__ import annotations

import logging
import secrets

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from plackett.web.errors import Problem

LOG = logging.getLogger("plackett.web")
API = "/api/"
HEADERS = {503: {"Retry-After": "1"}, 429: {"Retry-After": "5"}, 408: {"Connection": "close"}}


def answer_problem(request: Request, problem: Problem, number: str | None = None) -> Response:
    """The answer to a request that cannot be granted; pages may bring their own (``app.state.error_page``)."""
    headers = dict(HEADERS.get(problem.status, {}))
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if request.url.path.startswith(API):
        content = {"error": problem.error, "hint": problem.hint, "code": problem.code, "id": number}
        return JSONResponse(content, problem.status, headers)
    app = request.scope.get("app")
    error_page = getattr(app.state, "error_page", None) if app is not None else None
    if error_page is None:
        words = "\n".join(part for part in (problem.error, problem.hint) if part)
        return PlainTextResponse(words + "\n", problem.status, headers)
    answer = error_page(request, problem.status, problem.error, problem.hint)
    answer.headers.update(headers)
    return answer


def answer_unknown(request: Request, error: Exception) -> Response:
    """The answer to a mistake of our own: a number, under which the log says more."""
    number = secrets.token_hex(4)
    LOG.error("internal error %s in %s %.200r", number, request.method, request.url.path, exc_info=error)
    problem = Problem(500, "internal", "internal error", f"The server's log says more under {number}.")
    return answer_problem(request, problem, number)
