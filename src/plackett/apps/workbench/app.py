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
from starlette.staticfiles import StaticFiles

from plackett import __version__
from plackett.apps.access.error_responses import EXCEPTION_HANDLERS
from plackett.apps.workbench import board_pages, board_routes, pages, queue_pages, queue_routes, routes
from plackett.apps.workbench.api import PREFIX
from plackett.apps.workbench.bench import Workbench
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.invalid_requests import on_invalid
from plackett.apps.workbench.middleware import SafetyMiddleware
from plackett.apps.workbench.settings import Settings

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store

STATIC = Path(__file__).parent / "static"
DESCRIPTION = (
    "Search, judge and refine rankings. Errors are objects with `error` and `hint`.\n\n"
    "Programs send `Authorization: Bearer TOKEN` with the token of the server, and in `X-Plackett-User` the name that "
    "judgements are stored under (percent-encoded UTF-8). Without a token, programs that write send the cookies of "
    "`GET /api/v1/session`, and the `csrf` of its response as `X-CSRF-Token`."
)


def create_app(collection: Collection, store: Store, settings: Settings | None = None) -> FastAPI:
    """Return the workbench as an ASGI application.

    Parameters
    ----------
    collection : Collection
        A ``TextCollection`` (see ``open_collection``) or a ``LetorCollection``.
    store : Store
        The caller closes it after the application has ended.
    settings : Settings, default=None

    Returns
    -------
    FastAPI
        ``app.state.workbench`` is its ``Workbench``.
    """
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
        exception_handlers={**EXCEPTION_HANDLERS, RequestValidationError: on_invalid},
    )
    app.state.workbench = Workbench(collection, store, settings)
    app.include_router(routes.router)
    app.include_router(board_routes.router)
    board_pages.add_pages(app)
    app.include_router(queue_routes.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    pages.add_pages(app)
    queue_pages.add_pages(app)
    app.add_middleware(SafetyMiddleware, settings=settings)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    workbench: Workbench = app.state.workbench
    anyio.to_thread.current_default_thread_limiter().total_tokens = workbench.settings.threads
    threading.Thread(target=workbench.warm_up, name="warm up", daemon=True).start()
    yield
    await anyio.to_thread.run_sync(workbench.close)
