"""Which store a URL means, and how it is called in messages: without a password."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

WANTED = "Give the path of an SQLite file, sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE."


class Place(NamedTuple):
    """Where a store is: ``path`` for SQLite and ``url`` for PostgreSQL. ``location`` may be shown to anyone."""

    location: str
    path: Path | None
    url: URL | None


def parse(url: str | PathLike[str]) -> Place:
    text = os.fspath(url)
    if not isinstance(text, str):
        raise TypeError(f"a store's URL must be a string or a path, not {type(text).__name__}. {WANTED}")
    if not text or "\x00" in text:
        raise ValueError(f"a store's URL cannot be {'empty' if not text else 'one with a null character'}. {WANTED}")
    scheme, is_url, _ = text.partition("://")
    if not is_url:
        return _sqlite(text)
    backend = scheme.partition("+")[0].lower()
    if scheme.lower() not in ("sqlite", "postgres", "postgresql", "postgresql+psycopg"):
        # the rest of a URL may hold a password, so only its first word is repeated
        raise ValueError(f'a store cannot be at a URL that begins with "{scheme[:40]}://". {WANTED}')
    if backend == "sqlite":
        return _sqlite(text[len("sqlite://") :].removeprefix("/"))
    return _postgresql(text)


def _sqlite(path: str) -> Place:
    if path in ("", ":memory:"):
        raise ValueError(f"a store must outlive its process, so it cannot be in memory. {WANTED}")
    absolute = Path(path).expanduser().absolute()
    return Place(str(absolute), absolute, None)


def _postgresql(text: str) -> Place:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # the parser's own message repeats the URL
        raise ValueError(f"the store's PostgreSQL URL cannot be read. {WANTED}") from None
    if "@" in (url.host or ""):
        raise ValueError("the store's PostgreSQL URL has more than one @. Write an @ in a password as %40.")
    url = url.set(drivername="postgresql+psycopg")
    shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return Place(shown.render_as_string(), None, url)
