"""Responses on a port whose application does not exist yet: 503, with ``Retry-After``."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = json.dumps({"error": "the server is starting.", "hint": "Try again in a moment.", "code": "starting"}).encode()
TIMEOUT = 2  # seconds for a client to send its request


class _Handler(BaseHTTPRequestHandler):
    timeout = TIMEOUT

    def parse_request(self) -> bool:
        """Respond to every request alike, whatever its method and path."""
        if super().parse_request():
            self.send_response_only(503)
            for name, value in (
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(BODY))),
                ("Retry-After", "1"),
                ("Connection", "close"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(BODY)
        self.close_connection = True
        return False

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


@contextmanager
def starting(listener: socket.socket) -> Iterator[None]:
    """Respond with 503 to all requests on a listening socket, in a thread, until the block ends."""
    server = _Server(listener.getsockname()[:2], _Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="starting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
