"""Stored click logs, and judgements from them, which have their own tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import Table, delete, func, insert, select

from plackett.apps.workbench.limits import MAX_CLICK_GRADES
from plackett.apps.workbench.records import ClickGrade, ClickSet, StoredLog
from plackett.apps.workbench.store.database import Database
from plackett.apps.workbench.store.tables import click_grades, click_logs, click_sets
from plackett.apps.workbench.store.validation import (
    MAX_CLICK_LOG,
    MAX_NAME,
    check_docid,
    check_id,
    check_json,
    check_page,
    check_text,
    query_key,
)

PAGE = 1000  # judgements per statement, and per transaction when a whole set is read
_GRADE = [click_grades.c[name] for name in ClickGrade._fields]
_SET = [click_sets.c[name] for name in ClickSet._fields]


class ClickStore(Database):
    """The operations of a store on click logs and on judgements from clicks."""

    # logs

    def save_click_log(self, collection: str, name: str, data: bytes, summary: dict[str, Any]) -> int:
        """Save a log, as the bytes that ``ClickLog.save`` writes; return its id."""
        if len(data) > MAX_CLICK_LOG:
            raise ValueError(f"the cleaned log has {len(data):,} bytes; the store keeps up to {MAX_CLICK_LOG:,}.")
        row = {
            "collection": check_text(collection, "a collection's name"),
            "name": check_text(name, "a log's name", max_length=MAX_NAME),
            "data": bytes(data),
            "summary": check_json(summary, "a log's summary"),
            "created": datetime.now(UTC),
        }
        with self.writing() as connection:
            return connection.execute(insert(click_logs).values(row).returning(click_logs.c.id)).scalar_one()

    def click_logs(self, collection: str) -> list[StoredLog]:
        """Return the logs of a collection, newest first."""
        columns = click_logs.c
        wanted = select(columns.id, columns.name, func.length(columns.data), columns.summary, columns.created)
        wanted = wanted.where(columns.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            rows = connection.execute(wanted.order_by(columns.id.desc())).all()
        return [StoredLog(*row)._replace(summary=json.loads(row.summary)) for row in rows]

    def click_log(self, collection: str, log_id: int) -> tuple[str, bytes]:
        """Return the name and the bytes of a log; raise a LookupError if the id is unknown."""
        this = (click_logs.c.id == check_id(log_id, "click log")) & (click_logs.c.collection == collection)
        with self.reading() as connection:
            row = connection.execute(select(click_logs.c.name, click_logs.c.data).where(this)).first()
        if row is None:
            raise LookupError(f"there is no click log {log_id}.")
        return row.name, bytes(row.data)

    def delete_click_log(self, collection: str, log_id: int) -> bool:
        """Delete a log, but not judgements from it; return False if there was none."""
        return self._delete(click_logs, collection, log_id)

    # judgements

    def save_click_set(
        self, collection: str, origin: str, grades: Iterable[ClickGrade], summary: dict[str, Any]
    ) -> ClickSet:
        """Save judgements from clicks, all or nothing."""
        row = {
            "collection": check_text(collection, "a collection's name"),
            "origin": check_text(origin, "the origin of judgements"),
            "summary": check_json(summary, "a summary of judgements"),
            "created": datetime.now(UTC),
        }
        rows = (
            {"key": query_key(collection, one.query), **one._asdict(), "docid": check_docid(one.docid)}
            for one in grades
        )
        with self.writing() as connection:
            set_id = connection.execute(insert(click_sets).values(row).returning(click_sets.c.id)).scalar_one()
            numbered = ({"set_id": set_id, "number": number, **one} for number, one in enumerate(rows))
            while block := list(islice(numbered, PAGE)):
                if block[-1]["number"] >= MAX_CLICK_GRADES:
                    raise ValueError(
                        f"there are more than {MAX_CLICK_GRADES:,} judgements. Require more impressions of each pair."
                    )
                connection.execute(insert(click_grades), block)
        return ClickSet(set_id, origin, summary, row["created"])  # type: ignore[arg-type]

    def click_sets(self, collection: str) -> list[ClickSet]:
        """Return the sets of judgements of a collection, newest first."""
        wanted = select(*_SET).where(click_sets.c.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            return [_set(row) for row in connection.execute(wanted.order_by(click_sets.c.id.desc()))]

    def click_set(self, collection: str, set_id: int) -> ClickSet:
        """Return a set by its id; raise a LookupError if the id is unknown."""
        wanted = select(*_SET).where(click_sets.c.id == check_id(set_id, "set of click judgements"))
        with self.reading() as connection:
            row = connection.execute(wanted.where(click_sets.c.collection == collection)).first()
        if row is None:
            raise LookupError(f"there is no set of click judgements {set_id}.")
        return _set(row)

    def latest_click_set(self, collection: str) -> ClickSet | None:
        """Return the newest set of a collection."""
        wanted = select(*_SET).where(click_sets.c.collection == collection).order_by(click_sets.c.id.desc()).limit(1)
        with self.reading() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else _set(row)

    def click_grades(self, collection: str, set_id: int, query: str) -> list[ClickGrade]:
        """Return the judgements of one query, by its text in the log."""
        wanted = select(*_GRADE).where(
            click_grades.c.set_id == set_id, click_grades.c.key == query_key(collection, query)
        )
        with self.reading() as connection:
            return [ClickGrade(*row) for row in connection.execute(wanted.order_by(click_grades.c.number))]

    def click_grades_page(self, set_id: int, *, limit: int, offset: int) -> list[ClickGrade]:
        """Return judgements of a set, in the order of queries and documents."""
        check_page(limit, offset)
        offset = min(offset, MAX_CLICK_GRADES)
        own = (click_grades.c.set_id == set_id) & click_grades.c.number.between(offset, offset + limit - 1)
        with self.reading() as connection:
            rows = connection.execute(select(*_GRADE).where(own).order_by(click_grades.c.number))
            return [ClickGrade(*row) for row in rows]

    def all_click_grades(self, set_id: int) -> Iterator[ClickGrade]:
        """Yield all judgements of a set; no transaction stays open between pages."""
        offset = 0
        while page := self.click_grades_page(set_id, limit=PAGE, offset=offset):
            yield from page
            offset += PAGE

    def delete_click_set(self, collection: str, set_id: int) -> bool:
        """Delete a set of judgements; return False if there was none."""
        return self._delete(click_sets, collection, set_id)

    def _delete(self, table: Table, collection: str, row_id: int) -> bool:
        this = (table.c.id == check_id(row_id, "row")) & (table.c.collection == collection)
        with self.writing() as connection:
            if table is click_sets and connection.execute(select(table.c.id).where(this)).first() is not None:
                connection.execute(delete(click_grades).where(click_grades.c.set_id == row_id))
            return connection.execute(delete(table).where(this)).rowcount == 1


def _set(row: Sequence[Any]) -> ClickSet:
    found = ClickSet(*row)  # the summary is a JSON text
    return found._replace(summary=json.loads(row[2]))
