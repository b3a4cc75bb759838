"""A PostgreSQL server of our own for tests, on a free loopback port, in a temporary folder."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

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

    deadline = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < deadline:
        try:
            psycopg.connect(url, connect_timeout=2).close()
            return True
        except psycopg.OperationalError:
            time.sleep(0.05)
    return False


class Server:
    """A server with its files; it can be stopped and started again at the same address."""

    def __init__(self, postgres: str, folder: Path, account: dict[str, object]):
        self._postgres, self._folder, self._account = postgres, folder, account
        self.port, self._process = free_port(), None

    @property
    def url(self) -> str:
        """The URL without a database's name."""
        return f"postgresql://plackett:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}"

    def start(self) -> bool:
        """Start it; return whether it takes connections."""
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"]
        command = [self._postgres, "-D", self._folder / "data", "-p", str(self.port)]
        with open(os.devnull, "w") as nowhere:
            self._process = subprocess.Popen(
                command + [word for option in options for word in ("-c", option)],
                cwd="/",
                stdout=nowhere,
                stderr=nowhere,
                start_new_session=True,
                **self._account,
            )
        return wait_until_ready(self._process, f"{self.url}/postgres")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        self._process.send_signal(signal.SIGQUIT)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="session")
def restartable_postgresql() -> Iterator[Server]:
    """A server that tests may restart."""
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
        for _ in range(3):  # another program may take the free port before the server does
            server = Server(postgres, folder, account)
            try:
                if server.start():
                    yield server
                    return
            finally:
                server.stop()
        pytest.skip("PostgreSQL did not start")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server(restartable_postgresql) -> str:
    """The URL of the server, without a database's name."""
    return restartable_postgresql.url


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
