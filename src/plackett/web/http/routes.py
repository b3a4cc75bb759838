"""The API: every action of the workbench as JSON under ``/api/v1``.

Handlers are plain functions, so they run in threads; what they answer is written as JSON there too, and the loop that
listens to fifty users only passes bytes on.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from plackett.web.http.middleware import Visitor, name_of_user, user_cookie
from plackett.web.limits import MAX_ID
from plackett.web.schemas.base import Error, PageRequest
from plackett.web.schemas.collection import (
    CollectionAnswer,
    ExportRequest,
    Imported,
    ImportRequest,
    ListsAnswer,
    QueriesAnswer,
    QueriesRequest,
)
from plackett.web.schemas.judging import JudgementRequest, PreferenceRequest, Saved, Target
from plackett.web.schemas.lists import (
    DocumentAnswer,
    DocumentRequest,
    MeasureRequest,
    Measures,
    RankedList,
    SearchRequest,
    View,
)
from plackett.web.schemas.refine import RefineAnswer, RefineRequest
from plackett.web.schemas.session import Health, Session, UserRequest
from plackett.web.schemas.training import JobAnswer, JobsAnswer, RankerName, RankerRequest, RankersAnswer, TrainRequest
from plackett.web.workbench.outside import refine_outside
from plackett.web.workbench.workbench import Workbench

PREFIX = "/api/v1"
router = APIRouter(
    prefix=PREFIX,
    responses={
        "4XX": {"model": Error, "description": "Something is wrong with the request."},
        "5XX": {"model": Error, "description": "The server cannot answer now."},
    },
)


async def _workbench(request: Request) -> Workbench:
    return request.app.state.workbench


async def _visitor(request: Request) -> Visitor:
    return request.state.visitor


Bench = Annotated[Workbench, Depends(_workbench)]
Who = Annotated[Visitor, Depends(_visitor)]
QueryId = Annotated[int, Path(ge=1, le=MAX_ID)]
JobId = Annotated[int, Path(ge=1, le=MAX_ID)]


def _json(answer: BaseModel, status: int = 200) -> Response:
    return Response(answer.model_dump_json(), status, media_type="application/json")


# the session and searching


@router.get("/health", response_model=Health, tags=["session"])
async def health(bench: Bench):
    """Whether the server is there; this needs no token."""
    return _json(Health(status="ok", is_warm=bench.is_warm))


@router.get("/session", response_model=Session, tags=["session"])
def session(bench: Bench, visitor: Who):
    """Who asks, the token that a page sends when it writes, and what can be searched in which ways."""
    return _json(bench.session(visitor.user, visitor.csrf))


@router.post("/session", response_model=Session, tags=["session"])
def name_user(bench: Bench, visitor: Who, wish: UserRequest):
    """Judge under this name from now on."""
    name = name_of_user(wish.user) or visitor.user
    answer = _json(bench.session(name, visitor.csrf))
    user_cookie(answer, name)
    return answer


@router.get("/search", response_model=RankedList, tags=["lists"])
def search(bench: Bench, visitor: Who, wish: Annotated[SearchRequest, Query()]):
    """The list of a query, refined by what this user judged before. Searching writes nothing."""
    return _json(bench.lists.search(visitor.user, wish.q, wish))


@router.get("/lists/{query_id}", response_model=RankedList, tags=["lists"])
def show(bench: Bench, visitor: Who, query_id: QueryId, view: Annotated[View, Query()]):
    """The list of a query that was judged."""
    return _json(bench.lists.show(visitor.user, query_id, view))


@router.get("/lists/{query_id}/measures", response_model=Measures, tags=["lists"])
def measures(bench: Bench, visitor: Who, query_id: QueryId, wish: Annotated[MeasureRequest, Query()]):
    """P@k and NDCG@k of base and refined order on the documents that this user judged."""
    return _json(bench.lists.measures(visitor.user, query_id, wish))


@router.get("/documents", response_model=DocumentAnswer, tags=["lists"])
def document(bench: Bench, wish: Annotated[DocumentRequest, Query()]):
    """A document as plain text, with its features for a query where one is given."""
    return _json(bench.lists.document(wish.docid, wish.q, wish.base))


# judging


@router.post("/judgements", response_model=Saved, tags=["judging"])
def judge(bench: Bench, visitor: Who, wish: JudgementRequest):
    """Give a document a grade. It is on disk when the answer comes."""
    return _json(bench.judging.judge(visitor.user, wish))


@router.post("/preferences", response_model=Saved, tags=["judging"])
def prefer(bench: Bench, visitor: Who, wish: PreferenceRequest):
    """Put a document above another. It is on disk when the answer comes."""
    return _json(bench.judging.prefer(visitor.user, wish))


@router.post("/undo", response_model=Saved, tags=["judging"])
def undo(bench: Bench, visitor: Who, wish: Target):
    """Take back what this user said last of a list; asking again goes further back."""
    return _json(bench.judging.undo(visitor.user, wish))


@router.post("/reset", response_model=Saved, tags=["judging"])
def reset(bench: Bench, visitor: Who, wish: Target):
    """Clear all that this user said of a list; one undo brings it back."""
    return _json(bench.judging.reset(visitor.user, wish))


# the collection


@router.get("/queries", response_model=QueriesAnswer, tags=["collection"])
def queries(bench: Bench, visitor: Who, wish: Annotated[QueriesRequest, Query()]):
    """Queries that were judged, those of the latest judgements first."""
    return _json(bench.gathered.queries(visitor.user if wish.mine else None, wish.limit, wish.offset))


@router.get("/lists", response_model=ListsAnswer, tags=["collection"])
def lists(bench: Bench, page: Annotated[PageRequest, Query()]):
    """The lists of a collection that came judged (``--letor``)."""
    return _json(bench.gathered.lists(page.limit, page.offset))


@router.get("/collection", response_model=CollectionAnswer, tags=["collection"])
def collection(bench: Bench):
    """What is searched, and all judgements in numbers: counts, agreement, contradictions."""
    return _json(bench.gathered.describe())


@router.get(
    "/export",
    response_class=Response,
    responses={
        200: {
            "description": "The file.",
            "content": {"text/plain": {"schema": {"type": "string"}}, "application/json": {"schema": {}}},
        }
    },
    tags=["collection"],
)
def export(bench: Bench, visitor: Who, wish: Annotated[ExportRequest, Query()]):
    """All judgements as a file: LETOR, qrels, a run of the refined orders, or JSON. It is sent while it is made."""
    file = bench.gathered.export(visitor.user, wish)
    # its name is made of letters, digits, dots and dashes
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return StreamingResponse(file.parts, media_type=file.media_type, headers=headers)


@router.post("/import", response_model=Imported, tags=["collection"])
def take_in(bench: Bench, visitor: Who, wish: ImportRequest):
    """Take over the judgements of a file as this user's, all or none."""
    return _json(bench.gathered.take_in(visitor.user, wish))


# training


@router.post("/train", response_model=JobAnswer, status_code=202, tags=["training"])
def train(bench: Bench, visitor: Who, wish: TrainRequest):
    """Train a ranker on all judgements in the background, and compare it with the base ranker by cross-validation."""
    return _json(bench.train(visitor.user, wish), 202)


@router.get("/jobs", response_model=JobsAnswer, tags=["training"])
def jobs(bench: Bench, page: Annotated[PageRequest, Query()]):
    """Jobs, the newest first."""
    return _json(bench.jobs(page.limit, page.offset))


@router.get("/jobs/{job_id}", response_model=JobAnswer, tags=["training"])
def job(bench: Bench, job_id: JobId):
    """How far a job has come."""
    return _json(bench.job(job_id))


@router.post("/jobs/{job_id}/cancel", response_model=JobAnswer, tags=["training"])
def cancel(bench: Bench, job_id: JobId):
    """Stop a job."""
    return _json(bench.cancel(job_id))


@router.get("/rankers", response_model=RankersAnswer, tags=["training"])
def rankers(bench: Bench):
    """Rankers that were trained here."""
    return _json(bench.trained.answer())


@router.post("/rankers", response_model=RankersAnswer, tags=["training"])
def change_ranker(bench: Bench, wish: RankerRequest):
    """Make a trained ranker a base ranker, or no longer; under a new name, if one is given."""
    bench.trained.change(wish.name, wish.new_name or wish.name, wish.is_base)
    return _json(bench.trained.answer())


@router.delete("/rankers", response_model=RankersAnswer, tags=["training"])
def delete_ranker(bench: Bench, wish: Annotated[RankerName, Query()]):
    """Forget a trained ranker."""
    bench.trained.delete(wish.name)
    return _json(bench.trained.answer())


# for other search engines


@router.post("/refine", response_model=RefineAnswer, tags=["refine"])
def refine(wish: RefineRequest):
    """The refined order of a list that is sent along. Nothing is looked up and nothing is kept."""
    return _json(refine_outside(wish))
