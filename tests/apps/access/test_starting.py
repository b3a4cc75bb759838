"""A port whose application does not exist yet responds with 503."""

import http.client
import socket

import pytest

pytest.importorskip("uvicorn")

from plackett.apps.access.errors import ErrorResponse
from plackett.apps.access.server import open_port, starting


@pytest.mark.parametrize(("method", "path", "body"), [("GET", "/?q=river", None), ("POST", "/api/v1/x", b"x" * 50_000)])
def test_every_request_is_answered_with_503_until_the_block_ends(method, path, body):
    with open_port("127.0.0.1", 0) as listener:
        with starting(listener):
            with socket.create_connection(listener.getsockname()[:2]) as silent:  # holds nobody up
                connection = http.client.HTTPConnection(*listener.getsockname()[:2], timeout=60)
                connection.request(method, path, body)
                found = connection.getresponse()
                silent.close()
            assert (found.status, found.headers["Retry-After"]) == (503, "1")
            error = ErrorResponse.model_validate_json(found.read())  # as the schemas of both applications describe it
            assert (error.error, error.code, error.id) == ("the server is starting.", "starting", None)
        assert listener.gettimeout() is None
        listener.settimeout(60)  # it still listens
        with socket.create_connection(listener.getsockname()[:2]):
            listener.accept()[0].close()
