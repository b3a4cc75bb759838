"""All that was said of a collection: queries, agreement, and judgements that go out and come in as files."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from plackett.web.limits import MAX_IMPORT
from plackett.web.schemas.base import PageRequest, Request
from plackett.web.schemas.lists import MeasureRequest
from plackett.web.schemas.session import BaseRanker, CollectionName
from plackett.web.schemas.values import Base, Format


class QueriesRequest(PageRequest):
    """Whose queries."""

    mine: bool = Field(default=False, description="Whether only this user's count.")


class QueryAnswer(BaseModel):
    """A query that somebody judged."""

    query_id: int
    query: str
    base: str
    n_users: int
    n_judged: int
    n_pairs: int
    last: datetime


class QueriesAnswer(BaseModel):
    """Judged queries, those of the latest judgements first."""

    total: int
    queries: list[QueryAnswer]


class ListAnswer(BaseModel):
    """A list that came judged."""

    query: str
    n_docs: int
    labels: dict[str, int]


class ListsAnswer(BaseModel):
    """The lists of a collection of judged lists, in its order."""

    total: int
    lists: list[ListAnswer]


class DisputeAnswer(BaseModel):
    """A document that users graded differently."""

    query: str
    docid: str
    grades: dict[str, float]


class AgreementAnswer(BaseModel):
    """How far users agree: the share of equal grades, and Krippendorff's alpha; null where nothing can be compared."""

    n_shared: int
    n_pairs: int
    equal: float | None
    alpha: float | None
    disputed: list[DisputeAnswer]


class ContradictionsAnswer(BaseModel):
    """What users said against themselves."""

    changed: int
    opposite: int
    circles: int


class SummaryAnswer(BaseModel):
    """All judgements in numbers."""

    n_users: int
    n_queries: int
    n_documents: int
    n_judgements: int
    n_preferences: int
    grades: dict[str, int]
    agreement: AgreementAnswer
    contradictions: ContradictionsAnswer
    words: str


class CollectionAnswer(CollectionName):
    """The collection and what was said about it."""

    n_features: int
    feature_names: list[str]
    bases: list[BaseRanker]
    store: str
    users: list[str]
    summary: SummaryAnswer


class ExportRequest(MeasureRequest):
    """Which file; base, method and k are those of a run, base that of a LETOR file."""

    format: Format
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class ImportRequest(Request):
    """The content of a file of judgements; they become the user's own."""

    format: Literal["auto", "json", "qrels", "letor"] = "auto"
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_IMPORT)]
    base: Base = ""


class Imported(BaseModel):
    """How much was taken over."""

    n_imported: int
    notes: list[str]
