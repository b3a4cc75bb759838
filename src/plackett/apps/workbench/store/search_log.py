"""Stored log of the lists that users saw, and of the documents that they opened."""

from __future__ import annotations

import json
import secrets
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import Select, func, insert, select, update

from plackett.apps.workbench.records import LogSize, ShownClick, ShownList
from plackett.apps.workbench.store.database import Database
from plackett.apps.workbench.store.tables import clicks, clients, shown
from plackett.apps.workbench.store.validation import (
    MAX_NAME,
    check_docid,
    check_json,
    check_text,
    query_key,
)

SAME_VISIT = timedelta(minutes=30)  # an unchanged list that is shown again within this time is the same one
MAX_LOGGED_QUERIES = 10_000  # different ones that are counted
PAGE = 500  # records per transaction when a whole log is read
_LIST = [shown.c[name] for name in ShownList._fields]


class SearchLogStore(Database):
    """The operations of a store on its log of searches and clicks. Lists and clicks are never deleted."""

    def client_id(self, name: str) -> str:
        """Return the random id of a user in the log, and create it if needed."""
        wanted = select(clients.c.client_id).where(clients.c.name == _name(name))
        with self.reading() as connection:
            found = connection.execute(wanted).scalar()
        if found is not None:
            return found
        new = {"name": name, "client_id": secrets.token_hex(16), "created": datetime.now(UTC)}
        with self.writing() as connection:
            connection.execute(self.insert_new(clients).values(new))
            return connection.execute(wanted).scalar_one()

    def log_list(
        self, collection: str, client_id: str, query: str, hits: Sequence[str], attributes: dict[str, str]
    ) -> str:
        """Log a list that a user sees; return its id.

        A list that is shown again within half an hour, by reloading or going back, is the same list: this is how users
        open several documents of one list. A longer version of it, with the same documents in front, replaces it.
        """
        key, documents = query_key(collection, query), [check_docid(one) for one in hits]
        if not documents:
            raise ValueError("a list without documents is not logged.")
        text, now = check_json(attributes, "the attributes of a list"), datetime.now(UTC)
        last = select(*_LIST).where(shown.c.client_id == client_id, shown.c.key == key).order_by(shown.c.id.desc())
        with self.writing() as connection:
            row = connection.execute(last.limit(1).with_for_update()).first()
            known = None if row is None else _list(row)
            n_same = 0 if known is None else min(len(known.hits), len(documents))
            if (
                known is not None
                and now - known.time < SAME_VISIT
                and known.attributes == attributes
                and known.hits[:n_same] == documents[:n_same]
            ):
                if n_same < len(documents):
                    longer = json.dumps(documents, ensure_ascii=False)
                    connection.execute(update(shown).where(shown.c.id == known.id).values(hits=longer))
                return known.shown_id
            new = {
                "shown_id": str(uuid.uuid4()),
                "time": now,
                "collection": collection,
                "client_id": check_text(client_id, "a client's id", max_length=MAX_NAME),
                "key": key,
                "query": query,
                "hits": json.dumps(documents, ensure_ascii=False),
                "attributes": text,
            }
            connection.execute(insert(shown).values(new))
        return str(new["shown_id"])

    def shown_list(self, collection: str, client_id: str, shown_id: str) -> ShownList | None:
        """Return a list by its id; None if this client was not shown such a list."""
        with self.reading() as connection:
            row = connection.execute(_shown_to(collection, client_id, shown_id)).first()
        return None if row is None else _list(row)

    def log_click(self, collection: str, client_id: str, shown_id: str, docid: str) -> ShownClick:
        """Log that a document of a list was opened, and return the click; a second one is the same click.

        Raises
        ------
        LookupError
            This client was not shown such a list, or the document is not in it.
        """
        wanted = _shown_to(collection, client_id, shown_id)
        with self.writing() as connection:
            row = connection.execute(wanted).first()
            if row is None:
                raise LookupError(f"this user was not shown a list {shown_id!r}.")
            known = _list(row)
            if check_docid(docid) not in known.hits:
                raise LookupError(f"the list has no document {docid!r}.")
            ordinal = known.hits.index(docid) + 1
            new = {"list_id": known.id, "ordinal": ordinal, "docid": docid, "time": datetime.now(UTC)}
            connection.execute(self.insert_new(clicks).values(new))
            this = (clicks.c.list_id == known.id) & (clicks.c.ordinal == ordinal)
            time = connection.execute(select(clicks.c.time).where(this)).scalar_one()
        return ShownClick(shown_id, client_id, ordinal, docid, time)

    def log_size(self, collection: str) -> LogSize:
        """Return the size of the log of a collection."""
        own = shown.c.collection == check_text(collection, "a collection's name")
        n_clients = func.count(shown.c.client_id.distinct())
        lists = select(func.count(), n_clients, func.coalesce(func.max(shown.c.id), 0)).where(own)
        with self.reading() as connection:
            n_lists, n_clients, last = connection.execute(lists).one()
            n_clicks = connection.execute(
                select(func.count()).select_from(clicks.join(shown, shown.c.id == clicks.c.list_id)).where(own)
            ).scalar_one()
        return LogSize(n_lists, n_clicks, n_clients, last)

    def logged_queries(self, collection: str) -> Counter[str]:
        """Return how often each query was searched; of many queries, the most frequent ones."""
        own = shown.c.collection == check_text(collection, "a collection's name")
        n_lists = func.count()
        wanted = select(shown.c.query, n_lists).where(own).group_by(shown.c.query)
        with self.reading() as connection:
            rows = connection.execute(wanted.order_by(n_lists.desc(), shown.c.query).limit(MAX_LOGGED_QUERIES)).all()
        return Counter(dict(map(tuple, rows)))

    def shown_lists(self, collection: str, until: int | None = None) -> Iterator[ShownList]:
        """Yield the lists of a collection up to the id ``until``, oldest first."""
        for row in self._pages(select(*_LIST).order_by(shown.c.id), collection, until):
            yield _list(row)

    def shown_clicks(self, collection: str, until: int | None = None) -> Iterator[ShownClick]:
        """Yield the clicks on these lists, in the order of the lists, then of places."""
        columns = [shown.c.id, shown.c.shown_id, shown.c.client_id, clicks.c.ordinal, clicks.c.docid, clicks.c.time]
        joined = select(*columns).join(clicks, clicks.c.list_id == shown.c.id)
        joined = joined.order_by(shown.c.id, clicks.c.ordinal)
        for row in self._pages(joined, collection, until):
            yield ShownClick(*row[1:])

    def _pages(self, wanted: Select, collection: str, until: int | None) -> Iterator:
        """Yield the rows for all lists, a page of lists at a time; no transaction stays open between pages."""
        own = [shown.c.collection == check_text(collection, "a collection's name")]
        if until is not None:
            own.append(shown.c.id <= until)
        after = 0
        while True:
            ids = select(shown.c.id).where(*own, shown.c.id > after).order_by(shown.c.id).limit(PAGE)
            with self.reading() as connection:
                page = connection.execute(ids).scalars().all()
                if not page:
                    return
                between = shown.c.id.between(page[0], page[-1])
                rows = connection.execute(wanted.where(*own, between)).all()
            yield from rows
            after = page[-1]


def _shown_to(collection: str, client_id: str, shown_id: str) -> Select:
    own = shown.c.shown_id == check_text(shown_id, "the id of a list", max_length=MAX_NAME)
    return select(*_LIST).where(own, shown.c.collection == collection, shown.c.client_id == client_id)


def _name(name: str) -> str:
    return check_text(name, "a user's name", max_length=MAX_NAME)


def _list(row) -> ShownList:
    found = ShownList(*row)  # hits and attributes are JSON texts
    return found._replace(hits=json.loads(row.hits), attributes=json.loads(row.attributes))
