"""The API: requests, responses and errors."""

import io
import json
import threading
import time
from dataclasses import asdict

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from hypothesis import given, settings
from hypothesis import strategies as st

import plackett as pk
from plackett import Queries
from plackett.apps.access.errors import RequestError
from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.external import RefineRequest, refine_external
from plackett.apps.workbench.jobs import JobRunner
from plackett.apps.workbench.refining import refine
from plackett.apps.workbench.store import Judged
from plackett.apps.workbench.values import MAX_QUERY
from plackett.data.trec.files import read_qrels
from plackett.exceptions import StoreError
from tests.apps.workbench.serving import HOSTILE, client_of, make_hits, page_of, small_collection, store_ranker

API = "/api/v1"


@pytest.fixture
def client(collection, kept):
    return page_of(client_of(collection, kept))


def judge(client, docid, grade, query="wings", **more):
    answer = client.post(f"{API}/judgements", json={"query": query, "docid": docid, "grade": grade, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_of(answer, status):
    """Return the message of an error response."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "hint", "code", "id"}
    return answer.json()["error"]


def test_a_request_that_is_sent_again_with_its_key_is_written_once(client, kept):
    def ask(path, key, **more):
        return client.post(f"{API}/{path}", json={"query": "wings", "key": key, **more}).json()["event"]

    ask("judgements", "first-key", docid="d1", grade=1)
    said = [ask("judgements", "second-key", docid="d3", grade=1) for _ in range(2)]
    preferred = [ask("preferences", "third-key", docid="d1", other="d5") for _ in range(2)]
    undone = [ask("undo", "fourth-key") for _ in range(2)]
    assert (said[0], preferred[0], undone[0]) == (said[1], preferred[1], undone[1])
    assert undone[0] == preferred[0]
    assert kept.state(1, 1).judged == ({"d1": 1.0, "d3": 1.0}, [])


# searching


def test_a_search_gives_the_base_order_and_writes_nothing(client, collection, kept):
    found = client.get(f"{API}/search", params={"q": " wings "}).json()
    hits = collection.search("wings")
    assert [one["docid"] for one in found["results"]] == hits.docid
    assert [one["base_score"] for one in found["results"]] == hits.scores.tolist()
    assert [one["place"] for one in found["results"]] == [1, 2, 3, 4]
    assert (found["query_id"], found["query"], found["is_refined"], found["can_undo"]) == (None, "wings", False, False)
    assert found["base_results"] is None
    assert kept.users() == []
    assert kept.find_query("small", "wings") is None


def test_a_hostile_document_is_text(client):
    found = client.get(f"{API}/search", params={"q": "alert"}).json()["results"][0]
    assert "".join(piece["text"] for piece in found["snippet"]).startswith("<script>")
    body = client.get(f"{API}/documents", params={"docid": "d3"})
    assert body.headers["content-type"] == "application/json"
    assert {one["name"]: one["text"] for one in body.json()["fields"]}["body"] == HOSTILE


def test_only_as_many_are_shown_as_asked_and_both_orders_on_request(client):
    found = client.get(f"{API}/search", params={"q": "wings", "shown": 2, "k": 3, "side_by_side": True}).json()
    assert (found["n_found"], len(found["results"]), len(found["base_results"])) == (3, 2, 2)
    assert found["results"] == found["base_results"]


def test_bad_boolean_syntax_is_explained(client):
    assert "wings AND" in error_of(client.get(f"{API}/search", params={"q": "wings AND", "base": "boolean"}), 422)


def test_a_base_ranker_that_is_not_there_is_named_with_those_that_are(client):
    answer = client.get(f"{API}/search", params={"q": "wings", "base": "pagerank"})
    assert error_of(answer, 422).startswith("there is no base ranker 'pagerank'; choose one of bm25, ")


@pytest.mark.parametrize("docid", ["folder/d 2", "../d4"])
def test_a_document_may_be_called_anything(client, docid):
    assert client.get(f"{API}/documents", params={"docid": docid}).json()["docid"] == docid


def test_features_of_a_document_are_those_of_its_list(client, collection):
    answer = client.get(f"{API}/documents", params={"docid": "d1", "q": "wings"}).json()
    hits = collection.search("wings")
    assert [one["value"] for one in answer["features"]] == pytest.approx(hits.X[hits.docid.index("d1")].tolist())
    assert [one["name"] for one in answer["features"]] == hits.feature_names
    assert client.get(f"{API}/documents", params={"docid": "d1"}).json()["features"] is None
    assert error_of(client.get(f"{API}/documents", params={"docid": "d9"}), 404)


# judging


def test_a_judgement_is_kept_and_answers_with_the_refined_list(client, collection, kept):
    hits = collection.search("wings", k=50)
    judge(client, hits.docid[-1], 1)
    saved = judge(client, hits.docid[0], 0)
    expected = refine(hits, Judged({hits.docid[-1]: 1.0, hits.docid[0]: 0.0}, []))
    results = saved["list"]["results"]
    assert [one["docid"] for one in results] == [hits.docid[row] for row in expected.order]
    assert [one["score"] for one in results] == expected.scores[expected.order].tolist()
    assert [one["moved"] for one in results] == expected.moves[expected.order].tolist()
    assert [one["base_place"] for one in results] == [row + 1 for row in expected.order]
    assert [[why["text"] for why in one["why"]] for one in results] == [
        [why.text for why in expected.why[row]] for row in expected.order
    ]
    assert {one["docid"]: one["grade"] for one in results if one["grade"] is not None} == {
        hits.docid[-1]: 1.0,
        hits.docid[0]: 0.0,
    }
    assert kept.state(kept.find_user("me").id, saved["query_id"]).judged.labels == {
        hits.docid[-1]: 1.0,
        hits.docid[0]: 0.0,
    }
    # reloading shows the same
    again = client.get(f"{API}/search", params={"q": "wings"}).json()
    assert again == saved["list"] == client.get(f"{API}/lists/{saved['query_id']}").json()


@pytest.mark.parametrize("method", ["multiplicative", "linear", "rocchio"])
def test_every_method_refines(client, collection, method):
    judge(client, "d3", 1)
    found = judge(client, "d1", 0, method=method)["list"]
    hits = collection.search("wings", k=50)
    expected = refine(hits, Judged({"d3": 1.0, "d1": 0.0}, []), method)
    assert (found["method"], [one["docid"] for one in found["results"]]) == (
        method,
        [hits.docid[row] for row in expected.order],
    )


def test_undo_and_reset_and_undo_again(client):
    judge(client, "d3", 1)
    query_id = judge(client, "d1", 0)["query_id"]
    wish = {"query_id": query_id}
    undone = client.post(f"{API}/undo", json=wish).json()
    assert (undone["event"]["docid"], undone["event"]["grade"], undone["list"]["n_judged"]) == ("d1", 0.0, 1)
    assert client.post(f"{API}/reset", json=wish).json()["n_cleared"] == 1
    assert client.get(f"{API}/lists/{query_id}").json()["can_undo"]
    assert client.post(f"{API}/undo", json={"query": "wings"}).json()["list"]["n_judged"] == 1
    assert client.post(f"{API}/undo", json=wish).json()["event"]["docid"] == "d3"
    last = client.post(f"{API}/undo", json=wish).json()
    assert (last["event"], last["list"]["can_undo"], last["list"]["is_refined"]) == (None, False, False)


def test_a_grade_is_taken_back_by_null(client):
    judge(client, "d3", 1)
    assert judge(client, "d3", None)["list"]["n_judged"] == 0


def test_a_preference_puts_one_above_the_other(client, collection):
    first, second = collection.search("wings").docid[:2]
    wish = {"query": "wings", "docid": second, "other": first}
    found = client.post(f"{API}/preferences", json=wish).json()["list"]
    order = [one["docid"] for one in found["results"]]
    assert order.index(second) < order.index(first)
    assert found["pairs"] == [{"preferred": second, "other": first}]
    assert "itself" in error_of(client.post(f"{API}/preferences", json={**wish, "other": second}), 422)


def test_judged_documents_outside_the_list_are_returned(client):
    judge(client, "d5", 1)
    found = client.get(f"{API}/search", params={"q": "wings"}).json()
    assert found["elsewhere"] == [{"docid": "d5", "grade": 1.0}]


def test_users_have_judgements_of_their_own(client):
    judge(client, "d3", 1)
    ann = {"X-Plackett-User": "Ann%C3%A9"}
    assert client.get(f"{API}/search", params={"q": "wings"}, headers=ann).json()["n_judged"] == 0
    session = client.post(f"{API}/session", json={"user": " Anné\u2028 "}).json()
    assert session["user"] == "Anné"
    assert client.get(f"{API}/session").json()["user"] == "Anné"
    judge(client, "d1", 0)
    assert sorted(client.get(f"{API}/collection").json()["users"]) == ["Anné", "me"]


def test_judging_what_is_not_there_is_refused_and_writes_nothing(client, kept):
    wish = {"query": "wings", "docid": "d9", "grade": 1}
    assert error_of(client.post(f"{API}/judgements", json=wish), 404) == "small has no document 'd9'."
    assert error_of(client.post(f"{API}/judgements", json={"query_id": 77, "docid": "d1", "grade": 1}), 404)
    assert error_of(client.post(f"{API}/undo", json={"query": "wings"}), 404)
    bad = {"query": "wings AND", "base": "boolean", "docid": "d1", "grade": 1}
    assert error_of(client.post(f"{API}/judgements", json=bad), 422)
    assert kept.queries("small") == []
    assert kept.users() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grade": float("nan")}, "grade"),
        ({"grade": 1e400}, "grade"),
        ({"grade": -1}, "grade"),
        ({"grade": True}, "grade"),
        ({"grade": "1"}, "grade"),
        ({"docid": ""}, "docid"),
        ({"docid": "a\0b"}, "docid"),
        ({"query": "x" * (MAX_QUERY + 1)}, "query"),
        ({"query": "wi\ud800ngs"}, "query"),
        ({"query_id": 1}, "give either query or query_id"),
        ({"gradee": 1}, "gradee"),
        ({"k": 201}, "k"),
        ({"method": "magic"}, "method"),
    ],
)
def test_values_out_of_bounds_are_named(client, kept, change, words):
    wish = {"query": "wings", "docid": "d1", "grade": 1, **change}
    answer = client.post(f"{API}/judgements", content=json.dumps(wish), headers={"Content-Type": "application/json"})
    assert words in error_of(answer, 422)
    assert kept.users() == []


def test_the_longest_query_is_the_same_wherever_it_comes_in(client, kept):
    def tried(query):
        said = {"query": query, "docid": "d1", "grade": 1}
        return [
            client.get(f"{API}/search", params={"q": query}),
            client.get(f"{API}/documents", params={"docid": "d1", "q": query}),
            client.get("/", params={"q": query}),
            client.get("/document", params={"docid": "d1", "q": query}),
            client.get("/features", params={"q": query}),
            client.post(f"{API}/judgements", json=said),
            client.post(f"{API}/import", json={"text": json.dumps([said])}),
        ]

    longest = "wings " * (MAX_QUERY // 6) + "x" * (MAX_QUERY % 6)
    assert [answer.status_code for answer in tried(longest + "x")] == [422] * 7
    assert kept.queries("small") == []
    assert [answer.status_code for answer in tried(longest)] == [200] * 7
    assert f'maxlength="{MAX_QUERY}"' in client.get("/").text


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff\xfe", b'{"a": ' + b"9" * 5000 + b"}"])
def test_a_body_that_is_not_json_is_a_clean_error(client, body):
    answer = client.post(f"{API}/judgements", content=body, headers={"Content-Type": "application/json"})
    assert error_of(answer, 400)


def test_another_collections_query_is_unknown(client, kept):
    other = kept.query("other", "wings", "bm25")
    assert error_of(client.get(f"{API}/lists/{other.id}"), 404) == f"there is no query {other.id}."


def test_a_store_error_is_shown_without_its_location(client, kept, monkeypatch):
    def fails(*args):
        raise StoreError("/secret/place.db", "is full.")

    monkeypatch.setattr(kept, "judge", fails)
    answer = client.post(f"{API}/judgements", json={"query": "wings", "docid": "d1", "grade": 1})
    assert error_of(answer, 503) == "the store is full."


def test_internal_errors_show_an_id_and_no_traceback(client, kept, monkeypatch, caplog):
    def fails(*args):
        raise RuntimeError("secret details")

    monkeypatch.setattr(kept, "judge", fails)
    answer = client.post(f"{API}/judgements", json={"query": "wings", "docid": "d1", "grade": 1})
    assert error_of(answer, 500) == "internal error"
    assert "secret" not in answer.text
    assert answer.json()["id"] in caplog.text
    assert "secret details" in caplog.text
    assert answer.headers["x-content-type-options"] == "nosniff"


# the collection and its files


def test_measures_come_with_enough_judgements(client):
    query_id = judge(client, "d3", 1)["query_id"]
    assert client.get(f"{API}/lists/{query_id}/measures").json()["metrics"] == []
    judge(client, "d1", 0)
    answer = client.get(f"{API}/lists/{query_id}/measures").json()
    assert answer["metrics"] == ["p@1", "ndcg@1"]
    assert answer["refined"] == {"p@1": 1.0, "ndcg@1": 1.0}


def test_the_collection_has_statistics_of_its_judgements(client):
    judge(client, "d3", 1)
    judge(client, "d1", 0, query="lift")
    client.headers["X-Plackett-User"] = "Ann"
    judge(client, "d3", 0)
    about = client.get(f"{API}/collection").json()
    assert (about["name"], about["kind"], about["n_docs"]) == ("small", "text", 6)
    assert about["summary"]["n_judgements"] == 3
    assert about["summary"]["agreement"]["disputed"] == [
        {"query": "wings", "docid": "d3", "grades": {"me": 1.0, "Ann": 0.0}}
    ]
    listed = client.get(f"{API}/queries").json()
    assert (listed["total"], [one["query"] for one in listed["queries"]]) == (2, ["wings", "lift"])
    assert client.get(f"{API}/queries", params={"mine": True}).json()["total"] == 1
    assert len(client.get(f"{API}/queries", params={"limit": 1, "offset": 1}).json()["queries"]) == 1


def test_a_grade_that_was_changed_is_a_contradiction_unless_it_was_undone_or_taken_back(client):
    def n_changed():
        return client.get(f"{API}/collection").json()["summary"]["contradictions"]["changed"]

    judge(client, "d1", 1)
    judge(client, "d1", 1)
    assert n_changed() == 0
    judge(client, "d1", 0)
    assert n_changed() == 1
    assert "different grades" in client.get("/collection").text
    judge(client, "d3", 1)
    judge(client, "d3", None)
    judge(client, "d3", 0)
    assert n_changed() == 1
    for _ in range(4):
        client.post(f"{API}/undo", json={"query": "wings"})
    assert n_changed() == 0
    judge(client, "d1", 0)
    client.post(f"{API}/reset", json={"query": "wings"})
    assert n_changed() == 0


@pytest.mark.parametrize("format", ["json", "qrels", "letor"])
def test_exported_files_can_be_imported(client, format):
    judge(client, "folder/d 2", 2)
    judge(client, "d1", 0)
    file = client.get(f"{API}/export", params={"format": format})
    assert file.status_code == 200
    assert file.headers["content-disposition"].startswith('attachment; filename="small.')
    client.headers["X-Plackett-User"] = "Ann"
    answer = client.post(f"{API}/import", json={"text": file.text}).json()
    assert answer["n_imported"] == 2
    results = client.get(f"{API}/search", params={"q": "wings"}).json()["results"]
    assert {one["docid"]: one["grade"] for one in results if one["grade"] is not None} == {"folder/d 2": 2, "d1": 0}


def test_what_is_imported_for_a_query_with_blanks_around_it_is_found_again(client):
    said = {"docid": "d1", "grade": 1}
    assert client.post(f"{API}/import", json={"text": json.dumps([{"query": " wings\n", **said}])}).status_code == 200
    assert client.get(f"{API}/search", params={"q": "wings"}).json()["n_judged"] == 1
    assert "query" in error_of(client.post(f"{API}/import", json={"text": json.dumps([{"query": " ", **said}])}), 422)


def test_a_run_has_the_refined_order(client):
    found = [one["docid"] for one in judge(client, "d3", 1)["list"]["results"]]
    lines = client.get(f"{API}/export", params={"format": "run", "mine": True}).text.splitlines()
    rows = sorted((line.split() for line in lines), key=lambda row: int(row[3]))
    assert [row[2].replace("%20", " ") for row in rows] == found


def test_nothing_to_export_and_nothing_to_import_are_said(client):
    assert "nothing is graded yet" in error_of(client.get(f"{API}/export", params={"format": "qrels"}), 422)
    for text in ("what is this", "q Q0 d1 1 0.5 a-run"):
        assert error_of(client.post(f"{API}/import", json={"text": text}), 422).startswith("qrels, line 1: expected")


# training


def teach(client):
    for query in ("wings", "lift", "plane", "boat"):
        found = [one["docid"] for one in client.get(f"{API}/search", params={"q": query}).json()["results"]]
        judge(client, found[-1], 1, query=query, with_list=False)
        judge(client, found[0], 0, query=query, with_list=False)


def wait_for(client, job_id):
    deadline = time.monotonic() + 60
    while not (job := client.get(f"{API}/jobs/{job_id}").json())["is_finished"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return job


def test_a_trained_ranker_becomes_a_base_ranker_and_stays_one(collection, kept):
    client = page_of(client_of(small := small_collection(), kept))
    teach(client)
    started = client.post(f"{API}/train", json={})
    assert started.status_code == 202
    job = wait_for(client, started.json()["id"])
    assert (job["state"], job["progress"]) == ("done", 1.0)
    name = job["result"]["ranker_name"]
    assert set(job["result"]["metrics"]["ndcg@5"]) >= {"base", "trained", "p_value"}
    assert [one["is_base"] for one in client.get(f"{API}/rankers").json()["rankers"]] == [False]
    assert error_of(client.get(f"{API}/search", params={"q": "wings", "base": "mine"}), 422)

    file = client.get(f"{API}/rankers/file", params={"name": name})
    assert file.headers["content-disposition"] == f'attachment; filename="{name}.plackett"'
    assert pk.load(io.BytesIO(file.content)).n_features_in_ == len(small.feature_names)
    assert error_of(client.get(f"{API}/rankers/file", params={"name": "bm25"}), 404)
    assert error_of(client.post(f"{API}/train", json={"name": name}), 409)
    named = client.post(f"{API}/train", json={"name": "by name"}).json()
    assert wait_for(client, named["id"])["result"]["ranker_name"] == "by name"
    assert client.request("DELETE", f"{API}/rankers", params={"name": "by name"}).status_code == 200

    change = {"name": name, "new_name": "mine"}
    assert client.post(f"{API}/rankers", json=change).json()["rankers"][0]["name"] == "mine"
    found = client.get(f"{API}/search", params={"q": "wings", "base": "mine"}).json()
    assert found["base"] == "mine"
    assert client.get(f"{API}/session").json()["bases"][-1] == {"name": "mine", "is_saved": True}

    again = client_of(other := small_collection(), kept)  # as after a restart
    assert other.base_rankers() == small.base_rankers()
    answer = again.get(f"{API}/search", params={"q": "wings", "base": "mine"}).json()
    assert [one["base_score"] for one in answer["results"]] == [one["base_score"] for one in found["results"]]

    assert client.request("DELETE", f"{API}/rankers", params={"name": "mine"}).json() == {"rankers": []}
    assert "mine" not in small.base_rankers()
    assert error_of(client.request("DELETE", f"{API}/rankers", params={"name": "mine"}), 404)


def test_names_of_rankers_do_not_collide(client, kept, collection):
    store_ranker(kept, "one", "small")
    store_ranker(kept, "two", "small")
    store_ranker(kept, "other", "elsewhere")
    assert error_of(client.post(f"{API}/rankers", json={"name": "one", "new_name": "two"}), 409)
    assert error_of(client.post(f"{API}/rankers", json={"name": "one", "new_name": "bm25"}), 409)
    assert error_of(client.post(f"{API}/rankers", json={"name": "one"}), 422)  # not a model
    assert error_of(client.post(f"{API}/rankers", json={"name": "other"}), 404)
    assert [one["name"] for one in client.get(f"{API}/rankers").json()["rankers"]] == ["one", "two"]


def test_preferences_are_learned_from_too(client):
    for query in ("wings", "lift", "plane"):
        found = [one["docid"] for one in client.get(f"{API}/search", params={"q": query}).json()["results"]]
        wish = {"query": query, "docid": found[-1], "other": found[0], "with_list": False}
        assert client.post(f"{API}/preferences", json=wish).status_code == 200
    job = wait_for(client, client.post(f"{API}/train", json={}).json()["id"])
    assert job["state"] == "done", job["message"]
    result = job["result"]
    assert (result["n_queries"], result["n_documents"], result["n_from_preferences"]) == (3, 9, 6)


def test_a_trained_ranker_never_takes_the_place_of_one_that_was_brought_along(kept):
    client = page_of(client_of(small := small_collection(), kept))
    teach(client)
    name = wait_for(client, client.post(f"{API}/train", json={}).json()["id"])["result"]["ranker_name"]
    brought = pk.load(io.BytesIO(client.app.state.workbench.rankers.file(name)))
    small.add_ranker("brought", brought)
    assert error_of(client.post(f"{API}/rankers", json={"name": name, "new_name": "brought"}), 409)
    for _ in range(2):  # again is not an error
        assert client.post(f"{API}/rankers", json={"name": name}).status_code == 200
    again = small_collection()
    again.add_ranker(name, brought)
    notes = client_of(again, kept).app.state.workbench.rankers.notes
    assert len(notes) == 1
    assert "has its name" in notes[0]


def test_a_saved_ranker_is_loaded_lazily_and_a_damaged_one_is_skipped(kept):
    store_ranker(kept, "damaged", "small", is_base=True)
    client = client_of(small := small_collection(), kept)
    assert small.base_rankers()[-1] == "damaged"  # known before it is loaded
    assert "not a plackett model" in error_of(client.get(f"{API}/search?q=wings&base=damaged"), 422)
    client.app.state.workbench.warm_up()
    assert "damaged" not in small.base_rankers()
    assert "'damaged' is skipped" in client.app.state.workbench.rankers.notes[0]
    assert client.get("/collection").status_code == 200


def test_a_query_whose_base_ranker_is_gone_is_still_reached_from_the_collection(client, kept):
    user, query = kept.user("me"), kept.query("small", "wings", "gone")
    kept.judge(user.id, query.id, "d1", 1.0)
    page = client.get("/collection").text
    assert 'href="/?q=wings"' in page
    assert "base=gone" not in page
    assert client.get(f"{API}/lists/{query.id}").json()["base"] == "bm25"


def test_too_few_judgements_fail_the_job_with_a_message(client):
    job = wait_for(client, client.post(f"{API}/train", json={}).json()["id"])
    assert job["state"] == "failed"
    assert "training needs 3" in job["message"]


def test_one_job_at_a_time_and_it_can_be_cancelled(client, monkeypatch):
    from plackett.apps.workbench import training

    began = threading.Event()

    def waits(*args, report, **options):
        began.set()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            report(0.5, "Waiting")  # ends a job that was cancelled
            time.sleep(0.01)

    monkeypatch.setattr(training, "train", waits)
    job_id = client.post(f"{API}/train", json={}).json()["id"]
    assert began.wait(30)
    refused = client.post(f"{API}/train", json={})
    assert "running" in error_of(refused, 429)
    assert client.get(f"{API}/jobs").json()["jobs"][0]["state"] == "running"
    assert client.post(f"{API}/jobs/{job_id}/cancel").json()["state"] == "cancelled"
    deadline = time.monotonic() + 30
    while client.post(f"{API}/train", json={}).status_code == 429:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert wait_for(client, job_id)["state"] == "cancelled"
    bench = client.app.state.workbench
    bench.close()
    assert {one["state"] for one in client.get(f"{API}/jobs").json()["jobs"]} <= {"cancelled", "interrupted"}
    assert error_of(client.post(f"{API}/jobs/99/cancel"), 404)


def test_an_internal_error_in_a_job_has_an_id_in_the_log(client, monkeypatch, caplog):
    from plackett.apps.workbench import training

    def fails(*args, **options):
        raise RuntimeError("secret details")

    monkeypatch.setattr(training, "train", fails)
    job = wait_for(client, client.post(f"{API}/train", json={}).json()["id"])
    assert (job["state"], "secret" in job["message"]) == ("failed", False)
    assert "secret details" in caplog.text


def test_a_restart_calls_unfinished_jobs_interrupted(collection, kept):
    job, other = (JobRunner(kept, name).create("train", {}) for name in ("small", "another workbench's"))
    client = client_of(collection, kept)
    states = [client.get(f"{API}/jobs/{one}").json()["state"] for one in (job, other)]
    assert states == ["interrupted", "queued"]


# judged lists


@pytest.fixture(scope="module")
def lists():
    rng = np.random.default_rng(0)
    queries = Queries(rng.normal(size=(12, 3)), rng.integers(0, 3, 12), qid=np.repeat(["q1", "q/2"], 6))
    return LetorCollection(queries, name="lists")


def test_judged_lists_are_browsed_with_their_labels(lists, kept):
    client = page_of(client_of(lists, kept))
    listed = client.get(f"{API}/lists").json()
    assert (listed["total"], [one["query"] for one in listed["lists"]]) == (2, ["q1", "q/2"])
    found = client.get(f"{API}/search", params={"q": "q/2", "base": "column 1"}).json()
    assert {one["docid"]: one["label"] for one in found["results"]} == lists.labels("q/2")
    answer = client.get(f"{API}/documents", params={"docid": "q/2/1", "q": "q/2"}).json()
    assert (len(answer["features"]), answer["label"]) == (3, lists.labels("q/2")["q/2/1"])
    assert "q1" in error_of(client.get(f"{API}/search", params={"q": "q3"}), 422)


def test_texts_have_no_lists(client):
    assert "has no lists to browse" in error_of(client.get(f"{API}/lists"), 404)


# refining external lists


def test_refine_answers_by_the_rows_of_the_request(client):
    features = [[0.1, 2.0], [0.9, 1.0], [0.5, 0.0], [0.7, 3.0]]
    base_scores = [1.0, 4.0, 3.0, 2.0]
    wish = {"docids": list("abcd"), "features": features, "base_scores": base_scores, "judgements": {"a": 1, "b": 0}}
    answer = client.post(f"{API}/refine", json=wish).json()
    hits = make_hits(list("abcd"), base_scores, features)
    expected = refine(hits, Judged({"a": 1.0, "b": 0.0}, []))
    assert answer["order"] == [hits.docid[row] for row in expected.order]
    assert ["abcd"[row] for row in answer["rows"]] == answer["order"]
    by_docid = dict(zip(hits.docid, expected.scores.tolist(), strict=True))
    assert answer["scores"] == [by_docid[docid] for docid in "abcd"]
    places = {docid: place for place, docid in enumerate(answer["order"])}
    base_places = {"b": 0, "c": 1, "d": 2, "a": 3}
    assert answer["moves"] == [base_places[docid] - places[docid] for docid in "abcd"]


def test_refine_without_names_numbers_the_rows(client):
    wish = {"features": [[1], [2], [3]], "base_scores": [3, 2, 1], "pairs": [["2", "0"]]}
    assert client.post(f"{API}/refine", json=wish).json()["order"][0] == "2"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": [[1, 2], [3]]}, "same length"),
        ({"features": [[1, 2]]}, "1 rows but base_scores has 2"),
        ({"features": [[1.0] * 1000] * 300, "base_scores": [1.0] * 300}, "200,000 numbers"),
        ({"base_scores": [1e31, 0]}, "base_scores.0"),
        ({"features": [[1, "2"], [3, 4]]}, "features.0.1"),
        ({"docids": ["a", "a"]}, "twice"),
        ({"judgements": {"z": 1}}, "'z', which is not among the documents"),
        ({"pairs": [["0", "0"]]}, "itself"),
        ({"feature_names": ["only one"]}, "1 feature names but 2 features"),
    ],
)
def test_refine_says_what_does_not_fit(client, change, words):
    wish = {"features": [[1, 2], [3, 4]], "base_scores": [1, 2], **change}
    assert words in error_of(client.post(f"{API}/refine", json=wish), 422)


number = st.one_of(st.floats(-1e30, 1e30), st.sampled_from([0.0, -0.0, 1e30, -1e30, 5e-324, 1e-300, 1.0]))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_refine_answers_finite_numbers_whatever_the_list(data):
    n_docs, n_features = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 3))
    docs = st.integers(0, n_docs - 1).map(str)
    pair = st.lists(docs, min_size=2, max_size=2, unique=True)
    wish = {
        "features": data.draw(
            st.lists(st.lists(number, min_size=n_features, max_size=n_features), min_size=n_docs, max_size=n_docs)
        ),
        "base_scores": data.draw(st.lists(number, min_size=n_docs, max_size=n_docs)),
        "judgements": data.draw(st.dictionaries(docs, st.integers(0, 30))),
        "pairs": data.draw(st.lists(pair, max_size=4)) if n_docs > 1 else [],
        "method": data.draw(st.sampled_from(["multiplicative", "linear", "rocchio"])),
        "pin_judged": data.draw(st.booleans()),
    }
    try:
        answer = asdict(refine_external(RefineRequest.model_validate_json(json.dumps(wish))))
    except RequestError as problem:
        if problem.status == 422 and "Multiply it by a constant" in problem.message:
            return  # numbers whose squares are zero
        raise
    assert sorted(answer["rows"]) == list(range(n_docs))
    assert all(isinstance(score, float) for score in answer["scores"])  # NaN would be null


# OpenAPI


def test_every_operation_is_described_with_its_errors(client):
    description = client.get(f"{API}/openapi.json").json()
    operations = [(path, one) for path, methods in description["paths"].items() for one in methods.values()]
    assert {path.removeprefix(API) for path, _ in operations} >= {"/search", "/judgements", "/refine", "/train"}
    for path, operation in operations:
        error = operation["responses"]["4XX"]["content"]["application/json"]["schema"]
        assert error == {"$ref": "#/components/schemas/ErrorResponse"}, path
        assert operation["description"], path
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404


# reported bugs


def set_user(client, user):
    assert client.post(f"{API}/session", json={"user": user}).status_code == 200


def test_refining_an_external_list_pins_with_a_pair(client):
    rng = np.random.default_rng(1)
    request = {
        "docids": list("abcdef"), "features": rng.normal(size=(6, 3)).tolist(), "base_scores": [6, 5, 4, 3, 2, 1],
        "judgements": {"f": 1, "a": 0.5}, "pairs": [["c", "b"]], "pin_judged": True,
    }  # fmt: skip
    answer = client.post(f"{API}/refine", json=request).json()
    assert (answer["order"][0], answer["order"][-1]) == ("f", "a")


def test_a_judged_list_pins_with_a_pair(client):
    target = {"query": "wings", "pin_judged": True}
    found = client.get(f"{API}/search", params={"q": "wings"}).json()["results"]
    first, second, *_, last = [one["docid"] for one in found]
    client.post(f"{API}/judgements", json={**target, "docid": last, "grade": 1})
    client.post(f"{API}/judgements", json={**target, "docid": first, "grade": 0.5})
    answer = client.post(f"{API}/preferences", json={**target, "docid": second, "other": last}).json()["list"]
    assert [answer["results"][place]["docid"] for place in (0, -1)] == [last, first]


@pytest.mark.parametrize(
    ("grades", "label"), [([0, 1], 0), ([0, 1, 1], 1), ([3, 4], 3), ([0.5], 0), ([2.6], 3), ([1, 2, 4], 2)], ids=str
)
def test_exported_qrels_hold_whole_numbers_by_the_documented_rule(client, grades, label):
    for number, grade in enumerate(grades):
        set_user(client, f"user {number}")
        client.post(f"{API}/judgements", json={"query": "wings", "docid": "d1", "grade": grade})
    text = client.get(f"{API}/export", params={"format": "qrels"}).text
    assert text.split()[-1] == str(label)
    assert read_qrels(io.BytesIO(text.encode())).labels.tolist() == [label]
