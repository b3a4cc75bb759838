"""The page of queues: what is to be judged, by whom, and what people disagree about."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response

from plackett.apps.workbench import limits
from plackett.apps.workbench.pages import bench_of, render_page
from plackett.apps.workbench.queues import known_queue

QUERIES, DISAGREEMENTS = 50, 50  # on a page


def add_pages(app: FastAPI) -> None:
    """Add the page to an application that has a workbench."""
    app.add_api_route("/judge", judge_page, include_in_schema=False, response_class=HTMLResponse)


def judge_page(request: Request, queue: str = "", base: str = "", offset: int = 0) -> Response:
    """Return a queue with this user's progress, the people of its queries, and the disagreements."""
    bench, user, offset = bench_of(request), request.state.credentials.user, max(0, offset)
    base = base if base in bench.collection.base_rankers() else ""
    return render_page(
        request,
        "judge.html",
        here="judge",
        queues=bench.queues.choices(user),
        queue=bench.queues.queue(user, known_queue(queue), base, limits.QUEUE_DEPTH, QUERIES, offset),
        found=bench.team.disagreements(DISAGREEMENTS, 0),
        users=[one.name for one in bench.store.users()],
        offset=offset,
        limit=QUERIES,
    )
