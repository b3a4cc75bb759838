"""The HTML pages of the workbench; reading them needs no JavaScript, judging does."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar, get_args, get_origin
from urllib.parse import unquote, urlencode

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, ValidationError

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench import collection, comparing, lists, people, query_sets, queues, scoreboard, snapshots
from plackett.apps.workbench.api import Bench, Caller, PathId, invalid, missing
from plackett.apps.workbench.comparing import FROZEN, ComparisonRequest, ComparisonResponse
from plackett.apps.workbench.filters import SIGNIFICANT, TEMPLATES, history_chart, ranker_name
from plackett.apps.workbench.lists import DocumentRequest, MeasureRequest, SearchRequest
from plackett.apps.workbench.query_sets import QuerySource
from plackett.apps.workbench.queues import QueueChoice, QueueRequest, known_queue
from plackett.apps.workbench.scoreboard import Order, ScoreboardRequest
from plackett.apps.workbench.values import MAX_ID, MAX_K, MAX_QUERY, METHODS, PageRequest
from plackett.metrics.conventions import CONVENTIONS
from plackett.metrics.measure import KINDS
from plackett.report import components
from plackett.report.components.payload import comparison_payload

Wanted = TypeVar("Wanted", bound=BaseModel)
Offset = Annotated[int, Query(ge=0, le=MAX_ID)]
VIEWS = ("refined", "before", "side")
QUERIES, LISTS = 50, 100  # on a page
DOCUMENTS = 50  # shown for a search; lists with labels are shown up to the limit
ROWS, FEATURES = 200, 60  # in a table of features
PLAIN_ROWS = 200  # rows of the table without JavaScript
PUBLIC_ERRORS = (400, 401, 403)  # sent without a token, so these pages show nothing of the collection
BASE_COOKIE = "plackett_base"  # the last base ranker
USUAL = ("ndcg@5", "ndcg@20", "p@5", "p@20", "recall@100")  # measures with another cut-off than 10
_HEADINGS = {401: "Token required", 403: "Not allowed", 404: "Not found", 503: "Not available"}
_COMPONENTS = {name: components.FOLDER / name for name in (*components.SCRIPTS, components.SHEET)}
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
def search_page(
    request: Request,
    bench: Bench,
    caller: Caller,
    q: str = "",
    base: str = "",
    method: str = "",
    view: str = "",
    pin_judged: str = "",
    shown: Annotated[int, Query(ge=1, le=MAX_K)] = 20,
) -> Response:
    """Return the search box, and the list of the query refined by this user's judgements."""
    q, method = q.strip(), method if method in METHODS else METHODS[0]
    base = base or _remembered_base(request, bench)
    is_pinned, view = pin_judged == "true", view if view in VIEWS else VIEWS[0]
    found, error, notes = None, None, None
    if q:
        try:
            _check_query(q)
            k = MAX_K if bench.collection.kind == "letor" else DOCUMENTS
            how: dict[str, Any] = {"base": base, "method": method, "pin_judged": is_pinned, "k": k, "shown": shown}
            asked = SearchRequest.model_construct(**how, q=q, side_by_side=view != VIEWS[0])
            found = lists.search(bench, caller, asked)
            notes = people.notes(bench, caller, q)
        except RequestError as raised:
            error = raised
    return render_page(
        request,
        "search.html",
        error,
        here="search",
        q=q,
        base=base if found is None else found.base,
        method=method,
        methods=METHODS,
        pin_judged=is_pinned,
        view=view,
        list=found,
        annotators=bench.store.annotators(bench.key),
        notes=notes,
        suggestions=[] if q else bench.collection.suggestions(),
    )


@router.get("/measures/{query_id}")
def measures_part(
    request: Request, bench: Bench, caller: Caller, query_id: PathId, asked: Annotated[MeasureRequest, Query()]
) -> Response:
    """Return the measures of a list, as a part of the search page."""
    return render_page(request, "measures.html", found=lists.measures(bench, caller, query_id, asked))


@router.get("/document")
def document_page(
    request: Request, bench: Bench, caller: Caller, docid: str = "", q: str = "", base: str = ""
) -> Response:
    """Return a document as plain text, with its features for the query that found it."""
    _check_query(q)
    asked = DocumentRequest.model_construct(docid=docid, q=q or None, base=base)
    text, grade = q.strip(), None
    document = lists.document(bench, asked)
    if text:
        grade = bench.store.graded(bench.key, [text], bench.user_id(caller.user))[text].get(docid)
    back = "/?" + _query_string({"q": q, "base": base})
    about = {"document": document, "q": q, "base": base, "back": back, "grade": grade}
    return render_page(request, "document.html", here="document", **about)


@router.get("/judge")
def judge_page(
    request: Request, bench: Bench, caller: Caller, queue: str = "", base: str = "", offset: Offset = 0
) -> Response:
    """Return a queue with this user's progress, the people of its queries, and the disagreements."""
    base = base if base in bench.collection.base_rankers() else ""
    asked = QueueRequest(queue=known_queue(queue), base=base, limit=QUERIES, offset=offset)
    page = queues.queue(bench, caller, asked)
    people_of = [row.assigned for row in page.rows if row.assigned]  # the plan that the form starts with
    return render_page(
        request,
        "judge.html",
        here="judge",
        queues=queues.choices(bench, caller.user),
        queue=page,
        plan=list(dict.fromkeys(name for names in people_of for name in names)),
        per_query=max(map(len, people_of), default=1),
        found=people.disagreements(bench, PageRequest()),
        users=[one.name for one in bench.store.users()],
        offset=offset,
        limit=QUERIES,
    )


@router.get("/judging")
def judging_page(
    request: Request,
    bench: Bench,
    caller: Caller,
    queue: str = "",
    base: str = "",
    q: str = "",
    docid: str = "",
    after: str = "",
) -> Response:
    """Return one document of a queue to judge, without whose result it is."""
    base = base if base in bench.collection.base_rankers() else ""
    task = queues.task(bench, caller.user, QueueChoice(queue=known_queue(queue), base=base), q, docid, after)

    def address(**values: str) -> str:
        return "/judging?" + urlencode({"queue": task.queue, "base": task.base, **values})

    document = notes = None
    if task.docid:
        document = lists.document(bench, DocumentRequest.model_construct(docid=task.docid, q=None, base=""))
        notes = people.notes(bench, caller, task.query)
    following = {"q": task.query, "docid": task.next_docid} if task.next_docid else {"after": task.query}
    links = {name: one and address(q=task.query, docid=one) for name, one in zip("kj", task.around, strict=True)}
    about = {"task": task, "document": document, "notes": notes, "next": address(**following), "links": links}
    return render_page(request, "judging.html", here="judge", address=address, **about)


@router.get("/collection")
def collection_page(request: Request, bench: Bench, caller: Caller, offset: Offset = 0) -> Response:
    """Return the judged queries, and the agreement of users."""
    asked = collection.QueriesRequest(limit=QUERIES, offset=offset)
    return render_page(
        request,
        "collection.html",
        here="collection",
        about=collection.about(bench),
        queries=collection.queries(bench, caller, asked),
        offset=offset,
        limit=QUERIES,
    )


@router.get("/train")
def train_page(request: Request, bench: Bench) -> Response:
    """Return the jobs of the collection: training, trained rankers, export and import."""
    trained, annotators = bench.rankers.response().rankers[::-1], collection.annotators(bench).annotators
    about = collection.about(bench)
    return render_page(request, "train.html", here="train", about=about, trained=trained, annotators=annotators)


@router.get("/lists")
def lists_page(request: Request, bench: Bench, offset: Offset = 0, base: str = "") -> Response:
    """Return the queries of a collection with labels, with the measure of a base ranker."""
    base = base or _remembered_base(request, bench)
    page = collection.lists(bench, collection.ListsRequest(limit=LISTS, offset=offset, base=base))
    return render_page(request, "lists.html", here="lists", page=page, offset=offset, limit=LISTS)


@router.get("/features")
def features_page(request: Request, bench: Bench, q: str = "", base: str = "") -> Response:
    """Return the documents of a list in the order of a base ranker, with their features."""
    _check_query(q)
    if not q.strip():
        raise missing("the address has no query.", "Search one, and open its features from there.")
    base, error, rows, labels, names = base or bench.collection.base_rankers()[0], None, [], {}, []
    try:
        with client_errors():
            hits = bench.collection.search(q.strip(), base, ROWS)
        labels, names = bench.collection.labels(q.strip()), hits.feature_names[:FEATURES]
        values, scores = hits.X[:, :FEATURES].tolist(), hits.scores.tolist()
        rows = [(docid, labels.get(docid), scores[row], values[row]) for row, docid in enumerate(hits.docid)]
    except RequestError as raised:
        error = raised
    about = {"q": q, "base": base, "rows": rows, "has_labels": bool(labels), "names": names}
    n_features = len(bench.collection.feature_names)
    return render_page(request, "features.html", error, here="lists", n_features=n_features, **about)


@router.get("/scoreboard")
def scoreboard_page(request: Request, bench: Bench, caller: Caller, set_id: int = 0) -> Response:
    """Return the scoreboard of a query set, by default of the newest one."""
    about = _board_values(bench, set_id)
    wanted = _wanted(request, ScoreboardRequest, set_id=about["set_id"])
    board, problem = None, None
    if about["sets"]:
        try:
            board = scoreboard.scoreboard(bench, caller, _checked(ScoreboardRequest, wanted))
        except RequestError as error:
            problem = error

    def sort_url(order: str, by: str) -> str:
        return "/scoreboard?" + _query_string({**wanted, "order": order, "by": by})

    compare_url = ""
    shown = wanted
    if board is not None:
        shown = {**wanted, "ranker": [one.name for one in board.rankers], "judgements": board.judgements}
        about["measures"] = sorted({*about["measures"], board.measure})
        panel = list(dict.fromkeys([wanted["measure"], "ndcg@10", "p@10", "mrr"]))[:3]
        compared = {"side": [f"now/{name}" for name in shown["ranker"]], "measures": ",".join(panel)}
        how = {name: wanted[name] for name in ("set_id", "convention", "judgements")}
        compare_url = "/compare?" + _query_string({**compared, **how})
    return render_page(
        request,
        "scoreboard.html",
        problem,
        here="scoreboard",
        board=board,
        wanted=shown,
        history=history_chart([one.means for one in board.history]) if board and len(board.history) > 1 else None,
        query_sources=get_args(QuerySource),
        orders=get_args(Order),
        compare_url=compare_url,
        sort_url=sort_url,
        **about,
    )


@router.get("/compare")
def compare_page(request: Request, bench: Bench, caller: Caller, set_id: int = 0) -> Response:
    """Return a comparison of rankers and snapshots over all queries."""
    about = _board_values(bench, set_id)
    wanted = _wanted(request, ComparisonRequest, set_id=about["set_id"] or None)
    found, problem, ends = None, None, []
    if len(wanted["side"]) > 1:
        try:
            found = comparing.comparison(bench, caller, _checked(ComparisonRequest, wanted))
            ends = [abs(end) for pair in found.pairs for end in (pair.low, pair.high) if end is not None]
        except RequestError as error:
            problem = error
    if about["snapshots"]:
        about["sources"].append((FROZEN, "as frozen in the newest snapshot"))
    names = _names(found) if found else {}
    return render_page(
        request,
        "compare.html",
        problem,
        here="compare",
        found=found,
        wanted={**wanted, "judgements": found.judgements} if found else wanted,
        names=names,
        payload=json.dumps(_payload(found, names), allow_nan=False) if found and found.is_complete else "",
        rows=found.queries[:PLAIN_ROWS] if found else [],
        reach=max(ends, default=0) or 1,
        **about,
    )


@router.get("/static/components/{name}")
def component_file(name: str) -> Response:
    """Return a script or the style sheet of the report's components."""
    if name not in _COMPONENTS:
        raise missing(f"there is no file {name!r}.")
    return FileResponse(_COMPONENTS[name])


def error_page(request: Request, status: int, error: str, hint: str | None) -> Response:
    """Return the page of an error."""
    heading = _HEADINGS.get(status, "Error")
    if status in PUBLIC_ERRORS:
        text = TEMPLATES.get_template("public_error.html").render(heading=heading, error=error, hint=hint)
        return HTMLResponse(text, status)
    problem = RequestError(status, "", error, hint)
    return render_page(request, "error.html", problem, here="", heading=heading, error=error, hint=hint)


def render_page(request: Request, template: str, problem: RequestError | None = None, /, **values: Any) -> Response:
    """Return a page made from a template, with the status of its problem if there is one."""
    bench = request.app.state.workbench
    text = TEMPLATES.get_template(template).render(
        credentials=request.state.credentials,
        collection=bench.collection,
        grades=bench.settings.grades,
        problem=problem,
        **values,
    )
    status = 200 if problem is None else problem.status
    return Response(text.encode("utf-8", errors="replace"), status, media_type="text/html; charset=utf-8")


def _check_query(q: str) -> None:
    if len(q) > MAX_QUERY:
        raise invalid(f"the query has {len(q):,} characters; the limit is {MAX_QUERY:,}.")


def _remembered_base(request: Request, bench: Bench) -> str:
    base = unquote(request.cookies.get(BASE_COOKIE, ""))
    return base if base in bench.collection.base_rankers() else bench.collection.base_rankers()[0]


def _checked(model: type[Wanted], values: dict[str, Any]) -> Wanted:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise invalid(f"{place}: {first['msg']}.") from None


# the scoreboard and comparisons


def _board_values(bench: Bench, set_id: int) -> dict[str, Any]:
    """Return the choices of both pages; measures are those with one value per query or for all."""
    sets = query_sets.query_sets(bench).sets
    kinds = [kind for kind in KINDS.values() if not kind.needs_subtopics and not kind.is_own]
    return {
        "sets": sets,
        "set_id": set_id or (sets[0].id if sets else 0),
        "snapshots": snapshots.snapshots(bench).snapshots,
        "rankers": bench.rankings.names(),
        "conventions": {name: one.summary for name, one in CONVENTIONS.items()},
        "measures": sorted({*USUAL, *(kind.name if kind.cutoff == "none" else f"{kind.name}@10" for kind in kinds)}),
        "sources": bench.labels.choices(),
    }


def _wanted(request: Request, model: type[BaseModel], **values: Any) -> dict[str, Any]:
    """Return the values of a page's address for a request of the API, which are checked later, with its defaults."""
    sent = request.query_params
    for name, field in model.model_fields.items():
        if get_origin(field.annotation) is list:
            values[name] = [one for one in sent.getlist(name) if one]
        elif name not in values:
            values[name] = sent.get(name, field.default).strip()
    return values


def _query_string(values: dict[str, Any]) -> str:
    return urlencode({name: value for name, value in values.items() if value}, doseq=True)


def _payload(found: ComparisonResponse, names: dict[str, str]) -> dict[str, Any]:
    """Return the payload of the shared components: the first measure of every query, and the pairs by it."""
    first = [pair for pair in found.pairs if pair.measure == found.measures[0]]
    means = {pair.a: pair.mean_a for pair in first} | {pair.b: pair.mean_b for pair in first}
    place = {side: number for number, side in enumerate(found.sides)}
    rows = found.queries
    return comparison_payload(
        metric=found.measures[0],
        rankers=list(names.values()),
        queries=[
            {"name": "query", "kind": "text", "values": [row.query for row in rows]},
            {"name": "judged", "kind": "number", "digits": 0, "values": [row.n_judged for row in rows]},
            {"name": "new in top ten", "kind": "number", "digits": 0, "values": [row.n_new for row in rows]},
        ],
        values=np.array([row.values for row in rows], dtype=np.float64),
        means=np.array([means.get(side) for side in found.sides], dtype=np.float64).tolist(),
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
    """Return the displayed name of each side: that of the ranker, and the snapshot."""
    rankers = [side.partition("/")[2] for side in found.sides]
    names = [ranker_name(one) + name.removeprefix(one) for one, name in zip(rankers, found.names, strict=True)]
    return dict(zip(found.sides, names, strict=True))
