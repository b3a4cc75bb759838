"""The page of a workbench that is starting: shown while documents are indexed, and while modules are loaded.

The port is open before the application exists, so an early request of a browser would hang without feedback.
"""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from types import TracebackType

from plackett.apps.access.error_responses import API, error_content
from plackett.apps.access.errors import RequestError

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Starting · plackett workbench</title>
<link rel="stylesheet" href="/static/workbench.css">
<script src="/static/starting.js" defer></script>
</head>
<body>
<main>
<h1>The workbench is starting</h1>
<p role="status">{words}</p>
{progress}
<p>The page reloads automatically. Without JavaScript, <a href="">reload it</a> yourself.</p>
</main>
</body>
</html>
"""
INDEXING = "Reading and indexing the documents. The index is cached for the next start."
STATIC = Path(__file__).parent / "static"
KINDS = {"/static/starting.js": "text/javascript", "/static/workbench.css": "text/css"}  # files that the page loads
HEADERS = {"Retry-After": "1"}  # the script recognises the starting page by this header
TIMEOUT = 2.0  # seconds for a browser to send its request
MAX_REQUEST, BLOCK = 65_536, 8192  # bytes
OK, UNAVAILABLE = "200 OK", "503 Service Unavailable"


def starting_page(words: str, share: float | None = None) -> bytes:
    """Return the page; ``share`` is the progress from 0 to 1, if it is known."""
    value = "" if share is None else f' value="{share:.2f}"'
    bar = f'<progress max="1"{value} aria-label="Starting"></progress>'
    return PAGE.format(words=words, progress=bar).encode()


class StartingPage:
    """Answers every request to a listening socket with the page, in a thread, until the ``with`` block ends.

    It shows nothing of the collection, and so needs no token. Requests to the API, and methods other than GET, get 503.
    """

    def __init__(self, listener: socket.socket):
        self._listener = listener
        self._is_done = threading.Event()
        self._share: float | None = None
        self._thread = threading.Thread(target=self._run, name="starting page", daemon=True)

    def show(self, n_done: int, n_all: int) -> None:
        """Set the progress that the page shows."""
        self._share = n_done / n_all if n_all else None

    def __enter__(self) -> StartingPage:
        self._timeout = self._listener.gettimeout()
        self._listener.settimeout(0.05)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_done.set()
        self._thread.join()
        self._listener.settimeout(self._timeout)

    def _run(self) -> None:
        while not self._is_done.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            # one thread each: a browser opens connections that it does not use
            threading.Thread(target=_answer, args=(connection, self._share), daemon=True).start()


def _answer(connection: socket.socket, share: float | None) -> None:
    try:
        with connection:
            connection.settimeout(TIMEOUT)
            request = b""
            while b"\r\n\r\n" not in request and len(request) < MAX_REQUEST:
                block = connection.recv(BLOCK)
                if not block:
                    return
                request += block
            status, kind, body = _response(request, share)
            head = [
                f"HTTP/1.1 {status}",
                f"Content-Type: {kind}; charset=utf-8",
                f"Content-Length: {len(body)}",
                "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
                "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
                "X-Content-Type-Options: nosniff",
                "Cache-Control: no-store",
                *(f"{name}: {value}" for name, value in HEADERS.items()),
                "Connection: close",
            ]
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            connection.shutdown(socket.SHUT_WR)
            # closing with unread data resets the connection, and the client may lose the response
            for _ in range(MAX_REQUEST // BLOCK):
                if not connection.recv(BLOCK):
                    break
    except OSError:
        pass  # the browser has disconnected


def _response(request: bytes, share: float | None) -> tuple[str, str, bytes]:
    """Return the status, the media type and the body."""
    method, target = [*request.split(b"\r\n", 1)[0].split(b" "), b""][:2]
    path = target.partition(b"?")[0].decode("latin-1")
    words = INDEXING if share is None else f"{INDEXING} {share:.0%} of the texts are indexed."
    if path.startswith(API):
        error = RequestError(503, "starting", "the workbench is starting.", f"{words} Try again in a moment.")
        return UNAVAILABLE, "application/json", json.dumps(error_content(error)).encode()
    if method == b"GET" and path in KINDS:
        return OK, KINDS[path], (STATIC / path.rpartition("/")[2]).read_bytes()
    return OK if method == b"GET" else UNAVAILABLE, "text/html", starting_page(words, share)
