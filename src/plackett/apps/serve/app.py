"""The ASGI application of the scoring service."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from pydantic_core import PydanticSerializationError, to_json
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from plackett.apps.access.error_responses import EXCEPTION_HANDLERS
from plackett.apps.access.errors import RequestError
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.middleware import ServingMiddleware
from plackett.apps.serve.openapi import describe
from plackett.apps.serve.ranking import Ranked, answer, rank
from plackett.apps.serve.records import event_record, list_record
from plackett.apps.serve.requests import ClickRequest, parse
from plackett.apps.serve.service import Service

INLINE = 2**18  # bytes of a request that is ranked in the event loop, which is faster than passing it to a thread
SYNC = 1.0  # seconds between two moves of the log to the disk
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def create_app(service: Service) -> Starlette:
    """Return the scoring service as an ASGI application; ``app.state.service`` is the service."""
    app = Starlette(routes=[*ROUTES, OPENAPI], lifespan=_lifespan, exception_handlers=EXCEPTION_HANDLERS)
    app.router.redirect_slashes = False
    app.state.service, app.state.is_api, app.state.places = service, True, PLACES
    app.add_middleware(ServingMiddleware, service=service, paths=frozenset(route.path for route in (*ROUTES, OPENAPI)))
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    service: Service = app.state.service
    settings = service.settings
    anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
    service.open_log()
    tasks = [asyncio.create_task(_every(SYNC, service.sync_log))]
    if settings.poll:
        service.look()  # a worker that replaces another one starts with the models of its parent
        tasks.append(asyncio.create_task(_every(settings.poll, service.look)))
    if settings.workers > 1:
        _stop_with_parent()
    service.is_ready = True
    yield
    service.is_ready = False
    for task in tasks:
        task.cancel()
    service.close_log()


async def _every(seconds: float, work: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await asyncio.to_thread(work)
        except Exception as error:  # such as a lack of memory; the next time may succeed
            log_event(f"{work.__name__} failed", logging.ERROR, error=str(error) or type(error).__name__)


def _stop_with_parent() -> None:
    """End this worker when its parent is gone, even if that was killed."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="wait for parent", daemon=True).start()


def _json(content: Any, status: int = 200, background: BackgroundTask | None = None) -> Response:
    try:
        text = to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # a name that is not UTF-8 in its file
        text = json.dumps(content).encode()
    return Response(text, status, media_type="application/json", background=background)


async def rank_list(request: Request) -> Response:
    """Return the documents of a list by descending score."""
    service: Service = request.app.state.service
    body, request_id = await request.body(), request.state.request_id
    is_large = len(body) > INLINE
    ranked = await _call(is_large, rank, body, service.table, service.settings)
    n_docs = len(ranked.order)
    request.state.log.update(model=ranked.model.spec.key, version=ranked.model.version, documents=n_docs)
    if service.mixer is not None:
        ranked = await _call(is_large or service.mixer.is_slow, service.mixer.mix, ranked)
    query_id = _logged(service, ranked)
    response = await _call(is_large or bool(ranked.request.explain), answer, ranked, request_id)
    if service.log is not None:
        response["query_id"] = query_id
    service.count(ranked)
    task = BackgroundTask(service.shadow, ranked, request_id) if service.may_shadow() else None
    return _json(response, background=task)


async def _call(is_slow: bool, work: Callable[..., Any], *values: Any) -> Any:
    """Return ``work(*values)``, computed in a thread if it is slow."""
    return await anyio.to_thread.run_sync(work, *values) if is_slow else work(*values)


def _logged(service: Service, ranked: Ranked) -> str | None:
    """Return the id of a list that is in the log now; None if it is not, or could not be written."""
    record = None if service.log is None else list_record(ranked)
    if service.log is None or record is None:
        return None
    try:
        service.log.add_list(record)
    except OSError as error:  # the list is returned anyway
        service.log_failed(error)
        return None
    return record["query_id"]


async def click(request: Request) -> Response:
    """Log a click on a document of a returned list; it is in the log before the response is sent."""
    service: Service = request.app.state.service
    if service.log is None:
        raise RequestError(409, "off", "this server logs no clicks.", "Start it with --log FOLDER.")
    record = event_record(parse(ClickRequest, await request.body()))
    try:
        service.log.add_event(record)
    except OSError as error:
        service.log_failed(error)
        reason = f" ({error.strerror})" if error.strerror else ""
        raise RequestError(503, "log", f"the click cannot be logged now{reason}.", "Send it again later.") from error
    service.metrics.clicks.inc()
    return _json({"query_id": record["query_id"], "timestamp": record["timestamp"]})


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
    return Response(service.metrics.text(service.settings.workers), media_type=METRICS_TYPE)


async def openapi(request: Request) -> Response:
    """Return the description of the API."""
    return _json(describe(ROUTES))


async def home(request: Request) -> Response:
    """Return a page with the models, their features and an example of a request."""
    from jinja2 import Environment, PackageLoader

    service: Service = request.app.state.service
    page = Environment(loader=PackageLoader("plackett.apps.serve", "."), autoescape=True).get_template("home.html")
    example = {"documents": [[0] * service.table.get().schema.n, [1] * service.table.get().schema.n], "ids": ["a", "b"]}
    return HTMLResponse(
        page.render(
            models=service.models(),
            example=json.dumps(example),
            url=f"{request.url.scheme}://{request.url.netloc}",
            has_token=service.settings.token is not None,
        )
    )


ROUTES = (
    Route("/", home),
    Route("/rank", rank_list, methods=["POST"]),
    Route("/click", click, methods=["POST"]),
    Route("/models", models),
    Route("/live", live),
    Route("/ready", ready),
    Route("/metrics", metrics),
)
PLACES = [route.path for route in ROUTES]
OPENAPI = Route("/openapi.json", openapi)
