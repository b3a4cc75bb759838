"""Bodies have limits of size and time, and do not count towards the limit of requests before they have arrived."""

import asyncio
import contextlib
import socket
import threading

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import uvicorn

from plackett.apps.access import guard
from plackett.apps.access.errors import RequestError
from plackett.apps.access.guard import RequestGuard, read_body
from plackett.apps.access.server import open_port, server_config
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


@contextlib.contextmanager
def served(app):
    """The port of a server in a thread."""
    server = uvicorn.Server(server_config(app))
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


# limits


def test_unfinished_bodies_do_not_count_as_requests(monkeypatch):
    monkeypatch.setattr(guard, "MAX_REQUESTS", 8)
    monkeypatch.setattr(guard, "BODY_SECONDS", 2.0)
    with served(RequestGuard(echo, ServerSettings())) as port, contextlib.ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(24)]
        for client in slow:
            client.sendall(POST % 1000 + b"x")
        for _ in range(3):
            assert answer_to(port, GET).startswith(b"HTTP/1.1 200 ")
            assert answer_to(port, POST % 5 + b"hello").startswith(b"HTTP/1.1 200 ")
        for client in slow:
            answer = b"".join(iter(lambda: client.recv(65536), b""))  # noqa: B023  read at once, until the server hangs up
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"connection: close" in answer.lower()
            assert b"too slowly" in answer


def arriving(*parts):
    """A ``receive`` that returns the parts of a body, and then that the client has gone."""
    messages = [
        {"type": "http.request", "body": part, "more_body": place < len(parts)} for place, part in enumerate(parts, 1)
    ]
    left = iter([*messages, {"type": "http.disconnect"}])

    async def receive():
        return next(left)

    return receive


def test_a_body_in_parts_is_read_up_to_its_limit():
    assert asyncio.run(read_body(arriving(b"abc", b"", b"de"), 5)) == b"abcde"
    with pytest.raises(RequestError, match="more than 4 bytes") as error:
        asyncio.run(read_body(arriving(b"abc", b"", b"de"), 4))
    assert error.value.status == 413


def test_a_client_that_goes_ends_its_body():
    assert asyncio.run(read_body(arriving(), 10)) is None
