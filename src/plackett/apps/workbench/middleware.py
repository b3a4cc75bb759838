"""Checks of every request: host, token, origin, CSRF token, size, time and number.

- **Host**: a local server accepts only host names of this machine, against DNS rebinding.
- **Token**: if the server has one, every request needs it, as ``Authorization: Bearer`` or as the cookie that opening
  ``/?token=…`` sets.
- **Writes**: a browser must write from a page of this server (``Origin``, ``Sec-Fetch-Site``) and send the CSRF token
  (``X-CSRF-Token``) that equals a ``SameSite=Strict`` cookie.
- **Limits**: those of ``plackett.apps.access.guard``.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Send

from plackett.apps.access.errors import RequestError, invalid
from plackett.apps.access.guard import API, SAFE_METHODS, RequestGuard, Sender, check_origin
from plackett.apps.workbench.values import MAX_NAME

CSRF_COOKIE, USER_COOKIE, TOKEN_COOKIE = "plackett_csrf", "plackett_user", "plackett_token"
CSRF_HEADER, USER_HEADER = "x-csrf-token", "x-plackett-user"
DEFAULT_USER = "me"
HEALTH = "/api/v1/health"
WITHOUT_CSRF = ("/api/v1/refine",)  # writes nothing
YEAR = 365 * 24 * 3600
_JOINERS = dict.fromkeys((0x200C, 0x200D))
_CSRF = re.compile(r"[A-Za-z0-9_-]{32,64}")
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Credentials(NamedTuple):
    """The user of a request, the CSRF token of its pages, and whether it has the bearer token."""

    user: str
    csrf: str
    is_bearer: bool


class SafetyMiddleware(RequestGuard):
    """The checks above in front of an application; ``Settings`` has the limits."""

    async def respond(self, request: Request, receive: Receive, send: Send) -> None:
        """Respond to a request with its user and the CSRF token of its pages."""
        csrf = request.cookies.get(CSRF_COOKIE, "")
        is_new = not _CSRF.fullmatch(csrf)
        csrf = secrets.token_urlsafe(32) if is_new else csrf
        request.state.credentials = Credentials(DEFAULT_USER, csrf, self.has_token(request.headers))
        caching = "no-cache" if request.scope["path"].startswith("/static/") else "no-store"
        cookie = f"{CSRF_COOKIE}={csrf}; HttpOnly; Max-Age={YEAR}; Path=/; SameSite=Strict"
        sender = Sender(send, {**HEADERS, "Cache-Control": caching}, cookie if is_new else None)
        await self.answer(request, receive, sender)

    def check(self, request: Request) -> Response | None:
        """Refuse requests without the token, and writes from other pages; return a redirect to store the token."""
        credentials: Credentials = request.state.credentials
        redirect = None if credentials.is_bearer else self._check_token(request)
        if redirect is not None:
            return redirect
        request.state.credentials = credentials._replace(user=_user(request))
        if request.method not in SAFE_METHODS and not credentials.is_bearer:  # browsers never add a bearer token
            check_origin(request.headers)
            sent = request.headers.get(CSRF_HEADER, "").encode("latin-1", "replace")
            if request.scope["path"] not in WITHOUT_CSRF and not hmac.compare_digest(sent, credentials.csrf.encode()):
                hint = (
                    "Reload the page; programs get one from GET /api/v1/session, or send Authorization: Bearer TOKEN."
                )
                raise RequestError(403, "csrf", "the CSRF token is missing or wrong.", hint)
        return None

    def _check_token(self, request: Request) -> Response | None:
        """Refuse requests without the token; return a redirect that moves a token in the URL into a cookie."""
        token, path, query = self.settings.token, request.scope["path"], request.query_params
        if token is None or path == HEALTH:
            return None
        cookie = hmac.new(token.encode(), b"plackett cookie", sha256).hexdigest()
        tokens = query.getlist("token")
        if tokens and request.method == "GET" and not path.startswith(API) and self.is_token(tokens[0]):
            rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
            address = "/" + quote(path.lstrip("/"))  # one slash: two would name another server
            response = Response(status_code=303, headers={"Location": address + (f"?{rest}" if rest else "")})
            # lax, so that links from other sites open pages; writes have further checks
            response.set_cookie(TOKEN_COOKIE, cookie, max_age=YEAR, httponly=True, samesite="lax", path="/")
            return response
        if hmac.compare_digest(request.cookies.get(TOKEN_COOKIE, "").encode(), cookie.encode()):
            return None
        hint = "Open the address that the server printed, with its ?token=, or send Authorization: Bearer TOKEN."
        raise RequestError(401, "token", "this server requires its token.", hint)


def set_user_cookie(response: Response, user: str) -> None:
    """Store the user name in a cookie."""
    response.set_cookie(USER_COOKIE, quote(user, safe=""), max_age=YEAR, httponly=True, samesite="strict", path="/")


def clean_user_name(text: str) -> str:
    """Return a user's name with single spaces; raise a `RequestError` if it is too long or not printable."""
    name = " ".join(text.split())
    # joiners are not printable, but Persian and Indian languages need them
    if len(name) > MAX_NAME or not name.translate(_JOINERS).isprintable():
        hint = f"A name has at most {MAX_NAME} characters, all printable."
        raise invalid("this is not a valid user name.", hint)
    return name


def _user(request: Request) -> str:
    """Return the name in the header, or else in the cookie; an invalid cookie is ignored."""
    named = request.headers.get(USER_HEADER)
    try:
        names = (clean_user_name(unquote(text or "")) for text in (named, request.cookies.get(USER_COOKIE)))
        return next(filter(None, names), DEFAULT_USER)
    except RequestError:
        if named:
            raise
        return DEFAULT_USER
