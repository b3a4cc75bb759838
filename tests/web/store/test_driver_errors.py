"""Messages of failed databases, without statements, values or passwords."""

from __future__ import annotations

import pickle
import sqlite3
import threading
import traceback
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.exceptions import StoreError
from plackett.web.store import Store
from tests.web.conftest import PASSWORD, free_port, new_database


def refusal(call, *, match):
    """The text of the ``StoreError`` that ``call`` raises, checked for secrets and statements."""
    with pytest.raises(StoreError, match=match) as refused:
        call()
    shown = "".join(traceback.format_exception(refused.value, chain=True))
    shown = "\n".join(line for line in shown.splitlines() if not line.startswith("  "))  # not our own source
    for hidden in (PASSWORD, "SELECT", "INSERT", "UPDATE", "sqlalche.me", "s3cret"):
        assert hidden not in shown
    return str(refused.value)


def test_a_damaged_file(tmp_path):
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        me = store.user("me").id
        store.import_judgements(me, "pages", [(f"query {i}", f"document {j}", 1) for i in range(50) for j in range(20)])
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))

    def read_everything():
        with Store.open(path) as store:
            list(store.judgements("pages"))

    refusal(read_everything, match="is damaged. Restore a copy")


def test_a_store_that_another_program_holds(tmp_path):
    path = tmp_path / "store.db"
    with Store.open(path, timeout=0.2) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        me = store.user("me")
        other.execute("BEGIN IMMEDIATE")
        refusal(lambda: store.user("you"), match="is busy: another program has been writing for more than 0.2 s")
        assert store.users() == [me]  # reading still works
        other.execute("ROLLBACK")
        assert store.user("you").id > me.id


def test_a_thread_that_waits_too_long_for_its_turn(tmp_path):
    inside, leave = threading.Event(), threading.Event()
    with Store.open(tmp_path / "store.db", timeout=0.2) as store:

        def hold():
            with store.writing():
                inside.set()
                leave.wait(30)

        holder = threading.Thread(target=hold)
        holder.start()
        try:
            assert inside.wait(30)
            refusal(lambda: store.user("me"), match="is busy: other writers took more than 0.2 s")
        finally:
            leave.set()
            holder.join()
        assert store.user("me").id == 1


def test_a_row_that_another_session_holds(postgresql_url):
    import psycopg

    with Store.open(postgresql_url, timeout=0.2) as store, psycopg.connect(postgresql_url) as other:
        me, query = store.user("me").id, store.query("pages", "red", "bm25").id
        other.execute("SELECT id FROM plackett_queries FOR UPDATE")
        refusal(lambda: store.judge(me, query, "d1", 1), match="is busy: another program has been writing")
        other.rollback()
        store.judge(me, query, "d1", 1)


def with_pragma(store, setting):
    """Make SQLite itself refuse, as it does without space or rights."""
    store._engine.dispose()
    sqlalchemy.event.listen(store._engine, "connect", lambda raw, _: raw.execute(f"PRAGMA {setting}").close())


def test_a_full_disk_loses_only_what_was_refused(tmp_path):
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        me, query = store.user("me").id, store.query("pages", "red", "bm25").id
        pages = path.stat().st_size // 4096 + 40
        with_pragma(store, f"max_page_count={pages}")
        said = 0

        def fill():
            nonlocal said
            for number in range(1000):
                store.judge(me, query, f"{number} " + "x" * 900, 1)
                said = number + 1

        refusal(fill, match="the disk is full; the last write is not stored")
        refusal(lambda: store.save_ranker("big", "pages", bytes(10**6), {}), match="the disk is full")
        assert said > 0
        assert len(store.state(me, query).judged.labels) == said
    with Store.open(path) as store:
        assert len(store.state(me, query).judged.labels) == said
        store.judge(me, query, "there is space again", 1)


def test_a_store_that_may_only_be_read(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        me = store.user("me")
        with_pragma(store, "query_only=ON")
        refusal(lambda: store.user("you"), match="is read-only. Change its permissions")
        assert store.users() == [me]


def test_a_database_that_may_only_be_read(postgresql_url):
    with Store.open(postgresql_url) as store:
        me = store.user("me")
    with Store.open(f"{postgresql_url}?options=-cdefault_transaction_read_only%3Don") as store:
        refusal(lambda: store.user("you"), match="is read-only. Name the primary server")
        assert store.users() == [me]


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = f"postgresql://somebody:s3cret@127.0.0.1:{free_port()}/ranking"
    said = refusal(lambda: Store.open(url, timeout=2), match="the server does not respond")
    assert said.startswith("postgresql://somebody@127.0.0.1:")


def test_a_server_that_refuses(postgresql_server):
    wrong = postgresql_server.replace("plackett:", "plackett:s3cret-wrong")
    refusal(lambda: Store.open(f"{wrong}/postgres"), match="refused the user's name or password")
    refusal(lambda: Store.open(f"{postgresql_server}/nothing"), match="no such database")
    encoded = new_database(postgresql_server, "latin", "ENCODING 'LATIN1' TEMPLATE template0")
    refusal(lambda: Store.open(encoded), match="is encoded as LATIN1; a store needs UTF8")


def test_a_closed_store_refuses_work(store):
    store.close()
    refusal(lambda: store.user("me"), match="is closed")
    refusal(store.users, match="is closed")
    store.close()


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(StoreError("store.db", "is closed.")))
    assert (str(error), error.location) == ("store.db: is closed.", "store.db")
