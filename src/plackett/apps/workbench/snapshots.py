"""Use cases of snapshots: freeze the rankings of a query set, list them, measure them again, delete."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.background import BackgroundCache
from plackett.apps.workbench.board_records import FrozenQuery, Ranking, Snapshot
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.labels import LabelSources
from plackett.apps.workbench.query_sets import QuerySets
from plackett.apps.workbench.rankings import Rankings
from plackett.apps.workbench.runs import compare_rankings, parse_measures, total_of, values_of
from plackett.apps.workbench.schemas.snapshots import SnapshotRequest, SnapshotResponse, SnapshotsResponse
from plackett.apps.workbench.schemas.training import JobResponse
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.training import Progress
    from plackett.metrics.measure import Measure


class Snapshots:
    """The snapshots of a collection. Thread-safe."""

    def __init__(
        self,
        collection: Collection,
        store: Store,
        query_sets: QuerySets,
        rankings: Rankings,
        labels: LabelSources,
        cache: BackgroundCache,
        jobs: JobRunner,
    ):
        self._collection, self._store, self._query_sets = collection, store, query_sets
        self._rankings, self._labels, self._cache, self._jobs = rankings, labels, cache, jobs

    def all(self) -> list[Snapshot]:
        """Return the snapshots, newest first."""
        return self._store.snapshots(self._collection.key)

    def snapshots(self) -> SnapshotsResponse:
        """Return the snapshots, newest first."""
        return SnapshotsResponse(snapshots=[SnapshotResponse(**one._asdict()) for one in self.all()])

    def find(self, snapshot_id: int) -> Snapshot:
        """Return a snapshot by its id."""
        with client_errors():
            return self._store.snapshot(self._collection.key, snapshot_id)

    def freeze(self, user: str, request: SnapshotRequest, names: Sequence[str]) -> JobResponse:
        """Start a job that saves the rankings of a query set, and the judgements that they are measured on."""
        made, queries = self._query_sets.find(request.set_id)
        measures = parse_measures(request.measure, request.convention)
        labels = self._labels.get(request.judgements, user)
        for name in names:
            self._rankings.key(name)  # unknown rankers are refused now

        def work(job_id: int, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
            from plackett.apps.workbench.training import Cancelled

            frozen = []
            for number, query in enumerate(queries, 1):
                if cancel.is_set():
                    raise Cancelled("the snapshot was cancelled.")
                progress(0.9 * number / len(queries), f"Ranking query {number} of {len(queries)}")
                found = [self._rankings.now(name, query) for name in names]
                if errors := [one.error for one in found if one.error is not None]:
                    raise ValueError(f"{query!r} cannot be ranked: {errors[0]} Leave the query or the ranker out.")
                frozen.append(FrozenQuery(query, labels.of(query), [one.ranking for one in found]))
            progress(0.9, "Measuring")
            of_query = {one.query: one.labels for one in frozen}
            lists = {name: {one.query: one.rankings[place] for one in frozen} for place, name in enumerate(names)}
            found = compare_rankings(of_query, lists, measures, request.convention) if any(of_query.values()) else None
            measure = str(measures[0])
            means = {name: total_of(found, name, measure, of_query, of)._asdict() for name, of in lists.items()}
            summary = {
                "set_id": made.id,
                "set": made.name,
                "judgements": labels.words,
                "n_labels": sum(map(len, of_query.values())),
                "measure": measure,
                "convention": request.convention,
                "means": means,
            }
            saved = self._store.save_snapshot(self._collection.key, request.name, names, frozen, summary)
            words = f"{count_of(len(queries), 'query', 'queries')} × {count_of(len(names), 'ranker')}"
            return {"snapshot_id": saved.id, "name": saved.name, "frozen": words}

        return self._jobs.start("snapshot", request.model_dump(), work)

    def delete(self, snapshot_id: int) -> SnapshotsResponse:
        """Delete a snapshot."""
        with client_errors():
            if not self._store.delete_snapshot(self._collection.key, snapshot_id):
                raise LookupError(f"there is no snapshot {snapshot_id}.")
        return self.snapshots()

    # frozen labels and rankings

    def labels(self, snapshot: Snapshot) -> dict[str, dict[str, float]]:
        """Return the frozen labels by query."""
        return self._cache.now(("labels", snapshot.id), lambda: self._store.frozen_labels(snapshot.id))

    def rankings(self, snapshot: Snapshot, name: str) -> dict[str, Ranking]:
        """Return the frozen rankings of a ranker by query."""
        with client_errors():
            if name not in snapshot.rankers:
                raise LookupError(f"the snapshot {snapshot.name!r} has no ranker {name!r}.")

        def read() -> dict[str, Ranking]:
            lists = self._store.frozen_rankings(snapshot.id, snapshot.rankers.index(name))
            return dict(zip(self.labels(snapshot), lists, strict=True))

        return self._cache.now(("rankings", snapshot.id, name), read)

    def known_values(self, snapshot: Snapshot, measure: Measure, convention: str) -> dict[str, dict[str, float]] | None:
        """Return the values of that time by ranker and query, None while they are computed in the background."""

        def compute() -> dict[str, dict[str, float]]:
            labels = self.labels(snapshot)
            if not any(labels.values()):
                return {}
            lists = {name: self.rankings(snapshot, name) for name in snapshot.rankers}
            values = values_of(compare_rankings(labels, lists, [measure], convention), labels, str(measure))
            return {
                name: {query: of[place] for query, of in values.items() if not math.isnan(of[place])}
                for place, name in enumerate(lists)
            }

        return self._cache.get(("values", snapshot.id, str(measure), convention), compute)
