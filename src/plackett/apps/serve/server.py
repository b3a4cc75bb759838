"""The process of a scoring service: it watches models, answers requests, and finishes running ones before it stops."""

from __future__ import annotations

import math
import socket

from plackett.apps.access.server import make_server, run_server
from plackett.apps.serve.app import create_app
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.service import Service
from plackett.apps.serve.watching import Watcher


def run_service(service: Service, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; running requests are answered before it returns."""
    watcher = Watcher(service.table, service.settings.poll, service.swap, service.swap_failed)
    if service.settings.poll:
        watcher.start()
    try:
        serve_requests(service, listener)
    finally:
        watcher.stop()
        log_event("stopped")


def serve_requests(service: Service, listener: socket.socket) -> None:
    """Serve until a signal, after which the connections are closed as soon as their requests are answered."""
    timeout = math.ceil(service.settings.seconds) + 1
    server = make_server(create_app(service), shutdown_timeout=timeout, has_own_logs=True)
    service.open_log()
    try:
        run_server(server, listener)
    finally:
        service.close_log()
