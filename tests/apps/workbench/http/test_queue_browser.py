"""Judging in flow in a real browser: a queue, notes, assignment, a disagreement of two users, and its settlement."""

import pytest

from plackett.apps.workbench import files, people, queues
from tests.apps.workbench.browsing import (
    ESCAPE,
    Server,
    follow,
    is_loaded,
    keys,
    one,
    order,
    row,
    seen,
    text_of,
    until,
    visit,
)
from tests.apps.workbench.serving import store_query_set
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


def left(page, act):
    """Do something that ends on another page."""
    page.execute_script("document.documentElement.dataset.left = ''")
    act()
    until(lambda: is_loaded(page) and not page.find_elements("css selector", "html[data-left]"))


def focused(page):
    return page.execute_script("return document.activeElement.dataset.docid")


def test_two_users_judge_a_queue_disagree_and_settle(page, served):
    screen(page, 1200)
    media(page, "screen", "light", "reduce")
    bench = served.app.state.workbench
    first = bench.collection.search("river", k=50).docid[:10]
    become(page, served, "Ann")
    visit(page, served.url("/judge"))
    assert "three topics: 3 queries" in seen(page, "#h-queue")
    one(page, "#people").clear()
    one(page, "#people").send_keys("Ann, Bob")
    one(page, "#per-query").clear()
    one(page, "#per-query").send_keys("2")
    one(page, "#assign button").click()
    until(lambda: text_of(page, "#assigned") == "3 queries assigned. Ann: 3, Bob: 3.")
    until(lambda: "Ann, Bob" in text_of(page, "#queries"))
    assert queues.assigned_queries(served.store, bench.key, served.store.user("Bob").id) == QUERIES

    # the queue keeps the base order, and goes on to the next unjudged result
    left(page, one(page, "#start").click)
    until(lambda: order(page)[:10] == first)
    assert "query 1 of 3, 0 of the first 10 judged" in seen(page, "#queue")
    keys(page, "i")
    one(page, "#need").send_keys("what a river is")
    keys(page, ESCAPE)
    until(lambda: people.notes_of(bench, "Bob", "river").need == "what a river is")
    keys(page, "m")
    one(page, "#own-note").send_keys("unsure about boats")
    keys(page, ESCAPE)
    until(lambda: people.notes_of(bench, "Ann", "river").note == "unsure about boats")
    assert people.notes_of(bench, "Bob", "river").note == ""
    keys(page, "j")
    assert focused(page) == first[0]
    keys(page, "3")
    assert focused(page) == first[1]
    keys(page, "0")
    assert focused(page) == first[2]
    until(lambda: "2 of the first 10 judged" in seen(page, "#queue"))
    assert order(page)[:10] == first, "judgements do not move anything"
    keys(page, "r")
    until(lambda: order(page)[:10] != first)
    kept = order(page)
    keys(page, "j", "1")
    until(lambda: "3 judged" in seen(page, "#counts"))
    assert order(page) == kept, "the refined order stays too, until it is asked for"
    keys(page, "b")
    until(lambda: order(page)[:10] == first)
    judged = bench.store.graded(bench.collection.key, ["river"], served.store.user("Ann").id)["river"]
    for docid in first:
        if docid not in judged:
            row(page, docid).send_keys("1")
    until(lambda: "bread" in page.title, seconds=20)
    assert "query 2 of 3" in seen(page, "#queue")
    assert "1 of 3 queries done" in seen(page, "#queue")
    left(page, lambda: keys(page, "["))
    assert "river" in page.title

    # a document is judged on its own page
    until(lambda: order(page)[:10] == first)
    follow(page, row(page, first[1]).find_element("css selector", "h3 a"))
    assert text_of(page, "#judge [data-part=word]") == "not relevant"
    keys(page, "2")
    until(lambda: text_of(page, "#spoken") == "Saved.")
    assert text_of(page, "#judge [data-part=word]") == "relevant"
    left(page, lambda: keys(page, "b"))
    assert "queue=set-" in page.current_url

    # Bob sees the same need, judges otherwise, and both settle it
    become(page, served, "Bob")
    visit(page, served.url("/judge"))
    assert "assigned to you: 3 queries" in seen(page, "#h-queue")
    left(page, lambda: keys(page, "g"))
    until(lambda: order(page)[:10] == first)
    assert "what a river is" in seen(page, ".need")
    row(page, first[0]).send_keys("0")
    row(page, first[1]).send_keys("2")
    until(lambda: "2 of the first 10 judged" in seen(page, "#queue"))
    visit(page, served.url("/judge"))
    assert "1 of 1 disagreement to settle" in seen(page, "#disagreements")
    assert "Krippendorff" in seen(page, "#disagreements")
    assert violations_everywhere(page) == []
    keys(page, "j", "4")
    until(lambda: "0 of 1 disagreement to settle" in seen(page, "#disagreements"))
    assert "settled 4 by Bob" in seen(page, ".dispute")
    judgements, _, _ = files.chosen_judgements(bench, None, None)
    assert {one.docid: one.grade for one in judgements}[first[0]] == 4.0
