"""Storage of users, judgements, rankers and jobs: ``store.py`` has the operations, ``tables.py`` the schema."""

from plackett.apps.workbench.store.store import Store

__all__ = ["Store"]
