"""What the pages and the API log of searches and clicks, and that `read_clicks` reads it back."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.workbench.collections.text import TextCollection
from plackett.apps.workbench.workbench.search_log import RANKER
from plackett.clicks import read_clicks
from plackett.exceptions import StoreError
from plackett.text import build_index
from tests.apps.workbench.serving import TOKEN, client_of, page_of
from tests.clicks.logs import by_id

API = "/api/v1"


@pytest.fixture
def client(collection, kept):
    return page_of(client_of(collection, kept))


def page_list(client, **values):
    """The list in the search page."""
    text = client.get("/", params={"q": "wings", **values}).text
    return json.loads(html.unescape(re.search(r'data-list="([^"]*)"', text)[1]))


def docids(found, name="results"):
    return [one["docid"] for one in found[name]]


def lines(client, what):
    answer = client.get(f"{API}/clicks/{what}")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == f'attachment; filename="ubi_{what}.ndjson"'
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_list_on_the_page_is_logged_and_opening_a_document_is_a_click(client, kept):
    found = page_list(client)
    shown, third = found["shown_id"], docids(found)[2]
    text = client.get("/", params={"q": "wings"}).text
    links = [html.unescape(link) for link in re.findall(r'data-part="title" href="(/document[^"]+)"', text)]
    assert len(links) == len(found["results"])
    assert client.get(links[2]).status_code == 200
    assert client.get(links[2]).status_code == 200  # reloaded
    (query,), (event,) = lines(client, "queries"), lines(client, "events")
    assert kept.users() == []
    name = kept.client_id("me")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", query.pop("timestamp"))
    assert query == {
        "application": "plackett-workbench",
        "query_id": shown,
        "client_id": name,
        "user_query": "wings",
        "query_attributes": {"ranker": "bm25", "base": "bm25"},
        "query_response_id": shown,
        "query_response_hit_ids": docids(found),
    }
    assert event.pop("timestamp")
    assert event == {
        "application": "plackett-workbench",
        "action_name": "click",
        "query_id": shown,
        "client_id": name,
        "event_attributes": {"object": {"object_id": third}, "position": {"ordinal": 3}},
    }


def test_the_refined_list_after_a_judgement_is_a_new_list(client):
    first = page_list(client)
    body = {"query": "wings", "docid": docids(first)[-1], "grade": 1, "shown_order": "refined"}
    refined = client.post(f"{API}/judgements", json=body).json()["list"]
    again = page_list(client)
    before = client.get(
        f"{API}/search", params={"q": "wings", "shown_order": "before", "side_by_side": True, "k": 50}
    ).json()
    assert docids(refined) == docids(again) != docids(first) == docids(before, "base_results")
    assert refined["shown_id"] == again["shown_id"]
    assert len({one["shown_id"] for one in (first, refined, before)}) == 3
    logged = lines(client, "queries")
    assert [one["query_response_hit_ids"] for one in logged] == [docids(first), docids(refined), docids(first)]
    assert [one["query_attributes"] for one in logged] == [
        {"ranker": "bm25", "base": "bm25"},
        {"ranker": "bm25+multiplicative", "base": "bm25", "refiner": "multiplicative"},
        {"ranker": "bm25", "base": "bm25"},
    ]


@pytest.mark.parametrize(
    ("path", "values", "headers"),
    [
        (f"{API}/search", {}, {}),  # a program that shows nothing
        ("/", {"view": "side"}, {}),  # two lists
        ("/", {"q": "nowhere"}, {}),  # nothing was found
        ("/", {}, {"Sec-Fetch-Site": "cross-site"}),
        ("/", {}, {"Sec-Purpose": "prefetch;prerender"}),
        (f"{API}/search", {"shown_order": "refined"}, {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_what_no_user_sees_is_not_logged(client, path, values, headers):
    assert client.get(path, params={"q": "wings", **values}, headers=headers).status_code == 200
    assert lines(client, "queries") == []


def test_a_document_from_elsewhere_is_no_click(client):
    found = page_list(client)
    docid, shown = docids(found)[0], found["shown_id"]
    for values, headers in (
        ({}, {}),
        ({"shown": "x" * 300}, {}),
        ({"shown": "\x00"}, {}),
        ({"shown": shown, "docid": "d5"}, {}),  # not in the list
        ({"shown": shown}, {"X-Plackett-User": "Bob"}),  # an address that Ann sent to Bob
        ({"shown": shown}, {"Purpose": "prefetch"}),
    ):
        answer = client.get("/document", params={"docid": docid, "q": "wings", **values}, headers=headers)
        assert answer.status_code == 200
    assert lines(client, "events") == []


def test_other_programs_log_lists_and_clicks_with_the_token(collection, kept):
    client = client_of(collection, kept, token=TOKEN)
    headers = {"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": "cross-site", "X-Plackett-User": "Ann"}
    client.headers.update(headers)
    found = client.get(f"{API}/search", params={"q": "wings", "shown_order": "refined", "shown": 2}).json()
    body = {"shown_id": found["shown_id"], "docid": docids(found)[1]}
    click = client.post(f"{API}/clicks", json=body).json()
    assert (click["ordinal"], click["docid"]) == (2, docids(found)[1])
    for wrong in ({"docid": "d5"}, {"shown_id": "unknown"}):
        answer = client.post(f"{API}/clicks", json={**body, **wrong})
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert [one["query_response_hit_ids"] for one in lines(client, "queries")] == [docids(found)]
    assert "Ann" not in client.get(f"{API}/clicks/queries").text + client.get(f"{API}/clicks/events").text


def test_a_log_that_is_off_writes_nothing_and_the_page_says_so(collection, kept):
    client = page_of(client_of(collection, kept, is_logging=False))
    assert page_list(client)["shown_id"] is None
    assert "Searches and clicks are not logged." in client.get("/").text
    answer = client.post(f"{API}/clicks", json={"shown_id": "x", "docid": "d1"})
    assert (answer.status_code, answer.json()["error"]) == (409, "this server logs no clicks.")
    assert kept.log_size("small") == (0, 0, 0, 0)


def test_the_page_says_that_it_logs(client):
    for path in ("/", "/collection"):
        assert "The lists that you see and the results that you open are logged" in client.get(path).text


def test_a_search_works_if_it_cannot_be_logged(client, kept, monkeypatch, caplog):
    def fail(*_):
        raise StoreError("store.db", "is busy.")

    shown = page_list(client)["shown_id"]
    monkeypatch.setattr(kept, "log_list", fail)
    monkeypatch.setattr(kept, "log_click", fail)
    found = page_list(client)
    assert (len(found["results"]), found["shown_id"]) == (4, None)
    assert client.get("/document", params={"docid": "d1", "shown": shown}).status_code == 200
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "a list was not logged",
        "a click was not logged",
    ]
    assert client.post(f"{API}/clicks", json={"shown_id": shown, "docid": "d1"}).status_code == 503


def test_a_list_with_ids_that_cannot_be_stored_is_shown(kept, caplog):
    docid = ["d1", "d2", "x" * 2000]
    index = build_index({"body": ["wings", "wings wings", "wings lift"]}, docid=docid)
    client = page_of(client_of(TextCollection(index, "odd", "odd", ["wings"]), kept))
    found = page_list(client)
    assert (sorted(docids(found)), found["shown_id"]) == (sorted(docid), None)
    assert caplog.records[0].getMessage().startswith("a list was not logged: a docid ")


def test_the_log_is_read_back_unchanged(collection, kept, tmp_path):
    """Lists of hostile names, by several users and rankers, with clicks drawn at random."""
    strange = [
        "folder/d 2",
        "../d4",
        '"quoted"',
        "日本語 🦔",
        "a\\b",
        " blank ",
        "line\nend",
        "\x01\x7f\x85",
        "é e\u0301",
    ]
    rng = np.random.default_rng(3)
    expected, clients = {}, {}
    for number in range(60):
        user, ranker = f"user {rng.integers(4)}", f"ranker {rng.integers(3)}"
        query = f'  Query "{rng.integers(5)}"\tÄ 🦔 '
        hits = rng.permutation(strange)[: rng.integers(1, len(strange) + 1)].tolist()
        shown_id = kept.log_list("small", kept.client_id(user), query, hits, {"ranker": ranker, "number": str(number)})
        clicked = [int(rng.random() < 0.4) for _ in hits]
        for docid, is_clicked in zip(hits, clicked, strict=True):
            if is_clicked:
                kept.log_click("small", kept.client_id(user), shown_id, docid)
        expected[shown_id] = (" ".join(query.casefold().split()), hits, clicked)
        clients[shown_id] = ranker
    client = client_of(collection, kept)
    paths = []
    for what in ("queries", "events"):
        paths.append(tmp_path / f"ubi_{what}.ndjson")
        paths[-1].write_bytes(client.get(f"{API}/clicks/{what}").content)
    log = read_clicks(*paths, ranker=RANKER)
    assert by_id(log) == expected
    assert log.cleaning.counts == {}
    assert {name: log.rankers[int(log.ranker[i])] for i, name in enumerate(log.session_ids)} == clients
    times = {one.shown_id: one.time.timestamp() for one in kept.shown_lists("small")}
    assert [times[name] for name in log.session_ids] == pytest.approx(log.times.tolist(), abs=1e-5)
    assert by_id(read_clicks(tmp_path)) == expected
