"""Messages for the errors of database drivers: what happened and what to do, never the statement."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

BUSY = "is busy: another program has been writing for more than {timeout:g} s. Close it, or try again."
# by the beginning of the name of SQLite's error code
SQLITE = {
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_READONLY": "is read-only. Change its permissions, or name another store.",
    "SQLITE_FULL": "the disk is full; the last write is not stored. Free some space, then try again.",
    "SQLITE_CORRUPT": "is damaged. Restore a copy, or recover its readable content with: sqlite3 FILE .recover",
    "SQLITE_NOTADB": "is not an SQLite database. Name another file.",
    "SQLITE_CANTOPEN": "cannot be opened: this user may not read and write the file or the log beside it.",
    "SQLITE_IOERR": "the disk failed to read or write; the last write is not stored.",
}
# by SQLSTATE
POSTGRESQL = {
    "25006": "is read-only. Name the primary server, or another database.",
    "28000": "the server does not accept this user from this machine.",
    "28P01": "the server refused the user's name or password.",
    "3D000": "the server has no such database. Create it first: createdb NAME",
    "40P01": "two writers were in a deadlock; the last write is not stored. Try again.",
    "42501": "the user may not do this in the database. Grant it the rights, or name another database.",
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


def error_message(error: DBAPIError, timeout: float) -> str:
    """Return the message for a driver error that SQLAlchemy has wrapped."""
    if hasattr(error.orig, "sqlite_errorname") or type(error.orig).__module__ == "sqlite3":
        return sqlite_message(error.orig, timeout)
    return _postgresql_message(error.orig, timeout)


def sqlite_message(error: BaseException | None, timeout: float) -> str:
    """Return the message for an error of ``sqlite3``."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginning, message in SQLITE.items():
        if name.startswith(beginning):
            return message.format(timeout=timeout)
    return f"SQLite failed ({name or 'no code'})."


def _postgresql_message(error: BaseException | None, timeout: float) -> str:
    code = getattr(error, "sqlstate", None)
    if code is None:
        code = next((code for text, code in WHILE_CONNECTING.items() if text in str(error)), None)
    if code in POSTGRESQL:
        return POSTGRESQL[code].format(timeout=timeout)
    if code is None or code.startswith(("08", "57P")):
        return "the server does not respond, or closed the connection. Check that it runs and can be reached."
    return f"PostgreSQL failed (SQLSTATE {code})."
