"""Stores of every age open, except those from the future."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.exceptions import StoreError
from plackett.web.store import Store, migrations, tables
from plackett.web.store.database import Database


def steps_taken(store):
    with store.reading() as connection:
        return connection.execute(sqlalchemy.select(tables.versions.c.version).order_by("version")).scalars().all()


def open_at(url, version, monkeypatch):
    """A store as an older plackett would have left it."""
    with monkeypatch.context() as older:
        older.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        return Store.open(url)


def test_the_steps_are_numbered_from_one_and_described():
    assert [step.version for step in migrations.MIGRATIONS] == list(range(1, migrations.newest() + 1))
    assert all(step.name and step.statements for step in migrations.MIGRATIONS)
    assert set(migrations.WORDS) == {"sqlite", "postgresql"}


def test_a_new_store_takes_every_step_once(store_url):
    for _ in range(2):
        with Store.open(store_url) as store:
            assert steps_taken(store) == list(range(1, migrations.newest() + 1))
            assert store.version == migrations.newest()


def test_an_old_store_is_upgraded_with_all_it_holds(store_url, monkeypatch):
    with open_at(store_url, 1, monkeypatch) as old:
        assert old.version == 1
        me, query = old.user("me"), old.query("pages", "größe", "bm25")
        old.judge(me.id, query.id, "d1", 1)
        old.prefer(me.id, query.id, "d1", "d2")
        old.judge(me.id, query.id, "d2", 2)
        old.undo(me.id, query.id)
        log = old.events(me.id, query.id)
        with pytest.raises(StoreError):
            old.jobs()
    with Store.open(store_url) as store:
        assert steps_taken(store) == [1, 2]
        assert (store.users(), store.query_by_id(query.id), store.events(me.id, query.id)) == ([me], query, log)
        assert store.judged(me.id, query.id) == ({"d1": 1.0}, [("d1", "d2")])
        assert store.jobs() == []
        assert store.judge(me.id, query.id, "d3", 1).id > log[-1].id


def test_the_steps_lead_to_the_tables_that_the_code_is_written_for(store_url):
    with Store.open(store_url) as store, store.reading() as connection:
        found = sqlalchemy.inspect(connection)
        for table in tables.metadata.sorted_tables:
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


def test_a_store_from_the_future_is_refused_and_left_alone(store_url):
    with Store.open(store_url) as store:
        store.user("me")
        with store.writing() as connection:
            row = {"version": migrations.newest() + 1, "name": "what will be", "applied": datetime.now(UTC)}
            connection.execute(sqlalchemy.insert(tables.versions).values(row))
    known = migrations.newest()
    wanted = rf"by a newer plackett \(store version {known + 1}; this one knows versions up to {known}\)"
    with pytest.raises(StoreError, match=wanted) as refused:
        Store.open(store_url)
    assert "Upgrade plackett" in str(refused.value)


def test_a_step_that_fails_leaves_the_store_as_it_was(store_url, monkeypatch):
    with Store.open(store_url) as store:
        me = store.user("me")
    bad = migrations.Migration(
        migrations.newest() + 1, "half a step", ("CREATE TABLE plackett_half (id INTEGER)", "CREATE TABLE nonsense (")
    )
    with monkeypatch.context() as future:
        future.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, bad))
        with pytest.raises(StoreError) as refused:
            Store.open(store_url)
        assert "nonsense" not in str(refused.value)
    with Store.open(store_url) as store:
        assert store.version == migrations.newest()
        assert store.users() == [me]
        with store.reading() as connection:
            assert not sqlalchemy.inspect(connection).has_table("plackett_half")


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
