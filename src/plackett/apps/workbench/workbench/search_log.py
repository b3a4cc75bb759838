"""The log of searches and clicks, in the schema of OpenSearch's User Behavior Insights (UBI 1.3).

The log has the lists that users saw: the documents of a list in their order, the ranker that made it, and the
documents that were opened from it. A refined list after a judgement is a new list. Users have random ids instead of
their names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.errors import RequestError, client_errors
from plackett.apps.workbench.records import LogSize, ShownClick, ShownList
from plackett.apps.workbench.schemas.clicks import ClickResponse
from plackett.apps.workbench.schemas.lists import RankedList, ShownOrder
from plackett.exceptions import StoreError

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.apps.workbench.workbench.exporting import ExportedFile
    from plackett.apps.workbench.workbench.interleaving import Interleaving

LOG = logging.getLogger("plackett.apps.workbench")
APPLICATION = "plackett-workbench"
RANKER = "query_attributes.ranker"  # where ``read_clicks`` finds the ranker of a list
QUERIES_FILE, EVENTS_FILE = "ubi_queries.ndjson", "ubi_events.ndjson"
NDJSON = "application/x-ndjson"
BATCH = 500  # lines of a file at a time


class SearchLog:
    """The log of a collection. Thread-safe.

    Attributes
    ----------
    is_on : bool
        Whether lists and clicks are logged; what was logged before can be read in any case.
    """

    def __init__(self, collection: Collection, store: Store, interleaving: Interleaving, is_on: bool):
        self._collection, self._store, self._interleaving, self.is_on = collection, store, interleaving, is_on

    def show(
        self, user: str, ranked: RankedList, order: ShownOrder | None, attributes: dict[str, str] | None = None
    ) -> RankedList:
        """Log a list that a user is about to see, and return it with the id for its clicks.

        The record is on disk when this returns. If it cannot be written, the list has no id, and is shown anyway.
        ``attributes`` are those of a list that a test mixed.
        """
        is_before = order == "before" and ranked.base_results is not None
        results = (ranked.base_results if is_before else ranked.results) or []
        if not self.is_on or order is None or not results:
            return ranked
        if attributes is None:
            attributes = ranker_attributes(ranked, is_refined=ranked.is_refined and not is_before)
        hits = [one.docid for one in results]
        try:
            client_id = self._interleaving.client_id(user)
            shown_id = self._store.log_list(self._collection.key, client_id, ranked.query, hits, attributes)
        except (StoreError, ValueError) as error:  # such as a document's id that the store cannot keep
            LOG.warning("a list was not logged: %s", error)
            return ranked
        return ranked.model_copy(update={"shown_id": shown_id})

    def click(self, user: str, shown_id: str, docid: str) -> ClickResponse:
        """Log that a user opened a document of a list; it is on disk when this returns."""
        if not self.is_on:
            raise RequestError(409, "off", "this server logs no clicks.", "It was started with --no-log.")
        with client_errors():
            click = self._log_click(user, shown_id, docid)
        return ClickResponse(shown_id=click.shown_id, docid=click.docid, ordinal=click.ordinal, time=click.time)

    def open(self, user: str, shown_id: str, docid: str) -> None:
        """Log a document opened by its address; one from a list that this user was not shown is not a click."""
        if not self.is_on or not shown_id:
            return
        try:
            self._log_click(user, shown_id, docid)
        except (LookupError, ValueError):  # an address from another user, or one that was changed
            return
        except StoreError as error:
            LOG.warning("a click was not logged: %s", error)

    def _log_click(self, user: str, shown_id: str, docid: str) -> ShownClick:
        # credited first: if the log then fails, the click is repeated, and both count it once
        self._interleaving.credit(user, shown_id, docid)
        return self._store.log_click(self._collection.key, self._interleaving.client_id(user), shown_id, docid)

    def size(self) -> LogSize:
        """Return the size of the log."""
        return self._store.log_size(self._collection.key)

    def queries_file(self, until: int | None = None) -> ExportedFile:
        """Return ``ubi_queries`` as NDJSON, up to the list ``until``."""
        return _file(QUERIES_FILE, map(ubi_query, self._store.shown_lists(self._collection.key, until)))

    def events_file(self, until: int | None = None) -> ExportedFile:
        """Return ``ubi_events`` as NDJSON: the clicks on the lists up to ``until``."""
        return _file(EVENTS_FILE, map(ubi_event, self._store.shown_clicks(self._collection.key, until)))


def ranker_attributes(ranked: RankedList, *, is_refined: bool) -> dict[str, str]:
    """Return the attributes that name the ranker of a list: "bm25", or "bm25+multiplicative" if it is refined.

    UBI's attributes are strings.
    """
    if not is_refined:
        return {"ranker": ranked.base, "base": ranked.base}
    refiner = ranked.method + ("+pinned" if ranked.pin_judged else "")
    return {"ranker": f"{ranked.base}+{refiner}", "base": ranked.base, "refiner": refiner}


def ubi_query(shown: ShownList) -> dict[str, Any]:
    """Return the record of a list in ``ubi_queries``."""
    return {
        "application": APPLICATION,
        "query_id": shown.shown_id,
        "client_id": shown.client_id,
        "user_query": shown.query,
        "timestamp": _time(shown.time),
        "query_attributes": shown.attributes,
        "query_response_id": shown.shown_id,
        "query_response_hit_ids": shown.hits,
    }


def ubi_event(click: ShownClick) -> dict[str, Any]:
    """Return the record of a click in ``ubi_events``."""
    return {
        "application": APPLICATION,
        "action_name": "click",
        "query_id": click.shown_id,
        "client_id": click.client_id,
        "timestamp": _time(click.time),
        "event_attributes": {"object": {"object_id": click.docid}, "position": {"ordinal": click.ordinal}},
    }


def _time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _file(name: str, records: Iterable[dict[str, Any]]) -> ExportedFile:
    from plackett.apps.workbench.workbench.exporting import ExportedFile

    return ExportedFile(name, NDJSON, _lines(iter(records)))


def _lines(records: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    while block := list(islice(records, BATCH)):
        yield "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in block).encode("utf-8")
