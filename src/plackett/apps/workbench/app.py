"""The ASGI application of the workbench."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from plackett import __version__
from plackett.apps.access.errors import RequestError
from plackett.apps.access.guard import on_http, response_to
from plackett.apps.workbench import (
    collection,
    comparing,
    external,
    files,
    jobs,
    judging,
    lists,
    pages,
    people,
    query_sets,
    queues,
    rankers,
    scoreboard,
    snapshots,
)
from plackett.apps.workbench.api import PREFIX
from plackett.apps.workbench.bench import Workbench
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.middleware import SafetyMiddleware
from plackett.apps.workbench.settings import Settings

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

STATIC = Path(__file__).parent / "static"
FAULTS_SHOWN = 5  # faults of a request in one message
SUBJECTS = (
    collection.sessions,
    *(one.router for one in (lists, judging, collection, files, rankers, jobs, query_sets, scoreboard)),
    *(one.router for one in (snapshots, comparing, queues, people, external)),
)
DESCRIPTION = (
    "Search, judge and refine rankings. Errors are objects with `error` and `hint`.\n\n"
    "Programs send `Authorization: Bearer TOKEN` with the token of the server, and in `X-Plackett-User` the name that "
    "judgements are stored under (percent-encoded UTF-8). Without a token, programs that write send the cookies of "
    "`GET /api/v1/session`, and the `csrf` of its response as `X-CSRF-Token`."
)


def create_app(documents: Collection, store: Store, settings: Settings | None = None) -> FastAPI:
    """Return the workbench as an ASGI application; the caller closes the store after the application has ended."""
    settings = Settings() if settings is None else settings
    app = FastAPI(
        title="plackett workbench",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # both pages load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={HTTPException: on_http, RequestValidationError: _on_invalid},
    )
    app.state.workbench = Workbench(documents, store, settings)
    app.state.error_page = pages.error_page
    for router in (*SUBJECTS, pages.router):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(SafetyMiddleware, settings=settings)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    workbench: Workbench = app.state.workbench
    anyio.to_thread.current_default_thread_limiter().total_tokens = workbench.settings.threads
    threading.Thread(target=workbench.warm_up, name="warm up", daemon=True).start()
    yield
    await anyio.to_thread.run_sync(workbench.close)


async def _on_invalid(request: Request, error: RequestValidationError) -> Response:
    """Return what is wrong with the values of a request, without the values themselves."""
    faults = []
    is_malformed = False
    for fault in error.errors()[:FAULTS_SHOWN]:
        is_malformed = is_malformed or fault["type"] == "json_invalid"
        field = ".".join(str(part)[:60] for part in fault["loc"][1:])  # the first is body, query or path
        message = "the body is not JSON" if is_malformed else str(fault["msg"]).removeprefix("Value error, ")
        faults.append(f"{field}: {message}" if field and not is_malformed else message)
    n_more = len(error.errors()) - len(faults)
    text = "; ".join(faults) + (f"; and {n_more} more" if n_more > 0 else "") + "."
    hint = f"{request.app.openapi_url} describes what is expected."
    return response_to(request, RequestError(400 if is_malformed else 422, "invalid", text, hint))
