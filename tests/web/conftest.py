"""Fixtures: stores in SQLite and in PostgreSQL, if it is installed, and a small collection."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from plackett.exceptions import StoreError

PASSWORD = "s3cret/with@signs:%"  # must be quoted in a URL, and must not be shown in errors


def server_program(name: str) -> str | None:
    """Where a program of PostgreSQL's server is; Debian keeps them out of the path."""
    found = [shutil.which(name), *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    return next((path for path in reversed(found) if path), None)


def account_of_server() -> dict[str, object]:
    """Return another account for the server, which refuses to run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    import pwd

    for name in ("postgres", "nobody"):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until_ready(server: subprocess.Popen, url: str) -> bool:
    import psycopg

    deadline = time.monotonic() + 30
    while server.poll() is None and time.monotonic() < deadline:
        try:
            psycopg.connect(url, connect_timeout=2).close()
            return True
        except psycopg.OperationalError:
            time.sleep(0.05)
    return False


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a server of our own, on a free loopback port, in a temporary folder; without a database's name."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, postgres = server_program("initdb"), server_program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    account = account_of_server()
    # not pytest's own folder, which only its owner may enter
    folder = Path(tempfile.mkdtemp(prefix="plackett-postgresql-"))
    try:
        (folder / "password").write_text(PASSWORD)
        if account:
            for path in (folder, folder / "password"):
                os.chown(path, account["user"], account["group"])
        options = ["--username=plackett", "--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        options += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        made = subprocess.run(
            [initdb, "-D", folder / "data", *options], cwd="/", capture_output=True, text=True, timeout=60, **account
        )
        if made.returncode:
            pytest.skip(f"PostgreSQL's initdb failed: {made.stderr.strip()[-500:]}")
        yield from run_server(postgres, folder, account)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_server(postgres: str, folder: Path, account: dict[str, object]) -> Iterator[str]:
    for _ in range(3):  # another program may take the free port before the server does
        port = free_port()
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"]
        command = [postgres, "-D", folder / "data", "-p", str(port)]
        with open(os.devnull, "w") as nowhere:
            server = subprocess.Popen(
                command + [word for option in options for word in ("-c", option)],
                cwd="/",
                stdout=nowhere,
                stderr=nowhere,
                start_new_session=True,
                **account,
            )
        try:
            url = f"postgresql://plackett:{quote(PASSWORD, safe='')}@127.0.0.1:{port}"
            if wait_until_ready(server, f"{url}/postgres"):
                yield url
                return
        finally:
            server.send_signal(signal.SIGQUIT)  # immediate shutdown: the files are not needed again
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    pytest.skip("PostgreSQL did not start")


numbers = itertools.count()


def run_in_postgres(server: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statement)


def new_database(server: str, name: str, options: str = "") -> str:
    run_in_postgres(server, f"CREATE DATABASE {name} {options}")
    return f"{server}/{name}"


@pytest.fixture
def postgresql_url(postgresql_server) -> str:
    """The URL of a database of the test's own."""
    return new_database(postgresql_server, f"test_{next(numbers)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path) -> str:
    """A store that does not exist yet, in either kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    server = request.getfixturevalue("postgresql_server")
    name = f"test_{next(numbers)}"  # a schema is made much faster than a database
    run_in_postgres(server, f"CREATE SCHEMA {name}")
    return f"{server}/postgres?options=-csearch_path%3D{name}"


@pytest.fixture
def store(store_url):
    from plackett.web.store import Store

    with Store.open(store_url) as opened:
        yield opened


@pytest.fixture
def kept(tmp_path):
    """A store in SQLite."""
    from plackett.web.store import Store

    with Store.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def collection():
    """The collection of applications under test, unless a module defines its own."""
    from tests.web.serving import small_collection

    return small_collection()


def assert_refused(call, *, match):
    """The text of the ``StoreError`` that ``call`` raises, checked for secrets and statements."""
    with pytest.raises(StoreError, match=match) as refused:
        call()
    shown = "".join(traceback.format_exception(refused.value, chain=True))
    shown = "\n".join(line for line in shown.splitlines() if not line.startswith("  "))  # not our own source
    for hidden in (PASSWORD, "SELECT", "INSERT", "UPDATE", "sqlalche.me", "s3cret"):
        assert hidden not in shown
    return str(refused.value)
