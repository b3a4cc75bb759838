"""The tables of a store. Their names have a prefix for PostgreSQL databases that other programs share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ForeignKey, Index

from plackett.apps.workbench.db import Id, UtcTime, metadata

KINDS = {int: sa.Integer, float: sa.Double, bool: sa.Boolean, str: sa.Text, bytes: sa.LargeBinary, datetime: UtcTime}
USER, QUERY, EVENT, RANKER, SNAPSHOT = (
    f"plackett_{name}.id" for name in ("users", "queries", "events", "rankers", "snapshots")
)


def _table(
    name: str, columns: dict[str, Any], *indexes: Index, keys: str = "id", unique: str = "", optional: str = ""
) -> sa.Table:
    """Return a table; the kind of a column is a type, or the column that it refers to.

    ``keys``, ``unique`` and ``optional`` name columns. The ids of deleted rows are not used again.
    """
    made = [sa.Column("id", Id, primary_key=True)] if keys == "id" else []
    for column, kind in columns.items():
        of: list[Any] = [Id, ForeignKey(kind)] if isinstance(kind, str) else [KINDS.get(kind, kind)]
        how: dict[str, Any] = {"nullable": column in optional.split()}
        if column in keys.split():
            how = {"primary_key": True, "autoincrement": False}
        made.append(sa.Column(column, *of, unique=column in unique.split() or None, **how))
    return sa.Table(f"plackett_{name}", metadata, *made, *indexes, sqlite_autoincrement=keys == "id")


users = _table("users", {"name": str, "is_person": bool, "created": datetime}, unique="name")

# the key is a digest of collection and text, because PostgreSQL cannot index long texts
queries = _table(
    "queries", {"key": str, "collection": str, "text": str, "base": str, "created": datetime}, unique="key"
)

# append-only: an undo is an event whose target is the event that it cancels, at most one undo per event. A request with
# a key is written once if it is sent again.
_judged = {"docid": str, "other": str, "grade": float, "target": EVENT, "key": str}
events = _table(
    "events",
    {"time": datetime, "user_id": USER, "query_id": QUERY, "kind": str, **_judged},
    Index("plackett_events_by_list", "query_id", "user_id", "id"),
    unique="target key",
    optional=" ".join(_judged),
)

# fold_of has by query that it was trained on the number of its fold, from 1
_trained = {"size": int, "summary": sa.JSON, "fold_of": sa.JSON, "created": datetime}
rankers = _table("rankers", {"name": str, "collection": str, "is_base": bool, **_trained}, unique="name")

# fold 0 is the ranker; the others were trained without some of its queries
ranker_files = _table("ranker_files", {"ranker_id": RANKER, "fold": int, "data": bytes}, keys="ranker_id fold")

_state = {"state": str, "progress": float, "message": str, "settings": sa.JSON, "result": sa.JSON(none_as_null=True)}
jobs = _table(
    "jobs", {"kind": str, "collection": str, **_state, "created": datetime, "updated": datetime}, optional="result"
)

_made = {"n_queries": int, "created": datetime, "queries": sa.JSON}
query_sets = _table("query_sets", {"collection": str, "name": str, "source": str, **_made})

# a snapshot outlives its query set and its rankers, and never changes; labels are by query and document
_frozen = {"n_queries": int, "summary": sa.JSON, "created": datetime, "labels": sa.JSON}
snapshots = _table("snapshots", {"collection": str, "name": str, "rankers": sa.JSON, **_frozen})

# ranker is its place in the snapshot's rankers; lists have by query the ids and the scores of its documents
snapshot_lists = _table(
    "snapshot_lists", {"snapshot_id": SNAPSHOT, "ranker": int, "lists": sa.JSON}, keys="snapshot_id ranker"
)

# information needs of queries, shared by all users
_words = {"query_id": QUERY, "user_id": USER, "text": str, "time": datetime}
needs = _table("needs", _words, keys="query_id")

notes = _table("notes", _words, keys="query_id user_id")

assignments = _table("assignments", {"query_id": QUERY, "user_id": USER, "created": datetime}, keys="query_id user_id")

# append-only: the last settlement of a document counts, and one without a grade withdraws it
settlements = _table(
    "settlements",
    {"query_id": QUERY, "docid": str, "grade": float, "user_id": USER, "time": datetime},
    Index("plackett_settlements_by_query", "query_id", "id"),
    optional="grade",
)
