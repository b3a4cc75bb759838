"""Storage of users, judgements, rankers and jobs in an SQLite file or a PostgreSQL database.

``store.py`` has the operations, ``tables.py`` the schema, ``database.py`` the transactions, ``engines.py`` the
connections to either kind of database.
"""

from plackett._optional import import_optional

import_optional("sqlalchemy", extra="web", needed_for="the workbench's store")

from plackett.apps.workbench.store.store import Store  # noqa: E402

__all__ = ["Store"]
