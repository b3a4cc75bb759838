"""Lists, their documents and their measures."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_K, MAX_QUERY
from plackett.apps.workbench.schemas.base import RequestModel
from plackett.apps.workbench.schemas.values import NO_NULL, Base, Docid, Id, Method, QueryText


class ListOptions(RequestModel):
    """Options for refining and showing a list."""

    base: Base = Field(
        default="",
        description="A base ranker; empty means the last one of the query, or the default.",
    )
    method: Method = "multiplicative"
    pin_judged: bool = Field(default=False, description="Whether graded documents are pinned first or last.")
    k: int = Field(default=50, ge=1, le=MAX_K, description="Number of documents to find and refine.")
    shown: int = Field(default=20, ge=1, le=MAX_K, description="Number of documents in the response.")
    side_by_side: bool = Field(default=False, description="Whether the response has the base order too.")


class SearchRequest(ListOptions):
    """A search."""

    q: QueryText


class MeasureRequest(RequestModel):
    """The two orders to compare, and the judgements to measure them on."""

    base: Base = ""
    method: Method = "multiplicative"
    k: int = Field(default=50, ge=1, le=MAX_K)
    annotator: Id | None = Field(default=None, description="An imported annotator to use instead of people.")


class DocumentRequest(RequestModel):
    """A document, and the query for its features."""

    docid: Docid
    q: Annotated[str, StringConstraints(max_length=MAX_QUERY, pattern=NO_NULL)] | None = None
    base: Base = ""


class Piece(BaseModel):
    """A part of a snippet."""

    text: str
    is_term: bool


class Reason(BaseModel):
    """A reason why a document moved: the condition on a feature, the same in words, and its share of the score."""

    text: str
    words: str
    amount: float


class Result(BaseModel):
    """A document in a list; places count from 1, and ``moved`` is positive if it moved up.

    ``grade`` is this user's judgement, ``label`` that of the collection.
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


class Pair(BaseModel):
    """A preference."""

    preferred: str
    other: str


class Graded(BaseModel):
    """A judged document that is not in the list."""

    docid: str
    grade: float


class VisibleMeasures(BaseModel):
    """Measures of the whole list, in which a document without a judgement counts as not relevant."""

    n_first: int = Field(description="Documents on the first page, up to ten.")
    judged_before: int = Field(description="How many of these are judged in the base order.")
    judged_after: int
    before: dict[str, float]
    after: dict[str, float]


class RankedList(BaseModel):
    """A list refined by this user's judgements."""

    query_id: int | None = Field(description="Null if the query is not judged yet.")
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
    note: str | None = Field(description="About the refinement.")
    list_note: str | None = Field(default=None, description="About the list of the base ranker.")
    pairs: list[Pair]
    elsewhere: list[Graded]
    results: list[Result]
    base_results: list[Result] | None
    on_labels: VisibleMeasures | None = Field(
        default=None, description="Measured on the labels of the collection; null if it has none for this query."
    )


class MeasureResponse(BaseModel):
    """Measures of base and refined order on the judged documents of a list; empty if there are too few."""

    metrics: list[str]
    base: dict[str, float]
    refined: dict[str, float]
    left_out: dict[str, float]
    n_judged: int
    n_relevant: int
    note: str
    visible: VisibleMeasures | None = Field(description="Null without a relevant document in the list.")


class TextField(BaseModel):
    """A field of a document as plain text."""

    name: str
    text: str
    is_cut: bool


class Feature(BaseModel):
    """A feature of a document for a query."""

    name: str
    value: float


class DocumentResponse(BaseModel):
    """A document, with its features if the request has a query."""

    docid: str
    title: str
    fields: list[TextField]
    features: list[Feature] | None
    label: float | None
