"""The tables of a store. Their names have a prefix for PostgreSQL databases that other programs share."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ForeignKey, Index

from plackett.apps.workbench.db import Id, UtcTime, metadata


def _id() -> sa.Column:
    return sa.Column("id", Id, primary_key=True)


def _filled(name: str, kind: Any, *reference: ForeignKey, **options: Any) -> sa.Column:
    return sa.Column(name, kind, *reference, nullable=False, **options)


def _key(name: str, kind: Any, *reference: ForeignKey) -> sa.Column:
    return sa.Column(name, kind, *reference, primary_key=True, autoincrement=False)


USER, QUERY = "plackett_users.id", "plackett_queries.id"

users = sa.Table(
    "plackett_users",
    metadata,
    _id(),
    _filled("name", sa.Text, unique=True),
    _filled("is_person", sa.Boolean),
    _filled("created", UtcTime),
)

queries = sa.Table(
    "plackett_queries",
    metadata,
    _id(),
    # a digest of collection and text, because PostgreSQL cannot index long texts
    _filled("key", sa.Text, unique=True),
    _filled("collection", sa.Text),
    _filled("text", sa.Text),
    _filled("base", sa.Text),
    _filled("created", UtcTime),
)

# append-only: an undo is an event whose target is the event that it cancels, at most one undo per event
events = sa.Table(
    "plackett_events",
    metadata,
    _id(),
    _filled("time", UtcTime),
    _filled("user_id", Id, ForeignKey(USER)),
    _filled("query_id", Id, ForeignKey(QUERY)),
    _filled("kind", sa.Text),
    sa.Column("docid", sa.Text),
    sa.Column("other", sa.Text),
    sa.Column("grade", sa.Double),
    sa.Column("target", Id, ForeignKey("plackett_events.id"), unique=True),
    Index("plackett_events_by_list", "query_id", "user_id", "id"),
    sqlite_autoincrement=True,  # the ids of deleted rows are not used again, here and below
)

rankers = sa.Table(
    "plackett_rankers",
    metadata,
    _id(),
    _filled("name", sa.Text, unique=True),
    _filled("collection", sa.Text),
    _filled("is_base", sa.Boolean),
    _filled("size", sa.Integer),
    _filled("summary", sa.JSON),
    _filled("fold_of", sa.JSON),  # by query that it was trained on the number of its fold, from 1
    _filled("created", UtcTime),
)

# fold 0 is the ranker; the others were trained without some of its queries
ranker_files = sa.Table(
    "plackett_ranker_files",
    metadata,
    _key("ranker_id", Id, ForeignKey("plackett_rankers.id")),
    _key("fold", sa.Integer),
    _filled("data", sa.LargeBinary),
)

jobs = sa.Table(
    "plackett_jobs",
    metadata,
    _id(),
    _filled("kind", sa.Text),
    _filled("collection", sa.Text),
    _filled("state", sa.Text),
    _filled("progress", sa.Double),
    _filled("message", sa.Text),
    _filled("settings", sa.JSON),
    sa.Column("result", sa.JSON(none_as_null=True)),
    _filled("created", UtcTime),
    _filled("updated", UtcTime),
)

query_sets = sa.Table(
    "plackett_query_sets",
    metadata,
    _id(),
    _filled("collection", sa.Text),
    _filled("name", sa.Text),
    _filled("source", sa.Text),
    _filled("n_queries", sa.Integer),
    _filled("created", UtcTime),
    _filled("queries", sa.JSON),
    sqlite_autoincrement=True,
)

# a snapshot outlives its query set and its rankers, and never changes
snapshots = sa.Table(
    "plackett_snapshots",
    metadata,
    _id(),
    _filled("collection", sa.Text),
    _filled("name", sa.Text),
    _filled("rankers", sa.JSON),
    _filled("n_queries", sa.Integer),
    _filled("summary", sa.JSON),
    _filled("created", UtcTime),
    _filled("labels", sa.JSON),  # by query and document
    sqlite_autoincrement=True,
)

snapshot_lists = sa.Table(
    "plackett_snapshot_lists",
    metadata,
    _key("snapshot_id", Id, ForeignKey("plackett_snapshots.id")),
    _key("ranker", sa.Integer),  # its place in the snapshot's rankers
    _filled("lists", sa.JSON),  # by query the ids and the scores of its documents
)

# information needs of queries, shared by all users
needs = sa.Table(
    "plackett_needs",
    metadata,
    _key("query_id", Id, ForeignKey(QUERY)),
    _filled("user_id", Id, ForeignKey(USER)),
    _filled("text", sa.Text),
    _filled("time", UtcTime),
)

notes = sa.Table(
    "plackett_notes",
    metadata,
    _key("query_id", Id, ForeignKey(QUERY)),
    _key("user_id", Id, ForeignKey(USER)),
    _filled("text", sa.Text),
    _filled("time", UtcTime),
)

assignments = sa.Table(
    "plackett_assignments",
    metadata,
    _key("query_id", Id, ForeignKey(QUERY)),
    _key("user_id", Id, ForeignKey(USER)),
    _filled("created", UtcTime),
)

# append-only: the last settlement of a document counts, and one without a grade withdraws it
settlements = sa.Table(
    "plackett_settlements",
    metadata,
    _id(),
    _filled("query_id", Id, ForeignKey(QUERY)),
    _filled("docid", sa.Text),
    sa.Column("grade", sa.Double),
    _filled("user_id", Id, ForeignKey(USER)),
    _filled("time", UtcTime),
    Index("plackett_settlements_by_query", "query_id", "id"),
)
