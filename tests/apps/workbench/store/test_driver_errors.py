"""Messages of failed databases, without statements, values or passwords."""

from __future__ import annotations

import pickle
import sqlite3
import threading
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.apps.workbench import db
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.store import Store
from plackett.exceptions import StoreError
from tests.apps.workbench.conftest import assert_refused
from tests.apps.workbench.serving import judgements_in, store_ranker
from tests.postgresql import free_port, new_database


def test_a_damaged_file(tmp_path):
    path = tmp_path / "store.db"
    with Store(path) as store:
        me = store.user("me").id
        store.import_judgements(me, "pages", [(f"query {i}", f"document {j}", 1) for i in range(50) for j in range(20)])
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))

    def read_everything():
        with Store(path) as store:
            judgements_in(store, "pages")

    assert_refused(read_everything, match="is damaged. Restore a copy")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE plackett_users SET created = '2026-11-19 15:30:2+K057074'",
        "UPDATE plackett_jobs SET settings = '{]'",
        "UPDATE plackett_jobs SET kind = CAST(x'e9ff' AS TEXT)",
    ],
    ids=["time", "json", "text"],
)
def test_a_damaged_value(statement, tmp_path):
    path = tmp_path / "store.db"
    with Store(path) as store:
        store.user("me")
        jobs = JobRunner(store, "pages")
        job = jobs.create("train", {})
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
        other.commit()
    with Store(path) as store:
        jobs = JobRunner(store, "other")
        said = assert_refused(lambda: (store.users(), jobs.job(job)), match="is damaged. Restore a copy")
        assert said.count("store.db") == 1


def test_a_damaged_name_of_a_table(tmp_path):
    path = tmp_path / "store.db"
    Store(path).close()
    content = path.read_bytes()
    assert content.count(b"CREATE TABLE plackett_users") == 1
    path.write_bytes(content.replace(b"CREATE TABLE plackett_users", b"CREATE TABLE plackett_\xe9ser\xff"))
    said = assert_refused(lambda: Store(path), match="is damaged. Restore a copy")
    assert said.count("store.db") == 1


def test_every_message_goes_on_after_the_words_the_store():
    verbs = ("is", "cannot", "does", "refuses")
    assert all(message.split()[0] in verbs for message in db.MESSAGES.values())


def test_a_store_that_another_program_holds(tmp_path):
    path = tmp_path / "store.db"
    with Store(path, timeout=0.2) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        me = store.user("me")
        other.execute("BEGIN IMMEDIATE")
        assert_refused(lambda: store.user("you"), match="is busy: another program has been writing for more than 0.2 s")
        assert store.users() == [me]  # reading still works
        other.execute("ROLLBACK")
        assert store.user("you").id > me.id


def test_a_thread_that_waits_too_long_for_its_turn(tmp_path):
    inside, leave = threading.Event(), threading.Event()
    with Store(tmp_path / "store.db", timeout=0.2) as store:

        def hold():
            with store.writing():
                inside.set()
                leave.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert inside.wait(30)
            assert_refused(lambda: store.user("me"), match="is busy: other writers took more than 0.2 s")
        finally:
            leave.set()
            holder.join()
        assert store.user("me").id == 1


def test_a_row_that_another_session_holds(postgresql_url):
    import psycopg

    with Store(postgresql_url, timeout=0.2) as store, psycopg.connect(postgresql_url) as other:
        me, query = store.user("me").id, store.query("pages", "red", "bm25").id
        other.execute("SELECT id FROM plackett_queries FOR UPDATE")
        assert_refused(lambda: store.judge(me, query, "d1", 1), match="is busy: another program has been writing")
        other.rollback()
        store.judge(me, query, "d1", 1)


def with_pragma(store, setting):
    """Make SQLite itself refuse, as it does without space or rights."""
    store._engine.dispose()
    sqlalchemy.event.listen(store._engine, "connect", lambda raw, _: raw.execute(f"PRAGMA {setting}").close())


def test_a_full_disk_loses_only_what_was_refused(tmp_path):
    path = tmp_path / "store.db"
    with Store(path) as store:
        me, query = store.user("me").id, store.query("pages", "red", "bm25").id
        pages = path.stat().st_size // 4096 + 40
        with_pragma(store, f"max_page_count={pages}")
        said = 0

        def fill():
            nonlocal said
            for number in range(1000):
                store.judge(me, query, f"{number} " + "x" * 900, 1)
                said = number + 1

        assert_refused(fill, match="cannot be written: the disk is full. The last write is not stored")
        assert_refused(lambda: store_ranker(store, "big", "pages", data=bytes(10**6)), match="the disk is full")
        assert said > 0
        assert len(store.state(me, query).judged.labels) == said
    with Store(path) as store:
        assert len(store.state(me, query).judged.labels) == said
        store.judge(me, query, "there is space again", 1)


def test_a_store_that_may_only_be_read(tmp_path):
    with Store(tmp_path / "store.db") as store:
        me = store.user("me")
        with_pragma(store, "query_only=ON")
        assert_refused(lambda: store.user("you"), match="is read-only. Change its permissions")
        assert store.users() == [me]


def test_a_database_that_may_only_be_read(postgresql_url):
    with Store(postgresql_url) as store:
        me = store.user("me")
    with Store(f"{postgresql_url}?options=-cdefault_transaction_read_only%3Don") as store:
        assert_refused(lambda: store.user("you"), match="is read-only. Name the primary server")
        assert store.users() == [me]


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = f"postgresql://somebody:s3cret@127.0.0.1:{free_port()}/ranking"
    said = assert_refused(lambda: Store(url, timeout=2), match="the server does not respond")
    assert said.startswith("postgresql://somebody@127.0.0.1:")


def test_a_server_that_refuses(postgresql_server):
    wrong = postgresql_server.replace("plackett:", "plackett:s3cret-wrong")
    assert_refused(lambda: Store(f"{wrong}/postgres"), match="rejected the user name or password")
    assert_refused(lambda: Store(f"{postgresql_server}/nothing"), match="no such database")
    encoded = new_database(postgresql_server, "latin", "ENCODING 'LATIN1' TEMPLATE template0")
    assert_refused(lambda: Store(encoded), match="is encoded as LATIN1; a store needs UTF8")


def test_a_closed_store_refuses_work(store):
    store.close()
    assert_refused(lambda: store.user("me"), match="is closed")
    assert_refused(store.users, match="is closed")
    store.close()


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(StoreError("store.db", "is closed.")))
    assert (str(error), error.location) == ("store.db: is closed.", "store.db")
