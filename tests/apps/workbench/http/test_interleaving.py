"""Interleaved tests over HTTP: what users see, what counts, the verdict, and that nobody is named."""

from __future__ import annotations

import html
import json
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.schemas.interleaving import INTERLEAVING_METHODS
from plackett.apps.workbench.store import Store
from plackett.data.queries import Queries
from plackett.exceptions import StoreError
from tests.apps.workbench.http.test_routes import error_of
from tests.apps.workbench.serving import TOKEN, client_of, page_of

API = "/api/v1"
N_QUERIES, N_DOCS = 6, 14
KEY = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def collection():
    """Lists with a feature that puts relevant documents first, one that puts them last, and one that knows nothing."""
    rng = np.random.default_rng(4)
    labels = np.tile(np.arange(N_DOCS) % 3 == 0, N_QUERIES).astype(int)
    X = rng.normal(size=(labels.size, 3))
    X[:, 0] += 3 * labels
    X[:, 1] -= 3 * labels
    qid = np.repeat(np.arange(1, N_QUERIES + 1), N_DOCS)
    lists = Queries(X, labels, qid=qid, feature_names=["good", "bad", "other"])
    return LetorCollection(lists, name="lists")


@pytest.fixture
def client(collection, kept):
    client = client_of(collection, kept, token=TOKEN)
    client.headers.update(KEY)
    return client


@pytest.fixture
def fixed_draws(monkeypatch):
    """The same random names, and so the same lists, in every run."""
    numbers = count()
    monkeypatch.setattr(secrets, "randbits", lambda _: 7)
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"{next(numbers):032x}")


def as_user(name):
    return {"X-Plackett-User": name}


def start(client, first="good", second="bad", **more):
    answer = client.post(f"{API}/interleaving", json={"name": "a test", "first": first, "second": second, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def search(client, user="Ann", q="1", **values):
    values = {name: value for name, value in {"q": q, "shown_order": "refined", **values}.items() if value is not None}
    return client.get(f"{API}/search", params=values, headers=as_user(user)).json()


def click(client, found, docid, user="Ann"):
    return client.post(f"{API}/clicks", json={"shown_id": found["shown_id"], "docid": docid}, headers=as_user(user))


def docids(found):
    return [one["docid"] for one in found["results"]]


def figures(client, test_id):
    return client.get(f"{API}/interleaving/{test_id}").json()


def tops(collection, q, *rankers):
    return [collection.search(q, ranker, 10).docid for ranker in rankers]


def relevant(found):
    """The first relevant document among those that are mixed."""
    return next(one["docid"] for one in found["results"][:10] if one["label"])


# what users see


@pytest.mark.parametrize("method", INTERLEAVING_METHODS)
def test_lists_are_mixed_while_a_test_runs_and_the_log_says_so(client, collection, kept, fixed_draws, method):
    plain = search(client)
    assert (plain["test"], docids(plain)) == (None, collection.search("1", "good", 50).docid[:20])
    test = start(client, method=method)
    mixed = [search(client, f"user {i}") for i in range(8)]
    assert {one["test"] for one in mixed} == {"a test"}
    assert {one["base"] for one in mixed} == {"good"}
    assert len({tuple(docids(one)) for one in mixed}) > 2  # drawn for each user
    for one in mixed:
        assert sorted(docids(one)) == sorted(docids(plain))
        scores = [row["score"] for row in one["results"]]
        assert scores == list(range(N_DOCS, 0, -1)), "which do not tell the ranker of a document"
        assert [row["place"] for row in one["results"]] == list(range(1, N_DOCS + 1))
        assert {row["moved"] for row in one["results"]} == {0}
        rest = docids(one)[10:]
        assert rest == [docid for docid in collection.search("1", "good", 50).docid if docid in rest]
    logged = [one for one in kept.shown_lists(collection.key) if one.attributes.get("test_id") == str(test["id"])]
    assert [one.hits for one in logged] == [docids(one) for one in mixed]
    assert logged[0].attributes == {
        "ranker": "interleaved:good,bad",
        "base": "good",
        "test": "a test",
        "interleaving": method,
        "test_id": str(test["id"]),
        "test_list": logged[0].attributes["test_list"],
    }
    assert figures(client, test["id"])["n_lists"] == 8
    assert click(client, mixed[3], docids(mixed[3])[0], "user 3").status_code == 200
    assert figures(client, test["id"])["n_sessions"] == 1
    client.post(f"{API}/interleaving/{test['id']}/stop")
    assert search(client, "user 3")["test"] is None


def test_a_user_sees_the_same_list_again_and_more_of_it(client):
    start(client)
    few, many = search(client, shown=5), search(client, shown=14)
    assert docids(many)[:5] == docids(few)
    assert few["shown_id"] == many["shown_id"]
    assert docids(search(client, k=6)) == docids(many)[:6]


@pytest.mark.parametrize(
    "values",
    [
        {"shown_order": "before", "side_by_side": True},
        {"side_by_side": True},
        {"base": "other"},  # a ranker of the user's choice
        {"shown_order": None},  # a program that shows nothing
    ],
)
def test_other_views_and_other_rankers_are_not_mixed(client, values):
    start(client)
    assert search(client, **values)["test"] is None
    assert search(client, base="bad")["test"] == "a test"


def test_the_default_ranker_is_mixed_too(client, collection):
    start(client, "bad", "other")
    found = search(client)
    assert (found["test"], found["base"]) == ("a test", "good")
    assert set(docids(found)[:10]) <= {*tops(collection, "1", "bad")[0], *tops(collection, "1", "other")[0]}


def test_a_judgement_ends_the_mixed_list_and_undoing_it_brings_it_back(client, collection):
    test = start(client, lists_per_user=1)
    mixed = search(client)
    judged = {"query": "1", "docid": docids(mixed)[4], "grade": 1, "shown_order": "refined"}
    refined = client.post(f"{API}/judgements", json=judged, headers=as_user("Ann")).json()["list"]
    assert (refined["test"], refined["is_refined"]) == (None, True)
    assert refined["shown_id"] != mixed["shown_id"]
    assert search(client)["test"] is None
    assert click(client, refined, docids(refined)[0]).status_code == 200
    assert figures(client, test["id"])["n_sessions"] == 0
    undone = client.post(f"{API}/undo", json={"query": "1", "shown_order": "refined"}, headers=as_user("Ann"))
    assert (undone.json()["list"]["test"], docids(undone.json()["list"])) == ("a test", docids(mixed))
    assert search(client, "Bob")["test"] == "a test"


def test_users_opt_out_and_the_page_says_that_a_test_runs(client):
    page = lambda: client.get("/", params={"q": "1"}, headers=as_user("Ann")).text  # noqa: E731
    assert "test-note" not in page()
    start(client)
    assert "This list is part of it." in page()
    assert "score " not in re.sub(r'data-list="[^"]*"', "", page())
    assert "by two rankers, mixed for a test" in page()
    data = json.loads(html.unescape(re.search(r'data-list="([^"]*)"', page())[1]))
    shown = client.get(f"{API}/interleaving/participation", headers=as_user("Ann")).json()
    assert shown == {"takes_part": True, "running": "a test"}
    out = client.post(f"{API}/interleaving/participation", json={"takes_part": False}, headers=as_user("Ann"))
    assert out.json() == {"takes_part": False, "running": "a test"}
    assert "you have opted out" in page()
    assert search(client)["test"] is None
    assert search(client, "Bob")["test"] == "a test"
    assert click(client, data, docids(data)[0]).status_code == 200
    assert client.get(f"{API}/interleaving").json()["tests"][0]["n_sessions"] == 0
    client.post(f"{API}/interleaving/participation", json={"takes_part": True}, headers=as_user("Ann"))
    assert search(client)["test"] == "a test"


def test_a_visit_of_the_page_alone_creates_no_user(client, kept, collection):
    start(client)
    client.get("/", headers=as_user("Ann"))
    assert kept.log_size(collection.key).n_clients == 0
    with kept.reading() as connection:
        assert connection.exec_driver_sql("select count(*) from plackett_clients").scalar_one() == 0


# what counts


def test_a_click_counts_once_per_list_and_document(client, collection):
    test = start(client, lists_per_user=2)
    found = search(client)
    again = search(client)
    assert again["shown_id"] == found["shown_id"]
    for docid in (docids(found)[0], docids(found)[0], docids(found)[1]):
        assert click(client, found, docid).status_code == 200
    client.get("/document", params={"docid": docids(found)[1], "shown": found["shown_id"]}, headers=as_user("Ann"))
    state = figures(client, test["id"])
    assert (state["n_sessions"], state["n_waiting"], state["n_users"], state["mean"]) == (1, 1, 0, None)
    second = search(client, q="2")
    client.get("/document", params={"docid": docids(second)[0], "shown": second["shown_id"]}, headers=as_user("Ann"))
    state = figures(client, test["id"])
    assert (state["n_sessions"], state["n_waiting"], state["n_users"]) == (2, 0, 1)
    third = search(client, q="3")
    assert click(client, third, docids(third)[0]).status_code == 200
    assert figures(client, test["id"])["mean"] == state["mean"], "a user counts once"


def test_forged_and_late_clicks_change_nothing(client):
    before = search(client, q="2")
    test = start(client, lists_per_user=1)
    found = search(client)
    assert error_of(click(client, found, docids(found)[0], user="Bob"), 404)
    assert error_of(click(client, found, "no such document"), 404)
    assert error_of(click(client, {"shown_id": "forged"}, docids(found)[0]), 404)
    assert click(client, before, docids(before)[0]).status_code == 200  # of no test
    client.get("/document", params={"docid": docids(found)[0], "shown": found["shown_id"]}, headers=as_user("Bob"))
    assert figures(client, test["id"])["n_sessions"] == 0
    stopped = client.post(f"{API}/interleaving/{test['id']}/stop").json()
    assert click(client, found, docids(found)[0]).status_code == 200
    assert figures(client, test["id"]) == stopped
    other = start(client, lists_per_user=1)
    assert click(client, found, docids(found)[1]).status_code == 200
    assert (figures(client, test["id"]), figures(client, other["id"])["n_sessions"]) == (stopped, 0)


def test_two_users_at_once_count_twice_and_double_clicks_once(client):
    test = start(client, lists_per_user=1)
    found = {user: search(client, user) for user in ("Ann", "Bob")}
    tasks = [(user, docids(found[user])[0]) for user in found] * 6
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda task: click(client, found[task[0]], task[1], task[0]), tasks))
    assert {answer.status_code for answer in answers} == {200}
    state = figures(client, test["id"])
    assert (state["n_users"], state["n_sessions"]) == (2, 2)


def test_a_list_without_a_store_is_shown_as_it_is(client, kept, monkeypatch, caplog, collection):
    def fail(*_, **__):
        raise StoreError("store.db", "is busy.")

    start(client)
    found = search(client, "Bob")
    monkeypatch.setattr(kept, "mix_lists", fail)
    plain = search(client)
    assert (plain["test"], docids(plain)) == (None, collection.search("1", "good", 50).docid)
    assert caplog.records[0].getMessage().startswith("a list was not mixed")
    monkeypatch.setattr(kept, "credit_click", fail)
    assert click(client, found, docids(found)[0], "Bob").status_code == 503
    assert kept.log_size(collection.key).n_clicks == 0, "it can be sent again"
    monkeypatch.undo()
    assert click(client, found, docids(found)[0], "Bob").status_code == 200


# the verdict


def simulate(client, users, *, better):
    """Users search twice and open the first relevant document, or, if no ranker is better, any of the mixed ones."""
    rng = np.random.default_rng(8)
    for user in users:
        for q in rng.permutation(N_QUERIES)[:2] + 1:
            found = search(client, user, str(q))
            opened = relevant(found) if better else docids(found)[int(rng.integers(10))]
            assert click(client, found, opened, user).status_code == 200


def test_a_team_that_clicks_on_relevant_documents_finds_the_better_ranker(client, collection, fixed_draws):
    """The better ranker is the second; a restart in the middle changes nothing."""
    test = start(client, "bad", "good", lists_per_user=2)
    simulate(client, [f"user {i}" for i in range(6)], better=True)
    middle = figures(client, test["id"])
    assert (middle["n_users"], middle["verdict"]) == (6, "undecided")
    with Store.open(client.app.state.workbench.store.location) as store:
        restarted = client_of(collection, store, token=TOKEN)
        restarted.headers.update(KEY)
        assert figures(restarted, test["id"]) == middle
        simulate(restarted, [f"user {i}" for i in range(4, 14)], better=True)
        state = figures(restarted, test["id"])
        assert (state["n_users"], state["verdict"]) == (14, "good"), "users who count already count once"
        assert state["high"] < 0
        assert state["n_second"] > state["n_first"]
        assert state["n_first"] + state["n_second"] + state["n_ties"] == 14
        assert 0 < state["users_needed"] <= 20
        assert state["sessions_needed"] == 2 * state["users_needed"]
        assert state["history"][:6] == middle["history"]
        last = {"n_users": 14, **{name: state[name] for name in ("mean", "low", "high")}}
        assert (len(state["history"]), state["history"][-1]) == (14, last)
        assert "good is preferred: after 14 users the interval excludes 0." in restarted.get("/interleaving").text


def test_users_who_click_at_random_decide_nothing(client, fixed_draws):
    test = start(client, lists_per_user=2)
    simulate(client, [f"user {i}" for i in range(20)], better=False)
    state = figures(client, test["id"])
    assert (state["n_users"], state["verdict"]) == (20, "undecided")
    assert state["low"] < 0 < state["high"]
    assert "Undecided so far: after 20 users" in client.get("/interleaving").text


def test_stopping_counts_users_with_few_sessions(client):
    test = start(client, lists_per_user=5)
    simulate(client, ["Ann", "Bob"], better=True)
    assert figures(client, test["id"])["n_users"] == 0
    stopped = client.post(f"{API}/interleaving/{test['id']}/stop").json()
    assert (stopped["n_users"], stopped["n_waiting"], stopped["is_running"]) == (2, 0, False)
    assert client.post(f"{API}/interleaving/{test['id']}/stop").json() == stopped, "once is enough"


# tests


@pytest.mark.parametrize(
    ("wrong", "status", "message"),
    [
        ({"second": "good"}, 422, "must be two different rankers"),
        ({"second": "nothing"}, 422, "there is no base ranker 'nothing'"),
        ({"method": "balanced"}, 422, "Input should be 'team-draft'"),
        ({"lists_per_user": 0}, 422, "greater than or equal to 1"),
        ({"name": ""}, 422, "at least 1 character"),
        ({"first": ""}, 422, "at least 1 character"),
    ],
)
def test_a_test_that_cannot_be_is_refused(client, wrong, status, message):
    body = {"name": "a test", "first": "good", "second": "bad", **wrong}
    answer = client.post(f"{API}/interleaving", json=body)
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert client.get(f"{API}/interleaving").json() == {"tests": []}


def test_tests_are_listed_stopped_and_deleted(client):
    first = start(client, name="<b>first</b>")
    simulate(client, ["Ann"], better=True)
    refused = client.post(f"{API}/interleaving", json={"name": "x", "first": "good", "second": "other"})
    assert "is running" in error_of(refused, 409)
    assert "is running" in error_of(client.delete(f"{API}/interleaving", params={"test_id": first["id"]}), 409)
    client.post(f"{API}/interleaving/{first['id']}/stop")
    second = start(client, "good", "other")
    assert [one["id"] for one in client.get(f"{API}/interleaving").json()["tests"]] == [second["id"], first["id"]]
    text = client.get("/interleaving", params={"test_id": first["id"]}).text
    assert "<b>first</b>" not in text
    assert text.count("&lt;b&gt;first&lt;/b&gt;") == 2
    assert "No user counts yet." in client.get("/interleaving").text
    left = client.delete(f"{API}/interleaving", params={"test_id": first["id"]}).json()["tests"]
    assert [one["id"] for one in left] == [second["id"]]
    for answer in (
        client.get(f"{API}/interleaving/{first['id']}"),
        client.post(f"{API}/interleaving/{first['id']}/stop"),
        client.delete(f"{API}/interleaving", params={"test_id": first["id"]}),
        client.get("/interleaving", params={"test_id": first["id"]}),
    ):
        assert answer.status_code == 404


def test_nothing_on_the_page_tells_of_a_user(client, kept):
    test = start(client, lists_per_user=1)
    names = [f"Member {i}" for i in range(4)]
    simulate(client, names, better=True)
    texts = [
        client.get(path).text for path in ("/interleaving", f"{API}/interleaving", f"{API}/interleaving/{test['id']}")
    ]
    for name in names:
        for text in texts:
            assert name not in text
            assert kept.client_id(name) not in text


def test_a_ranker_that_was_removed_and_a_log_that_is_off_are_said(client, collection, kept, monkeypatch):
    test = start(client)
    quiet = page_of(client_of(collection, kept, is_logging=False))
    assert "--no-log" in figures(quiet, test["id"])["problem"]
    assert "a test needs the log of clicks" in error_of(
        quiet.post(f"{API}/interleaving", json={"name": "x", "first": "good", "second": "other"}), 409
    )
    assert "test-note" not in quiet.get("/", params={"q": "1"}).text
    assert "needs the log of clicks" in quiet.get("/interleaving").text
    monkeypatch.setattr(collection, "own_rankers", lambda: ["good", "other"])
    assert search(client)["test"] is None
    assert "the base ranker 'bad' no longer exists" in client.get("/interleaving").text.replace("&#39;", "'")


def test_a_long_history_has_few_points(client, collection, kept):
    test = kept.interleaved_test(collection.key, start(client, lists_per_user=1)["id"])
    lists = {"good": list("abcdefghijk"), "bad": list("kjihgfedcba")}
    for number in range(50):
        shown = kept.mix_lists(test, f"client {number}", "q", lists)
        kept.credit_click(test, shown.id, shown.documents[0])
    history = figures(client, test.id)["history"]
    assert [one["n_users"] for one in history] == [*range(2, 51, 2)]
    assert figures(client, test.id)["history"] == history
    text = client.get("/interleaving").text
    assert text.count("<polyline") == text.count("<polygon") == 1
