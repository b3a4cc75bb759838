"""The schema of a store. The prefix avoids clashes with other tables of a shared PostgreSQL database."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator


class UtcTime(TypeDecorator):
    """A timezone-aware time in UTC: SQLite has no time zones, and PostgreSQL returns that of the session."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


SCHEMA_VERSION = 2  # to be raised with every change below; other versions are refused when a store is opened
# SQLite generates ids only in a column that is exactly INTEGER
Id = BigInteger().with_variant(Integer, "sqlite")
metadata = MetaData()

versions = Table(
    "plackett_versions",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("applied", UtcTime, nullable=False),
)

users = Table(
    "plackett_users",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", UtcTime, nullable=False),
)

queries = Table(
    "plackett_queries",
    metadata,
    Column("id", Id, primary_key=True),
    # a digest of collection and text, because PostgreSQL cannot index long texts
    Column("key", Text, nullable=False, unique=True),
    Column("collection", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("base", Text, nullable=False),
    Column("created", UtcTime, nullable=False),
)

# append-only: an undo is an event whose target is the event that it cancels, at most one undo per event
events = Table(
    "plackett_events",
    metadata,
    Column("id", Id, primary_key=True),
    Column("time", UtcTime, nullable=False),
    Column("user_id", Id, ForeignKey("plackett_users.id"), nullable=False),
    Column("query_id", Id, ForeignKey("plackett_queries.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("docid", Text),
    Column("other", Text),
    Column("grade", Double),
    Column("target", Id, ForeignKey("plackett_events.id"), unique=True),
    Index("plackett_events_by_list", "query_id", "user_id", "id"),
)

rankers = Table(
    "plackett_rankers",
    metadata,
    Column("name", Text, primary_key=True),
    Column("collection", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("summary", Text, nullable=False),
    Column("created", UtcTime, nullable=False),
)

jobs = Table(
    "plackett_jobs",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("collection", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("progress", Double, nullable=False),
    Column("message", Text, nullable=False),
    Column("settings", Text, nullable=False),
    Column("result", Text),
    Column("created", UtcTime, nullable=False),
    Column("updated", UtcTime, nullable=False),
)
