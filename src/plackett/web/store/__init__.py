"""The workbench's memory: who judged what, when, in one SQLite file or a PostgreSQL database.

``tables.py`` is what is kept, ``migrations.py`` how an older store becomes that, ``database.py`` how a URL becomes
connections whose commits are on disk, ``history.py`` how a log becomes what holds now, ``store.py`` the door.
"""

from plackett._optional import import_optional

import_optional("sqlalchemy", extra="web", needed_for="the workbench's store")

from plackett.web.store.records import Event, Job, Judged, Judgement, Preference, Query, QuerySummary, User  # noqa: E402
from plackett.web.store.records import RankerSummary as RankerSummary  # noqa: E402
from plackett.web.store.store import Store  # noqa: E402

__all__ = [
    "Event",
    "Job",
    "Judged",
    "Judgement",
    "Preference",
    "Query",
    "QuerySummary",
    "RankerSummary",
    "Store",
    "User",
]
