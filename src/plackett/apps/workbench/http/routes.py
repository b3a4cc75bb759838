"""The API: every use case of the workbench as JSON under ``/api/v1``.

Handlers are plain functions, so they run in threads. They also serialise their responses there, so that the event loop
only passes bytes on.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from plackett.apps.workbench.http.api import Bench, Caller, LogFile, PathId, as_download, as_json, new_router
from plackett.apps.workbench.http.middleware import clean_user_name, set_user_cookie
from plackett.apps.workbench.schemas.base import PageRequest
from plackett.apps.workbench.schemas.clicks import (
    ClickGradesRequest,
    ClickGradesResponse,
    ClickJudgeRequest,
    ClickLogsResponse,
    ClickRequest,
    ClickResponse,
    ClickSetsResponse,
    LogFileRequest,
    LogId,
    SetId,
    UploadRequest,
)
from plackett.apps.workbench.schemas.collection import (
    CollectionResponse,
    ExportRequest,
    ImportRequest,
    ImportResponse,
    ListsRequest,
    ListsResponse,
    QueriesRequest,
    QueriesResponse,
)
from plackett.apps.workbench.schemas.interleaving import (
    InterleavingHistory,
    InterleavingId,
    InterleavingRequest,
    InterleavingsResponse,
    ParticipationRequest,
    ParticipationResponse,
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

NDJSON: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}
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
    """Return the list of a query, refined by this user's earlier judgements. With ``shown_order`` it is logged."""
    return as_json(bench.searching.search(caller.user, request.q, request, is_seen=caller.is_seen))


@router.get("/lists/{query_id}", response_model=RankedList, tags=["lists"])
def show(bench: Bench, caller: Caller, query_id: PathId, options: Annotated[ListOptions, Query()]):
    """Return the list of a judged query. With ``shown_order`` it is logged."""
    return as_json(bench.searching.show(caller.user, query_id, options, is_seen=caller.is_seen))


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
    """Add the judgements of a file to this user's, all or nothing."""
    return as_json(bench.reviewing.import_file(caller.user, request))


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


# the log of searches and clicks


@router.post("/clicks", response_model=ClickResponse, tags=["clicks"])
def click(bench: Bench, caller: Caller, request: ClickRequest):
    """Log that this user opened a document of a list, which came with a ``shown_id``."""
    return as_json(bench.log.click(caller.user, request.shown_id, request.docid))


@router.get("/clicks/queries", response_class=Response, responses=NDJSON, tags=["clicks"])
def logged_queries(bench: Bench, request: Annotated[LogFileRequest, Query()]):
    """Return the lists that users saw as ``ubi_queries``, in NDJSON."""
    return as_download(bench.log.queries_file(request.until))


@router.get("/clicks/events", response_class=Response, responses=NDJSON, tags=["clicks"])
def logged_events(bench: Bench, request: Annotated[LogFileRequest, Query()]):
    """Return the clicks on these lists as ``ubi_events``, in NDJSON."""
    return as_download(bench.log.events_file(request.until))


# click logs, and judgements from them


@router.get("/clicks/logs", response_model=ClickLogsResponse, tags=["clicks"])
def click_logs(bench: Bench):
    """Return the size of the workbench's own log, and the stored logs with what they can tell."""
    return as_json(bench.click_logs.logs())


@router.post(
    "/clicks/logs",
    response_model=JobResponse,
    status_code=202,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    tags=["clicks"],
)
def upload_log(bench: Bench, upload: LogFile, request: Annotated[UploadRequest, Query()]):
    """Start a job that reads the click log in the body: CSV or NDJSON rows, or UBI's queries followed by its events."""
    return as_json(bench.click_logs.upload(upload.take(), request), 202)


@router.delete("/clicks/logs", response_model=ClickLogsResponse, tags=["clicks"])
def delete_log(bench: Bench, request: Annotated[LogId, Query()]):
    """Delete a stored log; judgements from it stay."""
    return as_json(bench.click_logs.delete(request.log_id))


@router.post("/clicks/logs/own", response_model=JobResponse, status_code=202, tags=["clicks"])
def take_own_log(bench: Bench):
    """Start a job that stores what the workbench has logged so far as a log."""
    return as_json(bench.click_logs.take_own(), 202)


@router.get("/clicks/sets", response_model=ClickSetsResponse, tags=["clicks"])
def click_sets(bench: Bench):
    """Return the sets of judgements from clicks, newest first."""
    return as_json(bench.click_judgements.sets())


@router.post("/clicks/sets", response_model=JobResponse, status_code=202, tags=["clicks"])
def judge_clicks(bench: Bench, request: ClickJudgeRequest):
    """Start a job that fits a click model to a log, and stores its judgements apart from those of people."""
    return as_json(bench.click_judgements.judge(request), 202)


@router.delete("/clicks/sets", response_model=ClickSetsResponse, tags=["clicks"])
def delete_click_set(bench: Bench, request: Annotated[SetId, Query()]):
    """Delete a set of judgements from clicks."""
    return as_json(bench.click_judgements.delete(request.set_id))


@router.get("/clicks/judgements", response_model=ClickGradesResponse, tags=["clicks"])
def click_grades(bench: Bench, request: Annotated[ClickGradesRequest, Query()]):
    """Return judgements of a set, each with the mean grade that people gave, if any."""
    return as_json(bench.click_judgements.grades(request.set_id, request.limit, request.offset))


# interleaved tests


@router.get("/interleaving", response_model=InterleavingsResponse, tags=["interleaving"])
def interleaved_tests(bench: Bench):
    """Return the interleaved tests, newest first, with sums over their users."""
    return as_json(bench.interleaving.tests())


@router.post("/interleaving", response_model=InterleavingHistory, tags=["interleaving"])
def start_test(bench: Bench, request: InterleavingRequest):
    """Start a test of two base rankers with all users; one test runs at a time."""
    return as_json(bench.interleaving.start(request))


@router.delete("/interleaving", response_model=InterleavingsResponse, tags=["interleaving"])
def delete_test(bench: Bench, request: Annotated[InterleavingId, Query()]):
    """Delete a test that was stopped; the log of searches and clicks stays."""
    return as_json(bench.interleaving.delete(request.test_id))


@router.get("/interleaving/participation", response_model=ParticipationResponse, tags=["interleaving"])
def participation(bench: Bench, caller: Caller):
    """Return whether this user takes part in tests, and which one is running."""
    return as_json(bench.interleaving.participation(caller.user))


@router.post("/interleaving/participation", response_model=ParticipationResponse, tags=["interleaving"])
def take_part(bench: Bench, caller: Caller, request: ParticipationRequest):
    """Set whether this user takes part in tests."""
    return as_json(bench.interleaving.take_part(caller.user, request.takes_part))


@router.get("/interleaving/{test_id}", response_model=InterleavingHistory, tags=["interleaving"])
def interleaved_test(bench: Bench, test_id: PathId):
    """Return a test with its preference, interval and verdict, and their history."""
    return as_json(bench.interleaving.test(test_id))


@router.post("/interleaving/{test_id}/stop", response_model=InterleavingHistory, tags=["interleaving"])
def stop_test(bench: Bench, test_id: PathId):
    """Stop a test; users with a click who did not count yet count now."""
    return as_json(bench.interleaving.stop(test_id))


# for other search engines


@router.post("/refine", response_model=RefineResponse, tags=["refine"])
def refine(request: RefineRequest):
    """Return the refined order of a list in the request. Nothing is looked up or stored."""
    from plackett.apps.workbench.workbench.refining import refine_external  # imports the learning modules

    return as_json(refine_external(request))
