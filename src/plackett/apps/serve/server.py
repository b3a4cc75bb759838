"""The processes of a scoring service: one, or several workers of uvicorn behind one port."""

from __future__ import annotations

import logging
import math
import socket
from functools import partial

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from plackett.apps.access.server import run_server, server_config
from plackett.apps.serve.logs import log_event, start_logging
from plackett.apps.serve.models import ModelTable, ServedModel
from plackett.apps.serve.service import Service
from plackett.apps.serve.settings import ServingSettings

UNRESPONSIVE = 30  # seconds after which a worker is replaced


def run_service(service: Service, listeners: list[socket.socket]) -> None:
    """Serve with a process per socket until SIGTERM or Ctrl-C; running requests are answered before it returns."""
    settings = service.settings
    timeout = math.ceil(settings.seconds) + 1
    config = partial(server_config, workers=settings.workers, log_config=None, timeout_graceful_shutdown=timeout)
    start_logging()
    if settings.workers == 1:
        from plackett.apps.serve.app import create_app  # which the parent of workers does not need

        run_server(config(create_app(service)), listeners[0])
    else:
        logging.getLogger("uvicorn").setLevel(logging.INFO)  # tells when a worker is replaced
        app = partial(worker_app, list(service.table), settings)
        workers = Workers(config(app, factory=True, timeout_worker_healthcheck=UNRESPONSIVE), listeners)
        workers.run()
        if any(process.exitcode == STARTUP_FAILURE for process in workers.processes):
            raise OSError("a worker could not start; the lines above give the reason.")
    log_event("stopped")


class Workers(Multiprocess):
    """uvicorn's supervisor, with a listening socket for each worker."""

    def __init__(self, config: uvicorn.Config, listeners: list[socket.socket]):
        self._listeners = listeners
        super().__init__(config, [])

    @property
    def sockets(self) -> list[socket.socket]:
        """The socket of the worker that starts next, which replaces the first one that has ended."""
        are_running = [worker.process.is_alive() for worker in self.processes]
        return [self._listeners[[*are_running, False].index(False)]]

    @sockets.setter
    def sockets(self, sockets: list[socket.socket]) -> None:
        """Ignore the sockets that uvicorn would pass to each worker."""

    def ignore(self) -> None:
        """Ignore signals that change the number of workers, which would leave sockets without one."""

    handle_hup = handle_ttin = handle_ttou = ignore

    def terminate_all(self) -> None:
        """Close the port, and ask the workers to end."""
        for listener in self._listeners:  # or new connections would wait for an answer
            listener.close()
        super().terminate_all()


def worker_app(models: list[ServedModel], settings: ServingSettings) -> Starlette:
    """Return the application of a worker, with models that were loaded and verified by its parent."""
    from plackett.apps.serve.app import create_app

    start_logging()
    return create_app(Service(ModelTable(models), settings))
