"""Slow clients are dropped for others, and do not count towards the limit of requests."""

import asyncio
import contextlib
import selectors
import socket
import threading

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from starlette.requests import Request

from plackett.apps.access import request_body
from plackett.apps.access import server as http_server
from plackett.apps.access.error_responses import error_response
from plackett.apps.access.errors import RequestError
from plackett.apps.access.guard import RequestGuard, Sender
from plackett.apps.access.request_body import BodyReader
from plackett.apps.access.server import make_server, open_port
from plackett.apps.access.settings import ServerSettings

POST = b"POST /api/v1/refine HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
GET = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def echo(scope, receive, send):
    """An application that answers with the body of the request."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Guard(RequestGuard):
    """The checks of the size, rate, time and number of requests, and no others."""

    async def __call__(self, scope, receive, send):
        sender = Sender(send, {})
        if scope["type"] == "http":
            scope["app"] = None
            try:
                await self.read_and_respond(scope, receive, sender)
            except RequestError as error:
                await error_response(Request(scope), error)(scope, receive, sender.send)


@contextlib.contextmanager
def served(app):
    """The port of a server in a thread."""
    server = make_server(app)
    with open_port("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def answer_to(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request)
        return client.recv(65536)


# over sockets


def test_unfinished_bodies_do_not_count_as_requests():
    settings = ServerSettings(max_requests=8)
    with served(Guard(echo, settings)) as port, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(24)]
        for client in slow:
            client.sendall(POST % 1000 + b"x")
        for _ in range(3):
            assert answer_to(port, GET).startswith(b"HTTP/1.1 200 ")
            assert answer_to(port, POST % 5 + b"hello").startswith(b"HTTP/1.1 200 ")
        n_unfinished = settings.max_requests
        for client in slow[:-n_unfinished]:  # no more than that are waited for
            answer = b"".join(iter(lambda: client.recv(65536), b""))  # noqa: B023  read at once, until the server hangs up
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer.lower()
            assert b"too slowly" in answer


def test_a_connection_whose_answer_is_not_read_ends(monkeypatch):
    monkeypatch.setattr(http_server, "UNREAD_TIMEOUT", 0.1)
    ended = threading.Event()

    async def endless(scope, receive, send):
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await asyncio.wait([gone := asyncio.ensure_future(receive())], timeout=0)) and not gone.done():
            gone.cancel()
            await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
        ended.set()

    with served(endless) as port, socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(GET)
        assert ended.wait(30)


# with a simulated clock


class Clockwork(asyncio.SelectorEventLoop):
    """An event loop that does not sleep: its time jumps to the next event."""

    def __init__(self):
        selector = selectors.DefaultSelector()
        select, self.now = selector.select, 0.0

        def jump(timeout=None):
            self.now += max(timeout or 0.0, 0.0)
            return select(0)

        selector.select = jump
        super().__init__(selector)

    def time(self):
        return self.now


def run(work):
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        return runner.run(work)


def arriving(part, seconds, n_parts, first=b""):
    """A ``receive`` that gives ``part`` every ``seconds``, after ``first``."""
    left = iter(range(n_parts - 1, -1, -1))
    at_once = [{"type": "http.request", "body": first, "more_body": True}] if first else []

    async def receive():
        if at_once:
            return at_once.pop()
        await asyncio.sleep(seconds)
        return {"type": "http.request", "body": part, "more_body": next(left) > 0}

    return receive


async def outcome_of(reading):
    """How many bytes came, or the status of the error, and when."""
    try:
        found = len(await reading)
    except RequestError as problem:
        found = problem.status
    return found, asyncio.get_running_loop().time()


@pytest.mark.parametrize(
    ("part", "seconds", "n_parts", "found", "end"),
    [
        (b"x" * 4096, 0.9, 100, 409_600, 90.0),  # a little faster than it must be
        (b"x" * 16_384, 4.0, 3, 49_152, 12.0),  # as fast, with pauses
        (b"x", 1.0, 1000, 408, request_body.GRACE),  # a trickle
        (b"x" * 100_000, 6.0, 2, 408, request_body.GRACE),  # nothing at first
        (b"x" * 2048, 1.0, 100, 408, 2 * request_body.GRACE),  # half as fast as it must be
    ],
)
def test_a_body_must_keep_a_minimum_rate_after_a_grace(part, seconds, n_parts, found, end):
    several = BodyReader(10**6, 10, 10**7)
    answer, when = run(outcome_of(several.read(arriving(part, seconds, n_parts))))
    assert answer == found
    assert when == pytest.approx(end, abs=1.0)


def test_a_fast_start_gives_no_extra_time():
    stops = arriving(b"x", 3600.0, 2, first=b"x" * 900_000)
    found, when = run(outcome_of(BodyReader(10**6, 10, 10**7).read(stops)))
    assert found == 408
    assert when == pytest.approx(request_body.GRACE)


@pytest.mark.parametrize(
    ("most", "room", "first"), [(2, 10**9, b"x"), (10, 250_000, b"x" * 100_000)], ids=["number", "bytes"]
)
def test_the_slowest_body_is_dropped_for_the_others(most, room, first):
    async def all_of_them():
        several = BodyReader(10**6, most, room)
        slow = asyncio.create_task(outcome_of(several.read(arriving(b"x" * 100, 0.5, 1000, first))))
        fast = asyncio.create_task(outcome_of(several.read(arriving(b"x" * 20_000, 0.5, 10))))
        await asyncio.sleep(2.6)
        late = asyncio.create_task(outcome_of(several.read(arriving(b"x" * 90_000, 0.1, 2))))
        return await asyncio.gather(slow, fast, late)

    slow, fast, late = run(all_of_them())
    assert (slow[0], fast[0], late[0]) == (408, 200_000, 180_000)
    assert slow[1] < request_body.GRACE


def test_a_client_that_goes_ends_its_body():
    async def receive():
        return {"type": "http.disconnect"}

    assert run(BodyReader(10, 10, 10).read(receive)) is None


def test_an_unread_response_is_dropped_for_others():
    scope = {"type": "http", "method": "GET", "path": "/api/v1/health", "query_string": b"",
             "headers": [(b"host", b"127.0.0.1")]}  # fmt: skip
    sent = {"unread": [], "early": [], "late": []}

    async def ask(guard, name):
        async def send(message):
            if name == "unread":
                await asyncio.sleep(3600)
            sent[name].append(message.get("status"))

        await guard(dict(scope), arriving(b"", 0.0, 1), send)

    async def all_of_them():
        guard = Guard(echo, ServerSettings(max_requests=2))
        unread = [asyncio.create_task(ask(guard, "unread")) for _ in range(2)]
        await asyncio.sleep(0.5)
        await ask(guard, "early")
        await asyncio.sleep(1.0)
        await ask(guard, "late")
        await asyncio.sleep(0.1)
        n_dropped = sum(task.done() for task in unread)
        for task in unread:
            task.cancel()
        await asyncio.gather(*unread, return_exceptions=True)
        return n_dropped

    assert run(all_of_them()) == 1
    assert (sent["early"][0], sent["late"][0]) == (503, 200)
