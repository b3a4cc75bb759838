"""Logged lists and the clicks on them: literal records, clicks that were not possible, restarts, random bodies."""

import json
import os
import random
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

import plackett as pk
from plackett.apps.serve.file_log import KEY, FileLog
from tests.apps.serve.conftest import client_of, open_log, service_of
from tests.postgresql import new_database, numbers

ROWS = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [0.0, 1.0, 0.0, 1.0]]


@pytest.fixture(params=["folder", "postgresql"])
def log(request, folder):
    """A log of either kind, which does not exist yet."""
    if request.param == "folder":
        return str(folder / "log")
    return new_database(request.getfixturevalue("postgresql_server"), f"log_{next(numbers)}")


def records_of(log, name):
    """The records of a log by other means than those of the library."""
    if "://" not in log:
        return [json.loads(line) for line in (Path(log) / f"{name}-0.ndjson").read_bytes().splitlines()]
    import psycopg

    with psycopg.connect(log) as connection:
        cursor = connection.execute(f'SELECT * FROM {name} ORDER BY "timestamp"')
        rows = [dict(zip([one.name for one in cursor.description], row, strict=True)) for row in cursor]
    for row in rows:
        row["timestamp"] = row["timestamp"].isoformat()
        row.pop("number", None)
    return rows


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
        lists = [{"documents": ROWS[:1], "ids": ["a"], "query": "q"}, {"documents": ROWS[:1], "ids": ["a"]}]
        several = client.post("/rank", json={"lists": lists}).json()["lists"]
        assert [one["query_id"] is None for one in several] == [False, True]
        first, second = ({"query_id": answer["query_id"], "id": docid} for docid in expected[:2])
        assert client.post("/click", json=second).json()["query_id"] == answer["query_id"]
        assert client.post("/click", json={**first, "position": 1, "user": "another"}).status_code == 200
        assert client.post("/click", json=second).status_code == 200  # a click that is sent again is logged again
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
            (several[0]["query_id"], None, "q", ["a"]),
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
            "event_attributes": {"object": {"object_id": docid}, "position": {"ordinal": ordinal}},
        }
        for user, docid, ordinal in (("u7", expected[1], 2), ("another", expected[0], 1), ("u7", expected[1], 2))
    ]
    read = pk.clicks.read_clicks(log, ranker="query_attributes.ranker")
    assert (len(read), read.n_clicks, list(read.rankers)) == (2, 2, ["shop"])
    assert service.metrics.value("clicks_total") == 3


def test_clicks_on_what_was_not_shown_are_refused_also_after_a_restart(folder, rankers, log):
    body = {"documents": ROWS, "ids": ["a", "b", "c"], "query": "q", "k": 2}
    shown = []
    for number in range(2):
        service = service_of(folder, "linear.plackett", log=log)
        service.worker = number  # another worker finds the lists, too
        open_log(service)
        with client_of(service) as client:
            shown.append(client.post("/rank", json=body).json())
            for one in shown:
                hits, query_id = [each["id"] for each in one["ranking"]], one["query_id"]
                (left_out,) = {"a", "b", "c"} - set(hits)
                good = {"query_id": query_id, "id": hits[1]}
                assert client.post("/click", json=good).status_code == 200
                for wrong, status, message in (
                    ({"id": left_out}, 422, f"the list does not have the document {left_out!r}."),
                    ({"position": 1}, 422, f"{hits[1]!r} was returned at position 2, not 1."),
                    ({"query_id": query_id[:-1] + "0123456789abcdef"[int(query_id[-1], 16) - 1]}, 404, "no list with"),
                    ({"query_id": "0" * len(query_id)}, 404, "no list with this query_id was returned."),
                    ({"query_id": "é"}, 404, "no list with this query_id was returned."),
                    ({"query_id": "a\0b"}, 404, "no list with this query_id was returned."),
                ):
                    answer = client.post("/click", json={**good, **wrong})
                    assert answer.status_code == status
                    assert message in answer.json()["error"]
        service.close_log()
    assert len(pk.clicks.read_clicks(log)) == 2


def test_wrong_clicks_are_refused(folder):
    service = service_of(folder, "linear.plackett", log=str(folder / "log"))
    open_log(service)
    with client_of(service) as client:
        answer = client.post("/rank", json={"documents": ROWS[:1], "ids": ["a"], "query": "q"}).json()
        good = {"query_id": answer["query_id"], "id": "a"}
        wrongs = [{"query_id": 3}, {"id": 3}, {"id": ""}, {"position": 0}, {"position": "1"}, {"more": 1}]
        wrongs += [{"id": "a\0"}, {"user": 3}, {"user": "x" * 513}, {"position": 10**30}, {"position": True}]
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
    assert results == {200, 400, 404, 422}
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
    assert service.metrics.value("log_failures_total") == 2


def test_clicks_without_a_log_are_refused(client):
    assert client.post("/click", json={"query_id": "0" * 42, "id": "a"}).status_code == 409
    assert 'plackett_requests_total{path="/click",status="409"} 1' in client.get("/metrics").text


def test_ids_hide_the_size_of_the_log_and_need_its_key(tmp_path):
    log = FileLog(str(tmp_path), 3)
    record = {"user_query": "q", "query_response_hit_ids": ["x" * 200_000]}
    ids = [log.add_lists([record])[0][0] for _ in range(5)]
    log.close()
    assert len({query_id[24:26] for query_id in ids}) > 1  # the number of the worker, which is the same
    assert len({query_id[26:34] for query_id in ids}) > 1  # the first bytes of the place, which are 0
    log = FileLog(str(tmp_path), 0)
    assert [log.find(query_id).result()["query_response_hit_ids"] for query_id in ids] == [["x" * 200_000]] * 5
    log.close()
    (tmp_path / KEY).unlink()
    log = FileLog(str(tmp_path), 0)  # a new key
    assert [log.find(query_id).result() for query_id in ids] == [None] * 5
    log.close()
    (tmp_path / KEY).write_bytes(b"short")
    with pytest.raises(OSError, match="click-key is damaged: it has 5 bytes, not 32"):
        FileLog(str(tmp_path), 0)
