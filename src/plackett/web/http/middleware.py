"""Who may come in, what they may send, and how long it may take: in front of every page and every call.

- **Host**: a server on this machine answers to its own names only, so that a site whose name is pointed at 127.0.0.1
  cannot read what is here.
- **Token**: where there is one, every request brings it, as ``Authorization: Bearer``, or as a cookie that opening
  ``/?token=…`` once leaves behind.
- **Writes**: whoever writes with a browser's cookies comes from a page of ours (``Origin``, ``Sec-Fetch-Site``) and
  knows the page's token (``X-CSRF-Token``, the same as in a cookie that is never sent from other sites).
- **Limits**: on the size and the rate of a request while it arrives (``bodies.py``), on its time, and on how many there
  are. Only a request that has arrived counts among these, and answers that a client does not read give way to others.
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

from plackett.web.errors import Problem
from plackett.web.http.error_responses import answer_problem, answer_unknown
from plackett.web.http.request_body import Bodies, replayed, too_large
from plackett.web.limits import MAX_NAME
from plackett.web.settings import Settings, is_loopback

CSRF_COOKIE, USER_COOKIE, TOKEN_COOKIE = "plackett_csrf", "plackett_user", "plackett_token"
CSRF_HEADER, USER_HEADER = "x-csrf-token", "x-plackett-user"
NOBODY = "me"  # the user who gave no name
HEALTH = "/api/v1/health"
WRITES_NOTHING = ("/api/v1/refine",)  # no page's token needed: what is sent is answered, and nothing else happens
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
TIME_TO_SEND = 60.0  # seconds until some more of an answer that has begun is made and read
LONGEST_ANSWER = 3600.0  # seconds
TIME_TO_READ = 1.0  # seconds that a client may leave an answer unread while others wait for its slot
BODIES_AT_ONCE = 8  # unfinished bodies of the largest size that fit into memory
YEAR = 365 * 24 * 3600
_JOINERS = dict.fromkeys((0x200C, 0x200D))
_CSRF = re.compile(r"[A-Za-z0-9_-]{32,64}")
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


class Visitor(NamedTuple):
    """Who asks: the name that judgements are kept under, and the token that a page of ours sends when it writes."""

    user: str
    csrf: str
    is_bearer: bool


class Guard:
    """An application behind the checks above; see ``Settings`` for their measures."""

    def __init__(self, app: ASGIApp, settings: Settings):
        self._app, self._settings = app, settings
        self._bodies = Bodies(settings.max_body, settings.max_requests, BODIES_AT_ONCE * settings.max_body)
        self._doors: dict[asyncio.Task, _Door] = {}  # of the requests that take a slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        cookies = _cookies(headers)
        visitor = Visitor(NOBODY, cookies.get(CSRF_COOKIE, ""), self._is_bearer(headers))
        is_new = not _CSRF.fullmatch(visitor.csrf)
        if is_new:
            visitor = visitor._replace(csrf=secrets.token_urlsafe(32))
        scope.setdefault("state", {})["visitor"] = visitor
        guests = [origin for origin in self._settings.origins if origin == headers.get("origin")]
        door = _Door(send, scope, visitor.csrf if is_new else None, guests[0] if guests else None)
        try:
            self._check_host(headers)
            if self._is_preflight(scope, headers):
                await Response(status_code=204, headers=_preflight())(scope, receive, door.send)
                return
            entered = self._check_token(scope, cookies, visitor)
            if entered is not None:
                await entered(scope, receive, door.send)
                return
            scope["state"]["visitor"] = visitor._replace(user=_user(headers, cookies))
            if scope["method"] not in SAFE_METHODS:
                self._check_write(scope, headers, visitor, None if is_new else visitor.csrf)
            await self._within_limits(scope, receive, door, headers)
        except Problem as problem:
            if not door.is_open:
                await answer_problem(Request(scope), problem)(scope, receive, door.send)
        except Exception as error:
            if door.is_open:
                raise
            await answer_unknown(Request(scope), error)(scope, receive, door.send)

    # who

    def _check_host(self, headers: Headers) -> None:
        if self._settings.is_local and not is_loopback(_host_name(headers.get("host", ""))):
            hint = f"Open http://{self._settings.host}:{self._settings.port} instead."
            raise Problem(400, "host", "this server answers to the names of this machine only.", hint)

    def _is_bearer(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(given.strip())

    def _is_token(self, given: str) -> bool:
        wanted = self._settings.token
        return wanted is not None and hmac.compare_digest(given.encode("latin-1", "replace"), wanted.encode())

    def _check_token(self, scope: Scope, cookies: dict[str, str], visitor: Visitor) -> Response | None:
        """Refuse whoever has no token; whoever brings it in the address is sent on with a cookie in its place."""
        token = self._settings.token
        if token is None or scope["path"] == HEALTH:
            return None
        cookie = hmac.new(token.encode(), b"plackett cookie", sha256).hexdigest()
        asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in asked if name == "token"]
        if given and scope["method"] == "GET" and not scope["path"].startswith("/api/") and self._is_token(given[0]):
            rest = urlencode([(name, value) for name, value in asked if name != "token"])
            place = "/" + quote(scope["path"].lstrip("/"))  # one slash: two would name another server
            answer = Response(status_code=303, headers={"Location": place + (f"?{rest}" if rest else "")})
            # lax: a link in a mail opens a page; writes are checked otherwise
            answer.set_cookie(TOKEN_COOKIE, cookie, max_age=YEAR, httponly=True, samesite="lax", path="/")
            return answer
        if visitor.is_bearer or hmac.compare_digest(cookies.get(TOKEN_COOKIE, "").encode(), cookie.encode()):
            return None
        hint = "Open the address that the server printed, with its ?token=, or send Authorization: Bearer TOKEN."
        raise Problem(401, "token", "this server asks for its token.", hint)

    # what

    def _check_write(self, scope: Scope, headers: Headers, visitor: Visitor, cookie: str | None) -> None:
        if visitor.is_bearer:
            return  # no browser adds a bearer token by itself
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_own = origin is None or _same_place(origin, headers.get("host", ""))
        if not is_own or site not in (None, "same-origin", "none"):
            raise Problem(403, "origin", "another site's page cannot write here.", "Use the API with its token.")
        if scope["path"] in WRITES_NOTHING:
            return
        sent = headers.get(CSRF_HEADER, "")
        if cookie is None or not hmac.compare_digest(sent.encode("latin-1", "replace"), cookie.encode()):
            hint = "Reload the page; a program asks GET /api/v1/session for one, or sends Authorization: Bearer TOKEN."
            raise Problem(403, "csrf", "the page's token is missing or not the right one.", hint)

    def _is_preflight(self, scope: Scope, headers: Headers) -> bool:
        is_asked = scope["method"] == "OPTIONS" and "access-control-request-method" in headers
        return is_asked and headers.get("origin") in self._settings.origins

    # how much

    async def _within_limits(self, scope: Scope, receive: Receive, door: _Door, headers: Headers) -> None:
        limit = self._settings.max_body
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > limit:
            raise too_large(limit)
        body = await self._bodies.read(receive)
        if body is None:
            return
        if len(self._doors) >= self._settings.max_requests and not self._drop_unread():
            raise Problem(503, "busy", "there are too many requests at the same time.", "Try again in a moment.")
        task = asyncio.ensure_future(self._app(scope, replayed(body, receive), door.send))
        task.add_done_callback(self._ended)
        self._doors[task] = door
        await asyncio.wait({task}, timeout=self._settings.seconds)
        if not task.done() and door.is_open:
            await self._sent(task, door)
            task.cancel()
        elif not task.done():
            # a thread cannot be stopped: it goes on, and counts as a request until it ends, but nobody hears of it
            slow = Problem(503, "slow", f"this took longer than {self._settings.seconds:g} s.", "Ask for less at once.")
            await answer_problem(Request(scope), slow)(scope, receive, door.instead())
        elif not task.cancelled():
            task.result()

    async def _sent(self, task: asyncio.Task, door: _Door) -> None:
        """Wait for an answer that has begun as long as it goes on: a large file is sent while it is made."""
        deadline = asyncio.get_running_loop().time() + LONGEST_ANSWER
        n_sent = -1
        while not task.done() and door.n_sent > n_sent and asyncio.get_running_loop().time() < deadline:
            n_sent = door.n_sent
            await asyncio.wait({task}, timeout=TIME_TO_SEND)

    def _drop_unread(self) -> bool:
        """End the answer that its client has left unread for longest; False where all are read."""
        latest = asyncio.get_running_loop().time() - TIME_TO_READ
        unread = {task: door.waits_since for task, door in self._doors.items() if door.waits_since < latest}
        if not unread:
            return False
        task = min(unread, key=lambda task: unread[task])
        task.cancel()
        del self._doors[task]
        return True

    def _ended(self, task: asyncio.Task) -> None:
        self._doors.pop(task, None)
        if not task.cancelled():
            task.exception()  # looked at, so that nothing is written about one that nobody waits for


class _Door:
    """What goes out: with our headers, and nothing after it was shut."""

    def __init__(self, send: Send, scope: Scope, new_csrf: str | None, origin: str | None):
        self._send, self._scope, self._csrf, self._origin = send, scope, new_csrf, origin
        self.is_open = self.is_shut = False
        self.n_sent = 0
        self.waits_since = float("inf")  # for the client to read what was sent

    async def send(self, message: Message) -> None:
        if self.is_shut:
            return
        if message["type"] == "http.response.start":
            self.is_open = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers["Cache-Control"] = "no-cache" if self._scope["path"].startswith("/static/") else "no-store"
            if self._csrf is not None:
                cookie = f"{CSRF_COOKIE}={self._csrf}; HttpOnly; Max-Age={YEAR}; Path=/; SameSite=Strict"
                headers.append("Set-Cookie", cookie)
            if self._origin is not None:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers["Cross-Origin-Resource-Policy"] = "cross-origin"
                headers.append("Vary", "Origin")
        self.waits_since = asyncio.get_running_loop().time()
        await self._send(message)
        self.waits_since = float("inf")
        self.n_sent += 1

    def instead(self) -> Send:
        """A way out for another answer; whoever held the door before finds it shut."""
        self.is_shut = True
        return _Door(self._send, self._scope, self._csrf, self._origin).send


def user_cookie(answer: Response, user: str) -> None:
    """Remember the name of a user."""
    answer.set_cookie(USER_COOKIE, quote(user, safe=""), max_age=YEAR, httponly=True, samesite="strict", path="/")


def name_of_user(given: str) -> str:
    """A name as it is kept, with single blanks; a `Problem` where it is none: a line that is not too long."""
    name = " ".join(given.split())
    # not printable by themselves, but letters of Persian and of Indian languages are joined and parted by them
    if len(name) > MAX_NAME or not name.translate(_JOINERS).isprintable():
        hint = f"A name has {MAX_NAME} characters at most, all of which can be seen."
        raise Problem(422, "invalid", "this is not the name of a user.", hint)
    return name


def _user(headers: Headers, cookies: dict[str, str]) -> str:
    """The name in the header, or else in the cookie."""
    try:
        for given in (headers.get(USER_HEADER), cookies.get(USER_COOKIE)):
            name = name_of_user(unquote(given or "", errors="replace"))
            if name:
                return name
    except Problem:  # who sends a header is told; a cookie that is not ours is none
        if headers.get(USER_HEADER):
            raise
    return NOBODY


def _cookies(headers: Headers) -> dict[str, str]:
    cookies: dict[str, str] = {}
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.partition("=")
        cookies.setdefault(name.strip(), value.strip().strip('"'))
    return cookies


def _host_name(host: str) -> str:
    """The name in a Host header, without its port."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\s/]+)(?::\d{1,5})?", host)
    return found[1] if found else ""


def _same_place(origin: str, host: str) -> bool:
    """Whether a page's origin is the server that it writes to."""
    try:
        return urlsplit(origin).scheme in ("http", "https") and urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        return False


def _preflight() -> dict[str, str]:
    return {
        "Access-Control-Allow-Methods": "GET, POST, DELETE",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Plackett-User",
        "Access-Control-Max-Age": "600",
    }
