"""The ASGI application of the scoring service.

It uses Starlette, on which FastAPI is built, because request bodies are validated by our own code. ``openapi.py``
describes the same routes with FastAPI, whose import would take most of the startup time.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from pydantic_core import PydanticSerializationError, to_json
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plackett.apps.access.error_responses import EXCEPTION_HANDLERS
from plackett.apps.access.errors import RequestError
from plackett.apps.serve.middleware import ServingMiddleware
from plackett.apps.serve.ranking import Ranked, answer, rank
from plackett.apps.serve.service import Service
from plackett.apps.serve.shown_lists import event_record, list_record, parse_click

INLINE = 2**18  # bytes of a request that is ranked in the event loop, which is faster than passing it to a thread
SYNC = 1.0  # seconds between two moves of the log to the disk
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(service: Service) -> Starlette:
    """Return the scoring service as an ASGI application.

    Parameters
    ----------
    service : Service

    Returns
    -------
    Starlette
        ``app.state.service`` is the service.
    """
    app = Starlette(routes=[*ROUTES, OPENAPI], lifespan=_lifespan, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    app.state.service, app.state.is_api = service, True
    app.add_middleware(ServingMiddleware, service=service)
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    anyio.to_thread.current_default_thread_limiter().total_tokens = service.settings.threads
    service.is_ready = True
    syncing = asyncio.create_task(_sync(service))
    yield
    service.is_ready = False
    syncing.cancel()


async def _sync(service: Service) -> None:
    while True:
        await asyncio.sleep(SYNC)
        await anyio.to_thread.run_sync(service.sync_log)


def _json(content: Any, status: int = 200, background: BackgroundTask | None = None) -> Response:
    try:
        text = to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # a name that is not UTF-8 in its file
        text = json.dumps(content).encode()
    return Response(text, status, media_type="application/json", background=background)


async def rank_lists(request: Request) -> Response:
    """Return the documents of one list, or of several, by descending score."""
    service: Service = request.app.state.service
    body, request_id = await request.body(), request.state.request_id
    if len(body) <= INLINE:
        ranked = rank(body, service.table, service.settings)
    else:
        ranked = await anyio.to_thread.run_sync(rank, body, service.table, service.settings)
    request.state.log.update(model=ranked.model.spec.key, version=ranked.model.version)
    request.state.log.update(lists=len(ranked.lists), documents=ranked.n_docs)
    if service.mixer is not None:
        is_slow, mix = service.mixer.is_slow or len(body) > INLINE, service.mixer.mix
        ranked = await anyio.to_thread.run_sync(mix, ranked) if is_slow else mix(ranked)
    query_ids = None if service.log is None else _logged(service, ranked)
    if ranked.n_explained or len(body) > INLINE:
        content = await anyio.to_thread.run_sync(answer, ranked, request_id, query_ids)
    else:
        content = answer(ranked, request_id, query_ids)
    service.count(ranked)
    return _json(content, background=_shadow_task(service, ranked, request_id))


def _logged(service: Service, ranked: Ranked) -> list[str | None]:
    """Return the ids of the lists that are in the log now; None for those that are not, or could not be written."""
    assert service.log is not None
    query_ids: list[str | None] = [None] * len(ranked.lists)
    for number in range(len(ranked.lists)):
        record = list_record(ranked, number)
        if record is not None:
            try:
                service.log.add_list(record)
                query_ids[number] = record["query_id"]
            except OSError as error:  # the lists are returned anyway
                service.log_failed(error)
    return query_ids


async def click(request: Request) -> Response:
    """Log a click on a document of a returned list; it is in the log before the response is sent."""
    service: Service = request.app.state.service
    if service.log is None:
        raise RequestError(409, "off", "this server logs no clicks.", "Start it with --log FOLDER.")
    record = event_record(parse_click(await request.body()))
    try:
        service.log.add_event(record)
    except OSError as error:
        service.log_failed(error)
        reason = f" ({error.strerror})" if error.strerror else ""
        raise RequestError(503, "log", f"the click cannot be logged now{reason}.", "Send it again later.") from error
    service.metrics.add("clicks_total")
    return _json({"query_id": record["query_id"], "timestamp": record["timestamp"]})


def _shadow_task(service: Service, ranked: Ranked, request_id: str) -> BackgroundTask | None:
    return BackgroundTask(service.shadow, ranked, request_id) if service.may_shadow() else None


async def models(request: Request) -> Response:
    """Return the models with their versions and features; the first one is the default."""
    return _json({"models": request.app.state.service.models()})


async def live(request: Request) -> Response:
    """Return whether the process runs."""
    return _json({"status": "live"})


async def ready(request: Request) -> Response:
    """Return whether requests are answered; 503 while the server stops."""
    if not request.app.state.service.is_ready:
        raise RequestError(503, "stopping", "the server is stopping.")
    return _json({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Return counters in Prometheus' text format."""
    service: Service = request.app.state.service
    return Response(service.metrics_text(), media_type=METRICS_TYPE)


async def openapi(request: Request) -> Response:
    """Return the description of the API."""
    return _json(await anyio.to_thread.run_sync(_description))


@functools.cache
def _description() -> dict[str, Any]:
    from plackett.apps.serve.openapi import describe  # imports FastAPI

    return describe(ROUTES)


ROUTES = (
    Route("/rank", rank_lists, methods=["POST"]),
    Route("/click", click, methods=["POST"]),
    Route("/models", models),
    Route("/live", live),
    Route("/ready", ready),
    Route("/metrics", metrics),
)
OPENAPI = Route("/openapi.json", openapi)
