"""What goes wrong with a store is said in plain words, without statements, values or passwords."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
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
    """The text of the ``StoreError`` that ``call`` raises, checked for what nobody may see."""
    with pytest.raises(StoreError, match=match) as refused:
        call()
    shown = "".join(traceback.format_exception(refused.value, chain=True))
    shown = "\n".join(line for line in shown.splitlines() if not line.startswith("  "))  # not our own source
    for hidden in (PASSWORD, "SELECT", "INSERT", "UPDATE", "sqlalche.me", "s3cret"):
        assert hidden not in shown
    return str(refused.value)


def test_a_folder_that_is_missing_or_in_the_way(tmp_path):
    path = tmp_path / "nowhere" / "store.db"
    said = refusal(lambda: Store.open(path), match="does not exist. Create it first")
    assert said.startswith(str(path))
    refusal(lambda: Store.open(tmp_path), match="is a folder. Name a file in it")


@pytest.mark.parametrize("content", [b"query,docid,grade\n" * 99, b"\x00" * 5000, b"SQLite format 3\x00" + b"?" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    refusal(lambda: Store.open(path), match="is not an SQLite database|is damaged|cannot be opened")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.csv"]


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE bookmarks (url TEXT)")
        theirs.commit()
    before = path.read_bytes()
    refusal(lambda: Store.open(path), match='is the database of another program .it has a table "bookmarks"')
    assert path.read_bytes() == before


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
        assert store.users() == [me]  # reading goes on
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
    """A store on whose connections SQLite itself refuses, as it would for want of space or rights."""
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


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_file_without_permission_to_write(tmp_path):
    path = tmp_path / "store.db"
    Store.open(path).close()
    path.chmod(0o400)
    refusal(lambda: Store.open(path), match="may not be read and written by this user")


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


def test_passwords_are_not_shown(postgresql_url):
    with Store.open(f"{postgresql_url}?application_name=s3cret") as store:
        assert store.location.startswith("postgresql://plackett@127.0.0.1:")
        assert "s3cret" not in store.location
        assert "s3cret" not in repr(store)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://me:s3cret@host/db", 'cannot begin with "mysql://"'),
        ("postgresql+asyncpg://me:s3cret@host/db", r'cannot begin with "postgresql\+asyncpg://"'),
        ("postgresql://me:s3cret@host:s3cret/db", "PostgreSQL URL cannot be parsed"),
        ("postgresql://me:s3cret@more@host/db", "Write an @ in a password as %40"),
        ("sqlite://", "cannot be in memory"),
        ("sqlite:///:memory:", "cannot be in memory"),
        (":memory:", "cannot be in memory"),
        ("", "cannot be empty"),
        ("a\x00b", "null character"),
    ],
)
def test_a_url_that_is_none_of_ours(url, message):
    with pytest.raises(ValueError, match=message) as refused:
        Store.open(url)
    shown = "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in "\n".join(line for line in shown.splitlines() if not line.startswith("  "))
    assert "postgresql://USER:PASSWORD@HOST" in str(refused.value) or "%40" in str(refused.value)


def test_the_ways_to_name_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a store?x=1#%41.db"
    for url in (path, str(path), f"sqlite:///{path}", path.name, f"sqlite:///{path.name}"):
        with Store.open(url) as store:
            assert store.location == str(path)
            assert store.user("me").id == 1
    assert [name for name in os.listdir(tmp_path) if not name.endswith(("-wal", "-shm"))] == [path.name]


def test_a_closed_store_refuses_work(store):
    store.close()
    refusal(lambda: store.user("me"), match="is closed")
    refusal(store.users, match="is closed")
    store.close()


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(StoreError("store.db", "is closed.")))
    assert (str(error), error.location) == ("store.db: is closed.", "store.db")


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs psycopg. .*: pip install 'plackett\[postgres\]'"):
        Store.open("postgresql://127.0.0.1:1/ranking")


def test_without_sqlalchemy_the_extra_is_named():
    code = "import sys; sys.modules['sqlalchemy'] = None; import plackett.web.store"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "the workbench's store needs sqlalchemy. Install it with: pip install 'plackett[web]'" in done.stderr
