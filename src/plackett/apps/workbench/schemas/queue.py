"""Queues of queries to judge, information needs and notes, assignments, and settled grades."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_K, MAX_NEED
from plackett.apps.workbench.schemas.base import PageRequest, RequestModel
from plackett.apps.workbench.schemas.collection import AgreementResponse
from plackett.apps.workbench.schemas.values import NO_NULL, Base, Docid, Grade, Name, QueryText

QueueName = Annotated[
    str,
    StringConstraints(max_length=30, pattern=r"^(|mine|judged|lists|set-[1-9][0-9]{0,17})$"),
    Field(
        description='"mine" (queries assigned to this user), "judged" (queries that someone judged), "lists" (those of '
        'a collection with labels) or "set-ID" (a query set); empty means mine if there are some, else judged.'
    ),
]
Depth = Annotated[int, Field(ge=1, le=MAX_K, description="Results of each query that are to be judged.")]
Words = Annotated[str, StringConstraints(max_length=MAX_NEED, pattern=NO_NULL)]


class QueueRequest(PageRequest):
    """A page of a queue."""

    queue: QueueName = ""
    base: Base = ""
    depth: Depth = 10


class NextRequest(RequestModel):
    """A queue, and the query to continue after."""

    queue: QueueName = ""
    base: Base = ""
    depth: Depth = 10
    after: Annotated[str, StringConstraints(max_length=1000, pattern=NO_NULL)] = Field(
        default="", description="The current query; empty means the beginning."
    )


class QueueRow(BaseModel):
    """A query of a queue; ``problem`` says why its list cannot be shown."""

    query: str
    need: str
    n_judged: int = Field(description="Of the first results, by this user.")
    n_first: int
    assigned: list[str]
    problem: str | None


class QueueResponse(BaseModel):
    """A page of a queue, with this user's progress on it."""

    queue: str
    words: str
    base: str
    depth: int
    total: int
    rows: list[QueueRow]


class NextResponse(BaseModel):
    """The next query with a result to judge, from the current one on, wrapping around; null if all are judged."""

    query: str | None
    place: int = Field(description="Its place in the queue, from 1; 0 for none.")
    total: int
    previous: str | None = Field(description="The query before the current one.")
    following: str | None = Field(description="The query after the current one, judged or not.")
    current: int = Field(description="The place of the current query; 0 if it is not in the queue.")
    n_done: int | None = Field(description="Queries without a result to judge; null if the queue is too long to count.")


class NotesRequest(RequestModel):
    """A query, by its text."""

    q: QueryText


class NotesUpdate(RequestModel):
    """The information need of a query, for everyone, and this user's note; null leaves one as it is."""

    query: QueryText
    need: Words | None = None
    note: Words | None = None


class NotesResponse(BaseModel):
    """The information need of a query, and this user's note."""

    query: str
    need: str
    note: str


class AssignRequest(RequestModel):
    """People for the queries of a queue, ``per_query`` of them for each query; no people removes all assignments."""

    queue: QueueName
    users: Annotated[list[Name], Field(max_length=100)]
    per_query: int = Field(default=1, ge=1, le=100)


class AssignResponse(BaseModel):
    """Queries by person."""

    n_queries: int
    by_user: dict[str, int]


class Disagreement(BaseModel):
    """A document that people graded differently, and the grade that settles it."""

    query: str
    docid: str
    title: str
    grades: dict[str, float]
    settled: float | None
    settled_by: str | None
    settled_at: datetime | None


class DisagreementsResponse(BaseModel):
    """Disagreements, unsettled ones first, then the largest first."""

    total: int
    n_open: int
    agreement: AgreementResponse
    rows: list[Disagreement]


class SettleRequest(RequestModel):
    """The grade of a document for everyone; null withdraws it."""

    query: QueryText
    docid: Docid
    grade: Grade | None
