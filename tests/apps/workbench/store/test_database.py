"""New stores get the schema; stores of other schema versions are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.apps.workbench import db as database_module
from plackett.apps.workbench.db import SCHEMA_VERSION, Database, metadata, schema_version, versions
from plackett.apps.workbench.store import Store
from plackett.exceptions import StoreError


def versions_in(store):
    with store.reading() as connection:
        return connection.execute(sqlalchemy.select(versions.c.version)).scalars().all()


def test_a_new_store_has_the_current_schema(store_url):
    for _ in range(2):
        with Store.open(store_url) as store:
            assert versions_in(store) == [SCHEMA_VERSION]


def test_a_database_without_our_tables_has_no_version(store_url):
    database = Database(*database_module.open_engine(store_url, 10.0), 10.0)
    with database, database.reading() as connection:
        assert schema_version(connection) is None


def test_the_tables_are_created_as_declared(store_url):
    with Store.open(store_url) as store, store.reading() as connection:
        found = sqlalchemy.inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"]: column for column in found.get_columns(table.name)}
            assert list(columns) == [column.name for column in table.columns]
            for column in table.columns:
                there = columns[column.name]
                assert there["nullable"] == column.nullable or column.primary_key
                wanted = column.type.dialect_impl(connection.dialect)
                wanted = getattr(wanted, "impl_instance", wanted)
                assert there["type"]._type_affinity is wanted._type_affinity, f"{table.name}.{column.name}"
            assert found.get_pk_constraint(table.name)["constrained_columns"] == [key.name for key in table.primary_key]
            unique = {tuple(key["column_names"]) for key in found.get_unique_constraints(table.name)}
            assert unique == {(column.name,) for column in table.columns if column.unique}
            references = {
                (key["constrained_columns"][0], key["referred_table"], key["referred_columns"][0])
                for key in found.get_foreign_keys(table.name)
            }
            assert references == {
                (key.parent.name, key.column.table.name, key.column.name) for key in table.foreign_keys
            }
            indexes = {
                index["name"]: index["column_names"] for index in found.get_indexes(table.name) if not index["unique"]
            }
            assert indexes == {index.name: [column.name for column in index.columns] for index in table.indexes}


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_store_of_another_schema_is_refused_and_unchanged(store_url, version):
    with Store.open(store_url) as store:
        me = store.user("me")
        with store.writing() as connection:
            connection.execute(sqlalchemy.delete(versions))
            row = {"version": version, "applied": datetime.now(UTC)}
            connection.execute(sqlalchemy.insert(versions).values(row))
    numbers = rf"schema {version}; this one needs schema {SCHEMA_VERSION}"
    for wanted in ("Export its judgements as JSON with that version", numbers):
        with pytest.raises(StoreError, match=wanted):
            Store.open(store_url)
    store = Store(*database_module.open_engine(store_url, 10.0), 10.0)
    with store:
        assert (store.users(), versions_in(store)) == ([me], [version])


def test_a_failed_creation_leaves_nothing_behind(store_url, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(database_module, "SCHEMA_VERSION", "not a number")
        with pytest.raises(StoreError if "://" in store_url else Exception):
            Store.open(store_url)
    database = Database(*database_module.open_engine(store_url, 10.0), 10.0)
    with database, database.reading() as connection:
        assert sqlalchemy.inspect(connection).get_table_names() == []


def test_a_shared_postgresql_database_keeps_its_other_tables(postgresql_url):
    import psycopg

    with psycopg.connect(postgresql_url) as other:
        other.execute("CREATE TABLE users (name TEXT)")
        other.execute("INSERT INTO users VALUES ('theirs')")
    with Store.open(postgresql_url) as store:
        assert isinstance(store, Database)
        assert store.users() == []
    with psycopg.connect(postgresql_url) as other:
        assert other.execute("SELECT name FROM users").fetchall() == [("theirs",)]
