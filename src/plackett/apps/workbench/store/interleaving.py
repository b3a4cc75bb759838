"""Stored interleaved tests, and the users who opted out.

What a test served and counted is kept by ``plackett.clicks.Interleaver`` in its own tables, in the same database.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, update

from plackett.apps.workbench.records import InterleavedTest
from plackett.apps.workbench.store.database import SCHEMA_LOCK, advisory_lock
from plackett.apps.workbench.store.search_log import SearchLogStore
from plackett.apps.workbench.store.tables import clients, interleavings, opt_outs
from plackett.apps.workbench.store.validation import MAX_NAME, check_id, check_text

if TYPE_CHECKING:
    from plackett.clicks.interleaving.interleaver import Interleaver, ShownList
    from plackett.clicks.interleaving.preference import Preference

K = 10  # documents at the top of a list that are mixed, and whose clicks count
START_LOCK = SCHEMA_LOCK + 2  # advisory lock: of two tests started at the same time, one is refused
_TEST = [interleavings.c[name] for name in InterleavedTest._fields]


class InterleavingStore(SearchLogStore):
    """The operations of a store on interleaved tests. At most one test of a collection runs at a time."""

    def start_test(
        self, collection: str, name: str, rankers: Sequence[str], *, method: str, lists_per_user: int
    ) -> InterleavedTest:
        """Start a test of two rankers; raise a ValueError if one is running."""
        first, second = rankers
        row = {
            "key": f"workbench {secrets.token_hex(16)}",
            "collection": check_text(collection, "a collection's name"),
            "name": check_text(name, "a test's name", max_length=MAX_NAME),
            "method": method,
            "first": check_text(first, "a ranker's name", max_length=MAX_NAME),
            "second": check_text(second, "a ranker's name", max_length=MAX_NAME),
            "lists_per_user": lists_per_user,
            "created": datetime.now(UTC),
        }
        with self.writing() as connection:
            advisory_lock(connection, START_LOCK)
            running = connection.execute(_running(collection)).first()
            if running is not None:
                raise ValueError(f'the test "{running.name}" is running. Stop it first.')
            started = insert(interleavings).values(row).returning(*_TEST)
            return InterleavedTest(*connection.execute(started).one())

    def running_test(self, collection: str) -> InterleavedTest | None:
        """Return the test of a collection that is running."""
        with self.reading() as connection:
            row = connection.execute(_running(collection)).first()
        return None if row is None else InterleavedTest(*row)

    def interleaved_tests(self, collection: str) -> list[InterleavedTest]:
        """Return the tests of a collection, newest first."""
        own = interleavings.c.collection == check_text(collection, "a collection's name")
        with self.reading() as connection:
            rows = connection.execute(select(*_TEST).where(own).order_by(interleavings.c.id.desc()))
            return [InterleavedTest(*row) for row in rows]

    def interleaved_test(self, collection: str, test_id: int) -> InterleavedTest:
        """Return a test by its id; raise a LookupError if the id is unknown."""
        this = (interleavings.c.id == check_id(test_id, "test")) & (interleavings.c.collection == collection)
        with self.reading() as connection:
            row = connection.execute(select(*_TEST).where(this)).first()
        if row is None:
            raise LookupError(f"there is no test {test_id}.")
        return InterleavedTest(*row)

    def stop_test(self, test: InterleavedTest) -> None:
        """Stop a test: users with a click and too few lists count now, and nothing counts afterwards."""
        interleaver = self._interleaver(test)
        with self.turn():
            interleaver.close()
        still = (interleavings.c.id == test.id) & interleavings.c.stopped.is_(None)
        with self.writing() as connection:
            connection.execute(update(interleavings).where(still).values(stopped=datetime.now(UTC)))

    def delete_test(self, test: InterleavedTest) -> None:
        """Delete a test and all that it served and counted. The log of searches and clicks stays."""
        from plackett.clicks.interleaving.sql import delete_test

        self._interleaver(test)  # its tables exist now
        with self.writing() as connection:
            delete_test(connection, test.key)
            connection.execute(delete(interleavings).where(interleavings.c.id == test.id))
        self._interleavers.pop(test.key, None)

    # lists and clicks

    def mix_lists(
        self, test: InterleavedTest, client_id: str, query: str, lists: Mapping[str, Sequence[str]]
    ) -> ShownList:
        """Return the list of a test for a user and a query: the same one whenever the rankers return these lists."""
        interleaver = self._interleaver(test)
        with self.turn():
            return interleaver.serve(lists, key=query, unit=client_id)

    def credit_click(self, test: InterleavedTest, list_id: str, docid: str) -> str:
        """Credit a click on a list of a test, and return its ``Credit.status``; it is on disk when this returns."""
        interleaver = self._interleaver(test)
        with self.turn():
            return interleaver.credit(list_id, [docid]).status

    def test_counts(self, test: InterleavedTest) -> dict[str, int]:
        """Return the numbers of lists and users, as ``Interleaver.counts``."""
        with self._translated_errors():
            return self._interleaver(test).counts()

    def preference(self, test: InterleavedTest) -> Preference:
        """Return the current preference for the first ranker over the second."""
        with self._translated_errors():
            return self._interleaver(test).preference(test.first, test.second)

    def credits_of_users(self, test: InterleavedTest) -> list[list[float]]:
        """Return the credits of both rankers by each user who counted, oldest first, without naming them."""
        from plackett.clicks.interleaving.sql import read_credits

        self._interleaver(test)
        with self.reading() as connection:
            return read_credits(connection, test.key)

    @cached_property
    def _interleavers(self) -> dict[str, Interleaver]:
        return {}

    def _interleaver(self, test: InterleavedTest) -> Interleaver:
        from plackett.clicks.interleaving.interleaver import Interleaver

        found = self._interleavers.get(test.key)
        if found is None:
            engine, n_lists = self._engine, test.lists_per_user
            with self.turn():  # it creates its tables
                found = Interleaver(
                    test.method, k=K, lists_per_unit=n_lists, rankers=test.rankers, database=engine, test=test.key
                )
            self._interleavers[test.key] = found
        return found

    # participation

    def takes_part(self, name: str) -> bool:
        """Return whether a user takes part in tests: all who did not opt out."""
        own = clients.c.name == check_text(name, "a user's name", max_length=MAX_NAME)
        wanted = select(opt_outs.c.client_id).join(clients, clients.c.client_id == opt_outs.c.client_id).where(own)
        with self.reading() as connection:
            return connection.execute(wanted).first() is None

    def set_takes_part(self, name: str, takes_part: bool) -> None:
        """Set whether a user takes part in tests."""
        client_id = self.client_id(name)
        with self.writing() as connection:
            if takes_part:
                connection.execute(delete(opt_outs).where(opt_outs.c.client_id == client_id))
            else:
                row = {"client_id": client_id, "created": datetime.now(UTC)}
                connection.execute(self.insert_new(opt_outs).values(row))


def _running(collection: str):
    own = interleavings.c.collection == check_text(collection, "a collection's name")
    return select(*_TEST).where(own, interleavings.c.stopped.is_(None))
