"""Checks in front of an application: host, bearer token, origin, and the size, rate, time and number of requests.

- **Host**: a local server accepts only host names of this machine, against DNS rebinding.
- **Limits**: size and rate of a request while it arrives (``request_body.py``), its time, and the number of requests.
  Only requests that have arrived count. Unread responses are dropped if other requests wait.

Starlette has no middleware for tokens, slow requests or limits on their number. Its ``TrustedHostMiddleware`` takes a
list of names, while every address of 127.0.0.0/8 is this machine, and its responses are not those of our APIs.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plackett.apps.access.error_responses import error_response
from plackett.apps.access.errors import RequestError
from plackett.apps.access.request_body import BodyReader, replay, too_large
from plackett.apps.access.settings import ServerSettings, is_loopback

OWN_SITES = (None, "same-origin", "none")  # values of Sec-Fetch-Site
SEND_TIMEOUT = 60.0  # seconds between two parts of a response
MAX_RESPONSE_TIME = 3600.0  # seconds
UNREAD_TIMEOUT = 1.0  # seconds after which an unread response is dropped if other requests wait
UNFINISHED_BODIES = 8  # bodies of the largest size that fit into memory
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\s/]+)(?::\d{1,5})?")


class RequestGuard:
    """Base class of middleware with these checks; a subclass calls those it needs."""

    def __init__(self, app: ASGIApp, settings: ServerSettings):
        self.app, self.settings, self._is_local = app, settings, settings.is_local
        self.bodies = BodyReader(settings.max_body, settings.max_requests, UNFINISHED_BODIES * settings.max_body)
        self._running: dict[asyncio.Task, Sender] = {}  # requests that count towards the limit

    def check_host(self, headers: Headers) -> None:
        """Refuse host names other than those of this machine, if the server is local."""
        host = _HOST.fullmatch(headers.get("host", ""))
        if self._is_local and not (host and is_loopback(host[1])):
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

    async def read_and_respond(self, scope: Scope, receive: Receive, sender: Sender) -> None:
        """Read the body, within the limits of its size and rate, and respond."""
        body = await self.bodies.read(receive)
        if body is not None:
            await self.respond(scope, replay(body, receive), sender)

    async def respond(self, scope: Scope, receive: Receive, sender: Sender) -> None:
        """Run the application on a request that has arrived, within the limits of time and number."""
        if len(self._running) >= self.settings.max_requests and not self._drop_unread():
            raise RequestError(503, "busy", "there are too many concurrent requests.", "Try again in a moment.")
        task = asyncio.ensure_future(self.app(scope, receive, sender.send))
        task.add_done_callback(self._ended)
        self._running[task] = sender
        await asyncio.wait({task}, timeout=self.settings.seconds)
        if not task.done() and sender.has_started:
            await self._wait_while_sending(task, sender)
            task.cancel()
        elif not task.done():
            # a thread cannot be stopped: it counts as a request until it ends, and its response is dropped
            message = f"the request took longer than {self.settings.seconds:g} s."
            slow = RequestError(503, "slow", message, "Request less at once.")
            await error_response(Request(scope), slow)(scope, receive, sender.replacement())
        elif not task.cancelled():
            task.result()

    async def _wait_while_sending(self, task: asyncio.Task, sender: Sender) -> None:
        """Wait for a started response as long as it makes progress, because a large file is sent while it is made."""
        deadline = asyncio.get_running_loop().time() + MAX_RESPONSE_TIME
        n_sent = -1
        while not task.done() and sender.n_sent > n_sent and asyncio.get_running_loop().time() < deadline:
            n_sent = sender.n_sent
            await asyncio.wait({task}, timeout=SEND_TIMEOUT)

    def _drop_unread(self) -> bool:
        """Cancel the response that has been unread the longest; return False if there is none."""
        latest = asyncio.get_running_loop().time() - UNREAD_TIMEOUT
        unread = {task: sender.unread_since for task, sender in self._running.items() if sender.unread_since < latest}
        if not unread:
            return False
        task = min(unread, key=lambda task: unread[task])
        task.cancel()
        del self._running[task]
        return True

    def _ended(self, task: asyncio.Task) -> None:
        self._running.pop(task, None)
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it


class Sender:
    """A ``send`` that adds our headers, and can be replaced by another one."""

    def __init__(self, send: Send, headers: dict[str, str], cookie: str | None = None):
        self._send, self._headers, self._cookie = send, headers, cookie
        self.has_started = self.is_replaced = False
        self.n_sent = 0
        self.unread_since = float("inf")

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if self.is_replaced:
            return
        if message["type"] == "http.response.start":
            self.has_started = True
            headers = MutableHeaders(scope=message)
            headers.update(self._headers)
            if self._cookie is not None:
                headers.append("Set-Cookie", self._cookie)
        self.unread_since = asyncio.get_running_loop().time()
        await self._send(message)
        self.unread_since = float("inf")
        self.n_sent += 1

    def replacement(self) -> Send:
        """Return a ``send`` for a replacement response; the original one is disabled."""
        self.is_replaced = True
        return Sender(self._send, self._headers, self._cookie).send


def check_length(headers: Headers, limit: int) -> None:
    """Refuse a request whose ``Content-Length`` is invalid or too large."""
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > limit:
        raise too_large(limit)


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
