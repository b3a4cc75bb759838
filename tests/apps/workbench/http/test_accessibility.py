"""Every page has no violation that axe-core can find, wide and on a phone, in light and dark colours."""

import pytest

from tests.apps.workbench.browsing import is_narrow, one, until, visit
from tests.apps.workbench.serving import caller
from tests.axe import violations_everywhere

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")

PAGES = [
    "/",
    "/?q=river",
    "/?q=river&view=side",
    "/?q=nothing+at+all",
    "/?q=river&base=nowhere",
    "/collection",
    "/train",
    "/scoreboard?ranker=bm25&ranker=tf-idf",
    "/scoreboard?measure=nonsense",
    "/compare",
    "/compare?side=1/bm25&side=now/tf-idf",
    "/document?docid=river-1&q=river",
    "/features?q=river",
    "/judge",
    "/judging?queue=set-1",
    "/nowhere",
]
LISTS = ["/lists", "/features?q=7", "/?q=7", "/document?docid=7/1&q=7"]


@pytest.fixture(scope="module")
def used(server):
    """The server after a day of work: judgements of two users."""
    bench = server.app.state.workbench
    from plackett.apps.workbench.judging import JudgementRequest, PreferenceRequest, judge, prefer
    from plackett.apps.workbench.query_sets import QuerySetRequest, make_query_set
    from plackett.apps.workbench.snapshots import SnapshotRequest, freeze

    for user in ("Ann", "me"):
        for query in ("river", "bread", "music"):
            for place, docid in enumerate(bench.collection.search(query).docid[:5]):
                grade = float(place % 3 + (user == "Ann"))
                judge(bench, caller(user), JudgementRequest(query=query, docid=docid, grade=grade))
    first, second = bench.collection.search("river").docid[6:8]
    prefer(bench, caller("me"), PreferenceRequest(query="river", docid=second, other=first))
    made = make_query_set(bench, QuerySetRequest(name="topics", text="river\nbread\nmusic\nstone"))
    for name in ("monday", "tuesday"):
        wish = SnapshotRequest(name=name, set_id=made.id, ranker=["bm25", "tf-idf"])
        job = freeze(bench, caller("me"), wish)
        until(lambda job=job: bench.jobs.job(job.id).is_finished)
    return server


@pytest.fixture
def reader(page, used):
    """The page of a user who has judged."""
    page.execute_cdp_cmd("Network.setCookie", {"url": used.url(), "name": "plackett_user", "value": "me"})
    yield page
    page.get_log("browser")  # pages of errors are logged by the browser itself


def test_every_page_of_the_application_is_checked(server):
    """A new page must be added to the lists above, with an address that shows its content."""
    from plackett.apps.workbench import pages

    routes = [route for route in pages.router.routes if "{" not in route.path]  # the others are parts of pages
    assert {route.path for route in routes} <= {path.partition("?")[0] for path in PAGES + LISTS}
    assert len(routes) >= 8  # the pages are found


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_no_violation(reader, used, path):
    visit(reader, used.url() + path[1:])
    assert violations_everywhere(reader) == []
    assert is_narrow(reader, 320)


@pytest.mark.parametrize("path", LISTS)
def test_pages_of_judged_lists_have_no_violation(page, letor, path):
    visit(page, letor.url() + path[1:])
    assert violations_everywhere(page) == []
    assert is_narrow(page, 320)


def test_open_dialogs_and_reasons_have_no_violation(reader, used):
    visit(reader, used.url(q="river"))
    for why in reader.find_elements("css selector", "#results .why > summary")[:3]:
        why.click()
    for button, dialog in (("#help", "#help-dialog"), ("#who", "#who-dialog")):
        one(reader, button).click()
        assert violations_everywhere(reader) == []
        reader.execute_script("document.querySelector(arguments[0]).close()", dialog)


def test_lists_side_by_side_of_a_comparison_have_no_violation(reader, used):
    visit(reader, used.url("/compare", side="1/bm25") + "&side=now/tf-idf")
    until(lambda: reader.find_elements("css selector", "#comparison .pk-open"))
    one(reader, "#comparison .pk-open").click()
    until(lambda: reader.find_elements("css selector", ".pk-pair li"))
    assert violations_everywhere(reader) == []
    assert is_narrow(reader, 320)
