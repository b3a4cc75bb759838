"""The pages: what the workbench knows, as HTML that can be read without a script and is judged with one."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlencode

import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from plackett.validation import count_of
from plackett.web import limits
from plackett.web.collections.base import Hits
from plackett.web.errors import Problem, asked
from plackett.web.schemas.lists import RankedList, Result, View
from plackett.web.schemas.values import METHODS
from plackett.web.workbench.workbench import Workbench

VIEWS = ("refined", "before", "side")
QUERIES, LISTS = 50, 100  # on a page
DOCUMENTS = 50  # found and refined; of a judged list all that are allowed
ROWS, FEATURES = 200, 60  # in a table of features
STRANGERS = (400, 401, 403)  # these answers go to anybody, so they say nothing of what is here
BASE_COOKIE = "plackett_base"  # the base ranker that was chosen last

# control characters but tabs and line ends, and those that turn around the text behind them
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_RANKERS = {
    "bm25": "BM25",
    "jelinek-mercer": "Language model (Jelinek-Mercer)",
    "dirichlet": "Language model (Dirichlet)",
    "absolute-discounting": "Language model (absolute discounting)",
    "tf-idf": "TF-IDF",
    "boolean": "Boolean (and, or, not)",
}
_HEADINGS = {401: "A token is needed", 403: "Not allowed", 404: "Not found", 503: "Not now"}


def mount(app: FastAPI) -> None:
    """Add the pages to an application that has a workbench."""
    app.state.error_page = _error_page
    for path, page in (
        ("/", search_page),
        ("/document", document_page),
        ("/collection", collection_page),
        ("/lists", lists_page),
        ("/features", features_page),
    ):
        app.add_api_route(path, page, include_in_schema=False, response_class=HTMLResponse)


def search_page(
    request: Request, q: str = "", base: str = "", method: str = "", view: str = "", keep: str = ""
) -> Response:
    """The query box, and the list of the query as this user's judgements have it."""
    bench = _bench(request)
    q, method = q.strip(), method if method in METHODS else METHODS[0]
    base = base or _remembered_base(request, bench)
    is_kept = keep == "true"
    found, problem = None, None
    if q:
        try:
            _check_query(q)
            k = limits.MAX_K if bench.collection.kind == "letor" else DOCUMENTS
            wish = View.model_construct(base=base, method=method, keep=is_kept, k=k)
            found = bench.lists.search(request.state.visitor.user, q, wish)
        except Problem as error:
            problem = error
    return _page(
        request,
        "search.html",
        200 if problem is None else problem.status,
        here="search",
        q=q,
        base=base if found is None else found.base,
        method=method,
        methods=METHODS,
        keep=is_kept,
        view=view if view in VIEWS else VIEWS[0],
        list=found,
        list_json="" if found is None else found.model_dump_json(),
        problem=None if problem is None else _words(problem),
        suggestions=[] if q else bench.collection.suggestions(),
    )


def document_page(request: Request, docid: str = "", q: str = "", base: str = "") -> Response:
    """A document as plain text, with its features for the query that it was found by."""
    _check_query(q)
    document = _bench(request).lists.document(docid, q or None, base)
    back = "/?" + urlencode({"q": q, **({"base": base} if base else {})})
    return _page(request, "document.html", here="document", document=document, q=q, back=back)


def collection_page(request: Request, offset: int = 0) -> Response:
    """What was judged, by whom, how far they agree, and what can be made of it."""
    bench, offset = _bench(request), max(0, offset)
    return _page(
        request,
        "collection.html",
        here="collection",
        about=bench.gathered.describe(),
        queries=bench.gathered.queries(None, QUERIES, offset),
        trained=bench.trained.answer().rankers[::-1],
        offset=offset,
        limit=QUERIES,
    )


def lists_page(request: Request, offset: int = 0) -> Response:
    """The queries of a collection that came judged."""
    offset = max(0, offset)
    page = _bench(request).gathered.lists(LISTS, offset)
    return _page(request, "lists.html", here="lists", page=page, offset=offset, limit=LISTS)


def features_page(request: Request, q: str = "", base: str = "") -> Response:
    """The documents of a list in any ranker's order, with their features."""
    collection = _bench(request).collection
    base = base or collection.base_rankers()[0]
    _check_query(q)
    hits, problem = None, None
    try:
        with asked():
            hits = collection.search(q.strip(), base, ROWS)
    except Problem as error:
        problem = error
    labels = {} if hits is None else collection.labels(q.strip())
    return _page(
        request,
        "features.html",
        200 if problem is None else problem.status,
        here="lists",
        q=q,
        base=base,
        rows=[] if hits is None else _rows_of(hits, labels),
        has_labels=bool(labels),
        names=[] if hits is None else hits.feature_names[:FEATURES],
        n_features=len(collection.feature_names),
        problem=None if problem is None else _words(problem),
    )


def _rows_of(hits: Hits, labels: dict[str, float]) -> list[tuple[str, float | None, float, list[float]]]:
    """Documents in the order of a list: id, label, score, features."""
    values, scores = hits.X[:, :FEATURES].tolist(), hits.scores.tolist()
    return [(docid, labels.get(docid), scores[row], values[row]) for row, docid in enumerate(hits.docid)]


def _error_page(request: Request, status: int, error: str, hint: str | None) -> Response:
    heading = _HEADINGS.get(status, "That did not work")
    if status in STRANGERS:
        text = _TEMPLATES.get_template("stranger.html").render(heading=heading, error=error, hint=hint)
        return HTMLResponse(text, status)
    return _page(request, "error.html", status, here="", heading=heading, error=error, hint=hint)


def _page(request: Request, template: str, status: int = 200, /, **values: Any) -> Response:
    text = _TEMPLATES.get_template(template).render(
        visitor=request.state.visitor, collection=_bench(request).collection, **values
    )
    return Response(text.encode("utf-8", errors="replace"), status, media_type="text/html; charset=utf-8")


def _bench(request: Request) -> Workbench:
    return request.app.state.workbench


def _check_query(q: str) -> None:
    if len(q) > limits.MAX_QUERY:
        raise Problem(422, "invalid", f"the query has {len(q):,} characters; {limits.MAX_QUERY:,} are the most.")


def _remembered_base(request: Request, bench: Workbench) -> str:
    base = unquote(request.cookies.get(BASE_COOKIE, ""))
    return base if base in bench.collection.base_rankers() else bench.collection.base_rankers()[0]


def _words(problem: Problem) -> str:
    return problem.error if problem.hint is None else f"{problem.error}\n{problem.hint}"


# what templates call


def document_url(docid: str, q: str = "", base: str = "") -> str:
    """The address of a document's page."""
    return "/document?" + urlencode(
        {name: value for name, value in (("docid", docid), ("q", q), ("base", base)) if value}, errors="replace"
    )


def plain(text: str, most: int | None = None) -> str:
    r"""``text`` without what cannot be seen, cut where it is too long; templates escape the rest.

    Examples
    --------
    >>> plain("a\x00b" + 9 * "c", 5)
    'a�bc…'
    """
    cut = text if most is None or len(text) <= most else text[: most - 1] + "…"
    return _UNSEEN.sub("�", cut)


def short(value: float) -> str:
    """A number in four digits."""
    return f"{value:.4g}"


def signed(value: float | None) -> str:
    """A number with its sign in two digits or three, as the script has it."""
    if value is None:
        return "–"
    size = abs(value)
    digits = f"{size:.1f}" if size >= 10 else f"{size:.2f}" if size >= 0.01 or not size else f"{size:.1g}"
    return ("+" if value > 0 else "−" if value < 0 else "±") + digits


def fixed(value: float | None, digits: int = 4) -> str:
    """A measure."""
    return "–" if value is None else f"{value:.{digits}f}"


def direction(row: Result) -> str:
    """The class of a document that moved."""
    return "up" if row.moved > 0 else "down" if row.moved < 0 else "same"


def moved(row: Result) -> str:
    """How far a document moved."""
    return f"▲ {row.moved}" if row.moved > 0 else f"▼ {-row.moved}" if row.moved < 0 else ""


def moved_in_words(row: Result) -> str:
    """The same for those who hear the page."""
    places = count_of(abs(row.moved), "place")
    return f", up {places}" if row.moved > 0 else f", down {places}" if row.moved < 0 else ""


def counted(ranked: RankedList) -> str:
    """A list in a few words."""
    parts = [f"{count_of(ranked.n_found, 'document')} by {ranker_name(ranked.base)}"]
    if ranked.n_judged:
        parts.append(f"{ranked.n_judged} judged")
    if ranked.n_pairs:
        parts.append(count_of(ranked.n_pairs, "pair"))
    return ", ".join(parts)


def ranker_name(name: str) -> str:
    """A base ranker as readers know it."""
    return _RANKERS.get(name, plain(name, 60))


def method_name(name: str) -> str:
    """A way to refine as readers know it."""
    return "Rocchio" if name == "rocchio" else name


def metric_name(name: str) -> str:
    """A measure as it is written."""
    return name.upper()


def step(level: float | str) -> int:
    """The colour of a label: 0 to 4."""
    return int(min(max(float(level), 0.0), 4.0))


def when(time: datetime) -> str:
    """A time, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plackett.web.http"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        plain,
        short,
        signed,
        fixed,
        direction,
        moved,
        moved_in_words,
        counted,
        ranker_name,
        method_name,
        metric_name,
        step,
    ):
        environment.filters[function.__name__] = function
    environment.filters["when"], environment.filters["count_of"] = when, count_of
    environment.globals["document_url"] = document_url
    environment.globals["limits"] = limits
    return environment


_TEMPLATES = _environment()
