"""Uploaded logs are written to a file while they arrive."""

import socket

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from plackett.apps.access import request_body
from plackett.apps.workbench.http.middleware import SafetyMiddleware
from plackett.apps.workbench.settings import Settings
from tests.apps.access.test_request_body import answer_to, served
from tests.apps.workbench.serving import TOKEN

UPLOAD = (
    b"POST /api/v1/clicks/logs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
    + TOKEN.encode()
    + b"\r\nContent-Length: %d\r\n\r\n"
)


async def echo_upload(scope, receive, send):
    """An application that answers with an uploaded file."""
    if scope["type"] == "http":
        file = scope["state"]["upload"].file
        file.seek(0)
        uploads.append(file)
        assert (await receive())["body"] == b""
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": file.read()})


uploads = []


def test_uploads_are_written_to_a_file_that_is_closed_in_the_end(monkeypatch):
    uploads.clear()
    with served(SafetyMiddleware(echo_upload, Settings(token=TOKEN, max_body=10))) as port:
        content = b"x" * 200_000 + b"end"
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(UPLOAD % len(content) + content)
            answer = b""
            while not answer.endswith((b"end", b"end\r\n0\r\n\r\n")):
                answer += client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.count(b"x") >= 200_000

        def fail(file, part):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(request_body.Upload, "write", fail)
        assert answer_to(port, UPLOAD % 1 + b"x").startswith(b"HTTP/1.1 507 ")
    assert [file.closed for file in uploads] == [True]
