"""Stored query sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import delete, func, insert, select

from plackett.apps.workbench.board_records import QuerySet
from plackett.apps.workbench.db import Database
from plackett.apps.workbench.limits import MAX_SET_QUERIES, MAX_SETS
from plackett.apps.workbench.store.tables import query_set_queries, query_sets
from plackett.apps.workbench.store.validation import MAX_NAME, check_id, check_page, check_query, check_text

_SET = [query_sets.c[name] for name in QuerySet._fields]


class QuerySetStore(Database):
    """The operations of a store on query sets, which never change: a corrected set is a new one."""

    def save_query_set(self, collection: str, name: str, source: str, queries: Sequence[str]) -> QuerySet:
        """Save a set of different queries, all or nothing."""
        texts = [check_query(text) for text in queries]
        if not texts:
            raise ValueError("a query set needs a query.")
        if len(texts) > MAX_SET_QUERIES:
            raise ValueError(f"the set has {len(texts):,} queries; the limit is {MAX_SET_QUERIES:,}.")
        if len(set(texts)) < len(texts):
            raise ValueError(
                f"the query {next(text for text in texts if texts.count(text) > 1)!r} is in the set twice."
            )
        row = {
            "collection": check_text(collection, "a collection's name"),
            "name": check_text(name, "a query set's name", max_length=MAX_NAME),
            "source": check_text(source, "the source of a query set"),
            "n_queries": len(texts),
            "created": datetime.now(UTC),
        }
        own = query_sets.c.collection == collection
        with self.writing() as connection:
            if connection.execute(select(func.count()).where(own)).scalar_one() >= MAX_SETS:
                raise ValueError(f"there are {MAX_SETS} query sets, which is the limit. Delete one first.")
            set_id = connection.execute(insert(query_sets).values(row).returning(query_sets.c.id)).scalar_one()
            rows = [{"set_id": set_id, "number": number, "query": text} for number, text in enumerate(texts)]
            connection.execute(insert(query_set_queries), rows)
        return QuerySet(set_id, name, source, len(texts), row["created"])  # type: ignore[arg-type]

    def query_sets(self, collection: str) -> list[QuerySet]:
        """Return the query sets of a collection, newest first."""
        wanted = select(*_SET).where(query_sets.c.collection == check_text(collection, "a collection's name"))
        with self.reading() as connection:
            return [QuerySet(*row) for row in connection.execute(wanted.order_by(query_sets.c.id.desc()))]

    def query_set(self, collection: str, set_id: int) -> QuerySet:
        """Return a query set by its id; raise a LookupError if the id is unknown."""
        this = (query_sets.c.id == check_id(set_id, "query set")) & (query_sets.c.collection == collection)
        with self.reading() as connection:
            row = connection.execute(select(*_SET).where(this)).first()
        if row is None:
            raise LookupError(f"there is no query set {set_id}.")
        return QuerySet(*row)

    def set_queries(self, set_id: int, *, limit: int = MAX_SET_QUERIES, offset: int = 0) -> list[str]:
        """Return queries of a set in their order."""
        check_page(limit, offset)
        own = query_set_queries.c.set_id == check_id(set_id, "query set")
        wanted = select(query_set_queries.c.query).where(own).order_by(query_set_queries.c.number)
        with self.reading() as connection:
            return list(connection.execute(wanted.limit(limit).offset(offset)).scalars())

    def delete_query_set(self, collection: str, set_id: int) -> bool:
        """Delete a query set, but not its snapshots; return False if there was none."""
        this = (query_sets.c.id == check_id(set_id, "query set")) & (query_sets.c.collection == collection)
        with self.writing() as connection:
            if connection.execute(select(query_sets.c.id).where(this)).first() is None:
                return False
            connection.execute(delete(query_set_queries).where(query_set_queries.c.set_id == set_id))
            return connection.execute(delete(query_sets).where(this)).rowcount == 1
