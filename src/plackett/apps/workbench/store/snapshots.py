"""Stored snapshots: the rankings of queries at one time, with the labels that they were measured on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, insert, select

from plackett.apps.workbench.board_records import FrozenQuery, Ranking, Snapshot
from plackett.apps.workbench.db import Database
from plackett.apps.workbench.limits import (
    FROZEN_DEPTH,
    MAX_BOARD_RANKERS,
    MAX_FROZEN_LABELS,
    MAX_SET_QUERIES,
    MAX_SNAPSHOTS,
)
from plackett.apps.workbench.store.tables import snapshot_lists, snapshot_queries, snapshots
from plackett.apps.workbench.store.validation import (
    MAX_NAME,
    check_docid,
    check_grade,
    check_id,
    check_json,
    check_query,
    check_text,
)

_SNAPSHOT = [snapshots.c[name] for name in Snapshot._fields]


class SnapshotStore(Database):
    """The operations of a store on snapshots, which never change."""

    def save_snapshot(
        self,
        collection: str,
        name: str,
        rankers: Sequence[str],
        queries: Sequence[FrozenQuery],
        summary: dict[str, Any],
    ) -> Snapshot:
        """Save a snapshot, all or nothing; every query has one ranking for each ranker."""
        if not 1 <= len(rankers) <= MAX_BOARD_RANKERS or not 1 <= len(queries) <= MAX_SET_QUERIES:
            raise ValueError(
                f"a snapshot has 1 to {MAX_BOARD_RANKERS} rankers and 1 to {MAX_SET_QUERIES:,} queries, not "
                f"{len(rankers)} and {len(queries):,}."
            )
        names = [check_text(one, "a ranker's name", max_length=MAX_NAME) for one in rankers]
        row = {
            "collection": check_text(collection, "a collection's name"),
            "name": check_text(name, "a snapshot's name", max_length=MAX_NAME),
            "rankers": json.dumps(names, ensure_ascii=False),
            "n_queries": len(queries),
            "summary": check_json(summary, "a snapshot's summary"),
            "created": datetime.now(UTC),
        }
        texts = [
            {"number": number, "query": check_query(one.query), "labels": _labels(one.labels)}
            for number, one in enumerate(queries)
        ]
        lists = [
            {"ranker": ranker, "number": number, **_columns(ranking)}
            for number, one in enumerate(queries)
            for ranker, ranking in zip(range(len(names)), one.rankings, strict=True)
        ]
        own = snapshots.c.collection == collection
        with self.writing() as connection:
            if connection.execute(select(func.count()).where(own)).scalar_one() >= MAX_SNAPSHOTS:
                raise ValueError(f"there are {MAX_SNAPSHOTS:,} snapshots, which is the limit. Delete one first.")
            made = connection.execute(insert(snapshots).values(row).returning(snapshots.c.id)).scalar_one()
            connection.execute(insert(snapshot_queries), [{"snapshot_id": made, **one} for one in texts])
            connection.execute(insert(snapshot_lists), [{"snapshot_id": made, **one} for one in lists])
        return Snapshot(made, name, names, len(queries), summary, row["created"])  # type: ignore[arg-type]

    def snapshots(self, collection: str) -> list[Snapshot]:
        """Return the snapshots of a collection, newest first."""
        wanted = select(*_SNAPSHOT).where(snapshots.c.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            return [_snapshot(row) for row in connection.execute(wanted.order_by(snapshots.c.id.desc()))]

    def snapshot(self, collection: str, snapshot_id: int) -> Snapshot:
        """Return a snapshot by its id; raise a LookupError if the id is unknown."""
        this = (snapshots.c.id == check_id(snapshot_id, "snapshot")) & (snapshots.c.collection == collection)
        with self.reading() as connection:
            row = connection.execute(select(*_SNAPSHOT).where(this)).first()
            if row is None:
                raise LookupError(f"there is no snapshot {snapshot_id}.")
            return _snapshot(row)

    def frozen_labels(self, snapshot_id: int) -> dict[str, dict[str, float]]:
        """Return the labels of a snapshot by query, in the order of its queries."""
        own = snapshot_queries.c.snapshot_id == check_id(snapshot_id, "snapshot")
        wanted = select(snapshot_queries.c.query, snapshot_queries.c.labels).where(own)
        with self.reading() as connection:
            rows = connection.execute(wanted.order_by(snapshot_queries.c.number)).all()
            return {row.query: json.loads(row.labels) for row in rows}

    def frozen_rankings(self, snapshot_id: int, ranker: int) -> list[Ranking]:
        """Return the rankings of one ranker, by its place in the snapshot, in the order of the queries."""
        own = (snapshot_lists.c.snapshot_id == check_id(snapshot_id, "snapshot")) & (snapshot_lists.c.ranker == ranker)
        wanted = select(snapshot_lists.c.docid, snapshot_lists.c.scores).where(own)
        with self.reading() as connection:
            rows = connection.execute(wanted.order_by(snapshot_lists.c.number)).all()
            return [Ranking(json.loads(row.docid), json.loads(row.scores)) for row in rows]

    def delete_snapshot(self, collection: str, snapshot_id: int) -> bool:
        """Delete a snapshot; return False if there was none."""
        this = (snapshots.c.id == check_id(snapshot_id, "snapshot")) & (snapshots.c.collection == collection)
        with self.writing() as connection:
            if connection.execute(select(snapshots.c.id).where(this)).first() is None:
                return False
            for part in (snapshot_lists, snapshot_queries):
                connection.execute(delete(part).where(part.c.snapshot_id == snapshot_id))
            return connection.execute(delete(snapshots).where(this)).rowcount == 1


def _labels(labels: dict[str, float]) -> str:
    if len(labels) > MAX_FROZEN_LABELS:
        raise ValueError(f"a query has {len(labels):,} labels; a snapshot keeps up to {MAX_FROZEN_LABELS:,}.")
    return json.dumps({check_docid(docid): check_grade(label) for docid, label in labels.items()}, ensure_ascii=False)


def _columns(ranking: Ranking) -> dict[str, str]:
    if len(ranking.docid) != len(ranking.scores) or len(ranking.docid) > FROZEN_DEPTH:
        raise ValueError(f"a frozen ranking has one score per document, and up to {FROZEN_DEPTH} documents.")
    if not all(map(math.isfinite, ranking.scores)):
        raise ValueError("the scores of a ranking must be finite numbers.")
    documents = [check_docid(one) for one in ranking.docid]
    return {"docid": json.dumps(documents, ensure_ascii=False), "scores": json.dumps(ranking.scores)}


def _snapshot(row: Sequence[Any]) -> Snapshot:
    found = Snapshot(*row)  # rankers and summary are JSON texts
    return found._replace(rankers=json.loads(row[2]), summary=json.loads(row[4]))
