"""Judged queries, statistics of a collection, export and import."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints, model_validator

from plackett.apps.workbench.limits import MAX_IMPORT
from plackett.apps.workbench.records import JudgedList, QuerySummary
from plackett.apps.workbench.schemas.base import PageRequest, RequestModel
from plackett.apps.workbench.schemas.lists import MeasureRequest
from plackett.apps.workbench.schemas.session import BaseRanker, CollectionName
from plackett.apps.workbench.schemas.values import Base, Format, Id, Name


class QueriesRequest(PageRequest):
    """A page of judged queries."""

    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class QueriesResponse(BaseModel):
    """Judged queries, those with the latest judgements first."""

    total: int
    queries: list[QuerySummary]


class ListsRequest(PageRequest):
    """A page of lists, and the base ranker to measure on their labels."""

    base: Base = Field(default="", description="As in a search.")


class ListsResponse(BaseModel):
    """The lists of a collection with labels, in its order, with NDCG@10 of a base ranker."""

    base: str
    total: int
    lists: list[JudgedList]


class DisputeResponse(BaseModel):
    """A document that users graded differently."""

    query: str
    docid: str
    grades: dict[str, float]


class AgreementResponse(BaseModel):
    """Agreement of users: the share of equal grades, and Krippendorff's alpha; null if there is nothing to compare."""

    n_shared: int
    n_pairs: int
    equal: float | None
    alpha: float | None
    disputed: list[DisputeResponse]


class ContradictionsResponse(BaseModel):
    """Contradictions within the judgements of one user."""

    changed: int
    opposite: int
    circles: int


class SummaryResponse(BaseModel):
    """Statistics of all judgements."""

    n_users: int
    n_queries: int
    n_documents: int
    n_judgements: int
    n_preferences: int
    grades: dict[str, int]
    agreement: AgreementResponse
    contradictions: ContradictionsResponse
    words: str


class CollectionResponse(CollectionName):
    """The collection and the statistics of its judgements."""

    n_features: int
    feature_names: list[str]
    bases: list[BaseRanker]
    store: str
    users: list[str]
    summary: SummaryResponse


class ExportRequest(MeasureRequest):
    """The file to export; a run uses base, method and k, a LETOR file uses base."""

    format: Format
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")

    @model_validator(mode="after")
    def _check_source(self):
        if self.annotator is not None and (self.mine or self.format == "run"):
            raise ValueError("annotator needs a format of judgements (letor, qrels or json), and excludes mine")
        return self


class ImportRequest(RequestModel):
    """The content of a file of judgements, which are added to the user's, or to those of an annotator."""

    format: Literal["auto", "json", "qrels", "letor", "csv"] = "auto"
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_IMPORT)]
    base: Base = ""
    annotator: Name | None = Field(
        default=None, description="A name for judgements that are not a person's, such as those of a click model."
    )


class ImportResponse(BaseModel):
    """The number of imported judgements, and notes."""

    n_imported: int
    notes: list[str]


class AnnotatorId(RequestModel):
    """The id of an imported annotator."""

    annotator: Id


class AnnotatorResponse(BaseModel):
    """An imported annotator, which is not a person."""

    id: int
    name: str
    created: datetime


class AnnotatorsResponse(BaseModel):
    """Imported annotators, oldest first."""

    annotators: list[AnnotatorResponse]
