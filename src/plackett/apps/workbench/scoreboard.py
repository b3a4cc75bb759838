"""Use case of the scoreboard: a row for each query of a set, measured for several rankers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.board_records import Snapshot
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.comparing import NOW, Comparing, Measured
from plackett.apps.workbench.limits import FROZEN_DEPTH
from plackett.apps.workbench.query_sets import QuerySets
from plackett.apps.workbench.rankers import TRAINED_NOTE, TrainedRankers
from plackett.apps.workbench.rankings import Rankings
from plackett.apps.workbench.runs import FIRST, finite, parse_measures, total_of
from plackett.apps.workbench.schemas.query_sets import QuerySetResponse
from plackett.apps.workbench.schemas.scoreboard import (
    HistoryPoint,
    QueryRow,
    RankerTotal,
    ScoreboardRequest,
    ScoreboardResponse,
)
from plackett.evaluation.compare.comparison import is_significant
from plackett.metrics.conventions import get_convention

if TYPE_CHECKING:
    from plackett.apps.workbench.snapshots import Snapshots
    from plackett.metrics.measure import Measure

MAX_TREND = 10  # snapshots in a trend
DEFAULT_RANKERS = 4
BY_DIFFERENCE = ("lost", "gained")  # orders by the difference to the first ranker


class Scoreboard:
    """The scoreboard of a collection. Thread-safe."""

    def __init__(
        self,
        collection: Collection,
        query_sets: QuerySets,
        rankings: Rankings,
        trained: TrainedRankers,
        snapshots: Snapshots,
        comparing: Comparing,
    ):
        self._collection, self._query_sets, self._rankings = collection, query_sets, rankings
        self._trained, self._snapshots, self._comparing = trained, snapshots, comparing

    def rankers(self, chosen: Sequence[str]) -> list[str]:
        """Return the chosen rankers, each once; by default the first base ranker and the newest saved ones."""
        if chosen:
            return list(dict.fromkeys(chosen))
        own, names = self._collection.own_rankers(), self._rankings.names()
        saved = [name for name in names if name not in own]
        return [names[0], *[name for name in saved if name != names[0]][-(DEFAULT_RANKERS - 1) :]]

    def board(self, user: str, request: ScoreboardRequest) -> ScoreboardResponse:
        """Return the scoreboard; rankings that are missing are computed in the background."""
        made, queries = self._query_sets.find(request.set_id)
        measure = _measure(request)
        names = self.rankers(request.ranker)
        sides = self._comparing.sides([f"{NOW}/{name}" for name in names], least=1)
        shown = self._comparing.measure(user, sides, made.id, request.judgements, [measure], request.convention)
        n_seen = self._trained.n_trained_on(queries)
        trained = {one.name for one in self._trained.rankers().rankers}
        marks = _marks(shown, names)
        totals = []
        for name, known, rankings in zip(names, shown.known, shown.rankings, strict=True):
            total = total_of(shown.found, name, str(measure), shown.labels, rankings)
            note = TRAINED_NOTE.format(n=n_seen[name]) if name in n_seen else None
            totals.append(
                RankerTotal(
                    name=name,
                    **total._asdict(),
                    n_ready=len(known),
                    is_trained=name in trained,
                    note=note,
                    mark=marks[name],
                )
            )
        own = [one for one in self._snapshots.all() if one.summary.get("set_id") == made.id]
        earlier = own[:MAX_TREND][::-1]
        trends = {one.id: self._snapshots.known_values(one, measure, request.convention) for one in earlier}
        n_ready = shown.n_ready + sum(of is not None for of in trends.values())
        n_needed = shown.n_needed + len(trends)
        rows = _rows(shown, names, earlier, trends)
        notes = [*shown.notes, f"Convention {request.convention}: {get_convention(request.convention).summary}."]
        if measure.k is None or measure.k > FROZEN_DEPTH:
            notes.append(f"Lists are measured up to place {FROZEN_DEPTH}.")
        return ScoreboardResponse(
            set=QuerySetResponse(**made._asdict()),
            measure=str(measure),
            convention=request.convention,
            higher_is_better=measure.higher_is_better,
            judgements=request.judgements or self._comparing.default_judgements(),
            judgements_in_words=shown.words,
            order=request.order,
            n_ready=n_ready,
            n_needed=n_needed,
            is_complete=n_ready == n_needed,
            n_judged_queries=sum(map(bool, shown.labels.values())),
            sentence=shown.sentence,
            pool=shown.pool,
            rankers=totals,
            rows=_sorted_rows(rows, names, request, measure),
            history=[_point(one, names, trends[one.id] or {}) for one in earlier],
            notes=notes,
        )


def _measure(request: ScoreboardRequest) -> Measure:
    measures = parse_measures(request.measure, request.convention)
    if len(measures) > 1:
        raise RequestError(422, "invalid", "the scoreboard has one measure.", "Compare shows several.")
    return measures[0]


def _marks(shown: Measured, names: Sequence[str]) -> dict[str, str]:
    """Return by ranker "best", "significantly worse than the best", or "" for what cannot be told apart from it."""
    marks = dict.fromkeys(names, "")
    if shown.found is None or len(names) < 2:
        return marks
    best = shown.found.best()
    worse = [pair.a for pair in shown.found.differences(against=best) if is_significant(pair)]
    return {**marks, **dict.fromkeys(worse, "worse"), best: "best"}


def _rows(
    shown: Measured,
    names: Sequence[str],
    earlier: Sequence[Snapshot],
    trends: Mapping[int, Mapping[str, Mapping[str, float]] | None],
) -> list[QueryRow]:
    none, rows = [math.nan] * len(names), []
    for query in shown.queries:
        first = [of[query].docid[:FIRST] if query in of else None for of in shown.rankings]
        label = shown.labels[query]
        rows.append(
            QueryRow(
                query=query,
                values=[finite(value) for value in shown.values.get(query, none)],
                judged=[None if one is None else sum(docid in label for docid in one) for one in first],
                shown=[None if one is None else len(one) for one in first],
                trends=[
                    [(trends[one.id] or {}).get(name, {}).get(query) for one in earlier if name in one.rankers]
                    for name in names
                ],
                errors=[of[query].error if query in of else None for of in shown.known],
            )
        )
    return rows


def _point(snapshot: Snapshot, names: Sequence[str], values: Mapping[str, Mapping[str, float]]) -> HistoryPoint:
    means = [math.fsum(of.values()) / len(of) if (of := values.get(name)) else None for name in names]
    return HistoryPoint(snapshot_id=snapshot.id, name=snapshot.name, created=snapshot.created, means=means)


def _sorted_rows(
    rows: list[QueryRow], names: Sequence[str], request: ScoreboardRequest, measure: Measure
) -> list[QueryRow]:
    """Return the rows with the worst of a ranker first, or by its difference to the first one; without values last."""
    if request.order == "given":
        return rows
    place = names.index(request.by) if request.by in names else len(names) - 1 if request.order in BY_DIFFERENCE else 0
    sign = 1.0 if measure.higher_is_better == (request.order in ("worst", "lost")) else -1.0

    def key(row: QueryRow) -> tuple[bool, float]:
        value, first = row.values[place], row.values[0]
        if request.order in BY_DIFFERENCE:
            value = None if value is None or first is None else value - first
        return value is None, 0.0 if value is None else sign * value

    return sorted(rows, key=key)
