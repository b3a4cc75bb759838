"""The server process: start, requests over sockets, crashes, shutdown, ports."""

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

from plackett.apps.workbench.collections.text import open_collection
from plackett.apps.workbench.store import Store
from tests.apps.workbench.serving import judgements_in

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


# Imports once, then lets one child after another serve until it is killed: as soon as a judgement was acknowledged.
KILLED = """
import http.client, json, os, signal, sys
from plackett.apps.workbench.app import create_app
from plackett.apps.workbench.collections.text import open_collection
from plackett.apps.access.server import open_port, serve
from plackett.apps.workbench.settings import Settings
from plackett.apps.workbench.store import Store
from plackett.apps.workbench.bench import Workbench

Workbench.warm_up = lambda self: None  # none of them lives that long
token, rounds = sys.argv[1], int(sys.argv[2])
collection = open_collection("docs")
collection.search("wings")  # compiled code is loaded once too
for round in range(rounds):
    with open_port("127.0.0.1", 0) as listener:
        child = os.fork()
        if child == 0:
            with Store("store.db") as store:
                serve(create_app(collection, store, Settings(token=token)), listener)
        port = listener.getsockname()[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    wish = {"query": f"wings {round % 3}", "docid": f"{round % 4}.txt", "grade": round, "with_list": False}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/judgements", json.dumps(wish), headers)
    answer = connection.getresponse()
    status = answer.status
    os.kill(child, signal.SIGKILL)  # before anything else can happen, the rest of the answer included
    os.waitpid(child, 0)
    print(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_killed_right_after_an_acknowledged_judgement_it_has_lost_nothing(folder):
    rounds = 20
    command = [sys.executable, "-c", KILLED, TOKEN, str(rounds)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["200"] * rounds, done.stderr
    expected = {(f"wings {round % 3}", f"{round % 4}.txt"): float(round) for round in range(rounds)}
    with Store(folder / "store.db") as store:
        key = open_collection(folder / "docs").key
        assert {(one.query, one.docid): one.grade for one in judgements_in(store, key)} == expected
        events = [event for query in store.queries(key) for event in store.events(1, query.query_id)]
    assert sorted(event.grade for event in events) == list(range(rounds))  # none of them twice either


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_server_survives_what_is_not_http_and_ctrl_c_ends_it_cleanly(folder):
    server = Running(folder)
    try:
        assert server.ask("GET", "/search?q=wings")[1]["n_found"] == 3
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
        code, rest = server.end(signal.SIGINT)
    assert "Traceback" not in rest
    assert (code, "stopped" in rest) == (0, False)  # Ctrl-C is the usual way to stop it
