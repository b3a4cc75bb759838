"""Stored information needs, notes, assignments and settled grades of people who judge together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Select, delete, insert, select

from plackett.apps.workbench.db import Database
from plackett.apps.workbench.judging_records import QueryNotes, Settlement
from plackett.apps.workbench.limits import MAX_NEED
from plackett.apps.workbench.store.tables import assignments, needs, notes, queries, settlements, users
from plackett.apps.workbench.store.validation import check_docid, check_grade, check_id, check_text, query_key

PAGE = 200  # queries per statement


class TeamStore(Database):
    """The operations of a store on needs, notes, assignments and settlements. Queries and users exist already."""

    def save_need(self, user_id: int, query_id: int, text: str) -> None:
        """Set what a query is looking for; "" removes it."""
        row = {"query_id": check_id(query_id, "query"), "user_id": check_id(user_id, "user")}
        self._replace(needs, {"query_id": query_id}, {**row, "text": _checked(text, "an information need")})

    def save_note(self, user_id: int, query_id: int, text: str) -> None:
        """Set a user's note on a query; "" removes it."""
        row = {"query_id": check_id(query_id, "query"), "user_id": check_id(user_id, "user")}
        self._replace(notes, row, {**row, "text": _checked(text, "a note")})

    def _replace(self, table, key: dict[str, int], row: dict) -> None:
        this = [table.c[name] == value for name, value in key.items()]
        with self.writing() as connection:
            connection.execute(delete(table).where(*this))
            if row["text"]:
                connection.execute(insert(table).values(**row, time=datetime.now(UTC)))

    def query_notes(self, query_id: int, user_id: int | None) -> QueryNotes:
        """Return the need of a query, and the note of a user."""
        check_id(query_id, "query")
        with self.reading() as connection:
            need = connection.execute(select(needs.c.text).where(needs.c.query_id == query_id)).scalar()
            own = (notes.c.query_id == query_id) & (notes.c.user_id == user_id)
            note = None if user_id is None else connection.execute(select(notes.c.text).where(own)).scalar()
        return QueryNotes(need or "", note or "")

    def needs(self, collection: str, texts: Sequence[str]) -> dict[str, str]:
        """Return the needs of queries by their text; queries without one are left out."""
        wanted = select(queries.c.text, needs.c.text).join(needs, needs.c.query_id == queries.c.id)
        return dict(self._by_query(wanted, collection, texts))

    # assignments

    def assign(self, collection: str, query_ids: dict[str, int], users_of: Mapping[str, Iterable[int]]) -> None:
        """Assign queries to users, which replaces earlier assignments; without users, queries are unassigned."""
        rows = [
            {"query_id": query_ids[text], "user_id": check_id(one, "user"), "created": datetime.now(UTC)}
            for text, chosen in users_of.items()
            for one in dict.fromkeys(chosen)
        ]
        with self.writing() as connection:
            ids = [query_ids[text] for text in users_of]
            for first in range(0, len(ids), PAGE):
                page = ids[first : first + PAGE]
                connection.execute(delete(assignments).where(assignments.c.query_id.in_(page)))
            if rows:
                connection.execute(insert(assignments), rows)

    def assigned_users(self, collection: str, texts: Sequence[str]) -> dict[str, list[str]]:
        """Return the names of the users of queries by their text; queries without one are left out."""
        wanted = (
            select(queries.c.text, users.c.name)
            .join(assignments, assignments.c.query_id == queries.c.id)
            .join(users, users.c.id == assignments.c.user_id)
            .order_by(users.c.id)
        )
        found: dict[str, list[str]] = {}
        for text, name in self._by_query(wanted, collection, texts):
            found.setdefault(text, []).append(name)
        return found

    def assigned_queries(self, collection: str, user_id: int) -> list[str]:
        """Return the queries of a user, in the order of their ids."""
        wanted = select(queries.c.text).join(assignments, assignments.c.query_id == queries.c.id)
        own = (queries.c.collection == collection) & (assignments.c.user_id == check_id(user_id, "user"))
        with self.reading() as connection:
            return list(connection.execute(wanted.where(own).order_by(queries.c.id)).scalars())

    # settled grades

    def settle(self, user_id: int, query_id: int, docid: str, grade: float | None) -> None:
        """Settle the grade of a document for everyone; None withdraws it."""
        row = {
            "query_id": check_id(query_id, "query"),
            "docid": check_docid(docid),
            "grade": check_grade(grade),
            "user_id": check_id(user_id, "user"),
            "time": datetime.now(UTC),
        }
        with self.writing() as connection:
            connection.execute(insert(settlements).values(row))

    def settlements(self, collection: str) -> dict[tuple[str, str], Settlement]:
        """Return the settled grades of a collection by query and document."""
        wanted = (
            select(queries.c.text, settlements.c.docid, settlements.c.grade, users.c.name, settlements.c.time)
            .join(settlements, settlements.c.query_id == queries.c.id)
            .join(users, users.c.id == settlements.c.user_id)
            .where(queries.c.collection == check_text(collection, "a collection's name"))
        )
        found: dict[tuple[str, str], Settlement] = {}
        with self.reading() as connection:
            for row in connection.execute(wanted.order_by(settlements.c.id)):
                found.pop((row[0], row[1]), None)
                if row[2] is not None:
                    found[row[0], row[1]] = Settlement(*row)
        return found

    def _by_query(self, wanted: Select, collection: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
        keys = [query_key(collection, text) for text in dict.fromkeys(texts)]
        with self.reading() as connection:
            for first in range(0, len(keys), PAGE):
                page = wanted.where(queries.c.key.in_(keys[first : first + PAGE]))
                yield from ((row[0], row[1]) for row in connection.execute(page))


def _checked(text: str, what: str) -> str:
    return check_text(text, what, max_length=MAX_NEED, may_be_empty=True)
