"""From an application to an open port, and back when Ctrl-C is pressed."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING
from urllib.parse import quote

import uvicorn

from plackett.web.http.connections import BoundedConnection
from plackett.web.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

PORTS_TRIED = 50  # for one that is free
SECONDS_TO_FINISH = 3
WAITING = 256  # connections that are not accepted yet


def open_port(host: str, port: int) -> socket.socket:
    """A socket that listens; an OSError says what is wrong, and which port is free where this one is not."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise OSError(f"there is no machine {host!r}; 127.0.0.1 is this one.") from None
    listener = socket.socket(family, kind)
    try:
        if os.name == "posix":  # elsewhere this would let two servers share a port
            # a port whose last server has just ended can be taken again; one that is in use cannot
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        raise OSError(_why_not(error, host, port)) from None
    return listener


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        free = next_free_port(host, port + 1)
        wish = "" if free is None else f"--port {free}, or "
        return f"port {port} on {host} is taken, perhaps by another workbench. Try {wish}--port 0 for any that is free."
    if error.errno == errno.EACCES:
        return f"port {port} may not be opened; choose one from 1024 up."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"this machine is not {host}; 127.0.0.1 always is."
    return f"port {port} on {host} cannot be opened: {error.strerror or error}."


def next_free_port(host: str, first: int) -> int | None:
    """The first port from ``first`` that can be opened; None where none of the next ones can."""
    for port in range(first, min(first + PORTS_TRIED, 65536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as trial:
            try:
                trial.bind((host, port))
            except OSError:
                continue
            return port
    return None


def address_of(listener: socket.socket, settings: Settings) -> str:
    """The address to open in a browser; with the token where one is needed."""
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    if settings.host.isascii() and not settings.host[:1].isdigit() and ":" not in settings.host:
        shown = settings.host  # a name is shown as it was given
    place = f"[{shown}]" if ":" in shown else shown
    return f"http://{place}:{port}/" + (f"?token={quote(settings.token, safe='')}" if settings.token else "")


def serve(app: FastAPI, listener: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM; requests that have begun are given some seconds to end."""
    server_of(app).run(sockets=[listener])


def server_of(app: FastAPI) -> uvicorn.Server:
    """The application's server, which has not begun to listen."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        backlog=WAITING,
        ws="none",
    )
    return uvicorn.Server(config)
