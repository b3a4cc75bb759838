"""What can be done in the workbench, free of HTTP: each action takes plain values and answers with a schema.

What learns and measures is imported where it is used. It takes longer to load than all the rest, so the server opens
its port first, and ``warm_up`` loads it behind the first user's back.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from plackett import __version__
from plackett.exceptions import StoreError
from plackett.web.collections.base import Collection
from plackett.web.errors import asked
from plackett.web.schemas.session import Session
from plackett.web.schemas.training import JobAnswer, JobsAnswer, TrainRequest
from plackett.web.schemas.values import METHODS
from plackett.web.settings import Settings
from plackett.web.workbench.jobs import Jobs
from plackett.web.workbench.judging import Judging
from plackett.web.workbench.names import Names
from plackett.web.workbench.reviewing import Gathered
from plackett.web.workbench.searching import Lists
from plackett.web.workbench.trained_rankers import TrainedRankers

if TYPE_CHECKING:
    from plackett.web.store import Job, Store
    from plackett.web.workbench.training import Progress

FINISHED = ("done", "failed", "cancelled", "interrupted")


class Workbench:
    """A collection, a store, and everything that a user does with them. Threads may share one.

    Parameters
    ----------
    collection : Collection
    store : Store
    settings : Settings

    Attributes
    ----------
    lists : Lists
        Searching and measuring.
    judging : Judging
        What users say of a list.
    gathered : Gathered
        What they said of the collection, also as files.
    trained : TrainedRankers
        What was learned from it.
    is_warm : bool
        Whether the modules and the index that requests need are loaded.
    """

    def __init__(self, collection: Collection, store: Store, settings: Settings):
        self.collection, self.store, self.settings = collection, store, settings
        self._names = Names(collection, store)
        self.lists = Lists(collection, store, self._names)
        self.judging = Judging(store, self._names, self.lists)
        self.gathered = Gathered(collection, store, self._names)
        self.trained = TrainedRankers(collection, store)
        self._jobs = Jobs(store, collection.key, settings.max_jobs)
        self.is_warm = False

    def close(self) -> None:
        """Stop what runs in the background; the store stays open, as it was given."""
        self._jobs.close()

    def warm_up(self) -> None:
        """Do once what users will do, so that the first request does not wait for imports and the index."""
        from plackett.web.workbench import training  # noqa: F401
        from plackett.web.workbench.measuring import measure_list
        from plackett.web.workbench.refining import Judged, refine

        self.collection.warm_up()
        with suppress(StoreError):  # closed meanwhile, or in trouble: requests will say so
            self.trained.take_up()
        for query in self.collection.suggestions()[:1]:
            hits = self.collection.search(query, k=50)
            if len(hits.docid) > 2:
                first, second, third = hits.docid[:3]
                judged = Judged({second: 1.0, third: 0.0}, [])
                for method in METHODS:
                    for said in (judged, Judged({second: 1.0}, []), Judged({}, [(third, first)])):
                        refine(hits, said, method)
                    measure_list(hits, judged, method, leave_one_out=False)
        self.is_warm = True

    def session(self, user: str, csrf: str) -> Session:
        """What a page needs first."""
        return Session(
            user=user,
            csrf=csrf,
            collection=self.gathered.name(),
            bases=self.gathered.bases(),
            methods=list(METHODS),
            suggestions=self.collection.suggestions(),
            version=__version__,
        )

    # training

    def train(self, user: str, wish: TrainRequest) -> JobAnswer:
        """Begin to train a ranker on what all users, or this one, said."""
        base = self._names.base(wish.base)
        judgements, preferences = self.gathered.said(user if wish.mine else None)

        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict:
            return self.trained.train(job_id, judgements, preferences, base, progress, cancel)

        return _job_answer(self._jobs.start("train", {"base": base, "user": user if wish.mine else None}, work))

    def job(self, job_id: int) -> JobAnswer:
        """How far a job has come."""
        with asked():
            job = self.store.job(job_id)
        return _job_answer(job)

    def jobs(self, limit: int, offset: int) -> JobsAnswer:
        """Jobs of this collection, the newest first."""
        with asked():
            found = self.store.jobs(self.collection.key, limit=limit, offset=offset)
        return JobsAnswer(jobs=[_job_answer(job) for job in found])

    def cancel(self, job_id: int) -> JobAnswer:
        """Stop a job."""
        with asked():
            return _job_answer(self._jobs.cancel(job_id))


def _job_answer(job: Job) -> JobAnswer:
    """A job as the API tells it."""
    return JobAnswer(
        **{name: value for name, value in job._asdict().items() if name != "collection"},
        is_finished=job.state in FINISHED,
    )
