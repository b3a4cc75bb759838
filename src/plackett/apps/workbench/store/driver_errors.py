"""Messages for the errors of database drivers: what happened and what to do, never the statement."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from plackett.storage import postgresql
from plackett.storage.postgresql import BUSY

# keys: prefixes of the names of SQLite's error codes
SQLITE = {
    "SQLITE_BUSY": BUSY,
    "SQLITE_LOCKED": BUSY,
    "SQLITE_READONLY": "is read-only. Change its permissions, or name another store.",
    "SQLITE_FULL": "the disk is full; the last write is not stored. Free some space, then try again.",
    "SQLITE_CORRUPT": "is damaged. Restore a copy, or recover its readable content with: sqlite3 FILE .recover",
    "SQLITE_NOTADB": "is not an SQLite database. Name another file.",
    "SQLITE_CANTOPEN": "cannot be opened: this user cannot read and write the file or the log beside it.",
    "SQLITE_IOERR": "the disk failed to read or write; the last write is not stored.",
}


def error_message(error: DBAPIError, timeout: float) -> str:
    """Return the message for a driver error that SQLAlchemy has wrapped."""
    if hasattr(error.orig, "sqlite_errorname") or type(error.orig).__module__ == "sqlite3":
        return sqlite_message(error.orig, timeout)
    return postgresql.message_of(error.orig, timeout)


def sqlite_message(error: BaseException | None, timeout: float) -> str:
    """Return the message for an error of ``sqlite3``."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginning, message in SQLITE.items():
        if name.startswith(beginning):
            return message.format(timeout=timeout)
    return f"SQLite failed ({name or 'no code'})."
