"""The HTTP server: its port, what the port answers before the application is there, and its timeouts."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.types import ASGIApp

from plackett.apps.access.settings import ServerSettings

PORTS_TRIED = 50
SHUTDOWN_TIMEOUT = 3  # seconds
BACKLOG = 256  # connections that are not accepted yet
BODY = json.dumps({"error": "the server is starting.", "hint": "Try again in a moment.", "code": "starting"}).encode()
HEAD = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\n"
RESPONSE = f"{HEAD}Connection: close\r\n\r\n".format(len(BODY)).encode() + BODY


def open_port(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise an OSError with advice, such as the next free port."""
    return open_ports(host, port, 1)[0]


def open_ports(host: str, port: int, n_processes: int) -> list[socket.socket]:
    """Return a listening socket for each process, all at the same port; raise an OSError with advice.

    Linux spreads new connections over them. With one shared socket, the fastest process would take most connections,
    and clients keep them. On other systems, all processes share one socket.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise OSError(f"the host {host!r} is unknown; use 127.0.0.1 for this machine.") from None
    n = n_processes if sys.platform.startswith("linux") else 1
    # asyncio disables Nagle's algorithm, which delays responses by 40 ms, only if the protocol is given
    listeners = [socket.socket(family, kind, protocol) for _ in range(n)]
    try:
        for listener in listeners:
            if os.name == "posix":  # elsewhere two servers could share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of a server that has just ended
            if listener is not listeners[0]:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind(address)
            if n > 1:  # not before the first is bound, or a second server could share the port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            address = listener.getsockname()
        for listener in listeners:  # after all are bound: sockets of accepted connections would be in the way
            listener.listen(BACKLOG)
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise OSError(_port_error(error, host, port)) from None
    return listeners * (n_processes // n)


def _port_error(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        free = next_free_port(host, port + 1)
        advice = "" if free is None else f"--port {free}, or "
        return f"port {port} on {host} is in use. Try {advice}--port 0 for any free port."
    if error.errno == errno.EACCES:
        return f"port {port} needs elevated privileges; choose a port from 1024 on."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; use 127.0.0.1."
    return f"port {port} on {host} cannot be opened: {error.strerror or error}."


def next_free_port(host: str, first: int) -> int | None:
    """Return the first port from ``first`` that can be opened; None if the next ones cannot."""
    for port in range(first, min(first + PORTS_TRIED, 65536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((host, port))
            except OSError:
                continue
            return port
    return None


def address_of(listener: socket.socket, settings: ServerSettings) -> str:
    """Return the address to open in a browser, with the token if there is one."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    if settings.host.isascii() and not settings.host[:1].isdigit() and ":" not in settings.host:
        shown = settings.host  # names are shown unchanged
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}/" + (f"?token={quote(settings.token, safe='')}" if settings.token else "")


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM; running requests have some seconds to end."""
    run_server(server_config(app, log_level="warning", timeout_graceful_shutdown=SHUTDOWN_TIMEOUT), listener)


def run_server(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, and return: both are the usual way to stop a server."""
    # uvicorn raises the signal again when it has stopped
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def server_config(app: ASGIApp | Callable[[], ASGIApp], **more: Any) -> uvicorn.Config:
    """Return the configuration of uvicorn for an application; ``more`` is passed on."""
    return uvicorn.Config(
        app,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        backlog=BACKLOG,
        ws="none",
        **more,
    )


# before the application is there


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
