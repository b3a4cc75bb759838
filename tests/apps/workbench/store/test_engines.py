"""Store URLs, refused files, and the default store."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import traceback
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")


from plackett.apps.workbench.db import default_store_path
from plackett.apps.workbench.store import Store
from tests.apps.workbench.conftest import assert_refused


def test_a_folder_that_is_missing_or_in_the_way(tmp_path):
    path = tmp_path / "nowhere" / "store.db"
    said = assert_refused(lambda: Store(path), match="does not exist. Create it first")
    assert said.startswith(str(path))
    assert_refused(lambda: Store(tmp_path), match="is a folder. Name a file in it")


@pytest.mark.parametrize("content", [b"query,docid,grade\n" * 99, b"\x00" * 5000, b"SQLite format 3\x00" + b"?" * 5000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    assert_refused(lambda: Store(path), match="is not an SQLite database|is damaged|cannot be opened")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["notes.csv"]


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE bookmarks (url TEXT)")
        theirs.commit()
    before = path.read_bytes()
    assert_refused(lambda: Store(path), match='is the database of another program .it has a table "bookmarks"')
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_file_without_permission_to_write(tmp_path):
    path = tmp_path / "store.db"
    Store(path).close()
    path.chmod(0o400)
    assert_refused(lambda: Store(path), match="cannot be read and written by this user")


def test_passwords_are_not_shown(postgresql_url):
    with Store(f"{postgresql_url}?application_name=s3cret") as store:
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
        Store(url)
    shown = "".join(traceback.format_exception(refused.value))
    assert "s3cret" not in "\n".join(line for line in shown.splitlines() if not line.startswith("  "))
    assert "postgresql://USER:PASSWORD@HOST" in str(refused.value) or "%40" in str(refused.value)


def test_the_ways_to_name_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a store?x=1#%41.db"
    for url in (path, str(path), f"sqlite:///{path}", path.name, f"sqlite:///{path.name}"):
        with Store(url) as store:
            assert store.location == str(path)
            assert store.user("me").id == 1
    assert [name for name in os.listdir(tmp_path) if not name.endswith(("-wal", "-shm"))] == [path.name]


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs psycopg. .*: pip install 'plackett\[postgres\]'"):
        Store("postgresql://127.0.0.1:1/ranking")


def test_without_sqlalchemy_the_extra_is_named():
    code = "import sys; sys.modules['sqlalchemy'] = None; import plackett.apps.workbench.db"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "the workbench's store needs sqlalchemy. Install it with: pip install 'plackett[web]'" in done.stderr


def test_the_default_store_is_in_the_users_data_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    path = default_store_path("notes/../x y" + "z" * 100)
    assert (path.parent, len(path.name)) == (tmp_path / "plackett", 83)
    assert path.parent.stat().st_mode & 0o077 == 0
    assert set(path.name) <= set("notes.-xyzdb")


def test_a_folder_that_cannot_be_created_is_named_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"judgements cannot be stored in .*file.plackett.*--store"):
        default_store_path("notes")
