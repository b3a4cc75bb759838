"""Checks of every request: host, token, origin, CSRF token, size, rate, time and number.

- **Host**: a server on this machine only accepts names of this machine, against DNS rebinding.
- **Token**: if the server has one, every request needs it, as ``Authorization: Bearer`` or as the cookie that opening
  ``/?token=…`` sets.
- **Writes**: a browser must write from a page of this server (``Origin``, ``Sec-Fetch-Site``) and send the CSRF token
  (``X-CSRF-Token``) that equals a ``SameSite=Strict`` cookie.
- **Limits**: size and rate of a request while it arrives (``request_body.py``), its time, and the number of requests.
  Only requests that have arrived count, and responses that a client does not read are dropped for others.

Starlette has no middleware for tokens, CSRF, slow requests or numbers of requests. Its ``TrustedHostMiddleware`` takes
a list of names, while every address of 127.0.0.0/8 is this machine, and its responses are not those of our API.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from plackett.web.errors import RequestError
from plackett.web.http.error_responses import error_response, internal_error_response
from plackett.web.http.request_body import BodyReader, Upload, replay, too_large
from plackett.web.limits import MAX_NAME
from plackett.web.settings import Settings, is_loopback

CSRF_COOKIE, USER_COOKIE, TOKEN_COOKIE = "plackett_csrf", "plackett_user", "plackett_token"
CSRF_HEADER, USER_HEADER = "x-csrf-token", "x-plackett-user"
DEFAULT_USER = "me"
HEALTH = "/api/v1/health"
UPLOADS = "/api/v1/clicks/logs"  # bodies of POST requests to it are written to disk
MAX_UPLOADS = 2  # unfinished ones
WITHOUT_CSRF = ("/api/v1/refine",)  # writes nothing
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OWN_SITES = (None, "same-origin", "none")  # of Sec-Fetch-Site
SEND_TIMEOUT = 60.0  # seconds between two parts of a response
MAX_RESPONSE_TIME = 3600.0  # seconds
UNREAD_TIMEOUT = 1.0  # seconds after which an unread response is dropped if other requests wait
UNFINISHED_BODIES = 8  # of the largest size, that fit into memory
YEAR = 365 * 24 * 3600
_JOINERS = dict.fromkeys((0x200C, 0x200D))
_CSRF = re.compile(r"[A-Za-z0-9_-]{32,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\s/]+)(?::\d{1,5})?")
HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "font", "connect", "manifest")),
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Credentials(NamedTuple):
    """The user of a request, the CSRF token of its pages, and whether it has the bearer token.

    ``is_seen`` is False for prefetches, and for requests of other sites' pages, of which users may see nothing.
    """

    user: str
    csrf: str
    is_bearer: bool
    is_seen: bool


class SafetyMiddleware:
    """The checks above in front of an application; ``Settings`` has the limits."""

    def __init__(self, app: ASGIApp, settings: Settings):
        self._app, self._settings, self._is_local = app, settings, settings.is_local
        self._bodies = BodyReader(settings.max_body, settings.max_requests, UNFINISHED_BODIES * settings.max_body)
        self._running: dict[asyncio.Task, _Sender] = {}  # requests that count towards the limit
        self._n_uploads = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        if scope["type"] != "http":
            return
        request = Request(scope)
        headers, cookies = request.headers, request.cookies
        csrf = cookies.get(CSRF_COOKIE, "")
        is_new = not _CSRF.fullmatch(csrf)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer" and self._is_token(token.strip())
        is_seen = is_bearer or (headers.get("sec-fetch-site") in OWN_SITES and not _is_prefetch(headers))
        credentials = Credentials(DEFAULT_USER, secrets.token_urlsafe(32) if is_new else csrf, is_bearer, is_seen)
        scope.setdefault("state", {})["credentials"] = credentials
        sender = _Sender(send, scope, credentials.csrf if is_new else None)
        try:
            self._check_host(headers)
            redirect = self._check_token(scope, cookies, credentials)
            if redirect is not None:
                await redirect(scope, receive, sender.send)
                return
            scope["state"]["credentials"] = credentials._replace(user=_user(headers, cookies))
            if scope["method"] not in SAFE_METHODS and not credentials.is_bearer:  # browsers never add a bearer token
                self._check_write(scope, headers, None if is_new else csrf)
            await self._run(scope, receive, sender, headers)
        except RequestError as error:
            if not sender.has_started:
                await error_response(request, error)(scope, receive, sender.send)
        except Exception as error:
            if sender.has_started:
                raise
            await internal_error_response(request, error)(scope, receive, sender.send)

    # access

    def _check_host(self, headers: Headers) -> None:
        host = _HOST.fullmatch(headers.get("host", ""))
        if self._is_local and not (host and is_loopback(host[1])):
            hint = f"Open http://{self._settings.host}:{self._settings.port} instead."
            raise RequestError(400, "host", "this server only accepts the names of this machine.", hint)

    def _is_token(self, text: str) -> bool:
        token = self._settings.token
        return token is not None and hmac.compare_digest(text.encode("latin-1", "replace"), token.encode())

    def _check_token(self, scope: Scope, cookies: dict[str, str], credentials: Credentials) -> Response | None:
        """Refuse requests without the token; return a redirect that moves a token in the URL into a cookie."""
        token = self._settings.token
        if token is None or credentials.is_bearer or scope["path"] == HEALTH:
            return None
        cookie = hmac.new(token.encode(), b"plackett cookie", sha256).hexdigest()
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and scope["method"] == "GET" and not scope["path"].startswith("/api/") and self._is_token(tokens[0]):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + quote(scope["path"].lstrip("/"))  # one slash: two would name another server
            response = Response(status_code=303, headers={"Location": path + (f"?{rest}" if rest else "")})
            # lax, so that links from other sites open pages; writes have further checks
            response.set_cookie(TOKEN_COOKIE, cookie, max_age=YEAR, httponly=True, samesite="lax", path="/")
            return response
        if hmac.compare_digest(cookies.get(TOKEN_COOKIE, "").encode(), cookie.encode()):
            return None
        hint = "Open the address that the server printed, with its ?token=, or send Authorization: Bearer TOKEN."
        raise RequestError(401, "token", "this server requires its token.", hint)

    def _check_write(self, scope: Scope, headers: Headers, cookie: str | None) -> None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_own = origin is None or _is_same_host(origin, headers.get("host", ""))
        if not is_own or site not in OWN_SITES:
            raise RequestError(403, "origin", "pages of other sites cannot write here.", "Use the API with its token.")
        if scope["path"] in WITHOUT_CSRF:
            return
        sent = headers.get(CSRF_HEADER, "")
        if cookie is None or not hmac.compare_digest(sent.encode("latin-1", "replace"), cookie.encode()):
            hint = "Reload the page; programs get one from GET /api/v1/session, or send Authorization: Bearer TOKEN."
            raise RequestError(403, "csrf", "the CSRF token is missing or wrong.", hint)

    # limits

    async def _run(self, scope: Scope, receive: Receive, sender: _Sender, headers: Headers) -> None:
        """Read the body, within the limits of its size and rate, and respond."""
        is_upload = scope["method"] == "POST" and scope["path"] == UPLOADS
        limit = self._settings.max_upload if is_upload else self._settings.max_body
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > limit:
            raise too_large(limit)
        if not is_upload:
            body = await self._bodies.read(receive)
            if body is not None:
                await self._respond(scope, replay(body, receive), sender)
            return
        upload = Upload()
        try:
            if await self._save(receive, upload):
                scope["state"]["upload"] = upload
                await self._respond(scope, replay(b"", receive), sender)
        finally:
            upload.close()

    async def _save(self, receive: Receive, upload: Upload) -> bool:
        if self._n_uploads >= MAX_UPLOADS:
            raise RequestError(429, "busy", "other logs are being uploaded.", "Try again in a moment.")
        self._n_uploads += 1
        try:
            return await self._bodies.save(receive, upload, self._settings.max_upload)
        except OSError as error:
            message = f"the upload cannot be written to disk ({error.strerror or error})."
            raise RequestError(507, "disk", message, "Free some space in the temporary folder.") from error
        finally:
            self._n_uploads -= 1

    async def _respond(self, scope: Scope, receive: Receive, sender: _Sender) -> None:
        """Run the application on a request that has arrived, within the limits of time and number."""
        if len(self._running) >= self._settings.max_requests and not self._drop_unread():
            raise RequestError(503, "busy", "there are too many requests at the same time.", "Try again in a moment.")
        task = asyncio.ensure_future(self._app(scope, receive, sender.send))
        task.add_done_callback(self._ended)
        self._running[task] = sender
        await asyncio.wait({task}, timeout=self._settings.seconds)
        if not task.done() and sender.has_started:
            await self._wait_while_sending(task, sender)
            task.cancel()
        elif not task.done():
            # a thread cannot be stopped: it counts as a request until it ends, and its response is dropped
            message = f"this took longer than {self._settings.seconds:g} s."
            slow = RequestError(503, "slow", message, "Request less at once.")
            await error_response(Request(scope), slow)(scope, receive, sender.replacement())
        elif not task.cancelled():
            task.result()

    async def _wait_while_sending(self, task: asyncio.Task, sender: _Sender) -> None:
        """Wait for a started response as long as it makes progress, because a large file is sent while it is made."""
        deadline = asyncio.get_running_loop().time() + MAX_RESPONSE_TIME
        n_sent = -1
        while not task.done() and sender.n_sent > n_sent and asyncio.get_running_loop().time() < deadline:
            n_sent = sender.n_sent
            await asyncio.wait({task}, timeout=SEND_TIMEOUT)

    def _drop_unread(self) -> bool:
        """Cancel the response that has been unread for longest; return False if all are read."""
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


class _Sender:
    """A ``send`` that adds our headers, and can be replaced by another one."""

    def __init__(self, send: Send, scope: Scope, new_csrf: str | None):
        self._send, self._scope, self._csrf = send, scope, new_csrf
        self.has_started = self.is_replaced = False
        self.n_sent = 0
        self.unread_since = float("inf")

    async def send(self, message: Message) -> None:
        if self.is_replaced:
            return
        if message["type"] == "http.response.start":
            self.has_started = True
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            headers["Cache-Control"] = "no-cache" if self._scope["path"].startswith("/static/") else "no-store"
            if self._csrf is not None:
                cookie = f"{CSRF_COOKIE}={self._csrf}; HttpOnly; Max-Age={YEAR}; Path=/; SameSite=Strict"
                headers.append("Set-Cookie", cookie)
        self.unread_since = asyncio.get_running_loop().time()
        await self._send(message)
        self.unread_since = float("inf")
        self.n_sent += 1

    def replacement(self) -> Send:
        """Return a ``send`` for a replacement response; the original one is disabled."""
        self.is_replaced = True
        return _Sender(self._send, self._scope, self._csrf).send


def set_user_cookie(response: Response, user: str) -> None:
    """Remember the name of a user."""
    response.set_cookie(USER_COOKIE, quote(user, safe=""), max_age=YEAR, httponly=True, samesite="strict", path="/")


def clean_user_name(text: str) -> str:
    """Return a user's name with single blanks; raise a `RequestError` if it is too long or not printable."""
    name = " ".join(text.split())
    # joiners are not printable, but Persian and Indian languages need them
    if len(name) > MAX_NAME or not name.translate(_JOINERS).isprintable():
        hint = f"A name has at most {MAX_NAME} characters, all printable."
        raise RequestError(422, "invalid", "this is not a valid user name.", hint)
    return name


def _user(headers: Headers, cookies: dict[str, str]) -> str:
    """Return the name in the header, or else in the cookie; an invalid cookie is ignored."""
    try:
        for text in (headers.get(USER_HEADER), cookies.get(USER_COOKIE)):
            name = clean_user_name(unquote(text or "", errors="replace"))
            if name:
                return name
    except RequestError:
        if headers.get(USER_HEADER):
            raise
    return DEFAULT_USER


def _is_prefetch(headers: Headers) -> bool:
    return "prefetch" in headers.get("sec-purpose", headers.get("purpose", ""))


def _is_same_host(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False
