"""Requests to the host of one engine: no redirects, no proxies, and limits of time, size and number."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.engines.settings import EngineSettings

if TYPE_CHECKING:
    import httpx

MAX_ANSWER = 16 * 2**20  # bytes
MAX_REASON = 300  # characters of an engine's own message
PARALLEL = 8  # requests to an engine at the same time


class EngineError(RequestError):
    """An engine that does not respond, or not as documented. The workbench keeps running."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(502, "engine", message, hint)


class EngineClient:
    """Requests to the engine of some settings, and to no other host. Thread-safe."""

    def __init__(self, settings: EngineSettings):
        import httpx  # most workbenches have no engine

        self._settings = settings
        own = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "plackett-workbench"}
        limits = httpx.Limits(max_connections=PARALLEL, max_keepalive_connections=0)
        how: dict[str, Any] = {"timeout": settings.timeout, "limits": limits, "trust_env": False}
        self._http = httpx.Client(headers={**own, **settings.headers}, follow_redirects=False, **how)

    def ask(self, url: str, **body: Any) -> Any:
        """Return the JSON of an answer; ``url`` has the host of the settings, and ``body`` is ``json`` or ``data``.

        An ``EngineError`` says what is wrong, without headers of the request.
        """
        import httpx

        parts, own = urlsplit(url), self._settings.address
        assert (parts.scheme, parts.netloc) == (own.scheme, own.netloc)  # addresses are made from the settings
        deadline = time.monotonic() + self._settings.timeout
        try:
            with self._http.stream("POST" if body else "GET", url, **body) as answer:
                status, content = answer.status_code, self._read(answer, deadline)
        except httpx.PoolTimeout:
            raise self._error(f"is busy: {PARALLEL} searches are waiting for it.", "Try again in a moment.") from None
        except httpx.TimeoutException:
            raise self._slow() from None
        except (httpx.HTTPError, OSError) as error:  # "from None": these may show the request
            reason = str(error).rpartition("] ")[2] if isinstance(error, httpx.ConnectError) else type(error).__name__
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise self._error(f"has a certificate that cannot be verified ({reason}).") from None
            raise self._error(f"cannot be reached ({reason}).", "Start it, or check its address.") from None
        if status != 200:
            raise self._refusal(status, content)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._error("did not return JSON.", "Check the address: it may be that of a web page.") from None

    def _read(self, answer: httpx.Response, deadline: float) -> bytes:
        content = bytearray()
        for block in answer.iter_bytes():
            if time.monotonic() > deadline:
                raise self._slow()
            content += block
            if len(content) > MAX_ANSWER:
                raise self._error(f"sent more than {MAX_ANSWER // 2**20} MB.", "Ask for fewer fields or documents.")
        return bytes(content)

    def _refusal(self, status: int, content: bytes) -> EngineError:
        if 300 <= status < 400:
            return self._error(f"redirects (status {status}); redirects are not followed.", "Give its final address.")
        if status in (401, 403):
            return self._error(f"rejects the credentials (status {status}).", "Check the headers of its settings.")
        reason = self._without_secrets(_reason(content))
        return self._error(f"answers with status {status}{f': {reason}' if reason else '.'}")

    def _slow(self) -> EngineError:
        return self._error(f"did not answer within {self._settings.timeout:g} s.", "Try again, or raise its timeout.")

    def _error(self, what: str, hint: str | None = None) -> EngineError:
        return EngineError(f"{self._settings.name} at {self._settings.place} {what}", hint)

    def _without_secrets(self, text: str) -> str:
        for value in self._settings.headers.values():
            for secret in (value, value.rpartition(" ")[2]):  # with and without the scheme
                text = text.replace(secret, "…") if len(secret) > 3 else text
        return text


def _reason(content: bytes) -> str:
    """Return the reason in an error of Elasticsearch, OpenSearch or Solr; empty if there is none."""
    try:
        error = json.loads(content)["error"]
        if isinstance(error, dict):
            causes = error.get("root_cause")
            first = causes[0] if isinstance(causes, list) and causes else {}
            error = error.get("msg") or first.get("reason") or error.get("reason")
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return ""
    return error[:MAX_REASON] if isinstance(error, str) else ""
