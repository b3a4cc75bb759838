"""Checks in front of an application: host, bearer token, origin, and the size, time and number of requests.

Slow headers, slow bodies and unread responses are left to a proxy, which other machines need anyway, for TLS.

Starlette has no middleware for tokens, slow requests or limits on their number. Its ``TrustedHostMiddleware`` takes a
list of names, while every address of 127.0.0.0/8 is this machine, and its responses are not those of our APIs. Errors
are JSON for an API and a page otherwise, without details of the code.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plackett.apps.access.errors import RequestError
from plackett.apps.access.settings import ServerSettings, is_loopback
from plackett.exceptions import StoreError

LOG = logging.getLogger("plackett.apps.access")
OWN_SITES = (None, "same-origin", "none")  # values of Sec-Fetch-Site
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
MAX_REQUESTS = 256  # running ones
BODY_SECONDS = 60.0  # until the body of a request has arrived
API = "/api/"
HEADERS = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    429: {"Retry-After": "5"},
    503: {"Retry-After": "1"},
}
CODES = {404: "not-found", 413: "too-large"}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\s/]+)(?::\d{1,5})?")


class RequestGuard:
    """Middleware with these checks; a subclass adds headers in ``respond``, and checks in ``check`` who may do what."""

    def __init__(self, app: ASGIApp, settings: ServerSettings):
        self.app, self.settings = app, settings
        self._running: set[asyncio.Task] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] == "http":
            await self.respond(Request(scope), receive, send)

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        await self.answer(request, receive, Sender(send, {}))

    def check(self, request: Request) -> Response | None:
        """Refuse a request by a `RequestError`; return a response instead of that of the application, or None."""

    async def answer(self, request: Request, receive: Receive, sender: Sender) -> None:
        """Respond to a request: after its checks by the application, and to errors as they say."""
        try:
            self.check_host(request.headers)
            response = self.check(request)
            if response is None:
                length = request.headers.get("content-length", "0")
                if not (length.isascii() and length.isdigit()) or int(length[:20]) > self.settings.max_body:
                    raise _too_large(self.settings.max_body)
                await self._read_and_respond(request.scope, receive, sender)
                return
        except Exception as error:
            if sender.has_started:
                raise
            response = response_to(request, error)
        await response(request.scope, receive, sender.send)

    def check_host(self, headers: Headers) -> None:
        """Refuse host names other than those of this machine, if the server is local."""
        host = _HOST.fullmatch(headers.get("host", ""))
        if self.settings.is_local and not (host and is_loopback(host[1])):
            hint = f"Open http://{self.settings.host}:{self.settings.port} instead."
            raise RequestError(400, "host", "this server accepts only host names of this machine.", hint)

    def is_token(self, text: str) -> bool:
        """Return whether a text is the token of the server."""
        token = self.settings.token
        return token is not None and hmac.compare_digest(text.encode("latin-1", "replace"), token.encode())

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request has the token as ``Authorization: Bearer``."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(token.strip())

    async def _read_and_respond(self, scope: Scope, receive: Receive, sender: Sender) -> None:
        """Run the application on a request that has arrived, within the limits of time and number."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await read_body(receive, self.settings.max_body)
        except TimeoutError:
            raise RequestError(408, "slow", "the body of the request arrived too slowly.", "Send it again.") from None
        if body is None:
            return
        if len(self._running) >= MAX_REQUESTS:
            raise RequestError(503, "busy", "there are too many concurrent requests.", "Try again in a moment.")
        arrived: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        is_late = False

        async def receive_again() -> Message:
            return arrived.pop() if arrived else await receive()

        async def send(message: Message) -> None:
            if not is_late:
                await sender.send(message)

        task = asyncio.ensure_future(self.app(scope, receive_again, send))
        self._running.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait({task}, timeout=self.settings.seconds)
        if task.done() or sender.has_started:
            await task
            return
        # a thread cannot be stopped: it counts as a request until it ends, and its response is dropped
        is_late = True
        message = f"the request took longer than {self.settings.seconds:g} s."
        raise RequestError(503, "slow", message, "Request less at once.")

    def _ended(self, task: asyncio.Task) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it


class Sender:
    """A ``send`` that adds our headers."""

    def __init__(self, send: Send, headers: dict[str, str], cookie: str | None = None):
        self._send, self._headers, self._cookie = send, headers, cookie
        self.has_started = False

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start":
            self.has_started = True
            headers = MutableHeaders(scope=message)
            headers.update(self._headers)
            if self._cookie is not None:
                headers.append("Set-Cookie", self._cookie)
        await self._send(message)


# bodies and origins


async def read_body(receive: Receive, max_bytes: int) -> bytes | None:
    """Return a body, or None if the client disconnected; raise a `RequestError` if it is too large."""
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        has_more = message.get("more_body", False)
    return bytes(body)


def _too_large(limit: int) -> RequestError:
    return RequestError(413, "too-large", f"the request has more than {limit:,} bytes.")


def check_origin(headers: Headers) -> None:
    """Refuse requests of browsers from pages of other sites."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    is_own = origin is None or _is_same_host(origin, headers.get("host", ""))
    if not is_own or site not in OWN_SITES:
        raise RequestError(403, "origin", "pages of other sites cannot write here.", "Use the API with its token.")


def _is_same_host(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False


# responses to errors


def response_to(request: Request, error: Exception) -> Response:
    """Return the response to an error: JSON for an API, or the page of ``app.state.error_page``, or plain text.

    All paths of an application with ``app.state.is_api`` are an API. An unexpected error is logged with the id that the
    response has.
    """
    error_id = None
    if isinstance(error, StoreError):
        error = RequestError(503, "store", f"the store {error.message}", "Nothing was written.")
    elif not isinstance(error, RequestError):
        error_id = secrets.token_hex(4)
        LOG.error("internal error %s in %s %.200r", error_id, request.method, request.url.path, exc_info=error)
        error = RequestError(500, "internal", "internal error", f"The server's log has the details under {error_id}.")
    headers = HEADERS.get(error.status, {})
    state = getattr(request.scope.get("app"), "state", None)
    if request.url.path.startswith(API) or getattr(state, "is_api", False):
        content = {"error": error.message, "hint": error.hint, "code": error.code, "id": error_id}
        return JSONResponse(content, error.status, headers)
    error_page = getattr(state, "error_page", None)
    if error_page is None:
        text = "\n".join(part for part in (error.message, error.hint) if part)
        return PlainTextResponse(text + "\n", error.status, headers)
    response = error_page(request, error.status, error.message, error.hint)
    response.headers.update(headers)
    return response


async def on_http(request: Request, error: HTTPException) -> Response:
    """Return the response to an unknown path, which names those of ``app.state.places``, or to a wrong method."""
    allowed = (error.headers or {}).get("Allow")
    message = "there is no such page." if error.status_code == 404 else str(error.detail)
    if allowed is not None:
        message = f"{request.method[:20]} is not allowed here; use {allowed}."
    hint = None
    if error.status_code == 404 and (places := getattr(request.app.state, "places", None)):
        hint = f"The paths are {', '.join(places)}."
    code = CODES.get(error.status_code, "invalid")
    response = response_to(request, RequestError(error.status_code, code, message, hint))
    if allowed is not None:
        response.headers["Allow"] = allowed
    return response
