"""The log of returned lists and of clicks on them, in the schema of OpenSearch's User Behavior Insights (UBI 1.3).

``FileLog`` or ``DatabaseLog`` writes the records, which ``plackett.clicks.read_clicks`` reads.
"""

from __future__ import annotations

import re
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from pydantic_core import from_json

from plackett.apps.access.errors import RequestError
from plackett.apps.serve.ranking import MAX_ID, Ranked, is_text

APPLICATION = "plackett-serve"
INTERLEAVING = "interleaving"  # in the attributes of a list
HITS = "query_response_hit_ids"
_QUERY_ID = re.compile(r"[0-9a-f]{1,64}")
_CLICK_FIELDS = frozenset(("query_id", "id", "position", "user"))


class RecordLog(Protocol):
    """Writes records; futures are done when a record is durable, or fail with an OSError."""

    def add_lists(self, records: list[dict[str, Any]]) -> tuple[list[str], Future[None]]: ...
    def add_event(self, record: dict[str, Any]) -> Future[None]: ...
    def find(self, query_id: str) -> Future[dict[str, Any] | None]: ...
    def close(self) -> None: ...


class Click(NamedTuple):
    """A click as a client sends it."""

    query_id: str
    id: str
    position: int | None
    user: str | None


def list_records(ranked: Ranked) -> tuple[list[int], list[dict[str, Any]]]:
    """Return the numbers of the lists that are logged, which have ids, a query and a document, and their records."""
    numbers, records = [], []
    for number, (one, order) in enumerate(zip(ranked.lists, ranked.shown, strict=True)):
        if one.ids is None or one.query is None or not order.size:
            continue
        numbers.append(number)
        records.append(
            {
                "application": APPLICATION,
                "query_id": None,
                "client_id": ranked.user,
                "user_query": one.query,
                "timestamp": _now(),
                "query_attributes": _attributes(ranked, number),
                "query_response_id": None,
                HITS: [one.ids[place] for place in order[: ranked.k].tolist()],
            }
        )
    return numbers, records


def _attributes(ranked: Ranked, number: int) -> dict[str, Any]:
    mixed = ranked.mixed.get(number)
    if mixed is not None:
        names = ",".join(one["model"] for one in mixed["rankers"])
        return {"ranker": f"interleaved:{names}", INTERLEAVING: mixed}
    model = ranked.model
    return {"ranker": model.spec.name, "version": model.version, "checksum": model.short_checksum}


def event_record(click: Click, shown: dict[str, Any] | None) -> dict[str, Any]:
    """Return the record of a click on a list of the log; raise a `RequestError` if it was not shown."""
    if shown is None:
        raise _unknown()
    hits = shown[HITS]
    if click.id not in hits:
        raise _invalid(f"the list does not have the document {click.id[:100]!r}.")
    position = hits.index(click.id) + 1
    if click.position not in (None, position):
        raise _invalid(f"{click.id[:100]!r} was returned at position {position}, not {click.position:,}.")
    return {
        "application": APPLICATION,
        "action_name": "click",
        "query_id": click.query_id,
        "client_id": shown["client_id"] if click.user is None else click.user,
        "timestamp": _now(),
        "event_attributes": {"object": {"object_id": click.id}, "position": {"ordinal": position}},
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
    if type(query_id) is not str:
        raise _invalid("query_id must come from a response of POST /rank.")
    if not _QUERY_ID.fullmatch(query_id):
        raise _unknown()
    if not is_text(document) or not document:
        raise _invalid(f"id must be the id of a document, a string of 1 to {MAX_ID} characters.")
    if position is not None and (type(position) is not int or position < 1):
        raise _invalid("position must be a whole number of at least 1.")
    if user is not None and not is_text(user):
        raise _invalid(f"user must be a string of at most {MAX_ID} characters without null characters.")
    return Click(query_id, document, position, user)


def _unknown() -> RequestError:
    hint = "Send the query_id of a response of POST /rank to this server."
    return RequestError(404, "not-found", "no list with this query_id was returned.", hint)


def _invalid(message: str) -> RequestError:
    return RequestError(422, "invalid", message)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
