"""A list: how it is asked for, its documents in their refined order, and what it is worth."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from plackett.web.limits import MAX_K, MAX_QUERY
from plackett.web.schemas.base import Request
from plackett.web.schemas.values import NO_NULL, Base, Docid, Method, QueryText


class View(Request):
    """How a list is to be shown."""

    base: Base = Field(default="", description="A base ranker; empty: the query's last, or the collection's first.")
    method: Method = "multiplicative"
    keep: bool = Field(default=False, description="Whether graded documents stay first or last.")
    k: int = Field(default=50, ge=1, le=MAX_K, description="Documents that are found and refined.")
    shown: int = Field(default=20, ge=1, le=MAX_K, description="Documents in the answer.")
    side_by_side: bool = Field(default=False, description="Whether the base order comes along.")


class SearchRequest(View):
    """A search."""

    q: QueryText


class MeasureRequest(Request):
    """Which two orders are compared."""

    base: Base = ""
    method: Method = "multiplicative"
    k: int = Field(default=50, ge=1, le=MAX_K)


class DocumentRequest(Request):
    """Which document, and for which query its features are wanted."""

    docid: Docid
    q: Annotated[str, StringConstraints(max_length=MAX_QUERY, pattern=NO_NULL)] | None = None
    base: Base = ""


class Piece(BaseModel):
    """A part of a snippet."""

    text: str
    is_term: bool


class Why(BaseModel):
    """Something that moved a document, and by how much of its score."""

    text: str
    amount: float


class Result(BaseModel):
    """A document in a list; places count from 1, and ``moved`` is positive where it went up."""

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
    why: list[Why]


class Pair(BaseModel):
    """A preference."""

    preferred: str
    other: str


class Graded(BaseModel):
    """A judged document that is not in the list."""

    docid: str
    grade: float


class RankedList(BaseModel):
    """A list in the order that this user's judgements suggest."""

    query_id: int | None = Field(description="None as long as nobody has judged anything for this query.")
    query: str
    base: str
    method: Method
    keep: bool
    k: int
    n_found: int
    n_judged: int
    n_pairs: int
    is_refined: bool
    can_undo: bool
    note: str | None
    pairs: list[Pair]
    elsewhere: list[Graded]
    results: list[Result]
    base_results: list[Result] | None


class Measures(BaseModel):
    """Measures of base and refined order on the judged documents of a list; empty while these are too few."""

    metrics: list[str]
    base: dict[str, float]
    refined: dict[str, float]
    left_out: dict[str, float]
    n_judged: int
    n_relevant: int
    note: str


class TextField(BaseModel):
    """A field of a document as plain text."""

    name: str
    text: str
    is_cut: bool


class Feature(BaseModel):
    """A feature of a document for a query."""

    name: str
    value: float


class DocumentAnswer(BaseModel):
    """A document, with its features where a query was named."""

    docid: str
    title: str
    fields: list[TextField]
    features: list[Feature] | None
    label: float | None
