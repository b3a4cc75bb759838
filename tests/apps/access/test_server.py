"""Servers: ports and addresses."""

import contextlib
import socket
import sys

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from plackett.apps.access.server import address_of, next_free_port, open_port, open_ports
from plackett.apps.access.settings import ServerSettings, is_loopback

TOKEN = "a-token-that-is-long-enough"


def test_a_port_that_is_taken_names_one_that_is_free():
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} on 127.0.0.1 is in use") as found:
            open_port("127.0.0.1", port)
        free = int(str(found.value).split("--port ")[1].split(",")[0])
        assert free == next_free_port("127.0.0.1", port + 1) > port


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere workers share one socket")
def test_connections_are_spread_over_the_workers_and_a_second_server_is_refused():
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(one) for one in open_ports("127.0.0.1", 0, 3)]
        port = listeners[0].getsockname()[1]
        for _ in range(90):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        counts = []
        for listener in listeners:
            listener.setblocking(False)
            accepted = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    accepted.append(stack.enter_context(listener.accept()[0]))
            counts.append(len(accepted))
        assert sum(counts) == 90
        assert min(counts) >= 5  # 30 are expected
        with pytest.raises(OSError, match="is in use"):
            open_port("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "words"),
    [("no-such-machine.invalid", "is unknown; use 127.0.0.1"), ("203.0.113.7", "is not an address of this machine")],
)
def test_a_host_that_is_not_this_machine_is_refused(host, words):
    with pytest.raises(OSError, match=words):
        open_port(host, 0)


def test_the_address_can_be_opened():
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address_of(listener, ServerSettings()) == f"http://127.0.0.1:{port}/"
        assert address_of(listener, ServerSettings(host="localhost")) == f"http://localhost:{port}/"
        token = "a+b/c&d=e?f#g%h1"
        address = address_of(listener, ServerSettings(token=token))
        assert address == f"http://127.0.0.1:{port}/?token=a%2Bb%2Fc%26d%3De%3Ff%23g%25h1"


def test_every_address_of_the_machine_is_shown_as_its_own():
    with open_port("0.0.0.0", 0) as listener:
        settings = ServerSettings(host="0.0.0.0", token=TOKEN)
        assert address_of(listener, settings).startswith("http://127.0.0.1:")


def test_small_packets_of_a_response_are_not_delayed():
    with open_port("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # or asyncio leaves Nagle's algorithm on


def test_settings_require_a_token_if_other_machines_can_connect():
    with pytest.raises(ValueError, match="a token is needed"):
        ServerSettings(host="0.0.0.0")
    for token in ("short", "with blanks in the middle of it"):
        with pytest.raises(ValueError, match="16 characters"):
            ServerSettings(token=token)
    loopback = ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]
    assert [is_loopback(host) for host in [*loopback, "0.0.0.0", "::", "example.org", ""]] == [True] * 5 + [False] * 4
