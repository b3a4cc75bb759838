"""Send requests at times that are fixed in advance, whether earlier ones were answered or not (an open-loop client).

    python benchmarks/open_loop.py PORT RATE SECONDS WARM_UP SEED < BODY

Gaps between arrivals are exponential. The latency of a request counts from its scheduled time, so a server that stalls
is charged for all requests that arrive meanwhile (no coordinated omission). Only the standard library is imported,
because the client shares the cores with the server. Prints JSON.
"""

from __future__ import annotations

import asyncio
import collections
import json
import random
import selectors
import sys

CONNECTIONS = 32  # kept open; a request waits, and its latency counts, if all are in use
PATIENCE = 5.0  # seconds after the last arrival


class Connection(asyncio.Protocol):
    """A connection that has at most one request at a time."""

    def __init__(self, client: Client):
        self._client, self._answer, self._due = client, b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._client.free.append(self)

    def send(self, due: float) -> None:
        self._answer, self._due = b"", due
        self._transport.write(self._client.request)

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if separator and len(body) == int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]):
            self._client.answered(self, self._due, head.split(b" ", 2)[1], body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.lost(self)


class Client:
    """All connections, the schedule, and the results."""

    def __init__(self, body: bytes):
        head = f"POST /rank HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        self.request = head.encode() + body
        self.free: collections.deque[Connection] = collections.deque()
        self._waiting: collections.deque[float] = collections.deque()
        self._latencies: list[tuple[float, float]] = []  # scheduled times and seconds
        self.lateness: list[float] = []  # of this client
        self._errors = 0
        self.versions: collections.Counter[str] = collections.Counter()

    def arrive(self, due: float) -> None:
        self.lateness.append(asyncio.get_running_loop().time() - due)
        if self.free:
            self.free.popleft().send(due)
        else:
            self._waiting.append(due)

    def answered(self, connection: Connection, due: float, status: bytes, body: bytes) -> None:
        self._latencies.append((due, asyncio.get_running_loop().time() - due))
        self._errors += status != b"200"
        self.versions[body.partition(b'"version":"')[2].partition(b'"')[0].decode()] += 1
        if self._waiting:
            connection.send(self._waiting.popleft())
        else:
            self.free.append(connection)

    def lost(self, connection: Connection) -> None:
        if connection in self.free:
            self.free.remove(connection)
        else:
            self._errors += 1

    async def run(self, port: int, rate: float, seconds: float, warm_up: float, seed: int) -> dict:
        loop, rng = asyncio.get_running_loop(), random.Random(seed)
        for _ in range(CONNECTIONS):
            await loop.create_connection(lambda: Connection(self), "127.0.0.1", port)
        start = due = loop.time() + 0.05
        n_sent = 0
        while (due := due + rng.expovariate(rate)) < start + warm_up + seconds:
            await asyncio.sleep(due - loop.time())
            self.arrive(due)
            n_sent += 1
        deadline = loop.time() + PATIENCE
        while len(self._latencies) + self._errors < n_sent and loop.time() < deadline:
            await asyncio.sleep(0.005)
        counted = sorted(latency for due, latency in self._latencies if due >= start + warm_up)
        unanswered = n_sent - len(self._latencies)
        return {
            "requests": len(counted),
            "errors": self._errors + unanswered,
            "p50": percentile(counted, 0.5),
            "p99": percentile(counted, 0.99) if not unanswered else float("inf"),
            "client_p99": percentile(sorted(self.lateness), 0.99),
            "versions": self.versions,
        }


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("inf")


def main() -> None:
    port, rate, seconds, warm_up, seed = map(float, sys.argv[1:])
    # select() waits for microseconds, and epoll for whole milliseconds
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    client = Client(sys.stdin.buffer.read())
    print(json.dumps(loop.run_until_complete(client.run(int(port), rate, seconds, warm_up, int(seed)))))


if __name__ == "__main__":
    main()
