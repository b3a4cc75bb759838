"""What a driver's error means to whoever runs the workbench: what happened and what to do, never the statement."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

# by the beginning of the name of SQLite's error code
SQLITE = {
    "SQLITE_BUSY": "is busy: another program has been writing for more than {timeout:g} s. Close it, or try again.",
    "SQLITE_LOCKED": "is busy: another program has been writing for more than {timeout:g} s. Close it, or try again.",
    "SQLITE_READONLY": "is read-only. Change its permissions, or name another store.",
    "SQLITE_FULL": "the disk is full; what was being written is not stored. Free some space, then try again.",
    "SQLITE_CORRUPT": "is damaged. Restore a copy, or save what can be read with: sqlite3 FILE .recover",
    "SQLITE_NOTADB": "is not an SQLite database. Name another file.",
    "SQLITE_CANTOPEN": "cannot be opened: the file, or the log beside it, may not be read and written by this user.",
    "SQLITE_IOERR": "the disk failed to read or write; what was being written is not stored.",
}
# by SQLSTATE
POSTGRESQL = {
    "25006": "is read-only. Name the primary server, or another database.",
    "28P01": "the server refused the user's name or password.",
    "3D000": "the server has no such database. Create it first: createdb NAME",
    "40P01": "two writers waited for each other; what was being written is not stored. Try again.",
    "42501": "the user may not do this in the database. Grant it the rights, or name another database.",
    "53100": "the server's disk is full; what was being written is not stored. Free some space, then try again.",
    "53300": "the server has no free connection. Try again later.",
    "28000": "the server does not let this user in from this machine.",
    "55P03": "is busy: another program has been writing for more than {timeout:g} s. Try again.",
}

# while connecting psycopg gives no SQLSTATE; these are the server's words, where it speaks English
WHILE_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "does not exist": "3D000",
    "too many clients": "53300",
}


def explain(error: DBAPIError, timeout: float) -> str:
    """One sentence or two for a driver's error that SQLAlchemy has wrapped."""
    if hasattr(error.orig, "sqlite_errorname") or type(error.orig).__module__ == "sqlite3":
        return sqlite_problem(error.orig, timeout)
    return _postgresql_problem(error.orig, timeout)


def sqlite_problem(error: BaseException | None, timeout: float) -> str:
    name = getattr(error, "sqlite_errorname", None) or ""
    for beginning, problem in SQLITE.items():
        if name.startswith(beginning):
            return problem.format(timeout=timeout)
    return f"SQLite failed ({name or 'no code'})."


def _postgresql_problem(error: BaseException | None, timeout: float) -> str:
    code = getattr(error, "sqlstate", None)
    if code is None:
        code = next((code for words, code in WHILE_CONNECTING.items() if words in str(error)), None)
    if code in POSTGRESQL:
        return POSTGRESQL[code].format(timeout=timeout)
    if code is None or code.startswith(("08", "57P")):
        return "the server does not answer, or closed the connection. Is it running, and may this machine reach it?"
    return f"PostgreSQL failed (SQLSTATE {code})."
