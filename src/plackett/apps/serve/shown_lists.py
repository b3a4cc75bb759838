"""The log of returned lists and of clicks on them, in the schema of OpenSearch's User Behavior Insights (UBI 1.3).

``log.py`` writes the records, which ``plackett.clicks.read_clicks`` reads.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from pydantic_core import from_json

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.ranking import MAX_ID, Ranked, is_text

APPLICATION = "plackett-serve"
MAX_POSITION = 1_000_000
_QUERY_ID = re.compile(r"[0-9a-f]{32}")
_CLICK_FIELDS = frozenset(("query_id", "id", "position", "user"))


class Click(NamedTuple):
    """A click as a client sends it."""

    query_id: str
    id: str
    position: int | None
    user: str | None


def list_record(ranked: Ranked, number: int) -> dict[str, Any] | None:
    """Return the record of a list with a new id; None if it is not logged, for want of ids, a query or documents."""
    one, order = ranked.lists[number], ranked.shown[number]
    if one.ids is None or one.query is None or not order.size:
        return None
    query_id = uuid4().hex
    return {
        "application": APPLICATION,
        "query_id": query_id,
        "client_id": ranked.user,
        "user_query": one.query,
        "timestamp": _now(),
        "query_attributes": _attributes(ranked, number),
        "query_response_id": query_id,
        "query_response_hit_ids": [one.ids[place] for place in order[: ranked.k].tolist()],
    }


def _attributes(ranked: Ranked, number: int) -> dict[str, Any]:
    mixed = ranked.mixed.get(number)
    if mixed is not None:
        names = ",".join(one["model"] for one in mixed["rankers"])
        return {"ranker": f"interleaved:{names}", "interleaving": mixed}
    model = ranked.model
    return {"ranker": model.spec.name, "version": model.version, "checksum": model.short_checksum}


def event_record(click: Click) -> dict[str, Any]:
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


def parse_click(body: bytes) -> Click:
    """Return the click of a request's body; raise a `RequestError` that says what is wrong."""
    try:
        click = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(400, "invalid", f"the body is not JSON: {str(error)[:200]}.") from None
    if type(click) is not dict or click.keys() - _CLICK_FIELDS:
        raise _invalid("a click is an object with query_id and id, and optionally position and user.")
    query_id, document, position, user = (click.get(name) for name in Click._fields)
    if type(query_id) is not str or not _QUERY_ID.fullmatch(query_id):
        raise _invalid("query_id must come from a response of POST /rank.")
    if not is_text(document) or not document:
        raise _invalid(f"id must be the id of a document, a string of 1 to {MAX_ID} characters.")
    if position is not None and (type(position) is not int or not 1 <= position <= MAX_POSITION):
        raise _invalid(f"position must be a whole number from 1 to {MAX_POSITION:,}.")
    if user is not None and not is_text(user):
        raise _invalid(f"user must be a string of at most {MAX_ID} characters without null characters.")
    return Click(query_id, document, position, user)


def _invalid(message: str) -> RequestError:
    return RequestError(422, "invalid", message)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
