"""The scoreboard: a row for each query of a set, measured for several rankers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field

from plackett.apps.workbench import query_sets
from plackett.apps.workbench.api import Bench, Caller, invalid, new_router
from plackett.apps.workbench.comparing import NOW, Board, Measured, measured, sides
from plackett.apps.workbench.query_sets import QuerySet
from plackett.apps.workbench.rankers import TRAINED_NOTE
from plackett.apps.workbench.rankings import chosen_rankers
from plackett.apps.workbench.runs import BoardRequest, parse_measures, total_of
from plackett.apps.workbench.snapshots import known_values, snapshots
from plackett.apps.workbench.values import FIRST, FROZEN_DEPTH, MAX_BASE, Record
from plackett.metrics.conventions import CONVENTIONS

MAX_TREND = 10  # snapshots in a trend
Order = Literal["worst", "best", "lost", "gained", "given"]
BY_DIFFERENCE = ("lost", "gained")  # orders by the difference to the first ranker
router = new_router("scoreboard")


class ScoreboardRequest(BoardRequest):
    """A scoreboard, and the order of its queries."""

    order: Order = Field(
        default="worst",
        description="The order of the queries by one ranker: worst or best first, by what it lost or gained against "
        "the first ranker, or as in the set.",
    )
    by: str = Field(
        default="", max_length=MAX_BASE, description="That ranker; empty: the first, or the last if lost or gained."
    )


class RankerTotal(Record):
    """A ranker over all queries: its mean with the 95 % interval, over the queries that count.

    ``judged`` is the share of judged documents in the first ten places. ``is_trained`` says whether it was trained
    here, and can be exported. ``mark`` is for the best mean, or one that is significantly worse than it (corrected).
    """

    name: str
    mean: float | None
    low: float | None
    high: float | None
    n_counted: int
    judged: float | None
    n_ready: int
    is_trained: bool
    note: str | None
    mark: Literal["best", "worse", ""]


class QueryRow(Record):
    """A query; the lists have one entry per ranker.

    ``values`` are null if the query does not count, or is not ranked yet. ``judged`` counts the judged ones of the
    first ten documents, ``shown`` all of them. ``trends`` has the values in earlier snapshots of the set, oldest first.
    """

    query: str
    values: list[float | None]
    judged: list[int | None]
    shown: list[int | None]
    trends: list[list[float | None]]
    errors: list[str | None]


class HistoryPoint(Record):
    """The means of a snapshot on the judgements of its time, one per ranker; null if it has no such ranker."""

    snapshot_id: int
    name: str
    created: datetime
    means: list[float | None]


class ScoreboardResponse(Board):
    """A scoreboard; ``history`` has the last snapshots of the set, oldest first."""

    set: QuerySet
    measure: str
    order: Order
    n_judged_queries: int
    rankers: list[RankerTotal]
    rows: list[QueryRow]
    history: list[HistoryPoint]


@router.get("/scoreboard")
def scoreboard(bench: Bench, caller: Caller, request: Annotated[ScoreboardRequest, Query()]) -> ScoreboardResponse:
    """Return the measure of every query for several rankers. Repeat the request until ``is_complete``."""
    made, queries = query_sets.find(bench, request.set_id)
    measure, *others = parse_measures(request.measure, request.convention)
    if others:
        raise invalid("the scoreboard has one measure.", "Compare shows several.")
    names = chosen_rankers(bench, request.ranker)
    compared = sides(bench, [f"{NOW}/{name}" for name in names], least=1)
    own = [one for one in snapshots(bench).snapshots if one.summary.get("set_id") == made.id]
    earlier = own[:MAX_TREND][::-1]
    values = [known_values(bench, one, measure, request.convention) for one in earlier]
    shown = measured(bench, caller.user, compared, request, [measure], values)
    then = [(one, of or {}) for one, of in zip(earlier, values, strict=True)]
    trends = [[of.get(name, {}) for one, of in then if name in one.rankers] for name in names]
    n_seen, trained = bench.rankers.n_trained_on(queries), {one.name for one in bench.rankers.all()}
    marks: dict[str, Any] = dict.fromkeys(names, "")
    if shown.found is not None and len(names) > 1:
        marks = {name: "worse" if mark else "" for name, mark in shown.found.marks().items()}  # than the best
        marks[shown.found.best()] = "best"
    totals = [
        RankerTotal(
            name=name,
            **total_of(shown.found, name, str(measure), judged),
            n_ready=len(known),
            is_trained=name in trained,
            note=TRAINED_NOTE.format(n=n_seen[name]) if name in n_seen else None,
            mark=marks[name],
        )
        for name, known, judged in zip(names, shown.known, shown.judged, strict=True)
    ]
    notes = shown.board["notes"]
    notes.append(f"Convention {request.convention}: {CONVENTIONS[request.convention].summary}.")
    if measure.k is None or measure.k > FROZEN_DEPTH:
        notes.append(f"Lists are measured up to place {FROZEN_DEPTH}.")
    return ScoreboardResponse(
        **shown.board,
        set=made,
        measure=str(measure),
        order=request.order,
        n_judged_queries=sum(map(bool, shown.labels.values())),
        rankers=totals,
        rows=_sorted_rows(_rows(shown, trends), names, request, measure.higher_is_better),
        history=[
            HistoryPoint(one.id, one.name, one.created, [_mean(of.get(name)) for name in names]) for one, of in then
        ],
    )


def _rows(shown: Measured, trends: Sequence[Sequence[Mapping[str, float]]]) -> list[QueryRow]:
    rows = []
    for query in shown.queries:
        first = [of[query].docid[:FIRST] if query in of else None for of in shown.rankings]
        label = shown.labels[query]
        rows.append(
            QueryRow(
                query=query,
                values=shown.values[query],
                judged=[None if one is None else sum(docid in label for docid in one) for one in first],
                shown=[None if one is None else len(one) for one in first],
                trends=[[values.get(query) for values in of] for of in trends],
                errors=[of[query].error if query in of else None for of in shown.known],
            )
        )
    return rows


def _mean(values: Mapping[str, float] | None) -> float | None:
    return math.fsum(values.values()) / len(values) if values else None


def _sorted_rows(
    rows: list[QueryRow], names: Sequence[str], request: ScoreboardRequest, higher_is_better: bool
) -> list[QueryRow]:
    """Return the rows with the worst of a ranker first, or by its difference to the first one; without values last."""
    if request.order == "given":
        return rows
    place = names.index(request.by) if request.by in names else len(names) - 1 if request.order in BY_DIFFERENCE else 0
    sign = 1.0 if higher_is_better == (request.order in ("worst", "lost")) else -1.0

    def key(row: QueryRow) -> tuple[bool, float]:
        value, first = row.values[place], row.values[0]
        if request.order in BY_DIFFERENCE:
            value = None if value is None or first is None else value - first
        return value is None, 0.0 if value is None else sign * value

    return sorted(rows, key=key)
