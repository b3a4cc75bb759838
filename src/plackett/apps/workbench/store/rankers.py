"""Stored rankers, as the bytes that ``Ranker.save`` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from plackett.apps.workbench.db import Database
from plackett.apps.workbench.records import RankerSummary
from plackett.apps.workbench.store import tables
from plackett.apps.workbench.store.validation import MAX_NAME, MAX_RANKER, check_json, check_text


class RankerStore(Database):
    """The operations of a store on rankers; a name is unique in the store."""

    def save_ranker(
        self, name: str, collection: str, data: bytes, summary: dict[str, Any], folds: Sequence[bytes] = ()
    ) -> None:
        """Save ``data`` and those of its folds under ``name``; raise a ValueError if the name is taken."""
        row = {
            "name": _name(name),
            "collection": check_text(collection, "a collection's name"),
            "summary": check_json(summary, "a ranker's summary"),
            "created": datetime.now(UTC),
        }
        if len(data) > MAX_RANKER:
            raise ValueError(f"the ranker has {len(data):,} bytes; the store keeps up to {MAX_RANKER:,}.")
        rows = [{**row, "fold": fold, "data": bytes(one)} for fold, one in enumerate([data, *folds])]
        with self.writing() as connection:
            new = self.insert_new(tables.rankers).values(rows[0]).returning(tables.rankers.c.name)
            if connection.execute(new).first() is None:
                raise ValueError(f'a ranker "{name}" already exists. Choose another name.')
            if rows[1:]:
                connection.execute(insert(tables.rankers), rows[1:])

    def change_ranker(self, name: str, new_name: str, summary: dict[str, Any]) -> None:
        """Change the name and the summary of a ranker."""
        values = {"name": _name(new_name), "summary": check_json(summary, "a ranker's summary")}
        with self.writing() as connection:
            connection.execute(update(tables.rankers).where(tables.rankers.c.name == _name(name)).values(values))

    def ranker(self, name: str, fold: int = 0) -> bytes:
        """Return the bytes saved under ``name``; raise a LookupError if the name is unknown."""
        this = (tables.rankers.c.name == _name(name)) & (tables.rankers.c.fold == fold)
        with self.reading() as connection:
            data = connection.execute(select(tables.rankers.c.data).where(this)).scalar()
        if data is None:
            raise LookupError(f'there is no ranker "{name}".')
        return bytes(data)

    def rankers(self, collection: str | None = None) -> list[RankerSummary]:
        """Return all saved rankers, or those of one collection, oldest first."""
        columns = tables.rankers.c
        chosen = select(columns.name, columns.collection, func.length(columns.data), columns.summary, columns.created)
        chosen = chosen.where(columns.fold == 0)
        if collection is not None:
            chosen = chosen.where(columns.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            rows = connection.execute(chosen.order_by(columns.created, columns.name)).all()
            return [RankerSummary(*row)._replace(summary=json.loads(row.summary)) for row in rows]

    def delete_ranker(self, name: str) -> bool:
        """Delete a ranker; return False if there was none of that name."""
        with self.writing() as connection:
            return connection.execute(delete(tables.rankers).where(tables.rankers.c.name == _name(name))).rowcount > 0


def _name(name: str) -> str:
    return check_text(name, "a ranker's name", max_length=MAX_NAME)
