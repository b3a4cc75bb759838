"""The tables of a store."""

from __future__ import annotations

import sqlalchemy as sa

from plackett.apps.workbench.db import Id, UtcTime, metadata

users = sa.Table(
    "plackett_users",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("is_person", sa.Boolean, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
)

queries = sa.Table(
    "plackett_queries",
    metadata,
    sa.Column("id", Id, primary_key=True),
    # a digest of collection and text, because PostgreSQL cannot index long texts
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("base", sa.Text, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
)

# append-only: an undo is an event whose target is the event that it cancels, at most one undo per event
events = sa.Table(
    "plackett_events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("time", UtcTime, nullable=False),
    sa.Column("user_id", Id, sa.ForeignKey("plackett_users.id"), nullable=False),
    sa.Column("query_id", Id, sa.ForeignKey("plackett_queries.id"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("docid", sa.Text),
    sa.Column("other", sa.Text),
    sa.Column("grade", sa.Double),
    sa.Column("target", Id, sa.ForeignKey("plackett_events.id"), unique=True),
    sa.Index("plackett_events_by_list", "query_id", "user_id", "id"),
    sqlite_autoincrement=True,  # the ids of deleted judgements of an annotator are not used again
)

rankers = sa.Table(
    "plackett_rankers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    # 0 is the ranker; from 1, those that were trained without some of its queries
    sa.Column("fold", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
)

jobs = sa.Table(
    "plackett_jobs",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("progress", sa.Double, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("result", sa.Text),
    sa.Column("created", UtcTime, nullable=False),
    sa.Column("updated", UtcTime, nullable=False),
)

# query sets of the scoreboard
query_sets = sa.Table(
    "plackett_query_sets",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("n_queries", sa.Integer, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
    sqlite_autoincrement=True,
)

query_set_queries = sa.Table(
    "plackett_query_set_queries",
    metadata,
    sa.Column("set_id", Id, sa.ForeignKey("plackett_query_sets.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.Text, nullable=False),
)

# frozen rankings, and the labels that they were measured on; a snapshot outlives its query set and its rankers
snapshots = sa.Table(
    "plackett_snapshots",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("collection", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("rankers", sa.Text, nullable=False),
    sa.Column("n_queries", sa.Integer, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
    sqlite_autoincrement=True,
)

snapshot_queries = sa.Table(
    "plackett_snapshot_queries",
    metadata,
    sa.Column("snapshot_id", Id, sa.ForeignKey("plackett_snapshots.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("query", sa.Text, nullable=False),
    sa.Column("labels", sa.Text, nullable=False),
)

snapshot_lists = sa.Table(
    "plackett_snapshot_lists",
    metadata,
    sa.Column("snapshot_id", Id, sa.ForeignKey("plackett_snapshots.id"), primary_key=True),
    sa.Column("ranker", sa.Integer, primary_key=True, autoincrement=False),  # its place in snapshots.rankers
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("docid", sa.Text, nullable=False),
    sa.Column("scores", sa.Text, nullable=False),
)

# information needs of queries, shared by all users
needs = sa.Table(
    "plackett_needs",
    metadata,
    sa.Column("query_id", Id, sa.ForeignKey("plackett_queries.id"), primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("user_id", Id, sa.ForeignKey("plackett_users.id"), nullable=False),
    sa.Column("time", UtcTime, nullable=False),
)

notes = sa.Table(
    "plackett_notes",
    metadata,
    sa.Column("query_id", Id, sa.ForeignKey("plackett_queries.id"), primary_key=True, autoincrement=False),
    sa.Column("user_id", Id, sa.ForeignKey("plackett_users.id"), primary_key=True, autoincrement=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("time", UtcTime, nullable=False),
)

assignments = sa.Table(
    "plackett_assignments",
    metadata,
    sa.Column("query_id", Id, sa.ForeignKey("plackett_queries.id"), primary_key=True, autoincrement=False),
    sa.Column("user_id", Id, sa.ForeignKey("plackett_users.id"), primary_key=True, autoincrement=False),
    sa.Column("created", UtcTime, nullable=False),
)

# append-only: the last settlement of a document counts, and one without a grade withdraws it
settlements = sa.Table(
    "plackett_settlements",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("query_id", Id, sa.ForeignKey("plackett_queries.id"), nullable=False),
    sa.Column("docid", sa.Text, nullable=False),
    sa.Column("grade", sa.Double),
    sa.Column("user_id", Id, sa.ForeignKey("plackett_users.id"), nullable=False),
    sa.Column("time", UtcTime, nullable=False),
    sa.Index("plackett_settlements_by_query", "query_id", "id"),
)
