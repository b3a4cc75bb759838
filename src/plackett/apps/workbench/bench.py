"""The workbench: its use cases around one collection and one store, independent of HTTP."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from plackett import __version__, _lazy
from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.background import BackgroundCache
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.comparing import Comparing
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.judging import Judging
from plackett.apps.workbench.labels import LabelSources
from plackett.apps.workbench.query_sets import QuerySets
from plackett.apps.workbench.queues import Queues
from plackett.apps.workbench.rankers import TrainedRankers
from plackett.apps.workbench.rankings import MAX_RANKINGS, Rankings
from plackett.apps.workbench.reviewing import Reviewing
from plackett.apps.workbench.schemas.session import Session
from plackett.apps.workbench.schemas.training import JobResponse, TrainRequest
from plackett.apps.workbench.schemas.values import METHODS
from plackett.apps.workbench.scoreboard import Scoreboard
from plackett.apps.workbench.searching import Searching
from plackett.apps.workbench.settings import Settings
from plackett.apps.workbench.snapshots import Snapshots
from plackett.apps.workbench.team import Team
from plackett.exceptions import StoreError

if TYPE_CHECKING:
    from plackett.apps.workbench.board_records import Ranking
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.training import Progress


LOG = logging.getLogger("plackett.apps.workbench")


class Workbench:
    """The use cases of a workbench. Thread-safe.

    Parameters
    ----------
    collection : Collection
    store : Store
    settings : Settings

    Attributes
    ----------
    searching : Searching
    judging : Judging
    reviewing : Reviewing
        Statistics, export and import of the whole collection.
    rankers : TrainedRankers
    query_sets : QuerySets
    scoreboard : Scoreboard
        Measures of rankers, query by query.
    snapshots : Snapshots
    comparing : Comparing
    queues : Queues
        Queries to judge, one after the other.
    team : Team
        Needs, notes, assignments and disagreements.
    jobs : JobRunner
    is_warm : bool
        Whether the modules and the index that requests need are loaded.
    """

    def __init__(self, collection: Collection, store: Store, settings: Settings):
        self.collection, self.store, self.settings = collection, store, settings
        self.jobs = JobRunner(store, collection.key, settings.max_jobs)
        self.labels = LabelSources(collection, store)
        self.searching = Searching(collection, store, self.labels)
        self.judging = Judging(collection, store, self.searching)
        self.reviewing = Reviewing(collection, store, self.searching)
        self.rankers = TrainedRankers(collection, store)
        self._cache = BackgroundCache(MAX_RANKINGS)
        self.rankings = Rankings(collection, self.rankers, self._cache)
        self.query_sets = QuerySets(collection, store)
        board = (self.query_sets, self.rankings, self.labels)
        self.snapshots = Snapshots(collection, store, *board, self._cache, self.jobs)
        self.comparing = Comparing(collection, *board, self.rankers, self.snapshots)
        self.scoreboard = Scoreboard(
            collection, self.query_sets, self.rankings, self.rankers, self.snapshots, self.comparing
        )
        self.queues = Queues(collection, store, self.searching)
        self.team = Team(collection, store, self.searching, self.queues)
        self.is_warm = False

    def close(self) -> None:
        """Stop background jobs. The store stays open."""
        self._cache.close()
        self.comparing.close()
        self.jobs.close()

    def warm_up(self) -> None:
        """Load what requests need, so that the first one does not wait for imports and the index."""
        with _lazy.importing:
            from plackett.apps.workbench import exporting, importing, measuring, training  # noqa: F401
            from plackett.clicks.reading import lists  # noqa: F401

        try:
            self.collection.warm_up()
            self.rankers.load_base_rankers()
        except (RequestError, StoreError) as error:  # such as an engine that is down; requests will report it
            LOG.warning("%s", error)
        finally:
            self.is_warm = True

    def session(self, user: str, csrf: str) -> Session:
        """Return the session: the user, the CSRF token and the collection."""
        return Session(
            user=user,
            csrf=csrf,
            collection=self.reviewing.name(),
            bases=self.reviewing.bases(),
            methods=list(METHODS),
            suggestions=self.collection.suggestions(),
            version=__version__,
        )

    def train(self, user: str, request: TrainRequest) -> JobResponse:
        """Start a job that trains a ranker on the judgements of all users, of this one, or of an annotator."""
        owner = user if request.mine else None
        with client_errors():
            base = self.collection.base_name(request.base)
        if request.name is not None:
            self.rankers.check_free(request.name)
        judgements, preferences, source = self.reviewing.chosen_judgements(owner, request.annotator)

        def base_ranking(query: str) -> Ranking:
            found = self.rankings.now(base, query)
            if found.error is not None:
                raise ValueError(found.error)
            return found.ranking

        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict:
            own = (job_id, request.name, judgements, preferences, base, source)
            return self.rankers.train(*own, base_ranking, progress, cancel)

        return self.jobs.start("train", {"base": base, "user": owner, "source": source}, work)
