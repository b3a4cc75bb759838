"""The records of the log: returned lists and clicks, in the schema of OpenSearch's User Behavior Insights (UBI 1.3).

``log.py`` writes them, and ``plackett.clicks.read_clicks`` reads them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from plackett.apps.serve.ranking import Ranked
from plackett.apps.serve.requests import ClickRequest

APPLICATION = "plackett-serve"


def list_record(ranked: Ranked) -> dict[str, Any] | None:
    """Return the record of a list with a new id; None if it is not logged, for want of ids, a query or documents."""
    request = ranked.request
    if request.ids is None or request.query is None or not ranked.shown.size:
        return None
    query_id = uuid4().hex
    return {
        "application": APPLICATION,
        "query_id": query_id,
        "client_id": request.user,
        "user_query": request.query,
        "timestamp": _now(),
        "query_attributes": _attributes(ranked),
        "query_response_id": query_id,
        "query_response_hit_ids": [request.ids[row] for row in ranked.shown[: request.k].tolist()],
    }


def _attributes(ranked: Ranked) -> dict[str, Any]:
    if ranked.mixed is not None:
        names = ",".join(one["model"] for one in ranked.mixed["rankers"])
        return {"ranker": f"interleaved:{names}", "interleaving": ranked.mixed}
    model = ranked.model
    return {"ranker": model.spec.name, "version": model.version, "checksum": model.short_checksum}


def event_record(click: ClickRequest) -> dict[str, Any]:
    """Return the record of a click; whether its list was returned is checked when the log is read."""
    attributes: dict[str, Any] = {"object": {"object_id": click.id}}
    if click.position is not None:
        attributes["position"] = {"ordinal": click.position}
    return {
        "application": APPLICATION,
        "action_name": "click",
        "query_id": click.query_id,
        "client_id": click.user,
        "timestamp": _now(),
        "event_attributes": attributes,
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
