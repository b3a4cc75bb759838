"""The log of lists and clicks in PostgreSQL: tables ``ubi_queries`` and ``ubi_events``, shared by all workers.

One thread writes all pending records in one transaction, which is committed before any of them is acknowledged. A lost
connection is opened again; until then, records fail at once.
"""

from __future__ import annotations

import json
import secrets
import time
from concurrent.futures import Future
from typing import Any

from plackett.apps.serve.group_writer import PATIENCE, GroupWriter
from plackett.exceptions import StoreError
from plackett.storage.postgresql import connect, location_of, message_of

NEEDED_FOR = "a log in PostgreSQL"
RETRY = 0.5  # seconds between two attempts to connect
LOCK = 0x756269  # key of the advisory lock that is held while the tables are created
TABLES = (
    """CREATE TABLE IF NOT EXISTS ubi_queries (
        query_id text PRIMARY KEY,
        application text NOT NULL,
        client_id text,
        user_query text NOT NULL,
        "timestamp" timestamptz NOT NULL,
        query_attributes jsonb NOT NULL,
        query_response_id text NOT NULL,
        query_response_hit_ids jsonb NOT NULL
    )""",
    'CREATE INDEX IF NOT EXISTS ubi_queries_by_time ON ubi_queries ("timestamp")',
    """CREATE TABLE IF NOT EXISTS ubi_events (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        application text NOT NULL,
        action_name text NOT NULL,
        query_id text NOT NULL,
        client_id text,
        "timestamp" timestamptz NOT NULL,
        event_attributes jsonb NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS ubi_events_by_query ON ubi_events (query_id)",
    'CREATE INDEX IF NOT EXISTS ubi_events_by_time ON ubi_events ("timestamp")',
)
QUERIES = (
    "query_id",
    "application",
    "client_id",
    "user_query",
    "timestamp",
    "query_attributes",
    "query_response_id",
    "query_response_hit_ids",
)
EVENTS = ("application", "action_name", "query_id", "client_id", "timestamp", "event_attributes")
FOUND = ("query_id", "client_id", "user_query", "query_attributes", "query_response_hit_ids")
FIND = f"SELECT {', '.join(FOUND)} FROM ubi_queries WHERE query_id = ANY(%s)"
Item = tuple[str, Any]  # an operation, and a record or an id


def _insert(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(columns))}) ON CONFLICT DO NOTHING"


STATEMENTS = {"list": (_insert("ubi_queries", QUERIES), QUERIES), "event": (_insert("ubi_events", EVENTS), EVENTS)}


def create_tables(url: str, timeout: float = PATIENCE) -> None:
    """Create the tables that are missing; raise a `StoreError` if the database cannot be used."""
    import psycopg

    with connect(url, timeout, NEEDED_FOR) as connection:
        try:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            for statement in TABLES:
                connection.execute(statement)
            for columns, table in ((QUERIES, "ubi_queries"), (EVENTS, "ubi_events")):
                names = ", ".join(f'"{name}"' for name in columns)
                connection.execute(f"SELECT {names} FROM {table} LIMIT 0")
            connection.commit()
        except psycopg.errors.UndefinedColumn as error:
            message = (
                f"it has other tables named ubi_queries and ubi_events: {error.diag.message_primary}. "
                "Use another database or search_path."
            )
            raise StoreError(location_of(url, NEEDED_FOR), message) from None
        except psycopg.Error as error:
            raise StoreError(location_of(url, NEEDED_FOR), message_of(error, timeout)) from None


class DatabaseLog(GroupWriter):
    """The log of one worker, whose tables exist; thread-safe.

    Parameters
    ----------
    url : str
    patience : float
        Seconds without a response from the server after which records are refused.
    """

    def __init__(self, url: str, patience: float = PATIENCE):
        self._url, self._location = url, location_of(url, NEEDED_FOR)
        self._connection: Any = None
        self._failure: tuple[float, StoreError] | None = None  # when connecting failed, and why
        super().__init__("write log", patience)

    def add_lists(self, records: list[dict[str, Any]]) -> tuple[list[str], Future[None]]:
        """Write lists with new ids; return the ids, and a future that is done when they are committed."""
        ids = [secrets.token_hex(16) for _ in records]
        named = [{**one, "query_id": own, "query_response_id": own} for one, own in zip(records, ids, strict=True)]
        return ids, self._item("list", [_row(record, QUERIES) for record in named])

    def add_event(self, record: dict[str, Any]) -> Future[None]:
        """Write an event; return a future that is done when it is committed."""
        return self._item("event", [_row(record, EVENTS)])

    def find(self, query_id: str) -> Future[dict[str, Any] | None]:
        """Return a future for the record of a list, which is None if there is no such list."""
        return self._item("find", query_id)

    def close(self) -> None:
        """Write pending records, and close the connection."""
        super().close()
        self._disconnect()

    def _item(self, what: str, content: Any) -> Future[Any]:
        return self._refusal() or self._submit((what, content))

    def _write(self, items: list[Item]) -> list[Any]:
        import psycopg

        for is_last in (False, True):
            connection = self._connected()
            try:
                return _run(connection, items)
            except psycopg.Error as error:
                is_lost = connection.closed or isinstance(error, psycopg.OperationalError)
                if is_lost:
                    self._disconnect()
                # the server may have restarted since the last group; if an unacknowledged commit has succeeded, an
                # event is written twice, and read as one click
                if is_lost and not is_last:
                    continue
                failure = StoreError(self._location, message_of(error, self._patience))
            if is_lost or len(items) == 1:
                raise failure
            return [self._alone(item) for item in items]  # one item must not fail the others
        raise AssertionError

    def _alone(self, item: Item) -> Any:
        try:
            return self._write([item])[0]
        except OSError as error:
            return error

    def _connected(self) -> Any:
        if self._connection is None or self._connection.closed:
            if self._failure is not None and time.monotonic() - self._failure[0] < RETRY:
                raise self._failure[1]
            try:
                self._connection = connect(self._url, self._patience, NEEDED_FOR)
            except StoreError as error:
                self._failure = time.monotonic(), error
                raise
            self._failure = None
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _run(connection: Any, items: list[Item]) -> list[Any]:
    """Do all items in one transaction; return the results."""
    wanted = [content for what, content in items if what == "find"]
    found = {}
    with connection.transaction(), connection.cursor() as cursor:
        for kind, (statement, _) in STATEMENTS.items():
            rows = [row for what, content in items if what == kind for row in content]
            if rows:
                cursor.executemany(statement, rows)
        if wanted:
            for row in cursor.execute(FIND, [wanted]):
                found[row[0]] = dict(zip(FOUND, row, strict=True))
    return [found.get(content) if what == "find" else None for what, content in items]


def _row(record: dict[str, Any], columns: tuple[str, ...]) -> list[Any]:
    return [json.dumps(record[one]) if isinstance(record[one], (dict, list)) else record[one] for one in columns]
