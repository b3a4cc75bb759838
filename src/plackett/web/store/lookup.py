"""Looking without leaving a trace: a search that nobody judges makes neither a user nor a query."""

from __future__ import annotations

from sqlalchemy import select

from plackett.web.store import tables
from plackett.web.store.checks import MAX_NAME, check_text
from plackett.web.store.records import Query, User
from plackett.web.store.store import Store, _columns_of_query, _key


def find_user(store: Store, name: str) -> User | None:
    """The user of that name, if there is one."""
    users = tables.users
    wanted = select(users).where(users.c.name == check_text(name, "a user's name", most=MAX_NAME))
    with store.reading() as connection:
        row = connection.execute(wanted).first()
    return None if row is None else User(*row)


def find_query(store: Store, collection: str, text: str) -> Query | None:
    """The query of that collection and text, if there is one."""
    with store.reading() as connection:
        wanted = select(*_columns_of_query()).where(tables.queries.c.key == _key(collection, text))
        row = connection.execute(wanted).first()
    return None if row is None else Query(*row)
