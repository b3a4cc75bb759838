"""Trained rankers: train, list, rename, use as base ranker, delete. They are stored as their model files."""

from __future__ import annotations

import io
import logging
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Response
from pydantic import Field, model_validator

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench import tables
from plackett.apps.workbench.api import Bench, Caller, ExportedFile, file_responses, missing, new_router
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.jobs import Job, Report
from plackett.apps.workbench.values import Base, Id, Name, Record, RequestModel

if TYPE_CHECKING:
    from plackett.apps.workbench.runs import Ranking
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.training import Trained
    from plackett.rankers.base import Ranker

LOG = logging.getLogger("plackett.apps.workbench")
TRAINED_NOTE = "trained on {n} of these queries; each of them is ranked by a model that was trained without it."
router = new_router("training")
RANKERS, FILES = tables.rankers, tables.ranker_files


class TrainedRanker(Record):
    """A trained ranker."""

    name: str
    is_base: bool
    size: int
    created: datetime
    summary: dict[str, Any]


class RankersResponse(Record):
    """Trained rankers, oldest first."""

    rankers: list[TrainedRanker]


class TrainRequest(RequestModel):
    """The judgements to train on, and the base ranker to compare with."""

    base: Base = Field(default="", description="The base ranker to compare with; empty means the default.")
    name: Name | None = Field(default=None, description='The name of the ranker; null means "trained-" and a number.')
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")
    annotator: Id | None = Field(default=None, description="An imported annotator to train on instead of people.")

    @model_validator(mode="after")
    def _check_source(self):
        if self.mine and self.annotator is not None:
            raise ValueError("give either mine or annotator")
        return self


class RankerRequest(RequestModel):
    """Whether a trained ranker is a base ranker, and its new name."""

    name: Name
    new_name: Name | None = None
    is_base: bool = True


class TrainedRankers:
    """The trained rankers of a collection. Thread-safe.

    ``notes`` say which saved base rankers cannot be used, and why; ``load_base_rankers`` adds more.
    """

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store
        self._lock = threading.Lock()
        self.notes: list[str] = []
        for one in self.all():
            if one.is_base:
                if one.name in collection.base_rankers():
                    self.notes.append(f"the saved ranker {one.name!r} is skipped: another base ranker has its name.")
                else:
                    collection.add_lazy_ranker(one.name, partial(self._load, one.name))

    def load_base_rankers(self) -> None:
        """Load the saved base rankers; remove those that cannot be loaded."""
        with self._lock:
            for one in self.all():
                if not one.is_base:
                    continue
                try:
                    self._collection.ranker(one.name)
                except (ValueError, LookupError) as error:
                    self._collection.remove_ranker(one.name)
                    self.notes.append(f"the saved ranker {one.name!r} is skipped: {error}")
                    LOG.warning(self.notes[-1])

    def all(self) -> list[TrainedRanker]:
        """Return all trained rankers, oldest first."""
        own = RANKERS.c.collection == self._collection.key
        return self._store.records(TrainedRanker, RANKERS, own, order=RANKERS.c.id)

    def response(self) -> RankersResponse:
        """Return all trained rankers; one is a base ranker only if no other base ranker has its name."""
        bases = set(self._collection.base_rankers())
        return RankersResponse([replace(one, is_base=one.is_base and one.name in bases) for one in self.all()])

    def find(self, name: str) -> TrainedRanker:
        """Return a trained ranker by its name."""
        found = [one for one in self.all() if one.name == name]
        if not found:
            raise missing(f"there is no trained ranker {name!r}.")
        return found[0]

    def file(self, name: str, fold: int = 0) -> bytes:
        """Return the model file of a ranker, or of one that was trained without some of its queries."""
        self.find(name)
        this = sa.select(FILES.c.data).join(RANKERS, RANKERS.c.id == FILES.c.ranker_id)
        return bytes(self._store.value(this.where(RANKERS.c.name == name, FILES.c.fold == fold)))

    def _load(self, name: str, fold: int = 0) -> Ranker:
        from plackett.rankers.registry import load

        return load(io.BytesIO(self.file(name, fold)))

    def ranker(self, name: str, fold: int = 0) -> Ranker:
        """Return a trained ranker, base ranker or not, if its features are those of the collection."""
        with client_errors():
            ranker = self._load(name, fold)
            self._collection.check_ranker(name, ranker)
        return ranker

    def _fold_of(self) -> dict[str, dict[str, int]]:
        wanted = sa.select(RANKERS.c.name, RANKERS.c.fold_of).where(RANKERS.c.collection == self._collection.key)
        with self._store.reading() as connection:
            return {row.name: row.fold_of for row in connection.execute(wanted)}

    def fold(self, name: str, query: str) -> int:
        """Return the fold of a query that a ranker was trained on; 0 for other queries and rankers."""
        return self._fold_of().get(name, {}).get(query, 0)

    def n_trained_on(self, queries: Sequence[str]) -> dict[str, int]:
        """Return by ranker how many of these queries it was trained on, where it is at least one."""
        counts = {name: len(of.keys() & set(queries)) for name, of in self._fold_of().items()}
        return {name: n for name, n in counts.items() if n}

    def _taken(self, name: str) -> bool:
        # the name of a ranker of any collection: it is unique in the store
        return self._store.value(sa.select(RANKERS.c.id).where(RANKERS.c.name == name)) is not None

    def check_free(self, name: str) -> None:
        """Raise a ``RequestError`` if a ranker has the name already."""
        if name in self._collection.base_rankers() or self._taken(name):
            raise _conflict(f"a ranker {name!r}")

    def save(self, name: str, trained: Trained, source: str) -> str:
        """Save a ranker that was trained on the judgements of ``source``; return its name, which is made unique."""
        with self._lock:
            while self._taken(name):
                name += "'"
            row = {"name": name, "collection": self._collection.key, "is_base": False, "size": len(trained.files[0])}
            row |= {"summary": {**trained.summary, "source": source}, "fold_of": trained.fold_of}
            files = [{"fold": fold, "data": data} for fold, data in enumerate(trained.files)]
            self._store.add(RANKERS, **row, created=datetime.now(UTC), parts=(FILES, files))
        return name

    def change(self, name: str, new_name: str, is_base: bool) -> None:
        """Rename a ranker, and add it to the base rankers or remove it from them."""
        with self._lock:
            known = self.find(name)
            if new_name != name and self._taken(new_name):
                raise _conflict(f"a ranker {new_name!r}")
            is_same = new_name == name and known.is_base
            if is_base and not is_same and new_name in self._collection.base_rankers():
                raise _conflict(f"a base ranker {new_name!r}")
            was_base = name in self._collection.base_rankers() and known.is_base
            if is_base:
                with client_errors():
                    self._collection.add_ranker(new_name, self._load(name))
            with self._store.writing() as connection:
                this = sa.update(RANKERS).where(RANKERS.c.name == name)
                connection.execute(this.values(name=new_name, is_base=is_base))
            if was_base and (new_name != name or not is_base):
                self._collection.remove_ranker(name)

    def delete(self, name: str) -> None:
        """Delete a ranker."""
        with self._lock:
            is_base = self.find(name).is_base
            this = sa.select(RANKERS.c.id).where(RANKERS.c.name == name)
            with self._store.writing() as connection:
                connection.execute(sa.delete(FILES).where(FILES.c.ranker_id.in_(this)))
                connection.execute(sa.delete(RANKERS).where(RANKERS.c.name == name))
            if is_base and name in self._collection.base_rankers():
                self._collection.remove_ranker(name)


def _conflict(what: str) -> RequestError:
    return RequestError(409, "conflict", f"{what} already exists.", "Choose another name.")


@router.post("/train", status_code=202)
def train(bench: Bench, caller: Caller, request: TrainRequest) -> Job:
    """Start a job that trains a ranker on all judgements, and compares it with the base ranker by cross-validation."""
    from plackett.apps.workbench.files import chosen_judgements

    owner = caller.user if request.mine else None
    with client_errors():
        base = bench.collection.base_name(request.base)
    if request.name is not None:
        bench.rankers.check_free(request.name)
    by_query, source = chosen_judgements(bench, owner, request.annotator)

    def base_ranking(query: str) -> Ranking:
        found = bench.rankings.now(base, query)
        if found.error is not None:
            raise ValueError(found.error)
        return found.ranking

    def work(job_id: int, report: Report) -> dict[str, Any]:
        from plackett.apps.workbench import training  # imports the learning modules

        trained = training.train(bench.collection, by_query, base=base, base_ranking=base_ranking, report=report)
        name = bench.rankers.save(request.name or f"trained-{job_id}", trained, source)
        return {"ranker_name": name, **trained.summary, "source": source}

    return bench.jobs.start("train", {"base": base, "user": owner, "source": source}, work)


@router.get("/rankers")
def rankers(bench: Bench) -> RankersResponse:
    """Return the trained rankers."""
    return bench.rankers.response()


@router.get("/rankers/file", response_class=Response, responses=file_responses("application/octet-stream"))
def ranker_file(bench: Bench, name: Annotated[Name, Query()]) -> Response:
    """Return the model file of a trained ranker, which ``plackett.load`` and the commands read."""
    file = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "ranker"
    return ExportedFile(f"{file}.plackett", "application/octet-stream", iter([bench.rankers.file(name)]))


@router.post("/rankers")
def change_ranker(bench: Bench, request: RankerRequest) -> RankersResponse:
    """Rename a trained ranker, and add it to the base rankers or remove it from them."""
    bench.rankers.change(request.name, request.new_name or request.name, request.is_base)
    return bench.rankers.response()


@router.delete("/rankers")
def delete_ranker(bench: Bench, name: Annotated[Name, Query()]) -> RankersResponse:
    """Delete a trained ranker."""
    bench.rankers.delete(name)
    return bench.rankers.response()
