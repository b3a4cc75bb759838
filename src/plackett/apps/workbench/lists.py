"""Lists: search, show and describe documents, and measure a refined list.

Modules that learn and measure are imported where they are used, because loading them takes longest.
``Workbench.warm_up`` loads them in the background.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query as Parameters
from pydantic import Field, StringConstraints

from plackett.apps.access.errors import client_errors
from plackett.apps.workbench.api import Bench, Caller, PathId, new_router
from plackett.apps.workbench.collections.base import Hits, Piece
from plackett.apps.workbench.labels import ANNOTATOR
from plackett.apps.workbench.reason_words import Reason
from plackett.apps.workbench.runs import ListMeasures, VisibleMeasures
from plackett.apps.workbench.store import QUERIES, Query
from plackett.apps.workbench.values import (
    MAX_K,
    MAX_QUERY,
    NO_NULL,
    Base,
    Docid,
    Id,
    Method,
    QueryText,
    Record,
    RequestModel,
)

MAX_TITLE = 300  # characters in a list
MAX_FIELD = 200_000  # characters of a document on a page
router = new_router("lists")


class RefinedBy(RequestModel):
    """A base ranker, and how its first documents are refined."""

    base: Base = Field(default="", description="A base ranker; empty means the last one of the query, or the default.")
    method: Method = "multiplicative"
    k: int = Field(default=50, ge=1, le=MAX_K, description="Number of documents to find and refine.")


class ListOptions(RefinedBy):
    """Options for refining and showing a list."""

    pin_judged: bool = Field(default=False, description="Whether graded documents are pinned first or last.")
    shown: int = Field(default=20, ge=1, le=MAX_K, description="Number of documents in the response.")
    side_by_side: bool = Field(default=False, description="Whether the response has the base order too.")


class SearchRequest(ListOptions):
    """A search."""

    q: QueryText


class MeasureRequest(RefinedBy):
    """The two orders to compare, and the judgements to measure them on."""

    annotator: Id | None = Field(default=None, description="An imported annotator to use instead of people.")


class DocumentRequest(RequestModel):
    """A document, and the query for its features."""

    docid: Docid
    q: Annotated[str, StringConstraints(max_length=MAX_QUERY, pattern=NO_NULL)] | None = None
    base: Base = ""


class Result(Record):
    """A document in a list; places count from 1, and ``moved`` is positive if it moved up.

    ``grade`` is this user's judgement, ``label`` that of the collection. ``why`` compares with the document
    ``against``, which it overtook or which overtook it; null for the mean of the list.
    """

    docid: str
    title: str
    snippet: list[Piece]
    score: float
    base_score: float
    place: int
    base_place: int
    moved: int
    grade: float | None
    label: float | None
    why: list[Reason]
    against: str | None


class Pair(Record):
    """A preference."""

    preferred: str
    other: str


class Graded(Record):
    """A judged document that is not in the list."""

    docid: str
    grade: float


class RankedList(Record):
    """A list refined by this user's judgements.

    ``query_id`` is null if the query is not judged yet. ``note`` is about the refinement, ``list_note`` about the list
    of the base ranker. ``on_labels`` measures it on the labels of the collection; null if it has none for this query.
    """

    query_id: int | None
    query: str
    base: str
    method: Method
    pin_judged: bool
    k: int
    n_found: int
    n_judged: int
    n_pairs: int
    is_refined: bool
    can_undo: bool
    note: str | None
    list_note: str | None
    pairs: list[Pair]
    elsewhere: list[Graded]
    results: list[Result]
    base_results: list[Result] | None
    on_labels: VisibleMeasures | None


class TextField(Record):
    """A field of a document as plain text."""

    name: str
    text: str
    is_cut: bool


class Feature(Record):
    """A feature of a document for a query."""

    name: str
    value: float


class FoundDocument(Record):
    """A document, with its features and its label in the collection if the request has a query."""

    docid: str
    title: str
    fields: list[TextField]
    features: list[Feature] | None
    label: float | None


@router.get("/search")
def search(bench: Bench, caller: Caller, request: Annotated[SearchRequest, Parameters()]) -> RankedList:
    """Return the list of a query, refined by this user's earlier judgements."""
    with client_errors():
        hits = bench.collection.search(request.q, request.base, request.k)
    query, user_id = bench.store.find_query(bench.key, request.q), bench.user_id(caller.user)
    return ranked_list(bench, user_id, None if query is None else query.id, request.q, hits, request)


@router.get("/lists/{query_id}")
def show(bench: Bench, caller: Caller, query_id: PathId, options: Annotated[ListOptions, Parameters()]) -> RankedList:
    """Return the list of a judged query."""
    query = bench.find(Query, QUERIES, query_id, "query")
    hits = hits_of(bench, query, options)
    return ranked_list(bench, bench.user_id(caller.user), query.id, query.text, hits, options)


@router.get("/lists/{query_id}/measures")
def measures(
    bench: Bench, caller: Caller, query_id: PathId, request: Annotated[MeasureRequest, Parameters()]
) -> ListMeasures:
    """Return P@k and NDCG@k of base and refined order on the documents that this user judged."""
    from plackett.apps.workbench.refining import measure_list

    query = bench.find(Query, QUERIES, query_id, "query")
    hits, user_id = hits_of(bench, query, request), bench.user_id(caller.user)
    judged = bench.store.state(user_id, query_id).judged
    if request.annotator is None:
        return measure_list(hits, judged, request.method)
    grades = bench.labels.get(f"{ANNOTATOR}{request.annotator}", caller.user).of(query.text)
    return measure_list(hits, judged, request.method, annotated=grades)


@router.get("/documents")
def document(bench: Bench, request: Annotated[DocumentRequest, Parameters()]) -> FoundDocument:
    """Return a document as plain text, with its features if the request has a query."""
    features, label, text = None, None, (request.q or "").strip()
    with client_errors():
        found = bench.collection.document(request.docid)
        if text:
            scored = bench.collection.score(text, [request.docid], request.base)
            values = scored.X[0].tolist() if len(scored.X) else []
            features = [Feature(*pair) for pair in zip(scored.feature_names, values, strict=False)]
            label = bench.collection.labels(text).get(request.docid)
    fields = [TextField(name, value[:MAX_FIELD], len(value) > MAX_FIELD) for name, value in found.fields.items()]
    return FoundDocument(request.docid, _shortened(found.title), fields, features, label)


def hits_of(bench: Bench, query: Query, options: RefinedBy) -> Hits:
    """Return the base list of a stored query; without ``options.base`` by its last base ranker, if it exists."""
    base = options.base or (query.base if query.base in bench.collection.base_rankers() else "")
    with client_errors():
        return bench.collection.search(query.text, base, options.k)


def ranked_list(
    bench: Bench, user_id: int | None, query_id: int | None, text: str, hits: Hits, options: ListOptions
) -> RankedList:
    """Return a list refined by a user's judgements; None means a user or a query that is not stored yet."""
    from plackett.apps.workbench.refining import refine, visible

    state = bench.store.state(user_id, query_id)
    judged = state.judged
    refined = refine(hits, judged, options.method, options.pin_judged)
    labels, in_list = bench.collection.labels(text), set(hits.docid)

    def result(row: int, place: int) -> Result:
        docid, against = hits.docid[row], refined.against[row]
        return Result(
            docid=docid,
            title=_shortened(bench.collection.document(docid).title),
            snippet=bench.collection.snippet(docid, text),
            score=float(refined.scores[row]),
            base_score=float(hits.scores[row]),
            place=place,
            base_place=row + 1,
            moved=int(refined.moves[row]),
            grade=judged.labels.get(docid),
            label=labels.get(docid),
            why=refined.why[row],
            against=hits.docid[against] if against >= 0 else None,
        )

    n_base = options.shown if options.side_by_side else 0
    results = {  # in the refined order
        row: result(row, place) for place, row in enumerate(refined.order, 1) if place <= options.shown or row < n_base
    }
    return RankedList(
        query_id=query_id,
        query=text,
        base=hits.base,
        method=options.method,
        pin_judged=options.pin_judged,
        k=options.k,
        n_found=len(hits.docid),
        n_judged=len(judged.labels),
        n_pairs=len(judged.pairs),
        is_refined=bool(judged.labels or judged.pairs),
        can_undo=state.can_undo,
        note=refined.note,
        list_note=hits.note or None,
        pairs=[Pair(*pair) for pair in judged.pairs],
        elsewhere=[Graded(docid, grade) for docid, grade in judged.labels.items() if docid not in in_list],
        results=list(results.values())[: options.shown],
        base_results=[results[row] for row in sorted(results)[:n_base]] if options.side_by_side else None,
        on_labels=visible(hits, refined.scores, labels) if labels else None,
    )


def _shortened(title: str) -> str:
    return title if len(title) <= MAX_TITLE else title[:MAX_TITLE] + "…"
