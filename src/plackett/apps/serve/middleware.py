"""Checks of every request of a scoring service, its id, and its line in the log.

The checks are those of ``plackett.apps.access.guard``: host, bearer token, origin, and the size, time and number of
requests. ``/live`` and ``/ready`` need no token.
"""

from __future__ import annotations

import re
import secrets
import time

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Send

from plackett.apps.access.errors import RequestError
from plackett.apps.access.guard import SAFE_METHODS, RequestGuard, Sender, check_origin
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.service import Service

REQUEST_ID = "x-request-id"
OPEN_PATHS = ("/live", "/ready")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
}


class ServingMiddleware(RequestGuard):
    """The checks above in front of an application; ``ServingSettings`` has the limits."""

    def __init__(self, app: ASGIApp, service: Service, paths: frozenset[str]):
        super().__init__(app, service.settings)
        self._service, self._paths = service, paths

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        """Respond to a request, count it, and log it."""
        start, path = time.perf_counter(), request.scope["path"]
        given = request.headers.get(REQUEST_ID, "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        request.state.request_id, request.state.log = request_id, {}
        status, end = 0, None

        async def watched(message: Message) -> None:
            nonlocal status, end
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            end = time.perf_counter()

        sender = Sender(watched, {**HEADERS, "X-Request-Id": request_id})
        try:
            await self.answer(request, receive, sender)
        finally:
            seconds = (end or time.perf_counter()) - start  # the shadow model scores after the response
            self._service.metrics.add_request(path if path in self._paths else "other", status, seconds)
            if path not in OPEN_PATHS:
                fields = {"request_id": request_id, "method": request.method, "path": path[:200]}
                log_event("request", **fields, status=status, ms=round(1000 * seconds, 3), **request.state.log)

    def check(self, request: Request) -> None:
        """Refuse requests without the token, if there is one, and those from pages of other sites."""
        if self.settings.token is not None:
            if request.url.path not in OPEN_PATHS and not self.has_token(request.headers):
                raise RequestError(401, "token", "this server requires its token.", "Send Authorization: Bearer TOKEN.")
        elif request.method not in SAFE_METHODS:
            check_origin(request.headers)
