"""The service as processes: swaps under load, stopping, workers, and logs that survive kill -9."""

import contextlib
import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import plackett as pk
from tests.apps.serve.conftest import DATA, Served, count_of, service_of

ROWS = DATA.X[:6].astype(np.float64)
BODY = json.dumps({"documents": ROWS.tolist()})
POSIX = pytest.mark.skipif(os.name != "posix", reason="workers need POSIX")


class Client:
    """A connection that is kept open, and opened again after it was closed."""

    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __del__(self):
        self._connection.close()

    def ask(self, method, path, body=None):
        self._connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body))
        response = self._connection.getresponse()
        content = response.read()
        return response.status, json.loads(content) if content[:1] == b"{" else content.decode()

    def rank(self, **more):
        return self.ask("POST", "/rank", {"documents": ROWS.tolist(), **more})


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def ranking_of(ranker):
    scores = ranker.predict(ROWS, qid=np.zeros(6)).tolist()
    return [{"index": i, "score": scores[i]} for i in sorted(range(6), key=lambda i: -scores[i])]


def test_swaps_under_load_fail_no_request_and_mix_no_models(folder, rankers):
    files = {name: (folder / f"{name}.plackett").read_bytes() for name in ("linear", "other")}
    by_version = {hashlib.sha256(files[name]).hexdigest()[:12]: ranking_of(rankers[name]) for name in files}
    path = folder / "shop.plackett"
    path.write_bytes(files["linear"])
    with Served(service_of(folder, "shop.plackett")) as served:
        wrong, answers, done = [], [], threading.Event()

        def load():
            client = Client(served.port)
            while not done.is_set():
                status, answer = client.rank()
                answers.append(answer.get("version"))
                if status != 200 or answer["ranking"] != by_version.get(answer["version"]):
                    wrong.append((status, answer))

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        versions = [served.service.table.get().version]
        for number in range(6):
            draft = folder / "draft"
            draft.write_bytes(files["other" if number % 2 == 0 else "linear"])
            os.replace(draft, path)
            wait_for(lambda: served.service.table.get().version != versions[-1])
            versions.append(served.service.table.get().version)
            n_answers = len(answers)
            wait_for(lambda: len(answers) > n_answers + 10)  # noqa: B023
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(answers) > 60
    assert set(answers) == set(versions)
    assert len(set(versions)) == 2
    assert count_of(served.service, "swaps", model="shop") == 6


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "pickle", "other features", "missing"])
def test_a_damaged_file_keeps_the_model_and_is_reported(folder, damage):
    path = folder / "linear.plackett"
    content = path.read_bytes()
    with Served(service_of(folder, "linear.plackett")) as served:
        client = Client(served.port)
        before = client.rank()[1]["ranking"]
        if damage == "missing":
            path.unlink()
        elif damage == "other features":
            pk.LinearRanker().fit(pk.datasets.make_web_like(5, 5, 7, random_state=0)).save(path)
        else:
            flipped = bytearray(content)
            flipped[len(content) // 2] ^= 1
            damaged = {"cut": content[:-9], "flipped": bytes(flipped), "empty": b"", "pickle": b"\x80\x04N."}
            path.write_bytes(damaged[damage])
        wait_for(lambda: served.service.table.errors)
        assert client.rank()[1]["ranking"] == before
        assert all(one["contributions"] for one in client.rank(explain=5)[1]["ranking"])
        models = client.ask("GET", "/models")[1]
        assert "linear.plackett" in models["models"][0]["error"]
        assert count_of(served.service, "swap_failures", model="linear") >= 1
        path.write_bytes(content)
        wait_for(lambda: not served.service.table.errors)


def test_a_file_that_changes_before_it_is_watched_is_swapped(folder):
    service = service_of(folder, "linear.plackett")
    (folder / "other.plackett").replace(folder / "linear.plackett")
    with Served(service) as served:
        wait_for(lambda: count_of(served.service, "swaps", model="linear"))


def test_the_shadow_model_is_logged_and_not_returned(folder, rankers, caplog):
    caplog.set_level("INFO", logger="plackett.apps.serve")
    with Served(service_of(folder, "linear.plackett", "other.plackett", shadow="other")) as served:
        answer = Client(served.port).rank(ids=list("abcdef"))[1]
        assert answer["ranking"] == [
            {"index": one["index"], "id": "abcdef"[one["index"]], "score": one["score"]}
            for one in ranking_of(rankers["linear"])
        ]
        wait_for(lambda: count_of(served.service, "shadow") == 1)
    (fields,) = [record.fields for record in caplog.records if record.getMessage() == "shadow"]
    assert fields["shadow_order"] == [one["index"] for one in ranking_of(rankers["other"])]
    assert fields["request_id"] == answer["request_id"]


def test_many_threads_get_the_answers_of_their_own_requests(folder, rankers):
    with Served(service_of(folder, "trees.plackett")) as served:
        wrong = []

        def ask(seed):
            client, rng = Client(served.port), np.random.default_rng(seed)
            for _ in range(8):
                rows = DATA.X[rng.integers(0, DATA.n_docs, size=rng.integers(1, 40))].astype(np.float64)
                scores = rankers["trees"].predict(rows, qid=np.zeros(len(rows)))
                _, answer = client.ask("POST", "/rank", {"documents": rows.tolist()})
                if {one["index"]: one["score"] for one in answer["ranking"]} != dict(enumerate(scores.tolist())):
                    wrong.append(seed)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


class Process:
    """``plackett serve`` in a process of its own."""

    def __init__(self, folder, *words, inside=(), before="", **variables):
        code = f"{before}\nfrom plackett.cli import main; main()"
        command = [*inside, sys.executable, "-c", code, "serve", *words, "--port", "0"]
        self.process = subprocess.Popen(command, cwd=folder, stderr=-1, text=True, env={**os.environ, **variables})
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("Serving at "):
                break
        else:
            raise AssertionError("".join(self.said))
        self.port = int(self.said[-1].split("127.0.0.1:")[1].split("/")[0])
        self._reader = threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self._reader.join()
        self.process.stderr.close()
        return code

    def __enter__(self):
        wait_for(lambda: _is_live(self.port))
        return self

    def __exit__(self, *error):
        if self.process.returncode is None:
            self.process.kill()  # workers stop when their parent is gone
            self.end()

    def events(self, event):
        lines = [json.loads(line) for line in self.said if line.startswith("{")]
        return [line for line in lines if line["event"] == event]


@POSIX
def test_workers_swap_models_are_replaced_and_stop_with_their_parent(folder, rankers):
    words = ["trees=trees.plackett", "shop=linear.plackett", "--workers", "2", "--poll", "0.05"]
    with Process(folder, *words) as served:
        assert Client(served.port).rank()[1]["ranking"] == ranking_of(rankers["trees"])
        pk.TreeRanker(n_rounds=9).fit(DATA).save(folder / "trees.plackett")
        expected = ranking_of(pk.load(folder / "trees.plackett"))
        wait_for(lambda: served.events("model swapped"))
        wait_for(lambda: all(Client(served.port).rank()[1]["ranking"] == expected for _ in range(12)))
        children = children_of(served)
        assert len(children) == 2
        os.kill(children[0], signal.SIGKILL)
        wait_for(lambda: served.events(f"Child process [{children[0]}] died"))
        assert Client(served.port).rank()[1]["ranking"] == expected
        wait_for(lambda: len(children_of(served)) == 2)
        assert all(Client(served.port).rank()[1]["ranking"] == expected for _ in range(12))  # each has its socket again
        assert Client(served.port).ask("GET", "/metrics")[1].startswith("# Counters of one of several workers.")
        children = children_of(served)
        served.process.kill()
        wait_for(lambda: not any(map(is_running, children)))  # workers stop when their parent is gone


@POSIX
def test_a_worker_that_is_replaced_serves_the_last_model_that_was_whole(folder, rankers):
    with Process(folder, "shop=linear.plackett", "--workers", "2", "--poll", "0.05") as served:
        (folder / "linear.plackett").write_bytes(b"damaged")
        wait_for(lambda: len(served.events("model not swapped")) == 2)
        for child in children_of(served):
            os.kill(child, signal.SIGKILL)
        wait_for(lambda: len(served.events("model not swapped")) >= 4)
        assert Client(served.port).rank()[1]["ranking"] == ranking_of(rankers["linear"])
        pk.LinearRanker(l2=10.0, normalize="query-zscore").fit(DATA).save(folder / "linear.plackett")
        wait_for(
            lambda: all(Client(served.port).rank()[1]["ranking"] == ranking_of(rankers["other"]) for _ in range(9))
        )


@POSIX
def test_workers_add_up_their_counters_in_a_folder(folder):
    (folder / "counters").mkdir()
    words = ["shop=linear.plackett", "--workers", "2"]
    with Process(folder, *words, PROMETHEUS_MULTIPROC_DIR=str(folder / "counters")) as served:
        assert [Client(served.port).rank()[0] for _ in range(40)] == [200] * 40

        def lines():
            return Client(served.port).ask("GET", "/metrics")[1].splitlines()

        assert 'plackett_lists_total{model="shop"} 40.0' in lines()
        wait_for(lambda: "plackett_rank_seconds_count 40.0" in lines())  # a time is added after its response was sent
        assert any(line.startswith('plackett_model_info{model="shop",ranker="LinearRanker"') for line in lines())


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=POSIX)])
def test_a_running_request_is_answered_before_the_service_stops(folder, rankers, n_workers):
    with (
        Process(folder, "linear.plackett", "--workers", str(n_workers)) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection,
    ):
        head = ["POST /rank HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(BODY)}", "Expect: 100-continue"]
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100")  # the request is running
        half = len(BODY) // 2
        connection.sendall(BODY[:half].encode())
        served.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not _is_live(served.port))
        assert served.process.poll() is None
        connection.sendall(BODY[half:].encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["ranking"] == ranking_of(rankers["linear"])
        assert served.end() == 0
        assert served.events("stopped")


def is_running(process):
    """Whether a process runs; one that has ended may wait for its new parent."""
    words = ["ps", "-o", "stat=", "-p", str(process)]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()[:1] not in ("", "Z")


def children_of(served):
    """The workers of a service, without the process that multiprocessing starts beside them."""
    words = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(served.process.pid)]
    lines = subprocess.run(words, capture_output=True, text=True).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if "spawn_main" in line]


def _is_live(port):
    try:
        return Client(port).ask("GET", "/live")[0] == 200
    except OSError:
        return False


@pytest.mark.parametrize("n_workers", [1, pytest.param(2, marks=POSIX)])
def test_no_acknowledged_line_is_lost_by_kill(folder, n_workers):
    shown, clicked, lock = {}, set(), threading.Lock()

    def load(number, port):
        try:
            client = Client(port)
            while True:
                status, answer = client.rank(ids=list("abcdef"), query=f"query {number}", user=f"user {number}", k=3)
                assert status == 200
                hits = [one["id"] for one in answer["ranking"]]
                with lock:
                    shown[answer["query_id"]] = hits
                click = {"query_id": answer["query_id"], "id": hits[1], "position": 2, "user": f"user {number}"}
                status, answer = client.ask("POST", "/click", click)
                assert status == 200
                with lock:
                    clicked.add((answer["query_id"], hits[1]))
        except (OSError, http.client.HTTPException):
            return

    words = ["linear.plackett", "--log", "log", "--workers", str(n_workers)]
    with Process(folder, *words) as served:
        threads = [threading.Thread(target=load, args=(number, served.port)) for number in range(4)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(clicked) > 20)
        children = children_of(served)
        served.process.kill()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for thread in threads:
            thread.join()
    queries, events = (logged(folder / "log", name) for name in ("queries", "events"))
    on_disk = {line["query_id"]: line["query_response_hit_ids"] for line in queries}
    assert shown.items() <= on_disk.items()
    clicks = {(line["query_id"], line["event_attributes"]["object"]["object_id"]) for line in events}
    assert clicked <= clicks
    read = pk.clicks.read_clicks(folder / "log")
    assert read.n_clicks >= len(clicked)


def logged(log, name):
    return [json.loads(line) for path in log.glob(f"ubi_{name}-*") for line in whole_lines(path)]


def whole_lines(path):
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1].splitlines()


SAY_MODULES = "import atexit, sys; atexit.register(lambda: print('modules:', *sys.modules, file=sys.stderr))"
NOT_NEEDED = {"fastapi", "scipy", "sklearn", "joblib", "pandas", "rich", "lightgbm", "torch", "sqlalchemy", "jinja2"}


def test_a_first_answer_loads_only_what_it_needs(folder):
    with Process(folder, "trees.plackett", "linear.plackett", "--log", "log", before=SAY_MODULES) as served:
        assert Client(served.port).rank(ids=list("abcdef"), query="q")[0] == 200
        assert served.end() == 0
    (line,) = [line for line in served.said if line.startswith("modules:")]
    modules = {name.partition(".")[0] for name in line.split()[1:]}
    assert "starlette" in modules
    assert not modules & NOT_NEEDED


READ_ONLY = 'mount -o remount,ro,bind / && ! touch written 2>/dev/null && exec env -i "$@"'


@POSIX
def test_nothing_is_written_and_no_home_is_needed(folder, rankers):
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh"]
    try:
        trial = subprocess.run([*inside, "/bin/true"], cwd=folder, capture_output=True)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if trial.returncode:
        pytest.skip("this machine has no namespaces, or another file system at the temporary folder")
    with Process(folder, "linear.plackett", "--workers", "2", "--seconds", "60", inside=inside) as served:
        answer = Client(served.port).rank(explain=5)[1]
        assert [one["index"] for one in answer["ranking"]] == [one["index"] for one in ranking_of(rankers["linear"])]
        assert served.end() == 0
