"""Requests to the host of one engine: no redirects, no proxies, and limits of time, size and number."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.engines.settings import EngineSettings

MAX_ANSWER = 16 * 2**20  # bytes
MAX_REASON = 300  # characters of an engine's own message
BLOCK = 1 << 16
PARALLEL = 8  # requests to an engine at the same time


class EngineError(RequestError):
    """An engine that does not respond, or not as documented. The workbench keeps running."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(502, "engine", message, hint)


class EngineClient:
    """Requests to the engine of some settings, and to no other host. Thread-safe."""

    def __init__(self, settings: EngineSettings):
        self._settings = settings
        self._slots = threading.BoundedSemaphore(PARALLEL)
        self._tls = ssl.create_default_context() if settings.address.scheme == "https" else None

    def ask(self, url: str, body: bytes | None = None, media_type: str = "application/json") -> Any:
        """Return the JSON of an answer; ``url`` has the host of the settings.

        Raises
        ------
        EngineError
            Says what is wrong, without headers of the request.
        """
        deadline = time.monotonic() + self._settings.timeout
        if not self._slots.acquire(timeout=self._settings.timeout):
            raise self._error(f"is busy: {PARALLEL} searches are waiting for it.", "Try again in a moment.")
        try:
            status, content = self._send(url, body, media_type, deadline)
        finally:
            self._slots.release()
        if status != 200:
            raise self._refusal(status, content)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._error("did not return JSON.", "Check the address: it may be that of a web page.") from None

    def _send(self, url: str, body: bytes | None, media_type: str, deadline: float) -> tuple[int, bytes]:
        parts, own = urlsplit(url), self._settings.address
        assert (parts.scheme, parts.netloc) == (own.scheme, own.netloc)  # addresses are made from the settings
        timeout, host = self._settings.timeout, own.hostname or ""
        connection = (
            http.client.HTTPConnection(host, own.port, timeout=timeout)
            if self._tls is None
            else http.client.HTTPSConnection(host, own.port, timeout=timeout, context=self._tls)
        )
        headers = {"Accept": "application/json", "User-Agent": "plackett-workbench", **self._settings.headers}
        if body is not None:
            headers["Content-Type"] = media_type
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET" if body is None else "POST", target, body, headers)
            answer = connection.getresponse()
            return answer.status, self._read(connection, answer, deadline)
        except ssl.SSLCertVerificationError as error:
            raise self._error(f"has a certificate that cannot be verified ({error.verify_message}).") from None
        except TimeoutError:
            raise self._slow() from None
        except (OSError, http.client.HTTPException) as error:  # "from None": these may show the request
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise self._error(f"cannot be reached ({reason}).", "Start it, or check its address.") from None
        finally:
            connection.close()

    def _read(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._slow()
            sock: socket.socket | None = connection.sock
            if sock is not None:  # None once the answer is complete
                sock.settimeout(left)
            block = answer.read1(BLOCK)
            if not block:
                return b"".join(parts)
            size += len(block)
            if size > MAX_ANSWER:
                raise self._error(f"sent more than {MAX_ANSWER // 2**20} MB.", "Ask for fewer fields or documents.")
            parts.append(block)

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
