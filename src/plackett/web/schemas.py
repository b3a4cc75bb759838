"""What the API takes and answers, with the limits of each value: the OpenAPI description is made of these."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MAX_QUERY = 1_000  # characters
MAX_DOCID = 1_000
MAX_NAME = 100
MAX_DOCS, MAX_FEATURES = 1_000, 1_000  # of a list that is sent to be refined
MAX_NUMBERS = 200_000  # in its features, all in all
MAX_IMPORT = 4_000_000  # characters
MAX_K = 200
LARGEST = 1e30  # of features and scores, so that sums of their squares stay finite
MAX_ID = 2**63 - 1
NO_NULL = r"^[^\x00]*$"  # which neither PostgreSQL nor a file of lines can keep

QueryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY, pattern=NO_NULL)]
Docid = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCID, pattern=NO_NULL)]
# a line: shown in menus, and written into files of lines
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$")]
Base = Annotated[str, StringConstraints(max_length=200, pattern=NO_NULL)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Grade = Annotated[float, Field(strict=True, ge=0, le=30, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Method = Literal["multiplicative", "linear", "rocchio"]
METHODS: tuple[Method, ...] = get_args(Method)
Format = Literal["letor", "qrels", "run", "json"]


class Request(BaseModel):
    """What is sent: a field that is not known is refused, since it is more likely misspelt than meant."""

    model_config = ConfigDict(extra="forbid")


class Error(BaseModel):
    """Every answer with a status of 400 or more."""

    error: str = Field(description="What is wrong, in words; several lines where a place in a query is pointed at.")
    hint: str | None = Field(default=None, description="What to do about it.")
    code: str = Field(description="One word for programs, such as csrf, not-found or invalid.")
    id: str | None = Field(default=None, description="Of an internal error, to be found in the server's log.")


# a list


class View(Request):
    """How a list is to be shown."""

    base: Base = Field(default="", description="A base ranker; empty: the query's last, or the collection's first.")
    method: Method = "multiplicative"
    keep: bool = Field(default=False, description="Whether judged documents stay first or last.")
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


class PageRequest(Request):
    """A part of a long answer."""

    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=MAX_ID)


class QueriesRequest(PageRequest):
    """Whose queries."""

    mine: bool = Field(default=False, description="Whether only this user's count.")


class ExportRequest(MeasureRequest):
    """Which file; base, method and k are those of a run, base that of a LETOR file."""

    format: Format
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class RankerName(Request):
    """Which trained ranker."""

    name: Name


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


# judging


class Target(View):
    """Whose list is meant: that of a query by its text, or by its id."""

    query: QueryText | None = None
    query_id: Id | None = None
    with_list: bool = Field(default=True, description="Whether the refined list comes with the answer.")

    @model_validator(mode="after")
    def _names_one_query(self):
        if (self.query is None) == (self.query_id is None):
            raise ValueError("give query or query_id, and not both")
        return self


class JudgementRequest(Target):
    """A grade for a document; null takes its grade back. 1 and more is relevant, 0 is not."""

    docid: Docid
    grade: Grade | None


class PreferenceRequest(Target):
    """``docid`` belongs above ``other``."""

    docid: Docid
    other: Docid


class EventAnswer(BaseModel):
    """A line of the log."""

    id: int
    kind: str
    docid: str | None
    other: str | None
    grade: float | None
    time: datetime


class Saved(BaseModel):
    """What was written; it is on disk when this is read."""

    query_id: int
    event: EventAnswer | None
    n_cleared: int
    list: RankedList | None


# the session and the collection


class BaseRanker(BaseModel):
    """A base ranker, and whether it is one that was saved."""

    name: str
    is_saved: bool


class CollectionName(BaseModel):
    """What is searched."""

    name: str
    kind: Literal["text", "letor"]
    n_docs: int


class UserRequest(Request):
    """Who judges; a name is enough."""

    user: Name


class Session(BaseModel):
    """What a page needs to know first."""

    user: str
    csrf: str
    collection: CollectionName
    bases: list[BaseRanker]
    methods: list[str]
    suggestions: list[str]
    version: str


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


class ImportRequest(Request):
    """The content of a file of judgements; they become the user's own."""

    format: Literal["auto", "json", "qrels", "letor"] = "auto"
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_IMPORT)]
    base: Base = ""


class Imported(BaseModel):
    """How much was taken over."""

    n_imported: int
    notes: list[str]


# training


class TrainRequest(Request):
    """What to learn from, and what to compare with."""

    base: Base = Field(default="", description="The base ranker to compare with; empty: the collection's first.")
    mine: bool = Field(default=False, description="Whether only this user's judgements count.")


class JobAnswer(BaseModel):
    """Work in the background; ``progress`` goes from 0 to 1."""

    id: int
    kind: str
    state: Literal["queued", "running", "interrupted", "done", "failed", "cancelled"]
    progress: float
    message: str
    settings: dict[str, Any]
    result: dict[str, Any] | None
    created: datetime
    updated: datetime
    is_finished: bool


class JobsAnswer(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobAnswer]


class RankerRequest(Request):
    """Whether a trained ranker is offered as a base ranker, and under which name."""

    name: Name
    new_name: Name | None = None
    is_base: bool = True


class RankerAnswer(BaseModel):
    """A ranker that was trained here."""

    name: str
    is_base: bool
    size: int
    created: datetime
    summary: dict[str, Any]


class RankersAnswer(BaseModel):
    """Trained rankers, the oldest first."""

    rankers: list[RankerAnswer]


# refining a list from outside


class RefineRequest(Request):
    """A list of another search engine: features and base score of each document, and judgements on some of them."""

    docids: Annotated[list[Docid], Field(max_length=MAX_DOCS)] | None = Field(
        default=None, description='Different names of the documents; null: "0", "1", and so on.'
    )
    features: Annotated[
        list[Annotated[list[Number], Field(max_length=MAX_FEATURES)]], Field(min_length=1, max_length=MAX_DOCS)
    ] = Field(description="One list of numbers for each document, all of the same length.")
    base_scores: Annotated[list[Number], Field(min_length=1, max_length=MAX_DOCS)]
    feature_names: (
        Annotated[list[Annotated[str, StringConstraints(max_length=200)]], Field(max_length=MAX_FEATURES)] | None
    ) = None
    judgements: Annotated[dict[Docid, Grade], Field(max_length=MAX_DOCS)] = Field(
        default={}, description="Grades by document; 1 and more is relevant, 0 is not."
    )
    pairs: Annotated[list[tuple[Docid, Docid]], Field(max_length=MAX_DOCS)] = Field(
        default=[], description="Preferences: the first belongs above the second."
    )
    method: Method = "multiplicative"
    keep: bool = Field(default=False, description="Whether judged documents stay first or last.")

    @model_validator(mode="after")
    def _fits(self):
        n_docs = len(self.features)
        widths = {len(row) for row in self.features}
        if len(widths) > 1:
            raise ValueError("features must be one list of numbers for each document, all of the same length")
        if n_docs * max(widths) > MAX_NUMBERS:
            raise ValueError(f"features must have {MAX_NUMBERS:,} numbers at most")
        for name, values in (("docids", self.docids), ("base_scores", self.base_scores)):
            if values is not None and len(values) != n_docs:
                raise ValueError(f"features has {n_docs} rows but {name} has {len(values)} values")
        return self


class RefineAnswer(BaseModel):
    """The refined order; ``scores``, ``moves`` and ``why`` follow the rows of the request."""

    order: list[str] = Field(description="Documents, the best first.")
    rows: list[int] = Field(description="The same as row numbers of the request, from 0.")
    scores: list[float]
    moves: list[int] = Field(description="Places that each row went up from its place in the base order.")
    why: list[list[Why]]
    note: str | None


class Health(BaseModel):
    """Whether the server is there, and whether its first search will be as quick as the others."""

    status: Literal["ok"]
    is_warm: bool
