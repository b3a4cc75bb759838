"""The application: pages and API behind the guard."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from plackett import __version__
from plackett.exceptions import StoreError
from plackett.web.collections.base import Collection
from plackett.web.errors import Problem
from plackett.web.http import pages
from plackett.web.http import routes as api
from plackett.web.http.error_responses import answer_problem
from plackett.web.http.middleware import Guard
from plackett.web.settings import Settings
from plackett.web.workbench.workbench import Workbench

if TYPE_CHECKING:
    from plackett.web.store import Store

STATIC = Path(__file__).parent / "static"
CODES = {404: "not-found", 405: "invalid", 413: "too-large"}
ABOUT = (
    "See a ranking, judge it, watch it improve. Errors are objects with `error` and `hint`.\n\n"
    "Programs send `Authorization: Bearer TOKEN`, the token that the server was started with, and in `X-Plackett-User` "
    "the name that judgements are kept under (percent-encoded UTF-8). Without a token, writers send the cookies "
    "of `GET /api/v1/session`, and the `csrf` of its answer as `X-CSRF-Token`."
)
MOST_FAULTS = 5  # of a request, in one message


def create_app(collection: Collection, store: Store, settings: Settings | None = None) -> FastAPI:
    """The workbench as an ASGI application.

    Parameters
    ----------
    collection : Collection
        A ``TextCollection`` (see ``open_collection``) or a ``LetorCollection``.
    store : Store
        It stays the caller's to close, after the application has ended.
    settings : Settings, default=None

    Returns
    -------
    FastAPI
        ``app.state.workbench`` is the ``Workbench`` behind it.
    """
    settings = Settings() if settings is None else settings
    workbench = Workbench(collection, store, settings)
    app = FastAPI(
        title="plackett workbench",
        version=__version__,
        description=ABOUT,
        openapi_url=f"{api.PREFIX}/openapi.json",
        docs_url=None,  # both would load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        exception_handlers={
            Problem: _on_problem,
            RequestValidationError: _on_invalid,
            HTTPException: _on_http,
            StoreError: _on_store,
        },
    )
    app.state.workbench = workbench
    app.include_router(api.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    pages.mount(app)
    app.add_middleware(Guard, settings=settings)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    workbench: Workbench = app.state.workbench
    anyio.to_thread.current_default_thread_limiter().total_tokens = workbench.settings.threads
    # beside the loop: the port is open meanwhile
    threading.Thread(target=workbench.warm_up, name="warm up", daemon=True).start()
    yield
    await anyio.to_thread.run_sync(workbench.close)


async def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return answer_problem(request, error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    """What is wrong with the values of a request, without the values themselves."""
    assert isinstance(error, RequestValidationError)
    faults = []
    is_malformed = False
    for fault in error.errors()[:MOST_FAULTS]:
        is_malformed = is_malformed or fault["type"] == "json_invalid"
        place = ".".join(str(part)[:60] for part in fault["loc"][1:])  # the first says body, query or path
        words = "the body is not JSON" if is_malformed else str(fault["msg"]).removeprefix("Value error, ")
        faults.append(f"{place}: {words}" if place and not is_malformed else words)
    more = len(error.errors()) - len(faults)
    text = "; ".join(faults) + (f"; and {more} more" if more > 0 else "") + "."
    hint = f"{api.PREFIX}/openapi.json describes what is expected."
    return answer_problem(request, Problem(400 if is_malformed else 422, "invalid", text, hint))


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = "there is nothing here." if error.status_code == 404 else str(error.detail)
    problem = Problem(error.status_code, CODES.get(error.status_code, "invalid"), words)
    answer = answer_problem(request, problem)
    allowed = (error.headers or {}).get("Allow")
    if allowed is not None:
        answer.headers["Allow"] = allowed
    return answer


async def _on_store(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoreError)
    return answer_problem(request, Problem(503, "store", f"the store {error.message}", "Nothing was written."))
