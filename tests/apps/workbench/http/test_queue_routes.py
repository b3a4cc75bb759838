"""The API of judging in flow: progress, the next query, people, and disagreements."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.workbench import queues
from plackett.apps.workbench.queues import dealt
from tests.apps.workbench.serving import client_of, page_of, store_query_set

API = "/api/v1"


@pytest.fixture
def client(collection, store):
    store_query_set(store, "small", "wings and boats", ["wings", "boat", "nothing at all", "wings AND"])
    return page_of(client_of(collection, store))


def judge(client, query, docid, grade, user="me"):
    body = {"query": query, "docid": docid, "grade": grade, "with_list": False}
    client.cookies.set("plackett_user", user)
    assert client.post(f"{API}/judgements", json=body).status_code == 200


def test_progress_counts_the_first_results_of_this_user(client, collection):
    first = collection.search("wings").docid
    judge(client, "wings", first[0], 1)
    judge(client, "wings", first[1], 0)
    judge(client, "wings", first[2], 1, user="Ann")
    client.cookies.set("plackett_user", "me")
    found = client.get(f"{API}/queue", params={"queue": "set-1", "depth": 3}).json()
    assert [(row["query"], row["n_judged"], row["n_first"]) for row in found["rows"]][:2] == [
        ("wings", 2, 3),
        ("boat", 0, 3),
    ]
    assert (found["total"], found["words"], found["base"]) == (4, "wings and boats", "bm25")
    boolean = client.get(f"{API}/queue", params={"queue": "set-1", "base": "boolean"}).json()
    assert "wings AND" in boolean["rows"][3]["problem"]


def test_the_next_query_is_the_next_with_something_to_judge(client, collection):
    def following(after, **more):
        return client.get(f"{API}/queue/next", params={"queue": "set-1", "depth": 2, "after": after, **more}).json()

    assert following("")["query"] == "wings"
    for docid in collection.search("wings").docid[:2]:
        judge(client, "wings", docid, 1)
    found = following("")
    assert (found["query"], found["place"], found["total"], found["n_done"]) == ("boat", 2, 4, 2)
    found = following("wings AND")
    assert (found["query"], found["previous"], found["following"], found["current"]) == (
        "boat",
        "nothing at all",
        None,
        4,
    )
    for query in ("boat", "wings AND"):
        for docid in collection.search(query).docid[:2]:
            judge(client, query, docid, 0)
    assert following("boat")["query"] is None
    assert client.get(f"{API}/queue", params={"queue": "set-9"}).status_code == 404
    assert client.get(f"{API}/queue", params={"queue": "set-0"}).status_code == 422
    assert client.get(f"{API}/queue", params={"queue": "lists"}).status_code == 404


def test_a_queue_that_is_too_long_to_count_goes_on_after_its_judged_queries(client, collection, monkeypatch):
    monkeypatch.setattr(queues, "MAX_COUNTED", 1)
    for docid in collection.search("wings").docid:
        judge(client, "wings", docid, 1)
    page = client.get("/judging", params={"queue": "set-1"}).text
    assert 'data-query="boat"' in page
    assert "query 2 of 4" in page


def test_queries_are_dealt_in_turn():
    assert dealt(list("abcd"), [1, 2], 1) == {"a": [1], "b": [2], "c": [1], "d": [2]}
    shared = dealt(list("abcdef"), [1, 2, 3], 2)
    assert all(len(set(users)) == 2 for users in shared.values())
    assert sorted(user for users in shared.values() for user in users) == [1] * 4 + [2] * 4 + [3] * 4
    assert dealt(["a"], [7], 5) == {"a": [7]}


def test_assigned_queries_are_the_queue_of_a_person(client):
    body = {"queue": "set-1", "users": ["Ann", "Bob"], "per_query": 1}
    assert client.post(f"{API}/assignments", json=body).json() == {
        "n_queries": 4,
        "by_user": {"Ann": 2, "Bob": 2},
        "words": "4 queries assigned. Ann: 2, Bob: 2.",
    }
    client.cookies.set("plackett_user", "Ann")
    mine = client.get(f"{API}/queue").json()
    assert (mine["queue"], [row["query"] for row in mine["rows"]]) == ("mine", ["wings", "nothing at all"])
    assert mine["rows"][0]["assigned"] == ["Ann"]
    assert client.post(f"{API}/assignments", json={**body, "users": []}).json()["by_user"] == {}
    assert client.get(f"{API}/queue").json()["queue"] == "set-1"
    empty = client.get(f"{API}/queue", params={"queue": "mine"}).json()
    assert (empty["words"], empty["total"]) == ("assigned to you", 0)
    assert client.post(f"{API}/assignments", json={**body, "users": ["  "]}).status_code == 422


def test_a_settled_grade_takes_the_place_of_the_mean(client):
    judge(client, "wings", "d1", 3, user="Ann")
    judge(client, "wings", "d1", 0, user="Bob")
    judge(client, "wings", "d3", 2, user="Bob")
    found = client.get(f"{API}/disagreements").json()
    assert [(row["docid"], row["grades"], row["settled"]) for row in found["rows"]] == [
        ("d1", {"Ann": 3.0, "Bob": 0.0}, None)
    ]
    assert (found["n_open"], found["agreement"]["n_shared"]) == (1, 1)
    assert "wings 0 d1 1\n" in client.get(f"{API}/export", params={"format": "qrels"}).text
    settled = client.post(f"{API}/settlements", json={"query": "wings", "docid": "d1", "grade": 3}).json()
    assert (settled["n_open"], settled["rows"][0]["settled"], settled["rows"][0]["settled_by"]) == (0, 3.0, "Bob")
    assert "wings 0 d1 3\n" in client.get(f"{API}/export", params={"format": "qrels"}).text
    both = client.get(f"{API}/export", params={"format": "json"}).json()["judgements"]
    assert [one["grade"] for one in both if one["docid"] == "d1"] == [3.0, 0.0]
    labels = client.app.state.workbench.labels
    assert labels.get("people", "me").of("wings") == {"d1": 3.0, "d3": 2.0}
    assert labels.get("mine", "Bob").of("wings") == {"d1": 0.0, "d3": 2.0}
    mine = client.get(f"{API}/export", params={"format": "qrels", "mine": True}).text
    assert mine == "wings 0 d1 0\nwings 0 d3 2\n"
    client.post(f"{API}/settlements", json={"query": "wings", "docid": "d1", "grade": None})
    assert client.get(f"{API}/disagreements").json()["n_open"] == 1
    unjudged = client.post(f"{API}/settlements", json={"query": "wings", "docid": "nope", "grade": 1})
    assert (unjudged.status_code, unjudged.json()["code"]) == (404, "not-found")
    unknown = client.post(f"{API}/settlements", json={"query": "never", "docid": "d1", "grade": 1})
    assert unknown.status_code == 404


def test_needs_and_notes_are_text(client):
    hostile = "<script>alert(1)</script>"
    body = {"query": "wings", "need": hostile, "note": hostile}
    assert client.post(f"{API}/notes", json=body).json() == body
    for path in ("/?q=wings", "/judge?queue=set-1", "/?q=wings&queue=set-1"):
        page = client.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
    assert client.get(f"{API}/notes", params={"q": "never"}).json() == {"query": "never", "need": "", "note": ""}


def test_words_of_the_grades_are_a_setting(collection, kept):
    client = page_of(client_of(collection, kept, grades=("bad", "good")))
    page = client.get("/", params={"q": "wings"}).text
    assert 'aria-label="1, good"' in page
    assert 'data-grade="2"' not in page
    with pytest.raises(ValueError, match="grades must be 2 to 10 strings"):
        client_of(collection, kept, grades=("only",))
