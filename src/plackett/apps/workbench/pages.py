"""The HTML pages of the workbench; reading them needs no JavaScript, judging does."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlencode

import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from plackett.apps.access.errors import RequestError, client_errors
from plackett.apps.workbench import limits
from plackett.apps.workbench.bench import Workbench
from plackett.apps.workbench.collections.base import Hits
from plackett.apps.workbench.queues import known_queue
from plackett.apps.workbench.schemas.lists import ListOptions, RankedList, Result
from plackett.apps.workbench.schemas.queue import NextRequest
from plackett.apps.workbench.schemas.values import METHODS
from plackett.validation import count_of

VIEWS = ("refined", "before", "side")
QUERIES, LISTS = 50, 100  # on a page
DOCUMENTS = 50  # shown for a search; lists with labels are shown up to the limit
ROWS, FEATURES = 200, 60  # in a table of features
PUBLIC_ERRORS = (400, 401, 403)  # sent without a token, so these pages show nothing of the collection
BASE_COOKIE = "plackett_base"  # the last base ranker

# control characters except tabs and line ends, and bidirectional overrides
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_RANKERS = {
    "bm25": "BM25",
    "jelinek-mercer": "Language model (Jelinek-Mercer)",
    "dirichlet": "Language model (Dirichlet)",
    "absolute-discounting": "Language model (absolute discounting)",
    "tf-idf": "TF-IDF",
    "boolean": "Boolean (and, or, not)",
}
SIGNIFICANT = 0.05
_HEADINGS = {401: "Token required", 403: "Not allowed", 404: "Not found", 503: "Not available"}


def add_pages(app: FastAPI) -> None:
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
    request: Request,
    q: str = "",
    base: str = "",
    method: str = "",
    view: str = "",
    pin_judged: str = "",
    queue: str = "",
) -> Response:
    """Return the search box, and the list of the query refined by this user's judgements."""
    bench = bench_of(request)
    q, method = q.strip(), method if method in METHODS else METHODS[0]
    base = base or _remembered_base(request, bench)
    is_pinned, queue = pin_judged == "true", known_queue(queue) if q else ""
    view = view or ("before" if queue else "")  # the order of the base ranker is to be judged
    found, error, place, notes = None, None, None, None
    if q:
        try:
            _check_query(q)
            k = limits.MAX_K if bench.collection.kind == "letor" else DOCUMENTS
            options = ListOptions.model_construct(base=base, method=method, pin_judged=is_pinned, k=k)
            caller = request.state.credentials
            found = bench.searching.search(caller.user, q, options)
            notes = bench.team.notes(caller.user, q)
            if queue:
                place = bench.queues.next(caller.user, NextRequest(queue=queue, base=found.base, after=q))
        except RequestError as raised:
            error = raised
    return render_page(
        request,
        "search.html",
        200 if error is None else error.status,
        here="search",
        q=q,
        base=base if found is None else found.base,
        method=method,
        methods=METHODS,
        pin_judged=is_pinned,
        view=view if view in VIEWS else VIEWS[0],
        list=found,
        annotators=bench.store.annotators(bench.collection.key),
        list_json="" if found is None else found.model_dump_json(),
        problem=None if error is None else _error_text(error),
        queue=queue,
        place=place,
        notes=notes,
        suggestions=[] if q else bench.collection.suggestions(),
    )


def document_page(request: Request, docid: str = "", q: str = "", base: str = "", queue: str = "") -> Response:
    """Return a document as plain text, with its features for the query that found it."""
    _check_query(q)
    bench, caller = bench_of(request), request.state.credentials
    document = bench.searching.document(docid, q or None, base)
    values = {"q": q, "base": base, "queue": known_queue(queue)}
    back = "/?" + urlencode({name: value for name, value in values.items() if value})
    grade = bench.judging.grade(caller.user, q, docid) if q.strip() else None
    return render_page(
        request, "document.html", here="document", document=document, q=q, base=base, back=back, grade=grade
    )


def collection_page(request: Request, offset: int = 0) -> Response:
    """Return the judged queries, the agreement of users, export, import and training."""
    bench, offset = bench_of(request), max(0, offset)
    return render_page(
        request,
        "collection.html",
        here="collection",
        about=bench.reviewing.describe(),
        queries=bench.reviewing.queries(None, QUERIES, offset),
        trained=bench.rankers.rankers().rankers[::-1],
        annotators=bench.store.annotators(bench.collection.key),
        offset=offset,
        limit=QUERIES,
    )


def lists_page(request: Request, offset: int = 0, base: str = "") -> Response:
    """Return the queries of a collection with labels, with the measure of a base ranker."""
    bench, offset = bench_of(request), max(0, offset)
    page = bench.reviewing.lists(LISTS, offset, base or _remembered_base(request, bench))
    return render_page(request, "lists.html", here="lists", page=page, offset=offset, limit=LISTS)


def features_page(request: Request, q: str = "", base: str = "") -> Response:
    """Return the documents of a list in the order of a base ranker, with their features."""
    collection = bench_of(request).collection
    base = base or collection.base_rankers()[0]
    _check_query(q)
    hits, error = None, None
    try:
        with client_errors():
            hits = collection.search(q.strip(), base, ROWS)
    except RequestError as raised:
        error = raised
    labels = {} if hits is None else collection.labels(q.strip())
    return render_page(
        request,
        "features.html",
        200 if error is None else error.status,
        here="lists",
        q=q,
        base=base,
        rows=[] if hits is None else _feature_rows(hits, labels),
        has_labels=bool(labels),
        names=[] if hits is None else hits.feature_names[:FEATURES],
        n_features=len(collection.feature_names),
        problem=None if error is None else _error_text(error),
    )


def _feature_rows(hits: Hits, labels: dict[str, float]) -> list[tuple[str, float | None, float, list[float]]]:
    """Return (id, label, score, features) of the documents of a list."""
    values, scores = hits.X[:, :FEATURES].tolist(), hits.scores.tolist()
    return [(docid, labels.get(docid), scores[row], values[row]) for row, docid in enumerate(hits.docid)]


def _error_page(request: Request, status: int, error: str, hint: str | None) -> Response:
    heading = _HEADINGS.get(status, "Error")
    if status in PUBLIC_ERRORS:
        text = _TEMPLATES.get_template("public_error.html").render(heading=heading, error=error, hint=hint)
        return HTMLResponse(text, status)
    return render_page(request, "error.html", status, here="", heading=heading, error=error, hint=hint)


def render_page(request: Request, template: str, status: int = 200, /, **values: Any) -> Response:
    """Return a page made from a template."""
    text = _TEMPLATES.get_template(template).render(
        credentials=request.state.credentials,
        collection=bench_of(request).collection,
        grades=bench_of(request).settings.grades,
        **values,
    )
    return Response(text.encode("utf-8", errors="replace"), status, media_type="text/html; charset=utf-8")


def bench_of(request: Request) -> Workbench:
    """Return the workbench of the application."""
    return request.app.state.workbench


def _check_query(q: str) -> None:
    if len(q) > limits.MAX_QUERY:
        raise RequestError(422, "invalid", f"the query has {len(q):,} characters; the limit is {limits.MAX_QUERY:,}.")


def _remembered_base(request: Request, bench: Workbench) -> str:
    base = unquote(request.cookies.get(BASE_COOKIE, ""))
    return base if base in bench.collection.base_rankers() else bench.collection.base_rankers()[0]


def _error_text(error: RequestError) -> str:
    return error.message if error.hint is None else f"{error.message}\n{error.hint}"


# filters and functions of the templates


def document_url(docid: str, q: str = "", base: str = "") -> str:
    """Return the address of a document's page."""
    values = (("docid", docid), ("q", q), ("base", base))
    return "/document?" + urlencode({name: value for name, value in values if value}, errors="replace")


def plain(text: str, max_length: int | None = None) -> str:
    r"""Return ``text`` with invisible characters replaced, shortened if it is too long; templates escape it.

    Examples
    --------
    >>> plain("a\x00b" + 9 * "c", 5)
    'a�bc…'
    """
    short_text = text if max_length is None or len(text) <= max_length else text[: max_length - 1] + "…"
    return _INVISIBLE.sub("�", short_text)


def short(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"


def signed(value: float | None) -> str:
    """Return a number with its sign and two or three digits, as the script does."""
    if value is None:
        return "–"
    size = abs(value)
    digits = f"{size:.1f}" if size >= 10 else f"{size:.2f}" if size >= 0.01 or not size else f"{size:.1g}"
    return ("+" if value > 0 else "−" if value < 0 else "±") + digits


def fixed(value: float | None, digits: int = 4) -> str:
    """Return a number with fixed decimals."""
    return "–" if value is None else f"{value:.{digits}f}"


def direction(row: Result) -> str:
    """Return the CSS class of a document that moved."""
    return "up" if row.moved > 0 else "down" if row.moved < 0 else "same"


def moved(row: Result) -> str:
    """Return by how many places a document moved."""
    return f"▲ {row.moved}" if row.moved > 0 else f"▼ {-row.moved}" if row.moved < 0 else ""


def moved_in_words(row: Result) -> str:
    """Return the same for screen readers."""
    places = count_of(abs(row.moved), "place")
    return f", up {places}" if row.moved > 0 else f", down {places}" if row.moved < 0 else ""


def counted(ranked: RankedList) -> str:
    """Return the counts of a list."""
    parts = [f"{count_of(ranked.n_found, 'document')} by {ranker_name(ranked.base)}"]
    if ranked.n_judged:
        parts.append(f"{ranked.n_judged} judged")
    if ranked.n_pairs:
        parts.append(count_of(ranked.n_pairs, "pair"))
    return ", ".join(parts)


def on_labels(ranked: RankedList) -> str:
    """Return NDCG@10 on the labels of the collection, before and after, as the script does."""
    found = ranked.on_labels
    if found is None:
        return ""
    values = [f"{of['ndcg@10']:.2f}" for of in (found.before, found.after)]
    return f", NDCG@10 {' → '.join(values if ranked.is_refined else values[:1])} on the labels"


def ranker_name(name: str) -> str:
    """Return the displayed name of a base ranker."""
    return _RANKERS.get(name, plain(name, 60))


def method_name(name: str) -> str:
    """Return the displayed name of a refinement method."""
    return "Rocchio" if name == "rocchio" else name


def has_won(summary: dict[str, Any]) -> bool | None:
    """Return whether a trained ranker is significantly better by NDCG@10; None if it was not compared."""
    compared = (summary.get("metrics") or {}).get("ndcg@10")
    if not compared or compared.get("p_value") is None:
        return None
    return compared["difference"] > 0 and compared["p_value"] <= SIGNIFICANT


def step(level: float | str) -> int:
    """Return the colour of a label: 0 to 4."""
    return int(min(max(float(level), 0.0), 4.0))


def when(time: datetime) -> str:
    """Return a time, to the minute."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("plackett.apps.workbench"),
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
        on_labels,
        ranker_name,
        method_name,
        has_won,
        step,
    ):
        environment.filters[function.__name__] = function
    environment.filters["when"], environment.filters["count_of"] = when, count_of
    environment.globals["document_url"] = document_url
    environment.globals["limits"] = limits
    return environment


_TEMPLATES = _environment()
