"""Request bodies, read completely before a request counts towards the limit of the server.

Every unfinished body has a deadline. It starts ``GRACE`` seconds ahead. Each byte extends it by ``1 / MIN_RATE``
seconds, up to ``GRACE`` seconds ahead of the present. A body that arrives slowly, or stops, misses its deadline. If
there are too many unfinished bodies, the one with the nearest deadline, which is the slowest, is dropped; if they take
too much memory, the slowest of those with at least the mean size.

Logs, which may be larger than what memory should hold, are written to a temporary file while they arrive, within the
same deadlines.

Starlette can limit the size of a body, but not its rate, and not all bodies together.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from typing import BinaryIO

from starlette.types import Message, Receive

from plackett.apps.access.errors import RequestError

GRACE = 5.0  # seconds
MIN_RATE = 4096.0  # bytes per second


class BodyReader:
    """Reads the bodies of a server, in one event loop.

    Parameters
    ----------
    max_body : int
        Bytes of one body.
    max_unfinished : int
        Unfinished bodies at a time.
    max_bytes : int
        Bytes of all unfinished bodies together.
    """

    def __init__(self, max_body: int, max_unfinished: int, max_bytes: int):
        self._max_body, self._max_unfinished, self._max_bytes = max_body, max_unfinished, max_bytes
        self._n_bytes: dict[asyncio.Timeout, int] = {}  # bytes in memory, by deadline

    async def read(self, receive: Receive) -> bytes | None:
        """Return the body, or None if the client disconnected; raise a `RequestError` if it is too large or slow."""
        body = bytearray()

        async def keep(part: bytes) -> None:
            body.extend(part)

        return bytes(body) if await self._receive(receive, keep, self._max_body, is_in_memory=True) else None

    async def save(self, receive: Receive, upload: Upload, max_bytes: int) -> bool:
        """Write the body to a file; return False if the client disconnected, and raise the same errors."""

        async def write(part: bytes) -> None:
            await asyncio.to_thread(upload.write, part)

        return await self._receive(receive, write, max_bytes, is_in_memory=False)

    async def _receive(
        self, receive: Receive, keep: Callable[[bytes], Awaitable[None]], max_bytes: int, *, is_in_memory: bool
    ) -> bool:
        n_bytes = 0
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(GRACE) as deadline:
                self._n_bytes[deadline] = 0
                try:
                    while True:
                        self._drop_slowest()
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            return False
                        part = message.get("body", b"")
                        n_bytes += len(part)
                        if n_bytes > max_bytes:
                            raise too_large(max_bytes)
                        await keep(part)
                        if not message.get("more_body", False):
                            return True
                        when = deadline.when()
                        assert when is not None
                        if deadline not in self._n_bytes:
                            raise TimeoutError  # dropped, but woken before that took effect
                        self._n_bytes[deadline] = n_bytes if is_in_memory else 0
                        deadline.reschedule(min(when + len(part) / MIN_RATE, loop.time() + GRACE))
                finally:
                    self._n_bytes.pop(deadline, None)
        except TimeoutError:
            raise RequestError(408, "slow", "the body of the request arrived too slowly.", "Send it again.") from None

    def _drop_slowest(self) -> None:
        while len(self._n_bytes) > self._max_unfinished or sum(self._n_bytes.values()) > self._max_bytes:
            mean = (
                sum(self._n_bytes.values()) / len(self._n_bytes) if len(self._n_bytes) <= self._max_unfinished else 0.0
            )
            large = (deadline for deadline, n_bytes in self._n_bytes.items() if n_bytes >= mean)
            slowest = min(large, key=lambda deadline: deadline.when() or 0.0)
            del self._n_bytes[slowest]
            if not slowest.expired():
                slowest.reschedule(asyncio.get_running_loop().time())


class Upload:
    """A temporary file with the body of a request, deleted when it is closed; a job may take it over."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = tempfile.TemporaryFile(prefix="plackett-")  # noqa: SIM115

    @property
    def file(self) -> BinaryIO:
        assert self._file is not None
        return self._file

    def write(self, part: bytes) -> None:
        """Append to the file."""
        self.file.write(part)

    def take(self) -> BinaryIO:
        """Return the file, which the caller must close now."""
        file, self._file = self.file, None
        return file

    def close(self) -> None:
        """Delete the file, unless it was taken."""
        if self._file is not None:
            self._file.close()


def too_large(limit: int) -> RequestError:
    """Return the error for a body of too many bytes."""
    return RequestError(413, "too-large", f"the request has more than {limit:,} bytes.")


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that returns a body that was read already, then further messages."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again
