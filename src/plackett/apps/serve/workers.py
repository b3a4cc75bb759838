"""Several worker processes behind one port.

The parent loads the models and forks the workers, which share its memory and its port. It watches the model files; a
new model is verified once, and its file in memory is passed to all workers (``sharing.py``). A worker that dies is
replaced. Workers stop when their parent is gone.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings

from plackett.apps.serve.logs import log_event
from plackett.apps.serve.models import ServedModel
from plackett.apps.serve.server import serve_requests
from plackett.apps.serve.service import Service
from plackett.apps.serve.sharing import share, take
from plackett.apps.serve.watching import Watcher

TICK = 0.1  # seconds between checks of the workers
RESTART_PAUSE = 1.0  # seconds between two starts of a worker


def run_workers(service: Service, listeners: list[socket.socket]) -> None:
    """Serve with one process per socket until SIGTERM or Ctrl-C; running requests are answered before it returns.

    ``service.metrics`` must have a row for each worker, and one more for the parent.
    """
    Supervisor(service, listeners).run()


class Supervisor:
    """The parent of the workers."""

    def __init__(self, service: Service, listeners: list[socket.socket]):
        self._service, self._n = service, len(listeners)
        self._listeners = listeners  # open here too, so that connections to a worker that died wait for its successor
        service.metrics.use_row(self._n)
        self._workers: dict[int, tuple[int, socket.socket]] = {}  # process ids and channels, by number
        self._started = [-RESTART_PAUSE] * self._n
        self._stopping = False
        self._watcher = Watcher(service.table, service.settings.poll, self._swap, self._failed)

    def run(self) -> None:
        """Start the workers, watch them and the model files, and stop them after a signal."""
        gc.freeze()  # garbage collection in the workers would copy the shared pages of all objects
        before = {one: signal.signal(one, self._stop) for one in (signal.SIGTERM, signal.SIGINT)}
        next_look = time.monotonic() + self._service.settings.poll
        try:
            while not self._stopping:
                self._start_missing()
                time.sleep(TICK)
                self._reap()
                if self._service.settings.poll and time.monotonic() >= next_look:
                    self._watcher.look()
                    next_look = time.monotonic() + self._service.settings.poll
        finally:
            self._end_workers()
            for number, handler in before.items():
                signal.signal(number, handler)
            log_event("stopped")

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _start_missing(self) -> None:
        for number in range(self._n):
            if number in self._workers or time.monotonic() - self._started[number] < RESTART_PAUSE:
                continue
            self._started[number] = time.monotonic()
            ours, theirs = socket.socketpair()
            sys.stderr.flush()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the child discards the thread pool
                process = os.fork()
            if process == 0:
                ours.close()
                for _, channel in self._workers.values():
                    channel.close()
                own = self._listeners[number]
                for listener in self._listeners:
                    if listener is not own:
                        listener.close()
                _work(self._service, own, theirs, number)
            theirs.close()
            self._workers[number] = process, ours

    def _reap(self) -> None:
        for number, (process, channel) in list(self._workers.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                channel.close()
                del self._workers[number]
                if not self._stopping:
                    code = os.waitstatus_to_exitcode(status)
                    log_event("worker ended", logging.ERROR, worker=number, process=process, status=code)

    def _swap(self, model: ServedModel) -> None:
        self._service.swap(model)
        self._send(b"M", model)

    def _failed(self, key: str, message: str) -> None:
        self._service.swap_failed(key, message)
        self._send(b"E", (key, message))

    def _send(self, kind: bytes, content: object) -> None:
        descriptor = share(content)
        try:
            for _, channel in self._workers.values():
                with contextlib.suppress(OSError):  # a worker that has ended; its successor is forked from here
                    socket.send_fds(channel, [kind], [descriptor])
        finally:
            os.close(descriptor)

    def _end_workers(self) -> None:
        for listener in self._listeners:  # or new connections would hang
            listener.close()
        for process, _ in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + self._service.settings.seconds + 5
        while self._workers and time.monotonic() < deadline:
            self._reap()
            time.sleep(TICK / 4)
        for process, _ in self._workers.values():
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _work(service: Service, listener: socket.socket, channel: socket.socket, number: int) -> None:
    """Serve in a worker process, which ends with this function."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        service.metrics.use_row(number)
        threading.Thread(target=_receive, args=(service, channel), name="receive models", daemon=True).start()
        serve_requests(service, listener)
        status = 0
    except KeyboardInterrupt:
        status = 0
    except BaseException as error:
        log_event("worker failed", logging.ERROR, worker=number, error=str(error) or type(error).__name__)
    finally:
        os._exit(status)


def _receive(service: Service, channel: socket.socket) -> None:
    while True:
        try:
            kind, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        except OSError:
            kind, descriptors = b"", []
        if not kind:
            os.kill(os.getpid(), signal.SIGTERM)  # the parent is gone
            return
        try:
            content = take(descriptors[0])
            if kind == b"M":
                service.table.swap(content)
            else:
                service.table.errors[content[0]] = content[1]
        except Exception as error:  # such as a lack of memory; a new worker starts with the new model
            log_event("worker failed", logging.ERROR, process=os.getpid(), error=str(error) or type(error).__name__)
            os.kill(os.getpid(), signal.SIGTERM)
            return
