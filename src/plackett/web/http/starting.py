"""The page of a workbench that is starting: shown while documents are indexed, and while modules are loaded.

The port is open before the application exists, so a browser that comes early would wait in silence.
"""

from __future__ import annotations

import socket
import threading
from types import TracebackType

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="1">
<title>Starting · plackett workbench</title>
</head>
<body>
<main>
<h1>The workbench is starting</h1>
<p role="status">{words}</p>
{progress}
<p>This page reloads by itself.</p>
</main>
</body>
</html>
"""
INDEXING = "Reading and indexing the documents. The index is kept for the next start."
TIMEOUT = 2.0  # seconds for a browser to send its request
MAX_REQUEST = 65_536  # bytes


def starting_page(words: str, share: float | None = None) -> bytes:
    """Return the page; ``share`` is the progress from 0 to 1, if it is known."""
    value = "" if share is None else f' value="{share:.2f}"'
    bar = f'<progress max="1"{value} aria-label="Starting"></progress>'
    return PAGE.format(words=words, progress=bar).encode()


class StartingPage:
    """Answers every request to a listening socket with the page, in a thread, until the ``with`` block ends.

    It shows nothing of the collection, and so needs no token. Other requests than GET get 503.
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
                block = connection.recv(8192)
                if not block:
                    return
                request += block
            words = INDEXING if share is None else f"{INDEXING} {share:.0%} of the texts are indexed."
            body = starting_page(words, share)
            # a program that polls the API must not take the page for an answer
            is_page = request.startswith(b"GET /") and not request.startswith(b"GET /api/")
            head = [
                "HTTP/1.1 200 OK" if is_page else "HTTP/1.1 503 Service Unavailable",
                "Content-Type: text/html; charset=utf-8",
                f"Content-Length: {len(body)}",
                "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
                "X-Content-Type-Options: nosniff",
                "Cache-Control: no-store",
                "Retry-After: 1",
                "Connection: close",
            ]
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    except OSError:
        pass  # the browser has gone
