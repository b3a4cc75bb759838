"""The log in PostgreSQL: restarts of the server, kill -9, several workers, and passwords that are never shown."""

import json
import os
import subprocess
import sys
import threading

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("psycopg")

import psycopg

import plackett as pk
from plackett.apps.serve.database_log import DatabaseLog, create_tables
from plackett.exceptions import StoreError
from tests.apps.serve.conftest import client_of, open_log, service_of
from tests.apps.serve.test_processes import wait_for
from tests.postgresql import PASSWORD, free_port

BODY = {"documents": [[1.0, 2.0, 3.0, 4.0]], "ids": ["a"], "query": "q", "user": "u"}


def test_lists_are_returned_and_clicks_refused_while_the_server_is_away(
    folder, restartable_postgresql, postgresql_url, caplog
):
    service = service_of(folder, "linear.plackett", log=postgresql_url)
    open_log(service)
    with client_of(service) as client:
        query_id = client.post("/rank", json=BODY).json()["query_id"]
        click = {"query_id": query_id, "id": "a"}
        assert client.post("/click", json=click).status_code == 200
        restartable_postgresql.stop()
        try:
            for _ in range(3):
                answer = client.post("/rank", json=BODY)
                assert (answer.status_code, answer.json()["query_id"]) == (200, None)
                refused = client.post("/click", json=click)
                assert (refused.status_code, refused.json()["code"]) == (503, "log")
            shown = [refused.text, client.get("/metrics").text, client.get("/models").text, repr(service.settings)]
        finally:
            assert restartable_postgresql.start()
        wait_for(lambda: client.post("/rank", json=BODY).json()["query_id"] is not None)
        assert client.post("/click", json=click).status_code == 200  # the list of before
        with psycopg.connect(postgresql_url) as connection:  # connections that the server ends are opened again
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert client.post("/rank", json=BODY).json()["query_id"] is not None
    service.close_log()
    log = pk.clicks.read_clicks(postgresql_url)
    assert (len(log), log.n_clicks) == (3, 1)
    shown += [json.dumps(record.fields) for record in caplog.records if hasattr(record, "fields")]
    assert any("the server does not respond" in text for text in shown)
    assert not any("s3cret" in text or PASSWORD in text for text in shown)


def test_a_server_that_hangs_holds_up_no_list_for_long(folder, postgresql_url):
    service = service_of(folder, "linear.plackett", log=postgresql_url, seconds=1.0)
    open_log(service)
    with client_of(service) as client, psycopg.connect(postgresql_url) as other:
        other.execute("LOCK TABLE ubi_queries IN ACCESS EXCLUSIVE MODE")
        answers = [client.post("/rank", json=BODY) for _ in range(3)]
        assert [(one.status_code, one.json()["query_id"]) for one in answers] == [(200, None)] * 3
        other.rollback()
        wait_for(lambda: client.post("/rank", json=BODY).json()["query_id"] is not None)
    service.close_log()


def test_an_item_that_the_database_refuses_does_not_fail_its_group(postgresql_url):
    create_tables(postgresql_url)
    log = DatabaseLog(postgresql_url)
    about = {"application": "a", "client_id": None, "timestamp": "2026-01-01T00:00:00Z", "query_attributes": {}}
    good, wrong = ({**about, "user_query": text, "query_response_hit_ids": ["d"]} for text in ("q", None))
    futures = [log.add_lists([one]) for one in [good, wrong] * 20]
    for number, ((query_id,), written) in enumerate(futures):
        if number % 2:
            with pytest.raises(StoreError, match="SQLSTATE 23502"):
                written.result(timeout=10)
        else:
            written.result(timeout=10)
            assert log.find(query_id).result(timeout=10)["user_query"] == "q"
    log.close()


def test_many_threads_share_commits_and_find_their_lists(postgresql_url):
    create_tables(postgresql_url)
    log = DatabaseLog(postgresql_url)
    about = {"application": "a", "client_id": "é", "timestamp": "2026-01-01T00:00:00Z", "query_attributes": {"r": 1}}
    wrong = []

    def write(number):
        for place in range(20):
            record = {**about, "user_query": f"q{number} {place}", "query_response_hit_ids": ["d"]}
            (query_id,), written = log.add_lists([record])
            written.result(timeout=30)
            if log.find(query_id).result(timeout=30)["user_query"] != record["user_query"]:
                wrong.append(query_id)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert wrong == []
    with psycopg.connect(postgresql_url) as connection:
        assert connection.execute("SELECT count(DISTINCT user_query) FROM ubi_queries").fetchone() == (160,)


def test_databases_that_cannot_be_used_are_refused_without_the_password(postgresql_server, postgresql_url):
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE ubi_queries (something int)")
    closed = postgresql_url.rpartition("@")[0] + f"@127.0.0.1:{free_port()}/none"
    twice = postgresql_url.replace("s3cret%2Fwith%40", "s3cret@")
    for url, kind, message in (
        (postgresql_url, StoreError, "other tables named ubi_queries and ubi_events: column .* does not exist"),
        (f"{postgresql_server}/nothing", StoreError, "no such database"),
        (
            postgresql_server.replace("plackett:", "plackett:s3cret-wrong") + "/postgres",
            StoreError,
            "rejected the user",
        ),
        (closed, StoreError, "the server does not respond"),
        (twice, ValueError, "more than one @"),
        ("postgresql://s3cret:%zz@127.0.0.1/x", ValueError, "cannot be parsed"),
    ):
        for use in (create_tables, pk.clicks.read_clicks, pk.clicks.read_interleaving):
            if use is not create_tables and url == postgresql_url:
                continue
            with pytest.raises(kind, match=message) as refused:
                use(url)
            assert "s3cret" not in str(refused.value)
            assert refused.value.__cause__ is None
    with pytest.raises(StoreError, match="there is no table ubi_events") as refused:
        pk.clicks.read_clicks(postgresql_url)
    assert "s3cret" not in str(refused.value)


# Lets one child after another write until it is killed, wherever it is then. A child names what was acknowledged.
KILLED = """
import json, os, signal, sys
where, rounds = sys.argv[1], int(sys.argv[2])
if "://" in where:
    from plackett.apps.serve.database_log import DatabaseLog, create_tables
    create_tables(where)
    make = lambda: DatabaseLog(where)
else:
    from plackett.apps.serve.file_log import FileLog
    make = lambda: FileLog(where, 0)
about = {"application": "a", "client_id": None, "timestamp": "2026-01-01T00:00:00Z"}
acknowledged = []
for round in range(rounds):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        log, number = make(), 0
        while True:
            hits = [f"d{round} {number}"] * 50
            record = {**about, "user_query": "q", "query_attributes": {}, "query_response_hit_ids": hits}
            (query_id,), written = log.add_lists([record])
            written.result()
            event = {**about, "action_name": "click", "query_id": query_id, "event_attributes": {"of": hits[0]}}
            log.add_event(event).result()
            os.write(write, f"{query_id} {round} {number}\\n".encode())
            number += 1
    os.close(write)
    with os.fdopen(read) as heard:
        for _ in range(1 + round % 3):
            acknowledged.append(heard.readline().split())
        os.kill(child, signal.SIGKILL)
        acknowledged += [line.split() for line in heard if line.endswith("\\n")]
    os.waitpid(child, 0)
log = make()
for query_id, round, number in acknowledged:
    assert log.find(query_id).result()["query_response_hit_ids"][0] == f"d{round} {number}"
log.close()
print(json.dumps(acknowledged))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("kind", ["folder", "postgresql"])
def test_what_was_acknowledged_survives_being_killed(kind, request, tmp_path):
    where, rounds = (str(tmp_path), 20) if kind == "folder" else (request.getfixturevalue("postgresql_url"), 4)
    command = [sys.executable, "-c", KILLED, where, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    acknowledged = json.loads(done.stdout)
    assert {int(round) for _, round, _ in acknowledged} == set(range(rounds))
    if kind == "folder":
        lines = (tmp_path / "ubi_events-0.ndjson").read_text(encoding="utf-8").splitlines()
        events = {(one["query_id"], one["event_attributes"]["of"]) for one in map(json.loads, lines)}
    else:
        with psycopg.connect(where) as connection:
            events = set(connection.execute("SELECT query_id, event_attributes->>'of' FROM ubi_events"))
    assert {(query_id, f"d{round} {number}") for query_id, round, number in acknowledged} <= events
