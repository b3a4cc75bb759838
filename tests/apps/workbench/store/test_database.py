"""New stores get the schema."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.apps.workbench.db import Database, metadata, open_engine
from plackett.apps.workbench.store import Store


def test_the_tables_are_created_as_declared(store_url):
    with Store(store_url) as store, store.reading() as connection:
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


def test_a_failed_creation_leaves_nothing_behind(store_url, monkeypatch):
    def fails(connection):
        metadata.tables["plackett_users"].create(connection)
        raise RuntimeError("in the middle")

    with monkeypatch.context() as broken:
        broken.setattr(metadata, "create_all", fails)
        with pytest.raises(RuntimeError, match="in the middle"):
            Store(store_url)
    engine, _ = open_engine(store_url, 10.0)
    assert sqlalchemy.inspect(engine).get_table_names() == []
    engine.dispose()


def test_a_shared_postgresql_database_keeps_its_other_tables(postgresql_url):
    import psycopg

    with psycopg.connect(postgresql_url) as other:
        other.execute("CREATE TABLE users (name TEXT)")
        other.execute("INSERT INTO users VALUES ('theirs')")
    with Store(postgresql_url) as store:
        assert isinstance(store, Database)
        assert store.users() == []
    with psycopg.connect(postgresql_url) as other:
        assert other.execute("SELECT name FROM users").fetchall() == [("theirs",)]
