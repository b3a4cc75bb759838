"""Measure the workbench: start-up time, 50 users for 30 s with the scoreboard open, and 20 kills at random moments.

A simulated user searches, judges two results, compares side by side, undoes one judgement, and opens the scoreboard of
200 queries × 4 rankers, which includes the queries that all users judge; one request per second on average. Users and
server share the machine.
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
N_QUERIES, RANKERS = 200, ("bm25", "dirichlet", "tf-idf", "absolute-discounting")
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
        if answer.status not in (200, 202):
            raise RuntimeError(f"{path}: {answer.status} {text[:200]!r}")
        return json.loads(text)


class User(threading.Thread):
    """Sends requests until the end; ``seconds`` has the time of each response, by kind of request."""

    def __init__(self, server: Server, number: int, end: float, board: str):
        super().__init__(daemon=True)
        self.board = board
        self.client, self.random, self.end = Client(server, f"user {number}"), random.Random(number), end
        self.seconds: dict[str, list[float]] = {"refine": [], "search": [], "scoreboard": []}
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
            self._timed("scoreboard", "GET", self.board)

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


def scoreboard_of(server: Server) -> tuple[str, Result]:
    """Make a query set, and wait until its lists are ranked; return the address of its scoreboard."""
    from plackett.data.documents.stdlib_corpus import read_stdlib

    client = Client(server, "me")
    texts = read_stdlib(n_queries=N_QUERIES - len(QUERIES)).queries.values()
    queries = list(dict.fromkeys([*QUERIES, *texts]))
    made = client.ask("POST", "/query-sets", {"name": "benchmark", "text": "\n".join(queries)})
    board = "/scoreboard?" + urlencode([("set_id", made["id"]), *(("ranker", name) for name in RANKERS)])
    start, longest = time.perf_counter(), 0.0
    while True:
        asked = time.perf_counter()
        found = client.ask("GET", board)
        longest = max(longest, time.perf_counter() - asked)
        if found["is_complete"]:
            break
        time.sleep(0.1)
    seconds, note = time.perf_counter() - start, f"longest request {longest:.3f} s"
    return board, Result(f"rank {len(queries)} queries × {len(RANKERS)} rankers", seconds, "", None, note=note)


def under_load(server: Server) -> list[Result]:
    server.wait_until_warm()
    board, ranked = scoreboard_of(server)
    end = time.monotonic() + SECONDS
    users = [User(server, number, end, board) for number in range(N_USERS)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    errors = [error for user in users for error in user.errors]
    rows = [ranked]
    for kind, limit in (("refine", 0.15), ("search", 0.15), ("scoreboard", 0.15)):
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


class Writer(threading.Thread):
    """Judges, makes query sets and takes snapshots until the server is killed; remembers what was acknowledged."""

    def __init__(self, server: Server, turn: int):
        super().__init__(daemon=True)
        self.client, self.turn, self.acknowledged = Client(server, "me"), turn, []

    def run(self) -> None:
        try:
            for number in range(10_000):
                name = f"{self.turn} {number}"
                request = {"query": name, "docid": "json.loads", "grade": number % 4, "with_list": False}
                saved = self.client.ask("POST", "/judgements", request)
                self.acknowledged.append(("grade", saved["query_id"], number % 4))
                made = self.client.ask("POST", "/query-sets", {"name": name, "text": f"{name}\nparse json text"})
                self.acknowledged.append(("set", made["id"], [name, "parse json text"]))
                job = self.client.ask("POST", "/snapshots", {"name": name, "set_id": made["id"], "ranker": ["bm25"]})
                while not job["is_finished"]:
                    job = self.client.ask("GET", f"/jobs/{job['id']}")
                if job["state"] == "done":
                    self.acknowledged.append(("snapshot", job["result"]["snapshot_id"], name))
        except (OSError, http.client.HTTPException):
            return  # the server was killed


def killed(folder: Path) -> Result:
    """Check that everything that was acknowledged survives ``kill -9`` at a random moment."""
    from sqlalchemy import select

    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.tables import query_sets, snapshot_lists, snapshots

    start, draw = time.perf_counter(), random.Random(0)
    lost, counts = 0, {"grade": 0, "set": 0, "snapshot": 0}
    for turn in range(N_KILLS):
        server = Server(folder)
        server.wait_until_warm()
        writer = Writer(server, turn)
        writer.start()
        time.sleep(draw.uniform(0.1, 1.5))
        server.end(signal.SIGKILL)
        writer.join()
        with Store(folder / "store.db") as store:
            user = store.find_user("me")
            for kind, key, wanted in writer.acknowledged:
                counts[kind] += 1
                if kind == "grade":
                    is_there = user is not None and store.state(user.id, key).judged.labels == {"json.loads": wanted}
                elif kind == "set":
                    is_there = store.value(select(query_sets.c.queries).where(query_sets.c.id == key)) == wanted
                else:
                    labels = store.value(select(snapshots.c.labels).where(snapshots.c.id == key)) or {}
                    lists = select(snapshot_lists.c.lists).where(snapshot_lists.c.snapshot_id == key)
                    is_there = wanted in labels and len(store.value(lists) or ()) == 2
                lost += not is_there
    note = f"{lost} of {sum(counts.values())} acknowledged writes lost: " + ", ".join(
        f"{n} {kind}s" for kind, n in counts.items()
    )
    return Result(f"{N_KILLS} × kill -9 at random moments", time.perf_counter() - start, "", None, note=note)


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
