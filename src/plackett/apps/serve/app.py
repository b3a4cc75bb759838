"""The ASGI application of the scoring service."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import PydanticSerializationError, to_json
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from plackett import __version__
from plackett.apps.access.errors import ErrorResponse, RequestError
from plackett.apps.access.guard import on_http
from plackett.apps.serve import requests
from plackett.apps.serve.logs import log_event
from plackett.apps.serve.middleware import ServingMiddleware
from plackett.apps.serve.ranking import answer, rank
from plackett.apps.serve.service import Service

INLINE = 2**18  # bytes of a request that is ranked in the event loop, which is faster than passing it to a thread
SYNC = 1.0  # seconds between two moves of the log to the disk
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DESCRIPTION = (
    "Ranks lists of documents by their features. Errors are objects with `error` and `hint`.\n\n"
    "If the server has a token, requests send `Authorization: Bearer TOKEN`."
)
ERRORS = {"4XX": "The request has an error.", "5XX": "The server cannot process the request now."}


def create_app(service: Service) -> Starlette:
    """Return the scoring service as an ASGI application; ``app.state.service`` is the service."""
    routes = [*ROUTES, Route("/openapi.json", openapi)]
    app = Starlette(routes=routes, lifespan=_lifespan, exception_handlers={HTTPException: on_http})  # type: ignore[dict-item]
    app.router.redirect_slashes = False
    app.state.service, app.state.is_api, app.state.places = service, True, [route.path for route in ROUTES]
    app.add_middleware(ServingMiddleware, service=service, paths=frozenset(route.path for route in routes))
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
    parent, loop = multiprocessing.parent_process(), asyncio.get_running_loop()
    if parent is None:
        return

    def stop() -> None:
        loop.remove_reader(parent.sentinel)
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)


def _json(content: Any, background: BackgroundTask | None = None) -> Response:
    try:
        text = to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:  # a name that is not UTF-8 in its file
        text = json.dumps(content).encode()
    return Response(text, media_type="application/json", background=background)


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
    query_id = service.log_list(ranked)
    response = await _call(is_large or bool(ranked.request.explain), answer, ranked, request_id)
    if service.log is not None:
        response["query_id"] = query_id
    service.count(ranked)
    return _json(response, BackgroundTask(service.shadow, ranked, request_id) if service.may_shadow() else None)


async def _call(is_slow: bool, work: Callable[..., Any], *values: Any) -> Any:
    """Return ``work(*values)``, computed in a thread if it is slow."""
    return await anyio.to_thread.run_sync(work, *values) if is_slow else work(*values)


async def click(request: Request) -> Response:
    """Log a click on a document of a returned list; it is in the log before the response is sent."""
    service: Service = request.app.state.service
    if service.log is None:
        raise RequestError(409, "off", "this server logs no clicks.", "Start it with --log FOLDER.")
    record = service.log_click(requests.parse(requests.ClickRequest, await request.body()))
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


async def openapi(request: Request) -> Response:
    """Return the description of the API."""
    kinds: list[Any] = [kind for route in ROUTES for kind in (route.body, route.response) if isinstance(kind, type)]
    schemas = models_json_schema(
        [(kind, "validation") for kind in [*kinds, ErrorResponse]], ref_template="#/components/schemas/{model}"
    )[1]["$defs"]
    info = {"title": "plackett serve", "version": __version__, "description": DESCRIPTION}
    paths = {route.path: {route.method.lower(): route.describe()} for route in ROUTES}
    return _json({"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}})


class Endpoint(Route):
    """A route with the models of its request and response, or the media type of a text."""

    def __init__(
        self,
        path: str,
        handler: Callable[[Request], Awaitable[Response]],
        response: type[BaseModel] | str,
        body: type[BaseModel] | None = None,
    ):
        self.method = "GET" if body is None else "POST"
        super().__init__(path, handler, methods=[self.method])
        self.response, self.body = response, body

    def describe(self) -> dict[str, Any]:
        """Return the operation in OpenAPI; its summary is the docstring of the handler."""
        text = " ".join((self.endpoint.__doc__ or "").split())
        operation: dict[str, Any] = {"summary": text, "operationId": self.name}
        if self.body is not None:
            operation["requestBody"] = {"required": True, "content": _content(self.body)}
        responses = {"200": {"description": "Success.", "content": _content(self.response)}}
        for status, meaning in ERRORS.items():
            responses[status] = {"description": meaning, "content": _content(ErrorResponse)}
        return {**operation, "responses": responses}


def _content(kind: type[BaseModel] | str) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


ROUTES = (
    Endpoint("/", home, "text/html"),
    Endpoint("/rank", rank_list, requests.RankResponse, requests.RankRequest),
    Endpoint("/click", click, requests.ClickResponse, requests.ClickRequest),
    Endpoint("/models", models, requests.ModelsResponse),
    Endpoint("/live", live, requests.Status),
    Endpoint("/ready", ready, requests.Status),
    Endpoint("/metrics", metrics, "text/plain"),
)
