"""Request bodies, read to their end before a request takes one of the server's slots.

Every unfinished body has a deadline. It starts ``GRACE`` seconds ahead; each byte moves it by ``1 / MIN_RATE`` seconds,
but never further than ``GRACE`` ahead of the present. So a body that arrives slowly, or stops, runs into its deadline.
When there are too many, the one with the nearest deadline, which is the slowest, is dropped for the others; when they
take too much memory, the slowest of those with at least the mean size.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from plackett.web.errors import Problem

GRACE = 5.0  # seconds
MIN_RATE = 4096.0  # bytes per second


class Bodies:
    """The unfinished bodies of a server, in one event loop.

    Parameters
    ----------
    max_body : int
        Bytes of one body.
    most : int
        Unfinished bodies at a time.
    room : int
        Bytes of all unfinished bodies together.
    """

    def __init__(self, max_body: int, most: int, room: int):
        self._max_body, self._most, self._room = max_body, most, room
        self._n_bytes: dict[asyncio.Timeout, int] = {}  # by deadline

    async def read(self, receive: Receive) -> bytes | None:
        """Return the body, or None if the client has gone; a `Problem` if it is too large or too slow."""
        body = bytearray()
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(GRACE) as deadline:
                self._n_bytes[deadline] = 0
                try:
                    while True:
                        self._make_room()
                        message = await receive()
                        if message["type"] == "http.disconnect":
                            return None
                        part = message.get("body", b"")
                        body += part
                        if len(body) > self._max_body:
                            raise too_large(self._max_body)
                        if not message.get("more_body", False):
                            return bytes(body)
                        when = deadline.when()
                        assert when is not None
                        if deadline not in self._n_bytes:
                            raise TimeoutError  # dropped, but woken before that took effect
                        self._n_bytes[deadline] = len(body)
                        deadline.reschedule(min(when + len(part) / MIN_RATE, loop.time() + GRACE))
                finally:
                    self._n_bytes.pop(deadline, None)
        except TimeoutError:
            raise Problem(408, "slow", "the body of the request arrived too slowly.", "Send it again.") from None

    def _make_room(self) -> None:
        while len(self._n_bytes) > self._most or sum(self._n_bytes.values()) > self._room:
            mean = sum(self._n_bytes.values()) / len(self._n_bytes) if len(self._n_bytes) <= self._most else 0.0
            large = (deadline for deadline, n_bytes in self._n_bytes.items() if n_bytes >= mean)
            slowest = min(large, key=lambda deadline: deadline.when() or 0.0)
            del self._n_bytes[slowest]
            if not slowest.expired():
                slowest.reschedule(asyncio.get_running_loop().time())


def too_large(limit: int) -> Problem:
    """The error for a body of more bytes than allowed."""
    return Problem(413, "too-large", f"the request has more than {limit:,} bytes.")


def replayed(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives a body that was read already, then what else comes."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
