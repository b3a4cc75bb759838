"""Fixtures: stores in SQLite and in PostgreSQL, if it is installed, and a small collection."""

from __future__ import annotations

import traceback

import pytest

from plackett.exceptions import StoreError
from tests.postgresql import PASSWORD, numbers, run_in_postgres


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
    from plackett.apps.workbench.store import Store

    with Store(store_url) as opened:
        yield opened


@pytest.fixture
def kept(tmp_path):
    """A store in SQLite."""
    from plackett.apps.workbench.store import Store

    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def collection():
    """The collection of applications under test, unless a module defines its own."""
    from tests.apps.workbench.serving import small_collection

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
