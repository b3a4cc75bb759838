"""Connections with a time limit for headers, and for answers that the client does not read.

``timeout_keep_alive`` of uvicorn counts between requests only, and the limits of a request (see ``safety.py``) from its
last header on. In between, a client that sends a letter now and then would hold its connection as long as it likes; so
would one that reads nothing, as a connection is closed only after all that was sent to it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS = 15.0
SECONDS_UNREAD = 120.0


class BoundedConnection(H11Protocol):
    """HTTP/1.1 that hangs up on a client whose headers do not end in time, or that does not read its answer."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._clock: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        # a body that still arrives after its answer is waited for no longer than headers are
        if self._is_idle:
            self._start()
        super().data_received(data)
        if not self._is_idle:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._is_read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self._unread = self.loop.call_later(SECONDS_UNREAD, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start(self) -> None:
        if self._clock is None:
            self._clock = self.loop.call_later(SECONDS_FOR_HEADERS, self._hang_up)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _hang_up(self) -> None:
        self._clock = None
        if self._is_idle:
            self.transport.close()
