"""Judging in flow in a real browser: a queue, notes, assignment, a disagreement of two users, and its settlement."""

import pytest

from plackett.apps.workbench import files, people, queues
from tests.apps.workbench.browsing import (
    ESCAPE,
    Server,
    is_loaded,
    is_narrow,
    one,
    saved,
    seen,
    text_of,
    until,
    visit,
)
from tests.apps.workbench.serving import caller, store_query_set
from tests.axe import violations_everywhere
from tests.browser import media, screen

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")

QUERIES = ["river", "bread", "music"]


@pytest.fixture
def served(server, store_url, tmp_path):
    """A server of the same texts with a store of the test's own, in SQLite and in PostgreSQL."""
    own = Server(server.collection, tmp_path, store_url)
    store_query_set(own.store, server.collection.key, "three topics", QUERIES)
    yield own
    own.stop()


def become(page, served, name):
    page.execute_cdp_cmd("Network.setCookie", {"url": served.url(), "name": "plackett_user", "value": name})


def keys(page, *pressed):
    """Press keys, wherever the focus is: the judging screen replaces what had it."""
    from selenium.webdriver import ActionChains

    ActionChains(page).send_keys("".join(pressed)).perform()


def left(page, act):
    """Do something that ends on another page."""
    page.execute_script("document.documentElement.dataset.left = ''")
    act()
    until(lambda: is_loaded(page) and not page.find_elements("css selector", "html[data-left]"))


def shown(page):
    """The query and the document of the judging screen."""
    return tuple(one(page, "#task").get_attribute(f"data-{name}") for name in ("query", "docid"))


def graded(bench, user):
    return bench.store.graded(bench.key, ["river"], bench.user_id(user))["river"]


def test_two_users_judge_a_queue_disagree_and_settle(page, served):
    screen(page, 1200)
    media(page, "screen", "light", "reduce")
    bench = served.app.state.workbench
    first = bench.collection.search("river", k=50).docid[:10]
    become(page, served, "Ann")
    visit(page, served.url("/judge"))
    assert "three topics: 3 queries" in seen(page, "#h-queries")
    one(page, "#people").clear()
    one(page, "#people").send_keys("Ann, Bob")
    one(page, "#per-query").clear()
    one(page, "#per-query").send_keys("2")
    one(page, "#assign button").click()
    until(lambda: text_of(page, "#assigned") == "3 queries assigned. Ann: 3, Bob: 3.")
    until(lambda: "Ann, Bob" in text_of(page, "#queries"))
    assert queues.assigned_queries(served.store, bench.key, served.store.user("Bob").id) == QUERIES

    # one document at a time, and every press of a key counts
    left(page, one(page, "#start").click)
    assert shown(page) == ("river", first[0])
    assert "query 1 of 3, document 1 of 10; 0 of 30 judged" in seen(page, ".progress-line")
    assert not page.find_elements("css selector", "#search, #base, #measures")
    keys(page, "i")
    one(page, "#need").send_keys("what a river is")
    keys(page, ESCAPE)
    until(lambda: people.notes(bench, caller("Bob"), "river").need == "what a river is")
    until(lambda: text_of(page, "#need-words") == "what a river is")
    keys(page, "m")
    one(page, "#own-note").send_keys("unsure about boats")
    keys(page, ESCAPE)
    until(lambda: people.notes(bench, caller("Ann"), "river").note == "unsure about boats")
    assert people.notes(bench, caller("Bob"), "river").note == ""
    keys(page, "3", "0", *"ynynynyn")
    until(lambda: shown(page)[0] == "bread", seconds=20)
    assert graded(bench, "Ann") == dict(zip(first, [3.0, 0.0, *[1.0, 0.0] * 4], strict=True))
    assert "query 2 of 3, document 1 of 10; 10 of 30 judged" in seen(page, ".progress-line")
    assert "left" in seen(page, ".progress-line")
    assert violations_everywhere(page) == []

    # undo goes back to the document; the same grade again removes it
    keys(page, "u")
    until(lambda: shown(page) == ("river", first[9]))
    assert first[9] not in graded(bench, "Ann")
    keys(page, "4")
    until(lambda: shown(page)[0] == "bread")
    assert graded(bench, "Ann")[first[9]] == 4.0
    visit(page, served.url("/judging", queue="mine", q="river", docid=first[1]))
    assert one(page, "[data-grade='0']").get_attribute("aria-pressed") == "true"
    keys(page, "0")
    until(lambda: text_of(page, "#spoken") == "The grade was removed.")
    assert shown(page) == ("river", first[1])
    keys(page, "j")
    until(lambda: shown(page) == ("river", first[2]))
    keys(page, "g")
    until(lambda: shown(page)[0] == "bread")

    # on a phone, the grades are at the bottom of the screen
    screen(page, 360, 700)
    bottom = page.execute_script("return document.querySelector('.grading').getBoundingClientRect().bottom")
    assert 560 <= bottom <= page.execute_script("return innerHeight")
    assert is_narrow(page)
    screen(page, 1200)

    # Bob sees the same need, judges otherwise, and both settle it
    become(page, served, "Bob")
    visit(page, served.url("/judge"))
    assert "assigned to you: 3 queries" in seen(page, "#h-queries")
    left(page, lambda: keys(page, "g"))
    assert shown(page) == ("river", first[0])
    assert "what a river is" in seen(page, ".need")
    saved(page, lambda: keys(page, "0"))
    until(lambda: shown(page) == ("river", first[1]))
    visit(page, served.url("/judge"))
    assert "1 of 1 disagreement to settle" in seen(page, "#disagreements")
    assert "Krippendorff" in seen(page, "#disagreements")
    assert violations_everywhere(page) == []
    keys(page, "j", "4")
    until(lambda: "0 of 1 disagreement to settle" in seen(page, "#disagreements"))
    assert "settled 4 by Bob" in seen(page, ".dispute")
    judged, _ = files.chosen_judgements(bench, None, None)
    assert judged["river"].labels[first[0]] == 4.0


def test_the_pool_of_compared_rankers_is_one_button(page, served):
    bench = served.app.state.workbench
    screen(page, 1200)
    become(page, served, "Ann")
    visit(page, served.url("/scoreboard", ranker="bm25") + "&ranker=tf-idf")
    until(lambda: one(page, "#board").get_attribute("data-complete") == "true")
    firsts = {(query, docid) for query in QUERIES for name in ("bm25", "tf-idf")
              for docid in bench.collection.find(query, name, 10).docid[:10]}  # fmt: skip
    button = one(page, "#pool a")
    assert button.text == f"Judge these {len(firsts)} documents"
    left(page, button.click)
    assert f"0 of {len(firsts)} judged" in seen(page, ".progress-line")
    for words in ("bm25", "BM25", "TF-IDF", "tf-idf"):
        assert words not in one(page, "#task").text
    keys(page, *"y" * len(firsts))
    until(lambda: "Everything is judged" in seen(page, "#task"), seconds=40)
    assert {
        (query, docid)
        for query, of in bench.store.graded(bench.key, QUERIES, bench.user_id("Ann")).items()
        for docid in of
    } == firsts
    assert "Train a ranker" in one(page, "#task").text
    visit(page, served.url("/scoreboard", ranker="bm25") + "&ranker=tf-idf")
    until(lambda: one(page, "#board").get_attribute("data-complete") == "true")
    assert not page.find_elements("css selector", "#pool")
