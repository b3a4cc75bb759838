"""The workbench: start-up time, 50 users for 30 s, and 20 kills right after a judgement.

A simulated user searches, judges two results, compares side by side and undoes one judgement, with one request per
second on average. Users and server share the machine.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.timing import Result

N_USERS, SECONDS, PAUSE = 50, 30.0, (0.5, 1.5)
N_STARTS, N_KILLS = 3, 20
TOKEN = "a-token-for-the-benchmark"
QUERIES = [
    "parse json text", "sort a list by key", "temporary file name", "run a command and read its output",
    "current time zone", "open a socket", "regular expression groups", "thread pool", "read csv rows", "random choice",
]  # fmt: skip


class Server:
    """``plackett workbench`` on the built-in corpus, in its own process."""

    def __init__(self, folder: Path):
        start = time.perf_counter()
        words = ["workbench", "--port", "0", "--store", str(folder / "store.db"), "--token", TOKEN, "--no-browser"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from plackett.cli import main; main()", *words],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self.process.stderr is not None
        address = next(line for line in self.process.stderr if "The workbench is at" in line)
        self.port = int(address.split("127.0.0.1:")[1].split("/")[0])
        assert Client(self, "me").ask("GET", "/health")["status"] == "ok"
        self.seconds_to_start = time.perf_counter() - start

    def wait_until_warm(self) -> None:
        while not Client(self, "me").ask("GET", "/health")["is_warm"]:
            time.sleep(0.05)

    def end(self, how: int) -> None:
        self.process.send_signal(how)
        self.process.communicate(timeout=60)


class Client:
    """One user with one connection."""

    def __init__(self, server: Server, name: str):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {
            "Authorization": f"Bearer {TOKEN}",
            "X-Plackett-User": name,
            "Content-Type": "application/json",
        }

    def ask(self, method: str, path: str, content: dict | None = None) -> dict:
        body = None if content is None else json.dumps(content)
        self.connection.request(method, "/api/v1" + path, body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {text[:200]!r}")
        return json.loads(text)


class User(threading.Thread):
    """Sends requests until the end; ``seconds`` has the time of each response, by kind of request."""

    def __init__(self, server: Server, number: int, end: float):
        super().__init__(daemon=True)
        self.client, self.random, self.end = Client(server, f"user {number}"), random.Random(number), end
        self.seconds: dict[str, list[float]] = {"refine": [], "search": []}
        self.errors: list[str] = []

    def run(self) -> None:
        time.sleep(self.random.uniform(0, PAUSE[1]))  # users start at different times
        while time.monotonic() < self.end:
            query = self.random.choice(QUERIES)
            found = self._timed("search", "GET", "/search?" + urlencode({"q": query}))
            if found is None:
                continue
            docids = [one["docid"] for one in found["results"][:10]]
            good, bad = self.random.sample(docids, 2)
            view = {"query": query, "method": self.random.choice(["multiplicative", "linear", "rocchio"])}
            self._timed("refine", "POST", "/judgements", {**view, "docid": good, "grade": 1})
            self._timed("refine", "POST", "/judgements", {**view, "docid": bad, "grade": 0})
            self._timed("refine", "POST", "/judgements", {**view, "docid": good, "grade": 2, "side_by_side": True})
            self._timed("refine", "POST", "/undo", view)

    def _timed(self, kind: str, method: str, path: str, content: dict | None = None) -> dict | None:
        start = time.perf_counter()
        try:
            answer = self.client.ask(method, path, content)
        except Exception as error:
            self.errors.append(str(error))
            return None
        self.seconds[kind].append(time.perf_counter() - start)
        time.sleep(self.random.uniform(*PAUSE))
        return answer


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def under_load(server: Server) -> list[Result]:
    server.wait_until_warm()
    end = time.monotonic() + SECONDS
    users = [User(server, number, end) for number in range(N_USERS)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    errors = [error for user in users for error in user.errors]
    rows = []
    for kind, limit in (("refine", 0.15), ("search", None)):
        values = [value for user in users for value in user.seconds[kind]]
        note = (
            f"median {percentile(values, 0.5):.3f} s, {len(values)} requests, {len(errors)} errors {errors[:1] or ''}"
        )
        rows.append(
            Result(
                f"p95 of {kind}, {N_USERS} users, {SECONDS:g} s", percentile(values, 0.95), "limit", limit, note=note
            )
        )
    return rows


def killed(folder: Path) -> Result:
    """Check that every acknowledged judgement survives ``kill -9``."""
    from plackett.web.store import Store

    start = time.perf_counter()
    lost = 0
    for turn in range(N_KILLS):
        server = Server(folder)
        request = {"query": "parse json text", "docid": "json.loads", "grade": turn % 4, "with_list": False}
        saved = Client(server, "me").ask("POST", "/judgements", request)
        server.end(signal.SIGKILL)
        with Store.open(folder / "store.db") as store:
            user = store.find_user("me")
            labels = {} if user is None else store.state(user.id, saved["query_id"]).judged.labels
        lost += labels.get("json.loads") != turn % 4
    return Result("kill -9 after a judgement", time.perf_counter() - start, "", None, note=f"{lost} of {N_KILLS} lost")


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        Server(folder).end(signal.SIGINT)  # builds the index
        starts = []
        for _ in range(N_STARTS):
            server = Server(folder)
            starts.append(server.seconds_to_start)
            if len(starts) < N_STARTS:
                server.end(signal.SIGINT)
        rows = [Result("restart until it answers", min(starts), "limit", 3.0, note=f"slowest {max(starts):.2f} s")]
        rows += under_load(server)
        server.end(signal.SIGINT)
        return [*rows, killed(folder)]
