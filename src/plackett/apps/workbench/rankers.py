"""Use cases of trained rankers: train, list, rename, use as base ranker, delete."""

from __future__ import annotations

import hashlib
import io
import logging
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.records import Judgement, Preference, RankerSummary
from plackett.apps.workbench.schemas.training import RankerResponse, RankersResponse

if TYPE_CHECKING:
    from plackett.apps.workbench.board_records import Ranking
    from plackett.apps.workbench.exporting import ExportedFile
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.training import Progress
    from plackett.rankers.base import Ranker

LOG = logging.getLogger("plackett.apps.workbench")
IS_BASE, TRAINED_ON = "is_base", "trained_on"  # keys in a ranker's summary that are not shown
TRAINED_NOTE = "trained on {n} of these queries; each of them is ranked by a model that was trained without it."


class TrainedRankers:
    """The trained rankers of a collection. Thread-safe.

    Attributes
    ----------
    notes : list of str
        Which saved base rankers cannot be used, and why; ``load_base_rankers`` adds more.
    """

    def __init__(self, collection: Collection, store: Store):
        self._collection, self._store = collection, store
        self._lock = threading.Lock()
        self.notes: list[str] = []
        for one in self._summaries():
            if one.summary.get(IS_BASE):
                if one.name in collection.base_rankers():
                    self.notes.append(f"the saved ranker {one.name!r} is skipped: another base ranker has its name.")
                else:
                    collection.add_lazy_ranker(one.name, partial(self._load, one.name))

    def load_base_rankers(self) -> None:
        """Load the saved base rankers; remove those that cannot be loaded."""
        with self._lock:
            for one in self._summaries():
                if not one.summary.get(IS_BASE):
                    continue
                try:
                    self._collection.ranker(one.name)
                except (ValueError, LookupError) as error:
                    self._collection.remove_ranker(one.name)
                    self.notes.append(f"the saved ranker {one.name!r} is skipped: {error}")
                    LOG.warning(self.notes[-1])

    def _summaries(self) -> list[RankerSummary]:
        return self._store.rankers(self._collection.key)

    def _load(self, name: str, fold: int = 0) -> Ranker:
        from plackett.rankers.registry import load

        return load(io.BytesIO(self._store.ranker(name, fold)))

    def ranker(self, name: str, fold: int = 0) -> Ranker:
        """Return a trained ranker, base ranker or not, if its features are those of the collection."""
        self._summary(name)
        with client_errors():
            ranker = self._load(name, fold)
            self._collection.check_ranker(name, ranker)
        return ranker

    def folds(self, name: str) -> dict[str, int]:
        """Return the fold of each query that a ranker was trained on, by its digest; empty for other rankers."""
        found = (one.summary.get(TRAINED_ON) for one in self._summaries() if one.name == name)
        return next(found, None) or {}

    def n_trained_on(self, queries: Sequence[str]) -> dict[str, int]:
        """Return by ranker how many of these queries it was trained on, where it is at least one."""
        keys = {query_digest(query) for query in queries}
        counts = {one.name: len(keys.intersection(one.summary.get(TRAINED_ON, ()))) for one in self._summaries()}
        return {name: n for name, n in counts.items() if n}

    def rankers(self) -> RankersResponse:
        """Return all trained rankers."""
        bases = set(self._collection.base_rankers())
        return RankersResponse(
            rankers=[
                RankerResponse(
                    name=one.name,
                    is_base=bool(one.summary.get(IS_BASE)) and one.name in bases,
                    size=one.size,
                    created=one.created,
                    summary={key: value for key, value in one.summary.items() if key not in (IS_BASE, TRAINED_ON)},
                )
                for one in self._summaries()
            ]
        )

    def train(
        self,
        job_id: int,
        wanted: str | None,
        judgements: list[Judgement],
        preferences: list[Preference],
        base: str,
        source: str,
        base_ranking: Callable[[str], Ranking],
        progress: Progress,
        cancel: threading.Event,
    ) -> dict[str, Any]:
        """Train and save a ranker; return the result of the job. ``source`` says whose judgements they are."""
        from plackett.apps.workbench.training import train

        told = {"base": base, "base_ranking": base_ranking, "progress": progress, "cancel": cancel}
        trained = train(self._collection, judgements, preferences, **told)
        summary = {**trained.summary, "source": source}
        fold_of = {query_digest(query): fold for query, fold in trained.fold_of.items()}
        with self._lock:
            taken = {one.name for one in self._store.rankers()}
            name = wanted or f"trained-{job_id}"
            while name in taken:
                name += "'"
            hidden = {TRAINED_ON: fold_of}
            self._store.save_ranker(name, self._collection.key, trained.data, {**summary, **hidden}, trained.folds)
        return {"ranker_name": name, **summary}

    def check_free(self, name: str) -> None:
        """Raise a ``RequestError`` if a ranker has the name already."""
        if name in self._collection.base_rankers() or name in {one.name for one in self._store.rankers()}:
            raise RequestError(409, "conflict", f"a ranker {name!r} already exists.", "Choose another name.")

    def file(self, name: str) -> ExportedFile:
        """Return the model file of a ranker, which ``plackett.load`` and the commands read."""
        from plackett.apps.workbench.exporting import ExportedFile

        self._summary(name)
        with client_errors():
            data = self._store.ranker(name)
        safe = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "ranker"
        return ExportedFile(f"{safe}.plackett", "application/octet-stream", iter([data]))

    def change(self, name: str, new_name: str, is_base: bool) -> RankersResponse:
        """Rename a ranker, and add it to the base rankers or remove it from them."""
        with self._lock:
            summary = self._summary(name)
            if new_name != name and new_name in {one.name for one in self._store.rankers()}:
                raise RequestError(409, "conflict", f"a ranker {new_name!r} already exists.", "Choose another name.")
            is_same = new_name == name and bool(summary.get(IS_BASE))
            if is_base and not is_same and new_name in self._collection.base_rankers():
                raise RequestError(
                    409, "conflict", f"a base ranker {new_name!r} already exists.", "Choose another name."
                )
            was_base = name in self._collection.base_rankers() and bool(summary.get(IS_BASE))
            if is_base:
                with client_errors():
                    self._collection.add_ranker(new_name, self._load(name))
            self._store.change_ranker(name, new_name, {**summary, IS_BASE: is_base})
            if was_base and (new_name != name or not is_base):
                self._collection.remove_ranker(name)
        return self.rankers()

    def delete(self, name: str) -> RankersResponse:
        """Delete a ranker."""
        with self._lock:
            is_base = bool(self._summary(name).get(IS_BASE))
            self._store.delete_ranker(name)
            if is_base and name in self._collection.base_rankers():
                self._collection.remove_ranker(name)
        return self.rankers()

    def _summary(self, name: str) -> dict[str, Any]:
        for one in self._summaries():
            if one.name == name:
                return one.summary
        raise RequestError(404, "not-found", f"there is no trained ranker {name!r}.")


def query_digest(query: str) -> str:
    """Return a short key of a query, which may be long."""
    return hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:16]
