"""Logged lists and the clicks on them: literal records, damage, restarts, random bodies."""

import json
import os
import random
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

import plackett as pk
from plackett.apps.serve.log import SEED, Log, prepare_log, read_seed
from tests.apps.serve.conftest import client_of, count_of, open_log, service_of

ROWS = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [0.0, 1.0, 0.0, 1.0]]


@pytest.fixture
def log(folder):
    """A log that does not exist yet."""
    return str(folder / "log")


def records_of(log, name):
    """The records of a log by other means than those of the library."""
    return [json.loads(line) for line in (Path(log) / f"{name}-0.ndjson").read_bytes().splitlines()]


def order_of(ranker, rows):
    scores = ranker.predict(rows, qid=[0] * len(rows)).tolist()
    return sorted(range(len(rows)), key=lambda i: -scores[i])


def test_the_log_has_lists_and_clicks_in_the_schema_of_ubi(folder, rankers, log):
    service = service_of(folder, "shop=linear.plackett", log=log)
    open_log(service)
    ids, expected = ["a", "b", "ü"], [["a", "b", "ü"][place] for place in order_of(rankers["linear"], ROWS)]
    with client_of(service) as client:
        assert client.post("/rank", json={"documents": ROWS}).json()["query_id"] is None
        shown = {"documents": ROWS, "ids": ids, "query": "red shoes", "user": "u7", "k": 2}
        answer = client.post("/rank", json=shown).json()
        other = client.post("/rank", json={"documents": ROWS[:1], "ids": ["a"], "query": "q"}).json()
        assert client.post("/rank", json={"documents": ROWS[:1], "ids": ["a"]}).json()["query_id"] is None
        first, second = ({"query_id": answer["query_id"], "id": docid} for docid in expected[:2])
        assert client.post("/click", json={**second, "user": "u7"}).json()["query_id"] == answer["query_id"]
        assert client.post("/click", json={**first, "position": 1}).status_code == 200
        assert client.post("/click", json={**first, "position": 1}).status_code == 200  # sent again, logged again
    service.close_log()
    version = service.table.get().checksum[:12]
    written = records_of(log, "ubi_queries")
    times = [one.pop("timestamp") for one in written]
    assert times == sorted(times)
    assert written == [
        {
            "application": "plackett-serve",
            "query_id": query_id,
            "client_id": user,
            "user_query": query,
            "query_attributes": {"ranker": "shop", "version": version, "checksum": version},
            "query_response_id": query_id,
            "query_response_hit_ids": hits,
        }
        for query_id, user, query, hits in (
            (answer["query_id"], "u7", "red shoes", expected[:2]),
            (other["query_id"], None, "q", ["a"]),
        )
    ]
    events = records_of(log, "ubi_events")
    for one in events:
        one.pop("timestamp")
    assert events == [
        {
            "application": "plackett-serve",
            "action_name": "click",
            "query_id": answer["query_id"],
            "client_id": user,
            "event_attributes": attributes,
        }
        for user, attributes in (
            ("u7", {"object": {"object_id": expected[1]}}),
            (None, {"object": {"object_id": expected[0]}, "position": {"ordinal": 1}}),
            (None, {"object": {"object_id": expected[0]}, "position": {"ordinal": 1}}),
        )
    ]
    read = pk.clicks.read_clicks(log, ranker="query_attributes.ranker")
    assert (len(read), read.n_clicks, list(read.rankers)) == (2, 2, ["shop"])
    assert count_of(service, "clicks") == 3


def test_clicks_on_what_was_not_shown_are_reported_when_the_log_is_read(folder, log):
    service = service_of(folder, "linear.plackett", log=log)
    open_log(service)
    with client_of(service) as client:
        answer = client.post("/rank", json={"documents": ROWS, "ids": ["a", "b", "c"], "query": "q", "k": 2}).json()
        hits = [one["id"] for one in answer["ranking"]]
        (left_out,) = {"a", "b", "c"} - set(hits)
        good = {"query_id": answer["query_id"], "id": hits[1]}
        for more in ({"position": 2}, {"id": left_out}, {"query_id": "0" * 32}, {"id": hits[0], "position": 2}):
            assert client.post("/click", json={**good, **more}).status_code == 200
    service.close_log()
    read = pk.clicks.read_clicks(log)
    assert (len(read), read.n_clicks) == (1, 2)
    assert read.cleaning.counts == {
        "click on what was not shown": 1,
        "click in an unknown session": 1,
        "click at another position": 1,
    }


def test_processes_write_to_files_of_their_own_and_continue_those_of_ended_ones(tmp_path):
    first, second = Log(str(tmp_path)), Log(str(tmp_path))
    for log, name in ((first, "a"), (second, "b"), (first, "c")):
        log.queries.append({"user_query": name})
    first.close()
    third = Log(str(tmp_path))
    third.queries.append({"user_query": "d"})
    third.sync()
    for log in (second, third):
        log.close()
    lines = {path.name: path.read_text().splitlines() for path in tmp_path.glob("*queries*")}
    found = {name: [json.loads(line)["user_query"] for line in own] for name, own in lines.items()}
    assert found == {"ubi_queries-0.ndjson": ["a", "c", "d"], "ubi_queries-1.ndjson": ["b"]}


def test_a_torn_line_is_ended_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "ubi_events-0.ndjson"
    path.write_text('{"whole": 1}\n{"to')
    log = Log(str(tmp_path))
    log.events.append({"next": 2})
    log.events.append({"next": 3})
    log.close()
    assert path.read_text() == '{"whole": 1}\n{"to\n{"next": 2}\n{"next": 3}\n'


def test_the_seed_is_drawn_once_and_a_damaged_one_is_refused(tmp_path):
    folder = str(tmp_path / "log")
    prepare_log(folder)
    seed = read_seed(folder)
    prepare_log(folder)
    assert read_seed(folder) == seed > 2**64
    (tmp_path / "log" / SEED).write_text("x")
    with pytest.raises(ValueError, match="interleaving-seed is damaged: expected a whole number"):
        read_seed(folder)


def test_wrong_clicks_are_refused(folder):
    service = service_of(folder, "linear.plackett", log=str(folder / "log"))
    open_log(service)
    with client_of(service) as client:
        answer = client.post("/rank", json={"documents": ROWS[:1], "ids": ["a"], "query": "q"}).json()
        good = {"query_id": answer["query_id"], "id": "a"}
        wrongs = [{"query_id": 3}, {"query_id": "é"}, {"query_id": "0" * 33}, {"id": 3}, {"id": ""}, {"id": "a\0"}]
        wrongs += [{"position": 0}, {"position": "1"}, {"position": 10**30}, {"position": True}]
        wrongs += [{"user": 3}, {"user": "x" * 513}, {"more": 1}]
        for wrong in wrongs:
            assert client.post("/click", json={**good, **wrong}).status_code == 422
        assert [client.post("/click", json=wrong).status_code for wrong in ({}, [], 3)] == [422] * 3
        assert client.post("/click", content=b"{").status_code == 400
        for name in ("query", "user"):
            assert client.post("/rank", json={"documents": ROWS[:1], name: "a\0"}).status_code == 422
        assert client.post("/rank", json={"documents": ROWS[:1], "ids": ["\0"]}).status_code == 422
    service.close_log()
    assert (folder / "log" / "ubi_events-0.ndjson").read_bytes() == b""


def test_random_clicks_are_logged_or_refused(folder, log):
    rng = random.Random(0)
    service = service_of(folder, "linear.plackett", log=log)
    open_log(service)
    body = {"documents": ROWS, "ids": ["a", "ü\n'\"\\", "😀"], "query": "'; DROP TABLE ubi_queries; --", "user": "\x01"}
    results, n_logged = set(), 0
    with client_of(service) as client:
        shown = [client.post("/rank", json=body).json()["query_id"] for _ in range(3)]
        values = [None, True, 3, 1, 2, 10**400, -1.5, "a", "ü\n'\"\\", "😀", "\0", "x" * 600, [], {}, ["a"], *shown]
        for _ in range(400):
            one = {"query_id": rng.choice(shown), "id": rng.choice(body["ids"])}
            one |= {
                name: rng.choice(values) for name in ("query_id", "id", "position", "user", "z") if rng.random() < 0.2
            }
            content = bytearray(json.dumps(one).encode())
            if rng.random() < 0.1:
                content[rng.randrange(len(content))] = rng.randrange(256)
            status = client.post("/click", content=bytes(content)).status_code
            results.add(status)
            n_logged += status == 200
    service.close_log()
    assert results == {200, 400, 422}
    assert len(records_of(log, "ubi_events")) == n_logged > 20


def test_a_full_disk_refuses_clicks_and_returns_lists_without_an_id(folder, monkeypatch):
    service = service_of(folder, "linear.plackett", log=str(folder / "log"))
    open_log(service)

    def fail(*_):
        raise OSError(28, "No space left on device")

    body = {"documents": ROWS[:1], "ids": ["a"], "query": "q"}
    with client_of(service) as client:
        query_id = client.post("/rank", json=body).json()["query_id"]
        monkeypatch.setattr(os, "write", fail)
        answer = client.post("/rank", json=body)
        click = client.post("/click", json={"query_id": query_id, "id": "a"})
        monkeypatch.undo()
        assert client.post("/click", json={"query_id": query_id, "id": "a"}).status_code == 200
        again = client.post("/rank", json=body).json()["query_id"]
        assert client.post("/click", json={"query_id": again, "id": "a"}).status_code == 200
    service.close_log()
    assert (answer.status_code, answer.json()["query_id"]) == (200, None)
    assert (click.status_code, click.json()["code"]) == (503, "log")
    assert click.json()["error"] == "the click cannot be logged now (No space left on device)."
    assert count_of(service, "log_failures") == 2


def test_clicks_without_a_log_are_refused(client):
    assert client.post("/click", json={"query_id": "0" * 42, "id": "a"}).status_code == 409
    assert 'plackett_requests_total{path="/click",status="409"} 1' in client.get("/metrics").text


def test_the_lines_of_the_docs_copy_the_log_into_postgresql_and_back(folder, postgresql_url):
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    service = service_of(folder, "linear.plackett", log=str(folder / "log"))
    open_log(service)
    with client_of(service) as client:
        for query in ('red, "shoes" \\ é\'', "hats"):
            body = {"documents": ROWS, "ids": ["a", "b,\\n", '"'], "query": query, "user": "u"}
            answer = client.post("/rank", json=body).json()
            client.post("/click", json={"query_id": answer["query_id"], "id": "b,\\n"})
    service.close_log()
    text = (Path(__file__).parents[3] / "docs" / "deploying.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("psql ")]
    assert len(lines) == 5
    (folder / "back").mkdir()
    for line in lines:
        command = line.replace("psql clicks", f"psql -v ON_ERROR_STOP=1 {shlex.quote(postgresql_url)}")
        done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    before, after = (pk.clicks.read_clicks(folder / name) for name in ("log", "back"))
    assert len(after) == 2
    assert (list(after.queries), after.n_clicks) == (list(before.queries), before.n_clicks)
