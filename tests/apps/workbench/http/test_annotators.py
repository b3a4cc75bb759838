"""Imported annotators, such as click models: apart from people, and used only where they are chosen."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from tests.apps.workbench.http.test_routes import API, error_of
from tests.apps.workbench.serving import client_of, page_of

QRELS = "wings%20lift 0 d1 3\nwings%20lift 0 d3 0\nboat 0 d3 1\n"


@pytest.fixture
def client(collection, kept):
    client = page_of(client_of(collection, kept))
    yield client
    client.app.state.workbench.close()


def judge(client, query, docid, grade, user="me"):
    body = {"query": query, "docid": docid, "grade": grade}
    answer = client.post(f"{API}/judgements", json=body, headers={"X-Plackett-User": user})
    assert answer.status_code == 200, answer.text


def imported(client, name="ubm, sales.csv", text=QRELS):
    answer = client.post(f"{API}/import", json={"text": text, "annotator": name})
    assert answer.status_code == 200, answer.text
    return next(one["id"] for one in client.get(f"{API}/annotators").json()["annotators"] if one["name"] == name)


def values_of(client, judgements):
    made = client.post(f"{API}/query-sets", json={"name": "set", "text": "Wings lift\nboat"}).json()
    wish = {"set_id": made["id"], "judgements": judgements, "ranker": "bm25", "measure": "dcg@10(gain=linear)"}
    for _ in range(200):
        board = client.get(f"{API}/scoreboard", params=wish).json()
        if board["is_complete"]:
            return {row["query"]: row["values"][0] for row in board["rows"]}
    raise AssertionError("the scoreboard is not complete")


def test_judgements_of_an_annotator_are_never_mixed_with_those_of_people(client):
    judge(client, "Wings lift", "d1", 1)
    before = client.get(f"{API}/collection").json()["summary"], values_of(client, "people")
    annotator = imported(client)
    assert (client.get(f"{API}/collection").json()["summary"], values_of(client, "people")) == before
    assert client.get(f"{API}/queries").json()["total"] == 1
    assert client.get(f"{API}/disagreements").json()["total"] == 0
    found = client.get(f"{API}/search", params={"q": "boat"}).json()
    assert not found["is_refined"]
    # queries are also found in the spelling of click logs
    of_annotator = values_of(client, f"annotator:{annotator}")
    assert of_annotator["Wings lift"] > before[1]["Wings lift"] > 0
    assert of_annotator["boat"] is not None
    assert before[1]["boat"] is None


def test_an_annotator_is_chosen_for_exports_measures_and_training(client):
    judge(client, "boat", "d3", 0)
    annotator = imported(client)
    assert client.get(f"{API}/export", params={"format": "qrels"}).text == "boat 0 d3 0\n"
    text = client.get(f"{API}/export", params={"format": "qrels", "annotator": annotator}).text
    assert sorted(text.splitlines()) == sorted(QRELS.splitlines())
    query = client.get(f"{API}/search", params={"q": "wings lift"}).json()["query_id"]
    own, other = (
        client.get(f"{API}/lists/{query}/measures", params=wish).json() for wish in ({}, {"annotator": annotator})
    )
    assert (own["n_relevant"], other["n_relevant"]) == (0, 1)
    job = client.post(f"{API}/train", json={"annotator": annotator}).json()
    assert job["settings"]["source"] == "judgements of ubm, sales.csv"
    wrong = client.post(f"{API}/train", json={"annotator": annotator + 7})
    assert error_of(wrong, 404) == f"there is no annotator {annotator + 7}."


def test_a_name_is_that_of_a_person_or_of_an_annotator(client):
    judge(client, "boat", "d3", 1, user="ann")
    answer = client.post(f"{API}/import", json={"text": QRELS, "annotator": "ann"})
    assert error_of(answer, 422) == '"ann" is the name of a user. Choose another name.'
    imported(client, "ubm")
    body = {"query": "boat", "docid": "d3", "grade": 1}
    answer = client.post(f"{API}/judgements", json=body, headers={"X-Plackett-User": "ubm"})
    assert error_of(answer, 422) == '"ubm" is the name of an imported annotator. Choose another name.'


def test_an_annotator_is_deleted_with_its_judgements(client):
    judge(client, "boat", "d3", 1)
    annotator = imported(client)
    values_of(client, f"annotator:{annotator}")
    assert client.delete(f"{API}/annotators", params={"annotator": annotator}).json() == {"annotators": []}
    assert client.delete(f"{API}/annotators", params={"annotator": annotator}).status_code == 404
    assert client.get(f"{API}/queries").json()["total"] == 1
    again = imported(client, text="boat 0 d3 0\nboat 0 d1 1\nboat 0 d5 1\n")  # as many
    assert values_of(client, f"annotator:{again}")["Wings lift"] is None


def test_agreement_with_people_stands_beside_an_annotator(client):
    assert imported(client)
    assert client.get(f"{API}/annotators").json()["annotators"][0]["agreement"] == ""
    for user, grade in (("me", 3), ("you", 2)):
        judge(client, "Wings lift", "d1", grade, user)  # 2.5 is rounded to 2, as in qrels
    judge(client, "Wings lift", "d3", 0)
    judge(client, "boat", "d3", 1)
    words = client.get(f"{API}/annotators").json()["annotators"][0]["agreement"]
    # equal for d3 twice; by chance (1/3)² + (1/3)², as both give 0 and 1 to a third
    assert words == "the grade of people for 67 % of 3 documents; by chance 22 %, kappa 0.57"
    assert words in client.get("/train").text


def test_the_order_of_judge_next_is_a_query_set(client):
    from plackett.evaluation.judges.next_queries import QueryOrder

    text = QueryOrder("random", ["Wings lift", "boat"], 1).to_text()
    made = client.post(f"{API}/query-sets", json={"name": "next", "text": text}).json()
    shown = client.get(f"{API}/query-sets/queries", params={"set_id": made["id"]}).json()
    assert shown["queries"] == ["Wings lift", "boat"]
