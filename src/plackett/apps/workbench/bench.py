"""The workbench: what its use cases share around one collection and one store."""

from __future__ import annotations

import logging

from sqlalchemy import Table

from plackett import _lazy
from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.api import missing
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.comparing import MAX_COMPARISONS
from plackett.apps.workbench.db import AnyRecord
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.labels import LabelSources
from plackett.apps.workbench.rankers import TrainedRankers
from plackett.apps.workbench.rankings import MAX_RANKINGS, BackgroundCache, Rankings
from plackett.apps.workbench.settings import Settings
from plackett.apps.workbench.store import Store
from plackett.exceptions import StoreError

LOG = logging.getLogger("plackett.apps.workbench")


class Workbench:
    """What the use cases of a workbench share. Thread-safe.

    Judgements of the collection are stored under ``key``. ``cache`` has rankings and frozen lists, ``comparisons``
    those of rankers. ``is_warm`` says whether the modules and the index that requests need are loaded.
    """

    def __init__(self, collection: Collection, store: Store, settings: Settings):
        self.collection, self.key, self.store, self.settings = collection, collection.key, store, settings
        self.jobs = JobRunner(store, self.key)
        self.labels = LabelSources(collection, store)
        self.rankers = TrainedRankers(collection, store)
        self.cache, self.comparisons = BackgroundCache(MAX_RANKINGS), BackgroundCache(MAX_COMPARISONS)
        self.rankings = Rankings(collection, self.rankers, self.cache)
        self.is_warm = False

    def user_id(self, name: str) -> int | None:
        """Return the id of a user; None if there is no user of this name."""
        user = self.store.find_user(name)
        return None if user is None else user.id

    def find(self, record: type[AnyRecord], table: Table, row_id: int, what: str) -> AnyRecord:
        """Return the row of this collection with this id, or raise a ``RequestError``."""
        found = self.store.records(record, table, table.c.id == row_id, table.c.collection == self.key)
        if not found:
            raise missing(f"there is no {what} {row_id}.")
        return found[0]

    def newest(self, record: type[AnyRecord], table: Table) -> list[AnyRecord]:
        """Return all rows of this collection, newest first."""
        return self.store.records(record, table, table.c.collection == self.key, order=table.c.id.desc())

    def close(self) -> None:
        """Stop background jobs. The store stays open."""
        self.cache.close()
        self.comparisons.close()
        self.jobs.close()

    def warm_up(self) -> None:
        """Load what requests need, so that the first one does not wait for imports and the index."""
        with _lazy.importing:
            from plackett.apps.workbench import exporting, training  # noqa: F401
            from plackett.clicks.reading import lists  # noqa: F401

        try:
            self.collection.warm_up()
            self.rankers.load_base_rankers()
        except (RequestError, StoreError) as error:  # such as an engine that is down; requests will report it
            LOG.warning("%s", error)
        finally:
            self.is_warm = True
