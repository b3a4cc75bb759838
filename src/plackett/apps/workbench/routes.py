"""The API: every use case of the workbench as JSON under ``/api/v1``.

Handlers are plain functions, so they run in threads. They also serialise their responses there, so that the event loop
only passes bytes on.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from plackett.apps.workbench.api import Bench, Caller, PathId, as_download, as_json, new_router
from plackett.apps.workbench.middleware import clean_user_name, set_user_cookie
from plackett.apps.workbench.schemas.base import PageRequest
from plackett.apps.workbench.schemas.collection import (
    AnnotatorId,
    AnnotatorsResponse,
    CollectionResponse,
    ExportRequest,
    ImportRequest,
    ImportResponse,
    ListsRequest,
    ListsResponse,
    QueriesRequest,
    QueriesResponse,
)
from plackett.apps.workbench.schemas.judging import JudgementRequest, JudgementResponse, ListRequest, PreferenceRequest
from plackett.apps.workbench.schemas.lists import (
    DocumentRequest,
    DocumentResponse,
    ListOptions,
    MeasureRequest,
    MeasureResponse,
    RankedList,
    SearchRequest,
)
from plackett.apps.workbench.schemas.refine import RefineRequest, RefineResponse
from plackett.apps.workbench.schemas.session import Health, Session, UserRequest
from plackett.apps.workbench.schemas.training import (
    JobResponse,
    JobsResponse,
    RankerName,
    RankerRequest,
    RankersResponse,
    TrainRequest,
)

router = new_router()


# the session and searching


@router.get("/health", response_model=Health, tags=["session"])
async def health(bench: Bench):
    """Return whether the server runs; this needs no token."""
    return as_json(Health(status="ok", is_warm=bench.is_warm))


@router.get("/session", response_model=Session, tags=["session"])
def session(bench: Bench, caller: Caller):
    """Return the user, the CSRF token for writes, and what can be searched with which base rankers."""
    return as_json(bench.session(caller.user, caller.csrf))


@router.post("/session", response_model=Session, tags=["session"])
def name_user(bench: Bench, caller: Caller, request: UserRequest):
    """Set the name that judgements are stored under."""
    name = clean_user_name(request.user) or caller.user
    response = as_json(bench.session(name, caller.csrf))
    set_user_cookie(response, name)
    return response


@router.get("/search", response_model=RankedList, tags=["lists"])
def search(bench: Bench, caller: Caller, request: Annotated[SearchRequest, Query()]):
    """Return the list of a query, refined by this user's earlier judgements."""
    return as_json(bench.searching.search(caller.user, request.q, request))


@router.get("/lists/{query_id}", response_model=RankedList, tags=["lists"])
def show(bench: Bench, caller: Caller, query_id: PathId, options: Annotated[ListOptions, Query()]):
    """Return the list of a judged query."""
    return as_json(bench.searching.show(caller.user, query_id, options))


@router.get("/lists/{query_id}/measures", response_model=MeasureResponse, tags=["lists"])
def measures(bench: Bench, caller: Caller, query_id: PathId, request: Annotated[MeasureRequest, Query()]):
    """Return P@k and NDCG@k of base and refined order on the documents that this user judged."""
    return as_json(bench.searching.measures(caller.user, query_id, request))


@router.get("/documents", response_model=DocumentResponse, tags=["lists"])
def document(bench: Bench, request: Annotated[DocumentRequest, Query()]):
    """Return a document as plain text, with its features if the request has a query."""
    return as_json(bench.searching.document(request.docid, request.q, request.base))


# judging


@router.post("/judgements", response_model=JudgementResponse, tags=["judging"])
def judge(bench: Bench, caller: Caller, request: JudgementRequest):
    """Set the grade of a document. It is on disk before the response is sent."""
    return as_json(bench.judging.judge(caller.user, request))


@router.post("/preferences", response_model=JudgementResponse, tags=["judging"])
def prefer(bench: Bench, caller: Caller, request: PreferenceRequest):
    """Prefer a document to another. It is on disk before the response is sent."""
    return as_json(bench.judging.prefer(caller.user, request))


@router.post("/undo", response_model=JudgementResponse, tags=["judging"])
def undo(bench: Bench, caller: Caller, request: ListRequest):
    """Undo this user's last judgement of a list; further calls go further back."""
    return as_json(bench.judging.undo(caller.user, request))


@router.post("/reset", response_model=JudgementResponse, tags=["judging"])
def reset(bench: Bench, caller: Caller, request: ListRequest):
    """Clear this user's judgements of a list; one undo restores them."""
    return as_json(bench.judging.reset(caller.user, request))


# the collection


@router.get("/queries", response_model=QueriesResponse, tags=["collection"])
def queries(bench: Bench, caller: Caller, request: Annotated[QueriesRequest, Query()]):
    """Return judged queries, those with the latest judgements first."""
    return as_json(bench.reviewing.queries(caller.user if request.mine else None, request.limit, request.offset))


@router.get("/lists", response_model=ListsResponse, tags=["collection"])
def lists(bench: Bench, request: Annotated[ListsRequest, Query()]):
    """Return the lists of a collection with labels (``--letor``), with NDCG@10 of a base ranker on these labels."""
    return as_json(bench.reviewing.lists(request.limit, request.offset, request.base))


@router.get("/collection", response_model=CollectionResponse, tags=["collection"])
def collection(bench: Bench):
    """Return the collection and the statistics of its judgements: counts, agreement, contradictions."""
    return as_json(bench.reviewing.describe())


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
def export(bench: Bench, caller: Caller, request: Annotated[ExportRequest, Query()]):
    """Return all judgements as a file: LETOR, qrels, a run of the refined orders, or JSON."""
    return as_download(bench.reviewing.export_file(caller.user, request))


@router.post("/import", response_model=ImportResponse, tags=["collection"])
def import_judgements(bench: Bench, caller: Caller, request: ImportRequest):
    """Add the judgements of a file to this user's, or to those of an annotator, all or nothing."""
    return as_json(bench.reviewing.import_file(caller.user, request))


@router.get("/annotators", response_model=AnnotatorsResponse, tags=["collection"])
def annotators(bench: Bench):
    """Return the imported annotators, which are not people."""
    return as_json(bench.reviewing.annotators())


@router.delete("/annotators", response_model=AnnotatorsResponse, tags=["collection"])
def delete_annotator(bench: Bench, request: Annotated[AnnotatorId, Query()]):
    """Delete the judgements of an imported annotator."""
    return as_json(bench.reviewing.delete_annotator(request.annotator))


# training


@router.post("/train", response_model=JobResponse, status_code=202, tags=["training"])
def train(bench: Bench, caller: Caller, request: TrainRequest):
    """Start a job that trains a ranker on all judgements, and compares it with the base ranker by cross-validation."""
    return as_json(bench.train(caller.user, request), 202)


@router.get("/jobs", response_model=JobsResponse, tags=["training"])
def jobs(bench: Bench, page: Annotated[PageRequest, Query()]):
    """Return jobs, newest first."""
    return as_json(bench.jobs.jobs(page.limit, page.offset))


@router.get("/jobs/{job_id}", response_model=JobResponse, tags=["training"])
def job(bench: Bench, job_id: PathId):
    """Return the state of a job."""
    return as_json(bench.jobs.job(job_id))


@router.post("/jobs/{job_id}/cancel", response_model=JobResponse, tags=["training"])
def cancel(bench: Bench, job_id: PathId):
    """Cancel a job."""
    return as_json(bench.jobs.cancel(job_id))


@router.get("/rankers", response_model=RankersResponse, tags=["training"])
def rankers(bench: Bench):
    """Return the trained rankers."""
    return as_json(bench.rankers.rankers())


@router.get(
    "/rankers/file",
    response_class=Response,
    responses={
        200: {
            "description": "The file.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    tags=["training"],
)
def ranker_file(bench: Bench, request: Annotated[RankerName, Query()]):
    """Return the model file of a trained ranker."""
    return as_download(bench.rankers.file(request.name))


@router.post("/rankers", response_model=RankersResponse, tags=["training"])
def change_ranker(bench: Bench, request: RankerRequest):
    """Rename a trained ranker, and add it to the base rankers or remove it from them."""
    return as_json(bench.rankers.change(request.name, request.new_name or request.name, request.is_base))


@router.delete("/rankers", response_model=RankersResponse, tags=["training"])
def delete_ranker(bench: Bench, request: Annotated[RankerName, Query()]):
    """Delete a trained ranker."""
    return as_json(bench.rankers.delete(request.name))


# for other search engines


@router.post("/refine", response_model=RefineResponse, tags=["refine"])
def refine(request: RefineRequest):
    """Return the refined order of a list in the request. Nothing is looked up or stored."""
    from plackett.apps.workbench.refining import refine_external  # imports the learning modules

    return as_json(refine_external(request))
