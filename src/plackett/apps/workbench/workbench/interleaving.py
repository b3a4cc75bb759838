"""Use cases of interleaved tests: start, serve, credit, look, stop.

While a test runs, lists of users who take part mix the results of two rankers, and opened results are credited to the
ranker that would have shown them. Only lists without judgements in the plain view, by one of the two rankers or the
default one, are mixed; a refined list belongs to no test. ``plackett.clicks.Interleaver`` does the arithmetic, with
users as units: a user is the random id of the log.
"""

from __future__ import annotations

import logging
import math
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cachetools import LRUCache

from plackett.apps.workbench.collections.base import Collection, Hits
from plackett.apps.workbench.errors import RequestError, client_errors
from plackett.apps.workbench.records import InterleavedTest
from plackett.apps.workbench.schemas.interleaving import (
    InterleavingHistory,
    InterleavingRequest,
    InterleavingResponse,
    InterleavingsResponse,
    ParticipationResponse,
    PreferencePoint,
)
from plackett.exceptions import StoreError

if TYPE_CHECKING:
    from plackett.apps.workbench.store import Store
    from plackett.clicks.interleaving.state import Tallies

LOG = logging.getLogger("plackett.apps.workbench")
DEPTH = 50  # documents of each ranker, for any length of the list, so that "show more" shows the same list
POINTS = 40  # largest number of points in a history
CACHED_POINTS = 4096
CACHED_CLIENTS = 1024
TEST_ID, TEST_LIST = "test_id", "test_list"  # keys in the attributes of a logged list


class MixedList(NamedTuple):
    """A list that a test mixed: the hits in the order to show, the name of the test, and its log attributes."""

    hits: Hits
    test: str
    attributes: dict[str, str]


class Interleaving:
    """The interleaved tests of a collection. Thread-safe.

    Attributes
    ----------
    is_on : bool
        Whether lists are logged; otherwise no test can run.
    """

    def __init__(self, collection: Collection, store: Store, is_on: bool):
        self._collection, self._store, self.is_on = collection, store, is_on
        self.client_id = lru_cache(maxsize=CACHED_CLIENTS)(store.client_id)
        self._lock = threading.Lock()
        self._points: LRUCache[tuple[str, int], PreferencePoint] = LRUCache(CACHED_POINTS)

    # tests

    def start(self, request: InterleavingRequest) -> InterleavingHistory:
        """Start a test of two base rankers with all users."""
        if not self.is_on:
            raise RequestError(409, "off", "a test needs the log of clicks.", "The server was started with --no-log.")
        running = self._store.running_test(self._collection.key)
        if running is not None:
            raise RequestError(409, "conflict", f'the test "{running.name}" is running.', "Stop it first.")
        with client_errors():
            rankers = [self._collection.base_name(one) for one in (request.first, request.second)]
            test = self._store.start_test(
                self._collection.key,
                request.name,
                rankers,
                method=request.method,
                lists_per_user=request.lists_per_user,
            )
        return self._history(test)

    def tests(self) -> InterleavingsResponse:
        """Return all tests, newest first."""
        found = self._store.interleaved_tests(self._collection.key)
        return InterleavingsResponse(tests=[self._response(test) for test in found])

    def test(self, test_id: int) -> InterleavingHistory:
        """Return a test, and the history of its preference."""
        return self._history(self._find(test_id))

    def stop(self, test_id: int) -> InterleavingHistory:
        """Stop a test. Users with a click who did not count yet count now."""
        test = self._find(test_id)
        if test.stopped is None:
            self._store.stop_test(test)
        return self.test(test_id)

    def delete(self, test_id: int) -> InterleavingsResponse:
        """Delete a test that was stopped. The log of searches and clicks stays."""
        test = self._find(test_id)
        if test.stopped is None:
            raise RequestError(409, "conflict", f'the test "{test.name}" is running.', "Stop it first.")
        self._store.delete_test(test)
        return self.tests()

    # users

    def participation(self, user: str) -> ParticipationResponse:
        """Return whether a user takes part, and which test is running."""
        running = self._store.running_test(self._collection.key) if self.is_on else None
        takes_part = self._store.takes_part(user)
        return ParticipationResponse(takes_part=takes_part, running=None if running is None else running.name)

    def take_part(self, user: str, takes_part: bool) -> ParticipationResponse:
        """Set whether a user takes part in tests. What was counted before stays."""
        with client_errors():
            self._store.set_takes_part(user, takes_part)
        return self.participation(user)

    # lists and clicks

    def mix(self, user: str, text: str, hits: Hits, k: int) -> MixedList | None:
        """Return the list to show instead of ``hits``: the first documents mixed, then the others of ``hits``.

        None if no test runs, if the user takes no part or chose another ranker, or if a ranker cannot rank the query;
        an error of the store shows the list as it is.
        """
        if not self.is_on:
            return None
        try:
            test = self._store.running_test(self._collection.key)
            if test is None or hits.base not in (*test.rankers, self._collection.base_name()):
                return None
            if not self._store.takes_part(user):
                return None
            lists = {name: self._collection.search(text, name, DEPTH).docid for name in test.rankers}
            if not any(lists.values()):
                return None
            shown = self._store.mix_lists(test, self.client_id(user), text, lists)
        except StoreError as error:
            LOG.warning("a list was not mixed: %s", error)
            return None
        except ValueError:  # a ranker was removed, or the query is not one of the Boolean ranker
            return None
        docid = list(dict.fromkeys([*shown.documents, *hits.docid]))[:k]
        # scores and features would tell which ranker a document comes from; a mixed list is never refined
        scores, X = np.arange(len(docid), 0, -1, dtype=np.float64), np.zeros((len(docid), hits.X.shape[1]))
        attributes = {
            "ranker": f"interleaved:{test.first},{test.second}",
            "base": hits.base,
            "test": test.name,
            "interleaving": test.method,
            TEST_ID: str(test.id),
            TEST_LIST: shown.id,
        }
        return MixedList(Hits(docid, scores, X, hits.feature_names, hits.base), test.name, attributes)

    def credit(self, user: str, shown_id: str, docid: str) -> None:
        """Credit a click to the running test, if it mixed the list and this user was shown it and takes part.

        Clicks on other lists, such as those of a test that was stopped, change nothing. A click counts once.
        """
        test = self._store.running_test(self._collection.key)
        if test is None:
            return
        shown = self._store.shown_list(self._collection.key, self.client_id(user), shown_id)
        is_own = shown is not None and shown.attributes.get(TEST_ID) == str(test.id) and docid in shown.hits
        if shown is not None and is_own and self._store.takes_part(user):
            self._store.credit_click(test, shown.attributes[TEST_LIST], docid)

    # figures

    def _find(self, test_id: int) -> InterleavedTest:
        with client_errors():
            return self._store.interleaved_test(self._collection.key, test_id)

    def _response(self, test: InterleavedTest) -> InterleavingResponse:
        found, counts = self._store.preference(test), self._store.test_counts(test)
        needed = int(found.units_needed) if math.isfinite(found.units_needed) else None
        return InterleavingResponse(
            id=test.id,
            name=test.name,
            method=test.method,
            first=test.first,
            second=test.second,
            lists_per_user=test.lists_per_user,
            is_running=test.stopped is None,
            created=test.created,
            stopped=test.stopped,
            n_lists=counts["lists"],
            n_contested=counts["contested"],
            n_sessions=counts["clicked"],
            n_waiting=counts["units"] - counts["closed"],
            n_users=found.n_units,
            n_first=found.n_first,
            n_second=found.n_second,
            n_ties=found.n_ties,
            mean=None if math.isnan(found.mean) else found.mean,
            low=found.low,
            high=found.high,
            level=found.level,
            verdict=found.verdict,
            users_needed=needed,
            sessions_needed=None if needed is None else needed * test.lists_per_user,
            problem=None if test.stopped else self._problem(test),
        )

    def _problem(self, test: InterleavedTest) -> str | None:
        if not self.is_on:
            return "No lists are mixed, because the server was started with --no-log."
        known = self._collection.base_rankers()
        gone = [name for name in test.rankers if name not in known]
        return f"No lists are mixed, because the base ranker {gone[0]!r} no longer exists." if gone else None

    def _history(self, test: InterleavedTest) -> InterleavingHistory:
        response = self._response(test)
        points = self._points_of(test, response.level)
        return InterleavingHistory(**response.model_dump(), history=points)

    def _points_of(self, test: InterleavedTest, level: float) -> list[PreferencePoint]:
        """Return the preference after 1, 2, 3 … users, or every 2, 4, 8 …; earlier points do not change."""
        from plackett.clicks.interleaving.state import count_values

        rows = self._store.credits_of_users(test)
        step = 1
        while len(rows) > POINTS * step:
            step *= 2
        tallies: Tallies = {}
        points = []
        for n, credits in enumerate(rows, start=1):
            count_values(tallies, credits)
            if n % step and n < len(rows):
                continue
            with self._lock:
                point = self._points.get((test.key, n))
            if point is None:
                tally = tallies[0, 1]
                low, high = tally.interval(level)
                point = PreferencePoint(n_users=n, mean=tally.mean, low=low, high=high)
                with self._lock:
                    self._points[test.key, n] = point
            points.append(point)
        return points
