"""The real server: it starts, answers over a socket, loses nothing when it is killed, and ends when asked to."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("sqlalchemy")

from plackett.web.serve import address_of, next_free_port, open_port
from plackett.web.settings import Settings
from plackett.web.store import Store

TOKEN = "a-token-that-is-long-enough"
TEXTS = ["wings lift a plane", "boats float and wings do not", "a plane has two wings", "lift a boat with a crane"]
API = "/api/v1"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "docs").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "docs" / f"{number}.txt").write_text(text)
    return tmp_path


class Running:
    """``plackett workbench`` in a process of its own."""

    def __init__(self, folder, *options):
        words = [sys.executable, "-c", "from plackett.cli import main; main()", "workbench", "docs", "--port", "0"]
        words += ["--store", "store.db", "--token", TOKEN, *options]
        env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
        self.process = subprocess.Popen(words, cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if "The workbench is at" in line:
                break
        else:
            raise AssertionError("".join(self.said))
        self.port = int(self.said[-1].split("127.0.0.1:")[1].split("/")[0])

    def ask(self, method, path, content=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, API + path, None if content is None else json.dumps(content), headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body

    def end(self, how):
        """Its exit status, and what it said last."""
        self.process.send_signal(how)
        rest = self.process.communicate(timeout=60)[1]
        return self.process.returncode, rest


def test_killed_right_after_an_acknowledged_judgement_it_has_lost_nothing(folder):
    names = [f"{number}.txt" for number in range(len(TEXTS))]
    acknowledged = {}
    for turn in range(5):
        server = Running(folder)
        docid, grade = names[turn % len(names)], float(turn)
        wish = {"query": "wings", "docid": docid, "grade": grade, "with_list": False}
        status, saved = server.ask("POST", "/judgements", wish)
        server.process.kill()  # before anything else can happen
        server.process.communicate(timeout=60)
        assert status == 200, saved
        acknowledged[docid] = grade
        with Store.open(folder / "store.db") as store:
            assert store.judged(store.find_user("me").id, saved["query_id"]).labels == acknowledged


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_it_cleanly(folder):
    server = Running(folder)
    assert server.ask("GET", "/search?q=wings")[1]["n_found"] == 3
    code, rest = server.end(signal.SIGINT)
    assert (code, rest) == (130, "plackett: stopped.\n")


def test_a_server_survives_what_is_not_http(folder):
    server = Running(folder)
    try:
        for bytes_sent in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 100_000, b"\0" * 50):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
                client.sendall(bytes_sent)
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
            start = f"POST {API}/refine HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
            client.sendall(start.encode() + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            chunk = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
            try:
                for _ in range(64):
                    client.sendall(chunk)
            except OSError:
                pass  # it does not listen any longer
            answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert server.ask("GET", "/health")[0] == 200
    finally:
        rest = server.end(signal.SIGINT)[1]
    assert "Traceback" not in rest


# ports and addresses


def test_a_port_that_is_taken_names_one_that_is_free():
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} on 127.0.0.1 is in use") as found:
            open_port("127.0.0.1", port)
        free = int(str(found.value).split("--port ")[1].rstrip("."))
        assert free == next_free_port("127.0.0.1", port + 1) > port


@pytest.mark.parametrize(
    ("host", "words"), [("no-such-machine.invalid", "there is no machine"), ("203.0.113.7", "this machine is not")]
)
def test_a_host_that_is_not_this_machine_is_told(host, words):
    with pytest.raises(OSError, match=words):
        open_port(host, 0)


def test_the_address_can_be_opened():
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address_of(listener, Settings()) == f"http://127.0.0.1:{port}/"
        assert address_of(listener, Settings(host="localhost")) == f"http://localhost:{port}/"
        token = "a+b/c&d=e?f#g%h1"
        address = address_of(listener, Settings(token=token))
        assert address == f"http://127.0.0.1:{port}/?token=a%2Bb%2Fc%26d%3De%3Ff%23g%25h1"


def test_every_address_of_the_machine_is_shown_as_its_own():
    with open_port("0.0.0.0", 0) as listener:
        settings = Settings(host="0.0.0.0", token=TOKEN)
        assert address_of(listener, settings).startswith("http://127.0.0.1:")
