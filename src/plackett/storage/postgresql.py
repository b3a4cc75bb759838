"""Connections to PostgreSQL: commits are on disk when they return, and errors show neither password nor statement."""

from __future__ import annotations

import math
from typing import Any

from plackett._optional import import_optional
from plackett.exceptions import StoreError

SCHEMES = ("postgres", "postgresql", "postgresql+psycopg")
EXPECTED = "Give postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
BUSY = "is busy: another program has been writing for more than {timeout:g} s. Close it, or try again."
# by SQLSTATE
MESSAGES = {
    "25006": "is read-only. Name the primary server, or another database.",
    "28000": "the server does not accept this user from this machine.",
    "28P01": "the server rejected the user name or password.",
    "3D000": "the server has no such database. Create it first: createdb NAME",
    "40P01": "two writers were in a deadlock; the last write is not stored. Try again.",
    "42501": "the user lacks the permission in this database. Grant it, or name another database.",
    "53100": "the server's disk is full; the last write is not stored. Free some space, then try again.",
    "53300": "the server has no free connection. Try again later.",
    "55P03": BUSY,
}
# psycopg has no SQLSTATE while connecting; these are the server's messages in English
WHILE_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "does not exist": "3D000",
    "too many clients": "53300",
}


def is_postgresql(source: object) -> bool:
    """Return whether a source is the URL of a PostgreSQL database."""
    return isinstance(source, str) and "://" in source and source.partition("://")[0].lower() in SCHEMES


def location_of(url: str, needed_for: str) -> str:
    """Return a URL to show in messages, without its password and options; raise a ValueError if it cannot be parsed."""
    return _parts(url, needed_for)[1]


def connect(url: str, timeout: float, needed_for: str, **options: Any) -> Any:
    """Return a connection of psycopg that is set up by :func:`set_up`; raise a `StoreError`."""
    given, location = _parts(url, needed_for)
    psycopg = import_optional("psycopg", extra="postgres", needed_for=needed_for)
    limits = {"connect_timeout": max(2, math.ceil(timeout)), "tcp_user_timeout": max(1, round(1000 * timeout))}
    try:
        connection = psycopg.connect(**limits | given, **options)
    except psycopg.Error as error:
        # "from None": the driver's own error may show the parameters
        raise StoreError(location, message_of(error, timeout)) from None
    try:
        set_up(connection, location, timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def set_up(connection: Any, location: str, timeout: float) -> None:
    """Make commits wait for the disk, limit waiting for locks to ``timeout``, and reject encodings other than UTF-8."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        message = f"the database is encoded as {encoding}; a store needs UTF8 (CREATE DATABASE … ENCODING 'UTF8')."
        raise StoreError(location, message)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
        cursor.execute(f"SET lock_timeout TO {round(1000 * timeout)}")
    if not connection.autocommit:
        connection.commit()


def message_of(error: BaseException | None, timeout: float) -> str:
    """Return the message for an error of psycopg: what happened and what to do."""
    code = getattr(error, "sqlstate", None)
    if code is None:
        code = next((code for text, code in WHILE_CONNECTING.items() if text in str(error)), None)
    if code in MESSAGES:
        return MESSAGES[code].format(timeout=timeout)
    if code is None or code.startswith(("08", "57P")):
        return "the server does not respond, or closed the connection. Check that it is running and reachable."
    return f"PostgreSQL failed (SQLSTATE {code})."


def _parts(url: str, needed_for: str) -> tuple[dict[str, Any], str]:
    """Return the parameters of a URL for psycopg, and its location."""
    psycopg = import_optional("psycopg", extra="postgres", needed_for=needed_for)
    try:
        given: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(f"postgresql://{url.partition('://')[2]}")
    except psycopg.Error:
        # the parser's own message repeats the URL
        raise ValueError(f"the PostgreSQL URL cannot be parsed. {EXPECTED}") from None
    host = str(given.get("host") or "")
    if any("@" in str(given.get(part) or "") for part in ("host", "port", "dbname")):  # part of a password, perhaps
        raise ValueError("the PostgreSQL URL has more than one @, or a / in a password. Write them as %40 and %2F.")
    user, port = given.get("user"), given.get("port")
    place = f"{f'{user}@' if user else ''}{host}{f':{port}' if port else ''}"
    return given, f"postgresql://{place}/{given.get('dbname') or ''}"
