"""Stored interleaved tests, the same in both kinds of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy

from plackett.apps.workbench.store import Store
from plackett.exceptions import StoreError

LISTS = {"old": list("abcdefghij"), "new": list("cxaydzbwvu")}


def start(store, name="a test", collection="pages", lists_per_user=1, **more):
    options = {"method": "team-draft", "lists_per_user": lists_per_user, **more}
    return store.start_test(collection, name, ["old", "new"], **options)


def click(store, test, user, query="red fish", places=(0,)):
    """Show a list to a user, click on some of its places, and return what became of the clicks."""
    shown = store.mix_lists(test, store.client_id(user), query, LISTS)
    return [store.credit_click(test, shown.id, shown.documents[place]) for place in places]


def test_one_test_of_a_collection_runs_at_a_time(store):
    first = start(store)
    assert store.running_test("pages") == first == store.interleaved_test("pages", first.id)
    assert (first.rankers, first.stopped) == (["old", "new"], None)
    with pytest.raises(ValueError, match='the test "a test" is running'):
        start(store, "another")
    other = start(store, collection="other pages")
    store.stop_test(first)
    assert store.running_test("pages") is None
    second = start(store, "second")
    assert [one.name for one in store.interleaved_tests("pages")] == ["second", "a test"]
    assert store.interleaved_tests("other pages") == [other]
    assert store.interleaved_test("pages", first.id).stopped is not None
    for collection, test_id in (("other pages", second.id), ("pages", 99), ("pages", 0)):
        with pytest.raises(LookupError, match="there is no test"):
            store.interleaved_test(collection, test_id)


def test_of_two_tests_started_at_once_one_is_refused(store):
    def try_to_start(number):
        try:
            return start(store, f"test {number}")
        except ValueError:
            return None

    with ThreadPoolExecutor(4) as pool:
        assert sum(one is not None for one in pool.map(try_to_start, range(8))) == 1
    assert len(store.interleaved_tests("pages")) == 1


def test_a_click_counts_once_and_a_user_counts_once(store):
    test = start(store)
    assert click(store, test, "Ann") == ["counted"]
    assert click(store, test, "Ann") == ["repeated"]
    assert click(store, test, "Ann", "blue fish") == ["late"]
    assert click(store, test, "Bob") == ["counted"]
    assert store.credit_click(test, "no such list", "a") == "unknown"
    assert store.preference(test).n_units == 2
    differences = [first - second for first, second in store.credits_of_users(test)]
    assert len(differences) == 2
    assert sum(differences) / 2 == store.preference(test).mean
    assert store.test_counts(test) == {"lists": 3, "contested": 3, "clicked": 3, "units": 2, "closed": 2}


def test_users_with_few_lists_count_when_the_test_is_stopped(store):
    test = start(store, lists_per_user=2)
    assert click(store, test, "Ann", places=(0, 1)) == ["counted", "added"]
    assert click(store, test, "Bob") + click(store, test, "Bob", "blue fish") == ["counted", "counted"]
    assert store.preference(test).n_units == 1
    store.stop_test(test)
    assert store.preference(test).n_units == 2
    assert click(store, test, "Ann", "blue fish") == ["late"]


def test_a_test_goes_on_after_a_restart(store_url):
    with Store.open(store_url) as store:
        test = start(store, lists_per_user=2)
        shown = store.mix_lists(test, store.client_id("Ann"), "red fish", LISTS)
        assert store.credit_click(test, shown.id, shown.documents[0]) == "counted"
    with Store.open(store_url) as store:
        assert store.running_test("pages") == test
        again = store.mix_lists(test, store.client_id("Ann"), "red fish", LISTS)
        assert again == shown
        assert store.credit_click(test, shown.id, shown.documents[0]) == "repeated"
        assert store.credit_click(test, shown.id, shown.documents[1]) == "added"
        assert click(store, test, "Ann", "blue fish") == ["counted"]
        assert store.preference(test).n_units == 1


def test_threads_that_click_the_same_document_are_counted_once(store):
    test = start(store)
    shown = store.mix_lists(test, store.client_id("Ann"), "red fish", LISTS)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: store.credit_click(test, shown.id, shown.documents[0]), range(8)))
    assert sorted(found) == ["counted"] + 7 * ["repeated"]
    assert store.preference(test).n_units == 1


def test_a_deleted_test_leaves_nothing_behind(store):
    test = start(store)
    click(store, test, "Ann")
    other = start(store, collection="other pages")
    click(store, other, "Ann")
    store.delete_test(test)
    assert store.interleaved_tests("pages") == []
    with store.reading() as connection:
        for table in ("tests", "lists", "units", "values"):
            count = sqlalchemy.text(f"select count(*) from interleaving_{table}")
            assert connection.execute(count).scalar_one() == 1, table
    assert start(store).id > other.id  # ids are not used twice
    assert store.preference(other).n_units == 1


def test_users_opt_out_and_in(store):
    for _ in range(2):
        store.set_takes_part("Ann", False)
        assert (store.takes_part("Ann"), store.takes_part("Bob")) == (False, True)
    for _ in range(2):
        store.set_takes_part("Ann", True)
        assert store.takes_part("Ann")


def test_a_store_that_fails_says_so(store):
    test = start(store)
    shown = store.mix_lists(test, store.client_id("Ann"), "red fish", LISTS)
    with store.writing() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE interleaving_units"))
    for fail in (
        lambda: store.credit_click(test, shown.id, shown.documents[0]),
        lambda: store.test_counts(test),
        lambda: store.stop_test(test),
    ):
        with pytest.raises(StoreError, match="failed"):
            fail()
    assert store.running_test("pages") == test
