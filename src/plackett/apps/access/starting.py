"""Responses on a port whose application does not exist yet: 503, with ``Retry-After``."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer

BODY = json.dumps({"error": "the server is starting.", "hint": "Try again in a moment.", "code": "starting"}).encode()
HEAD = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\n"
RESPONSE = f"{HEAD}Connection: close\r\n\r\n".format(len(BODY)).encode() + BODY


class _Handler(StreamRequestHandler):
    timeout = 2  # seconds for a client to send its request

    def handle(self) -> None:
        """Respond to every request alike, whatever its method and path."""
        while self.rfile.readline(65536).strip():  # up to the end of the headers
            pass
        self.wfile.write(RESPONSE)


class _Server(ThreadingTCPServer):
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
