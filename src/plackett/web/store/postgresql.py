"""Connections to a PostgreSQL database by psycopg 3, with commits that wait for the disk."""

from __future__ import annotations

import math

from sqlalchemy import Engine, create_engine, event

from plackett._optional import import_optional
from plackett.exceptions import StoreError
from plackett.web.store.urls import Place


def postgresql_engine(place: Place, timeout: float) -> Engine:
    import_optional("psycopg", extra="postgres", needed_for="a store in PostgreSQL")
    assert place.url is not None
    engine = create_engine(
        place.url,
        connect_args={"connect_timeout": max(2, math.ceil(timeout))},
        pool_size=10,
        max_overflow=30,
        pool_timeout=timeout,
        pool_pre_ping=True,  # a server that was restarted is met with a new connection, not with an error
        hide_parameters=True,
    )

    def set_up(connection, _record) -> None:
        try:
            _set_up(connection, place.location, timeout)
        except BaseException:
            connection.close()  # the pool does not know of it yet
            raise

    event.listen(engine, "connect", set_up)
    return engine


def _set_up(connection, location: str, timeout: float) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        problem = f"the database is encoded as {encoding}; a store needs UTF8 (CREATE DATABASE … ENCODING 'UTF8')."
        raise StoreError(location, problem)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute(f"SET lock_timeout TO {round(1000 * timeout)}")
    connection.commit()
