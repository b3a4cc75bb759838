"""Acknowledged writes survive crashes and concurrent writers."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.apps.workbench import tables
from plackett.apps.workbench.store import Store
from tests.apps.workbench.serving import judgements_in

# Imports once, then lets one child after another write until it is killed. A child says what it wrote after each call
# has returned; the parent waits for a few such words and kills it wherever it is then, mostly in the next write.
KILLED = """
import json, os, signal, sys
from plackett.apps.workbench.snapshots import save
from plackett.apps.workbench.store import Store
from tests.apps.workbench.serving import store_query_set
url, rounds = sys.argv[1], int(sys.argv[2])
acknowledged = []
for round in range(rounds):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with Store(url) as store:
            user, query = store.user("me").id, store.query("pages", f"round {round}", "bm25").id
            number = 0
            while True:
                event = store.judge(user, query, f"d{number}", number)
                name, document = f"{round} {number}", f"d{number}"
                store_query_set(store, "pages", name, [document, "more"])
                lists = {"bm25": {document: ([document], [0.5])}}
                save(store, "pages", name, ["bm25"], {document: {document: 1.0}}, lists, {})
                os.write(write, f"{event.id} {round} {number}\\n".encode())
                number += 1
    os.close(write)
    with os.fdopen(read) as heard:
        for _ in range(1 + round % 3):
            acknowledged.append(heard.readline().split())
        os.kill(child, signal.SIGKILL)
        acknowledged += [line.split() for line in heard if line.endswith("\\n")]
    os.waitpid(child, 0)
print(json.dumps([[int(number) for number in line] for line in acknowledged]))
"""

# Opens a store that may be new together with others, then writes.
WRITER = """
import sys
from plackett.apps.workbench.store import Store
url, name, writes = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with Store(url) as store:
    user, query = store.user(name).id, store.query("pages", "red", "bm25").id
    for number in range(writes):
        print(store.judge(user, query, f"d{number}", number).id)
"""


def rows_of(store, table):
    with store.reading() as connection:
        return connection.execute(table.select()).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_what_was_acknowledged_survives_being_killed(store_url):
    rounds = 3 if store_url.startswith("postgresql") else 20
    command, root = [sys.executable, "-c", KILLED, store_url, str(rounds)], Path(__file__).parents[4]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=True)
    acknowledged = json.loads(done.stdout)
    assert {round for _, round, _ in acknowledged} == set(range(rounds))
    with Store(store_url) as store:
        me = store.user("me").id
        stored = {}
        for round in range(rounds):
            query = store.query("pages", f"round {round}", "bm25").id
            for event in store.events(me, query):
                stored[event.id] = (round, int(event.grade))
                assert event.docid == f"d{int(event.grade)}"
        for event_id, round, number in acknowledged:
            assert stored[event_id] == (round, number)
        sets, snapshots, lists = (rows_of(store, table) for table in (
            tables.query_sets, tables.snapshots, tables.snapshot_lists
        ))  # fmt: skip
        sets, snapshots = ({row.name: row for row in rows} for rows in (sets, snapshots))
        frozen = {row.snapshot_id: row.lists for row in lists}
        for _, round, number in acknowledged:
            document, name = f"d{number}", f"{round} {number}"
            assert sets[name].queries == [document, "more"]
            assert snapshots[name].labels == {document: {document: 1.0}}
            assert frozen[snapshots[name].id] == {document: [[document], [0.5]]}
        # what was not acknowledged is there as a whole or not at all
        assert frozen.keys() == {row.id for row in snapshots.values()}
        # each child was in the middle of at most one more write
        assert len(stored) <= len(acknowledged) + rounds
        store.judge(me, query, "after all", 1)


def test_processes_that_start_and_write_together(tmp_path):
    store_url = str(tmp_path / "store.db")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, store_url, f"user {i}", "20"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(2)
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        outcomes = [writer.communicate(timeout=60) for writer in writers]
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert [errors for _, errors in outcomes] == ["", ""]
    said = [int(line) for output, _ in outcomes for line in output.split()]
    assert len(set(said)) == len(said) == 40
    with Store(store_url) as store:
        query = store.query("pages", "red", "bm25").id
        for i in range(2):
            labels = store.state(store.user(f"user {i}").id, query).judged.labels
            assert labels == {f"d{number}": float(number) for number in range(20)}


def in_threads(work, n_threads=8):
    """Run ``work(0)``, ``work(1)``, … at once, and return their results."""
    together = threading.Barrier(n_threads)

    def start(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(start, range(n_threads)))


def test_threads_lose_nothing_and_double_nothing(store):
    def work(number):
        user, query = store.user(f"user {number % 4}").id, store.query("pages", "red", "bm25").id
        return [store.judge(user, query, f"{number}/{i}", i).id for i in range(15)]

    answered = list(itertools.chain(*in_threads(work)))
    assert len(set(answered)) == 120
    query = store.query("pages", "red", "bm25").id
    stored = [event for user in store.users() for event in store.events(user.id, query)]
    assert sorted(event.id for event in stored) == sorted(answered)
    wanted = {f"{number}/{i}" for number in range(8) for i in range(15)}
    assert Counter(event.docid for event in stored) == Counter(wanted)
    assert len(store.users()) == 4


def test_two_undos_at_once_undo_two_events(store):
    me, query = store.user("me").id, store.query("pages", "red", "bm25").id
    said = [store.judge(me, query, f"d{i}", i).id for i in range(12)]
    undone = list(itertools.chain(*in_threads(lambda _: [store.undo(me, query) for _ in range(2)])))
    assert sorted(event.id for event in undone if event is not None) == said
    assert undone.count(None) == 4
    assert store.state(me, query).judged.labels == {}


def test_threads_that_open_a_new_store_at_once(store_url):
    def work(number):
        with Store(store_url) as store:
            return store.user("me").id, store.query("pages", "red", "bm25").id, len(store.users())

    assert len(set(in_threads(work, 4))) == 1


def test_imports_in_opposite_orders_do_not_wait_for_each_other(store):
    me = store.user("me").id
    rows = [(f"query {i}", "d1", 1) for i in range(60)]
    orders = [rows, rows[::-1]]
    written = in_threads(lambda number: store.import_judgements(me, "pages", orders[number % 2]), 4)
    assert written == [60] * 4
    assert len(judgements_in(store, "pages")) == 60


def test_sqlite_flushes_its_log_at_every_commit(tmp_path):
    with Store(tmp_path / "store.db") as store, store.writing() as connection:
        asked = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        answers = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked]
    assert answers == ["wal", 2, 1, 10_000]


def test_postgresql_commits_wait_for_the_disk_whatever_the_default(postgresql_url):
    with (
        Store(f"{postgresql_url}?options=-csynchronous_commit%3Doff") as store,
        store.writing() as connection,
    ):
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def test_a_server_that_dropped_its_connections_is_met_with_new_ones(postgresql_server, postgresql_url):
    import psycopg

    with Store(postgresql_url) as store:
        me = store.user("me")
        with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as other:
            name = postgresql_url.rpartition("/")[2]
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert store.user("me") == me
