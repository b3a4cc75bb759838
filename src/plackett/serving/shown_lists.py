"""The log of returned lists and of clicks on them, in the schema of OpenSearch's User Behavior Insights (UBI 1.3).

Each worker has its own two files, which ``plackett.clicks.read_clicks`` reads.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

from pydantic_core import from_json

from plackett.http.errors import RequestError
from plackett.serving.durable import DurableLog
from plackett.serving.ranking import MAX_ID, Ranked

APPLICATION = "plackett-serve"
_QUERY_ID = re.compile(r"[0-9a-f]{32}")
_CLICK_FIELDS = frozenset(("query_id", "id", "position", "user"))


class ShownLists:
    """The log of one worker; threads may share one.

    Parameters
    ----------
    folder : str
        Created if missing.
    worker : int
        The number in the names of its files.
    """

    def __init__(self, folder: str, worker: int):
        os.makedirs(folder, exist_ok=True)
        self._queries = DurableLog(os.path.join(folder, f"ubi_queries-{worker}.ndjson"))
        try:
            self._events = DurableLog(os.path.join(folder, f"ubi_events-{worker}.ndjson"))
        except BaseException:
            self._queries.close()
            raise

    def show(self, ranked: Ranked) -> tuple[list[str | None], Future[None] | None]:
        """Log the lists that have ids and a query; return an id for each, and what is done when they are on disk."""
        ids: list[str | None] = []
        lines = b""
        for one, order in zip(ranked.lists, ranked.orders, strict=True):
            if one.ids is None or one.query is None or not order.size:
                ids.append(None)
                continue
            query_id = secrets.token_hex(16)
            ids.append(query_id)
            record = {
                "application": APPLICATION,
                "query_id": query_id,
                "client_id": ranked.user,
                "user_query": one.query,
                "timestamp": _now(),
                "query_attributes": {"ranker": ranked.model.spec.name, "version": ranked.model.version},
                "query_response_id": query_id,
                "query_response_hit_ids": [one.ids[place] for place in order[: ranked.k].tolist()],
            }
            lines += _line(record)
        return ids, self._queries.append(lines) if lines else None

    def click(self, body: bytes) -> tuple[dict[str, Any], Future[None]]:
        """Log a click; return its record, and what is done when it is on disk."""
        click = _parsed_click(body)
        attributes: dict[str, Any] = {"object": {"object_id": click["id"]}}
        if click.get("position") is not None:
            attributes["position"] = {"ordinal": click["position"]}
        record = {
            "application": APPLICATION,
            "action_name": "click",
            "query_id": click["query_id"],
            "client_id": click.get("user"),
            "timestamp": _now(),
            "event_attributes": attributes,
        }
        return record, self._events.append(_line(record))

    def close(self) -> None:
        """Write what waits, and close the files."""
        self._queries.close()
        self._events.close()


def _parsed_click(body: bytes) -> dict[str, Any]:
    try:
        click = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(400, "invalid", f"the body is not JSON: {str(error)[:200]}.") from None
    if type(click) is not dict or click.keys() - _CLICK_FIELDS:
        raise _invalid("a click is an object with query_id and id, and perhaps position and user.")
    query_id, document, position, user = (click.get(name) for name in ("query_id", "id", "position", "user"))
    if type(query_id) is not str or not _QUERY_ID.fullmatch(query_id):
        raise _invalid("query_id must be that of a response of POST /rank.")
    if type(document) is not str or not 0 < len(document) <= MAX_ID:
        raise _invalid(f"id must be the id of a document, a text of 1 to {MAX_ID} characters.")
    if position is not None and (type(position) is not int or not 1 <= position <= 2**31):
        raise _invalid("position must be a whole number from 1 up.")
    if user is not None and (type(user) is not str or len(user) > MAX_ID):
        raise _invalid(f"user must be a text of at most {MAX_ID} characters.")
    return click


def _invalid(message: str) -> RequestError:
    return RequestError(422, "invalid", message)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode("ascii") + b"\n"
