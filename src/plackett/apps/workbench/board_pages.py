"""The pages of the scoreboard: query sets and measures, and comparisons."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar, get_args
from urllib.parse import urlencode

import numpy as np
from fastapi import FastAPI, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, ValidationError

from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.charts import history_chart, sparkline
from plackett.apps.workbench.comparing import FROZEN
from plackett.apps.workbench.pages import bench_of, ranker_name, render_page
from plackett.apps.workbench.schemas.query_sets import QuerySource
from plackett.apps.workbench.schemas.scoreboard import Order, ScoreboardRequest
from plackett.apps.workbench.schemas.snapshots import ComparisonRequest, ComparisonResponse
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.judged_lists import mean_of_counted
from plackett.metrics.measure import KINDS
from plackett.report import components
from plackett.report.components.payload import comparison_payload

Wanted = TypeVar("Wanted", bound=BaseModel)
SIGNIFICANT = 0.05
USUAL = ("ndcg@5", "ndcg@20", "p@5", "p@20", "recall@100")  # measures with another cut-off than 10
PLAIN_ROWS = 200  # rows of the table without JavaScript
_FILES = {name: components.FOLDER / name for name in (*components.SCRIPTS, components.SHEET)}


def add_pages(app: FastAPI) -> None:
    """Add the pages to an application that has a workbench, before its static files."""
    for path, page in (("/scoreboard", scoreboard_page), ("/compare", compare_page)):
        app.add_api_route(path, page, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route("/static/components/{name}", component_file, include_in_schema=False)


def component_file(name: str) -> Response:
    """Return a script or the style sheet of the report's components."""
    if name not in _FILES:
        raise RequestError(404, "not-found", f"there is no file {name!r}.")
    return FileResponse(_FILES[name])


def scoreboard_page(
    request: Request,
    set_id: int = 0,
    ranker: Annotated[list[str] | None, Query()] = None,
    measure: str = "ndcg@10",
    convention: str = "standard",
    judgements: str = "",
    order: str = "worst",
    by: str = "",
) -> Response:
    """Return the scoreboard of a query set, by default of the newest one."""
    bench = bench_of(request)
    sets = bench.query_sets.sets().sets
    wanted: dict[str, Any] = {
        "set_id": set_id or (sets[0].id if sets else 0),
        "ranker": ranker or [],
        "measure": measure.strip(),
        "convention": convention,
        "judgements": judgements,
        "order": order,
        "by": by,
    }
    board, problem = None, None
    if sets:
        try:
            board = bench.scoreboard.board(request.state.credentials.user, _checked(ScoreboardRequest, wanted))
        except RequestError as error:
            problem = error
    chosen = [one.name for one in board.rankers] if board else wanted["ranker"]
    return render_page(
        request,
        "scoreboard.html",
        200 if problem is None else problem.status,
        here="scoreboard",
        sets=sets,
        board=board,
        problem=problem,
        wanted={**wanted, "ranker": chosen, "judgements": board.judgements if board else judgements},
        history=history_chart([one.means for one in board.history]) if board and len(board.history) > 1 else None,
        snapshots=bench.snapshots.snapshots().snapshots,
        rankers=bench.rankings.names(),
        measures=_measures(board.measure if board else "ndcg@10"),
        conventions={name: one.summary for name, one in CONVENTIONS.items()},
        sources=bench.labels.choices(),
        query_sources=get_args(QuerySource),
        orders=get_args(Order),
        sparkline=sparkline,
        significant=SIGNIFICANT,
        compare_url=_compare_url(chosen, wanted) if board else "",
        sort_url=lambda order, by: "/scoreboard?" + urlencode(_pairs({**wanted, "order": order, "by": by}), doseq=True),
    )


def compare_page(
    request: Request,
    side: Annotated[list[str] | None, Query()] = None,
    measures: str = "ndcg@10,p@10,mrr",
    convention: str = "standard",
    judgements: str = "",
    set_id: int = 0,
) -> Response:
    """Return a comparison of rankers and snapshots over all queries."""
    bench, sides = bench_of(request), [one for one in side or [] if one]
    sets, snapshots = bench.query_sets.sets().sets, bench.snapshots.snapshots().snapshots
    wanted = {
        "side": sides,
        "measures": measures.strip(),
        "convention": convention,
        "judgements": judgements,
        "set_id": set_id or (sets[0].id if sets else None),
    }
    found, problem = None, None
    if len(sides) > 1:
        try:
            found = bench.comparing.compare(request.state.credentials.user, _checked(ComparisonRequest, wanted))
        except RequestError as error:
            problem = error
    return render_page(
        request,
        "compare.html",
        200 if problem is None else problem.status,
        here="compare",
        found=found,
        problem=problem,
        wanted={**wanted, "judgements": found.judgements if found else judgements},
        names=_names(found) if found else {},
        difference=difference,
        sets=sets,
        snapshots=snapshots,
        rankers=bench.rankings.names(),
        measures=_measures(),
        conventions={name: one.summary for name, one in CONVENTIONS.items()},
        sources=[*bench.labels.choices(), *([(FROZEN, "as frozen in the newest snapshot")] if snapshots else [])],
        payload=json.dumps(_payload(found), allow_nan=False) if found and found.is_complete else "",
        rows=found.queries[:PLAIN_ROWS] if found else [],
        significant=SIGNIFICANT,
        reach=max((abs(end) for pair in found.pairs for end in (pair.low, pair.high) if end is not None), default=1)
        or 1
        if found
        else 1,
    )


def _checked(model: type[Wanted], values: dict[str, Any]) -> Wanted:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RequestError(422, "invalid", f"{place}: {first['msg']}.") from None


def _payload(found: ComparisonResponse) -> dict[str, Any]:
    """Return the payload of the shared components: the first measure of every query, and the pairs by it."""
    values = np.array([[np.nan if one is None else one for one in row.values] for row in found.queries])
    place = {side: number for number, side in enumerate(found.sides)}
    first = [pair for pair in found.pairs if pair.measure == found.measures[0]]
    means = [mean_of_counted(column) for column in values.T]
    return comparison_payload(
        metric=found.measures[0],
        rankers=list(_names(found).values()),
        queries=[
            {"name": "query", "kind": "text", "values": [row.query for row in found.queries]},
            {"name": "judged", "kind": "number", "digits": 0, "values": [row.n_judged for row in found.queries]},
            {"name": "new in top ten", "kind": "number", "digits": 0, "values": [row.n_new for row in found.queries]},
        ],
        values=values,
        means=means,
        higher_is_better=found.higher_is_better,
        pairs={
            (place[pair.a], place[pair.b]): {
                "mean": pair.difference,
                "low": pair.low,
                "high": pair.high,
                "p": pair.p_holm,
                "significant": pair.p_holm is not None and pair.p_holm <= SIGNIFICANT,
            }
            for pair in first
        },
        unexplained={number: words for number, words in enumerate(found.unexplained) if words is not None},
    )


def _names(found: ComparisonResponse) -> dict[str, str]:
    """Return the displayed name of each side."""
    answer = {}
    for side, name in zip(found.sides, found.names, strict=True):
        ranker = side.partition("/")[2]
        answer[side] = ranker_name(ranker) + name[len(ranker) :]
    return answer


def difference(value: float | None) -> str:
    """Return a difference with its sign and four decimals."""
    return "–" if value is None else f"{value:+.4f}".replace("-", "−")


def _measures(chosen: str = "") -> list[str]:
    """Return the choice: every measure with one value per query or for all, at 10 where it has a cut-off."""
    kinds = [kind for kind in KINDS.values() if not kind.needs_subtopics and not kind.is_own]
    names = [kind.name if kind.cutoff == "none" else f"{kind.name}@10" for kind in kinds]
    return sorted({chosen, *USUAL, *names}) if chosen else names


def _pairs(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if value}


def _compare_url(rankers: list[str], wanted: dict[str, Any]) -> str:
    pairs = [("side", f"now/{name}") for name in rankers]
    same = ("set_id", "convention", "judgements")
    others = [(name, wanted[name]) for name in same if wanted[name]]
    panel = dict.fromkeys([wanted["measure"], "ndcg@10", "p@10", "mrr"])
    return "/compare?" + urlencode([*pairs, *others, ("measures", ",".join(list(panel)[:3]))])
