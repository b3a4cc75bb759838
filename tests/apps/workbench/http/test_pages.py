"""Pages without scripts, with hostile values, and without access."""

import re
from datetime import UTC, datetime

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
testclient = pytest.importorskip("starlette.testclient")

from plackett.apps.workbench import filters  # noqa: E402
from plackett.apps.workbench.app import create_app  # noqa: E402
from plackett.apps.workbench.collections.text import open_collection  # noqa: E402
from plackett.apps.workbench.settings import Settings  # noqa: E402
from plackett.apps.workbench.store import Store  # noqa: E402

TOKEN = "a-token-of-twenty-characters"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secret-texts")
    (folder / "one.txt").write_text(f"river bank {HOSTILE} \x00 \u202e end")
    (folder / "two.txt").write_text("river river stream")
    return open_collection(folder)


@pytest.fixture(scope="module")
def client(collection, tmp_path_factory):
    with Store(tmp_path_factory.mktemp("store") / "store.db") as store:
        yield testclient.TestClient(create_app(collection, store, Settings()), base_url="http://127.0.0.1:8765")


PATHS = [
    "/",
    "/?q=river",
    "/?q=stream&base=boolean",
    "/collection",
    "/train",
    "/document?docid=one.txt&q=river",
    "/features?q=river",
    "/judge",
    "/judging?queue=judged",
]


@pytest.mark.parametrize("path", PATHS)
def test_pages_hold_no_script_of_their_own(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", answer.text, flags=re.DOTALL)
    assert scripts
    for attributes, content in scripts:
        assert 'src="/static/' in attributes
        assert content == ""
    seen = re.sub(r'data-list="[^"]*"', "", answer.text)
    assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:", seen)
    assert "\x00" not in seen
    assert "\u202e" not in seen


@pytest.mark.parametrize("name", ["q", "base", "method", "view", "pin_judged", "docid", "offset", "set_id", "queue"])
@pytest.mark.parametrize("path", ["/", "/collection", "/document", "/features", "/lists", "/judge", "/nowhere"])
def test_what_comes_in_the_address_goes_out_as_text(client, path, name):
    query = {"q": "river", "docid": "one.txt", name: HOSTILE}
    answer = client.get(path, params=query)
    assert answer.status_code < 500
    assert "<script>alert" not in answer.text


def test_the_list_stands_in_the_page(client):
    text = client.get("/?q=river").text
    rows = re.findall(r'<li class="result" tabindex="-1" data-docid="([^"]*)"', text)
    assert rows == ["two.txt", "one.txt"]
    assert "<mark>river</mark>" in text


def test_public_errors_show_nothing_of_the_collection(collection, tmp_path):
    with Store(tmp_path / "store.db") as store:
        app = create_app(collection, store, Settings(host="0.0.0.0", token=TOKEN))
        answer = testclient.TestClient(app, base_url="http://127.0.0.1:8765").get("/?q=river")
        assert answer.status_code == 401
        foreign = testclient.TestClient(create_app(collection, store, Settings()), base_url="http://evil.example")
        for text in (answer.text, foreign.get("/collection").text):
            assert "<h1>" in text
            assert collection.name not in text
            assert "store.db" not in text


def test_a_query_that_is_too_long_is_refused_in_words(client):
    answer = client.get("/", params={"q": "x" * 1001})
    assert answer.status_code == 422
    assert "the query has 1,001 characters; the limit is 1,000." in answer.text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "±0.00"), (-0.5, "−0.50"), (12.345, "+12.3"), (0.0004, "+0.0004"), (None, "–")]
)
def test_signed_numbers(value, text):
    assert filters.signed(value) == text


def test_times_are_to_the_minute():
    assert filters.when(datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2024-02-03 04:05 UTC"


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ({"metrics": {"ndcg@10": {"difference": 0.01, "p_value": 0.05}}}, "won"),
        ({"metrics": {"ndcg@10": {"difference": -0.01, "p_value": 0.01}}}, "lost"),
        ({"metrics": {"ndcg@10": {"difference": 0.01, "p_value": 0.06}}}, "equal"),
        ({"metrics": {"ndcg@10": {"difference": 0.01, "p_value": None}}}, ""),
        ({}, ""),
    ],
)
def test_a_ranker_has_won_if_it_is_significantly_better_and_lost_if_it_is_worse(summary, verdict):
    assert filters.verdict(summary) == verdict


@pytest.mark.parametrize(("value", "text"), [(0.0001, "< 0.001"), (0.0005, "0.001"), (0.25, "0.250"), (None, "–")])
def test_no_p_value_is_shown_as_0(value, text):
    assert filters.p_value(value) == text
