"""``POST /rank``: scores, orders, ids, explanations, models, and errors that name what is wrong."""

import html
import json
import random
import shlex
import sys

import numpy as np
import pytest

import plackett as pk
from plackett.apps.access.errors import RequestError
from plackett.apps.serve.ranking import answer, rank
from tests.apps.serve.conftest import DATA, HOME, client_of, service_of

NAMES = list(DATA.feature_names)
ROWS = DATA.X[:6].astype(np.float64)


def as_objects(rows):
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


def order_of(scores):
    return sorted(range(len(scores)), key=lambda place: -scores[place])


@pytest.mark.parametrize("name", ["linear", "other", "trees"])
def test_scores_are_those_of_the_ranker(client, rankers, name):
    answer = client.post("/rank", json={"model": name, "documents": ROWS.tolist(), "ids": list("abcdef")}).json()
    scores = rankers[name].predict(ROWS, qid=np.zeros(6)).tolist()
    expected = [{"index": i, "id": "abcdef"[i], "score": scores[i]} for i in order_of(scores)]
    assert answer["ranking"] == expected
    assert answer["model"] == name


def test_named_features_give_the_same_ranking_in_any_order(client):
    by_order = client.post("/rank", json={"documents": ROWS.tolist()}).json()["ranking"]
    shuffled = [dict(reversed(one.items())) for one in as_objects(ROWS)]
    assert client.post("/rank", json={"documents": shuffled}).json()["ranking"] == by_order


def test_ties_keep_the_order_of_the_request(client):
    answer = client.post("/rank", json={"documents": [ROWS[0].tolist()] * 4}).json()
    assert [one["index"] for one in answer["ranking"]] == [0, 1, 2, 3]


def test_missing_values_are_null_or_left_out_where_the_model_takes_them(client, rankers):
    rows = ROWS.copy()
    rows[2, 1] = np.nan
    scores = rankers["trees"].predict(rows, qid=np.zeros(6)).tolist()
    with_null = [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]
    left_out = [
        {k: v for k, v in one.items() if v is not None} for one in (dict(zip(NAMES, r, strict=True)) for r in with_null)
    ]
    for documents in (with_null, left_out):
        answer = client.post("/rank", json={"model": "trees", "documents": documents}).json()
        assert [one["score"] for one in answer["ranking"]] == [scores[i] for i in order_of(scores)]


@pytest.mark.parametrize("name", ["linear", "trees"])
def test_contributions_add_up_to_the_score_less_the_mean(client, name):
    answer = client.post("/rank", json={"model": name, "documents": ROWS.tolist(), "explain": 4}).json()
    mean = np.mean([one["score"] for one in answer["ranking"]])
    for one in answer["ranking"]:
        total = sum(part["contribution"] for part in one["contributions"])
        assert total == pytest.approx(one["score"] - mean, abs=1e-9)
        assert {part["feature"] for part in one["contributions"]} <= set(NAMES)


def test_explanations_without_the_package_of_the_trees_are_refused_with_its_name(folder, monkeypatch):
    pytest.importorskip("lightgbm")
    pk.TreeRanker("lightgbm", n_rounds=2).fit(DATA).save(folder / "grown.plackett")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with client_of(service_of(folder, "grown.plackett")) as client:
        assert client.post("/rank", json={"documents": [ROW]}).status_code == 200
        refused = client.post("/rank", json={"documents": [ROW], "explain": 5})
        assert refused.status_code == 409
        assert "Explaining TreeRanker needs lightgbm." in refused.json()["error"]


def test_a_request_chooses_its_model_and_version(client):
    models = client.get("/models").json()["models"]
    assert [(one["name"], one["is_shadow"]) for one in models] == [
        ("linear", False),
        ("other", False),
        ("trees", False),
    ]
    assert [one["name"] for one in models[0]["features"]] == NAMES
    assert [one["may_be_missing"] for one in models[2]["features"]] == [True] * 4
    documents = ROWS.tolist()
    assert client.post("/rank", json={"documents": documents}).json()["version"] == models[0]["checksum"][:12]
    for name in ("trees", "trees@v1", f"linear@{models[0]['checksum'][:12]}"):
        answer = client.post("/rank", json={"model": name, "documents": documents}).json()
        assert answer["model"] == name.partition("@")[0]
        assert (answer["version"] == "v1") == (answer["model"] == "trees")
    unknown = client.post("/rank", json={"model": "trees@v2", "documents": documents})
    assert (unknown.status_code, unknown.json()["hint"]) == (404, "Its versions are v1.")
    assert unknown.json()["error"] == "there is no version 'v2' of trees."
    unknown = client.get("/rankk")
    assert (unknown.status_code, unknown.json()["error"]) == (404, "there is no such page.")
    assert unknown.json()["hint"] == "The paths are /, /rank, /click, /models, /live, /ready, /metrics."
    unknown = client.post("/rank", json={"model": "none", "documents": documents})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "there is no model 'none'.")


ROW = ROWS[0].tolist()
DOCUMENT = as_objects(ROWS)[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "documents must be an array"),
        ([], "the body must be an object"),
        ({"documents": 3}, "documents must be an array"),
        ({"documents": [3]}, "document 0 is a number; expected an array of 4 numbers"),
        ({"documents": [ROW, ROW[:3]]}, "document 1 has 3 values; expected 4 numbers"),
        ({"documents": [ROW, [1, 2, "3", 4]]}, f"document 1, {NAMES[2]} is the string '3'; expected a number."),
        ({"documents": [[1, True, 3, 4]]}, f"document 0, {NAMES[1]} is a Boolean; expected a number."),
        ({"documents": [[1, 2, 3, None]]}, f"document 0, {NAMES[3]} is null; this model takes no missing values"),
        ({"documents": [[1, 2, 3, [4]]]}, f"document 0, {NAMES[3]} is an array; expected a number."),
        ({"documents": [[1, 2, 3, 10**400]]}, f"document 0, {NAMES[3]} is too large"),
        ({"documents": [DOCUMENT, ROW]}, "document 1 is an array, but the first is an object"),
        ({"documents": [DOCUMENT | {"bm52": 1}]}, "document 0 has the feature 'bm52', which the model does not have."),
        ({"documents": [{NAMES[0]: 1, NAMES[1]: 1}]}, f"document 0 lacks the feature {NAMES[2]!r} and 1 more"),
        ({"documents": [DOCUMENT | {NAMES[1]: "x"}]}, f"document 0, {NAMES[1]} is the string 'x'; expected a number."),
        ({"documents": [ROW, 1]}, "document 1 is a number; expected an array of 4 numbers"),
        ({"documents": [ROW, DOCUMENT]}, "document 1 is an object; expected an array of 4 numbers"),
        ({"documents": [[1, 2, 3, 4, "x"]]}, "document 0 has 5 values; expected 4 numbers"),
        ({"documents": [ROW], "ids": []}, "an id for each of 1 documents; found 0 ids"),
        ({"documents": [ROW], "ids": "a"}, "ids must be an array with an id for each document."),
        ({"documents": [ROW], "ids": [1]}, "the id of document 0 must be a string of 1 to 512 characters"),
        ({"documents": [ROW, ROW], "ids": ["a", "a"]}, "two documents have the id 'a'"),
        ({"documents": [ROW], "k": 0}, "k must be a whole number"),
        ({"documents": [ROW], "explain": "yes"}, "explain must be a number of contributions"),
        ({"documents": [ROW], "explain": True}, "explain must be a number of contributions up to 1,000."),
        ({"documents": [ROW] * 101, "explain": 5}, "explain takes at most 100 documents"),
        ({"documents": [ROW], "model": 3}, "model must be a string"),
        ({"documents": [ROW], "docs": []}, "unknown field 'docs'"),
        ({"documents": [ROW], "version": "v1"}, "unknown field 'version'"),
        ({"documents": [ROW], "lists": []}, "unknown field 'lists'"),
    ],
)
def test_wrong_requests_are_refused_with_the_place(client, body, message):
    response = client.post("/rank", content=json.dumps(body))
    assert response.status_code == 422
    assert message in response.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"documents": [[NaN, 1, 1, 1]]}', b"[" * 100_000])
def test_bodies_that_are_not_json_are_refused(client, body):
    response = client.post("/rank", content=body)
    assert response.status_code == 400
    assert response.json()["error"].startswith("the body is not JSON")


def test_infinite_numbers_are_refused(client):
    response = client.post("/rank", content=b'{"documents": [[1, 2, 3, 1e999]]}')
    assert response.status_code in (400, 422)


def test_limits_of_documents_and_bytes(folder):
    service = service_of(folder, "linear.plackett", max_docs=10, max_body=4000)
    with client_of(service) as client:
        assert client.post("/rank", json={"documents": [ROW] * 10}).status_code == 200
        many = client.post("/rank", json={"documents": [ROW] * 11})
        assert (many.status_code, many.json()["code"]) == (413, "too-large")
        assert client.post("/rank", content=b" " * 4001).status_code == 413


def test_a_deadline_ends_slow_requests(folder, monkeypatch):
    import time

    from plackett.apps.serve import app

    monkeypatch.setattr(app, "INLINE", 0)
    monkeypatch.setattr(app, "rank", lambda *_: time.sleep(0.5))
    with client_of(service_of(folder, "linear.plackett", seconds=0.1)) as client:
        response = client.post("/rank", json={"documents": [ROW]})
    assert (response.status_code, response.json()["code"]) == (503, "slow")


def test_requests_need_the_token_except_for_their_health(folder):
    token = "a-token-that-is-long-enough"
    with client_of(service_of(folder, "linear.plackett", token=token)) as client:
        for path in ("/models", "/metrics", "/openapi.json"):
            assert client.get(path).status_code == 401
        assert client.post("/rank", json={"documents": [ROW]}).status_code == 401
        assert client.post("/rank", json={}, headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert (client.get("/live").status_code, client.get("/ready").status_code) == (200, 200)
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.post("/rank", json={"documents": [ROW]}).status_code == 200


def test_pages_of_other_sites_and_other_hosts_are_refused(client):
    foreign = client.post("/rank", json={"documents": [ROW]}, headers={"Origin": "https://example.org"})
    assert foreign.status_code == 403
    assert client.get("/models", headers={"Host": "example.org"}).status_code == 400


def test_every_response_has_a_request_id(client):
    response = client.post("/rank", json={"documents": [ROW]}, headers={"X-Request-Id": "abc-1"})
    assert response.headers["X-Request-Id"] == response.json()["request_id"] == "abc-1"
    other = client.post("/rank", json={}, headers={"X-Request-Id": "a b\tc"})
    assert len(other.headers["X-Request-Id"]) == 16


def test_another_method_is_refused_with_those_that_are_allowed(client):
    refused = client.get("/rank")
    assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
    assert refused.json()["error"] == "GET is not allowed here; use POST."


def test_the_description_and_the_counters(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/rank", "/models", "/live", "/ready", "/metrics"} <= set(paths)
    client.post("/rank", json={"documents": [ROW] * 6})
    client.post("/rank", json={})
    client.get("/nothing")
    lines = client.get("/metrics").text.splitlines()
    for line in (
        'plackett_requests_total{path="/rank",status="200"} 1.0',
        'plackett_requests_total{path="/rank",status="422"} 1.0',
        'plackett_requests_total{path="other",status="404"} 1.0',
        'plackett_documents_total{model="linear"} 6.0',
        'plackett_lists_total{model="linear"} 1.0',
        "plackett_rank_seconds_count 1.0",
        'plackett_rank_seconds_bucket{le="+Inf"} 1.0',
        'plackett_model_info{model="trees@v1",ranker="TreeRanker",version="v1"} 1.0',
        'plackett_swaps_total{model="linear"} 0.0',
    ):
        assert line in lines


def test_the_page_has_a_request_that_works(client):
    page = client.get("/").text
    for text in (
        "<h2>linear</h2>",
        "version v1",
        NAMES[0],
        'href="/models"',
        'href="/metrics"',
        'href="/openapi.json"',
    ):
        assert text in page
    words = shlex.split(html.unescape(page.partition("<code>")[2].partition("</code>")[0]))
    assert words[:2] == ["curl", f"{HOME}/rank"]
    assert client.post("/rank", content=words[-1]).status_code == 200


def test_a_folder_of_counters_that_does_not_exist_is_refused(folder, monkeypatch):
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder / "none"))
    with pytest.raises(ValueError, match="none is not a folder that can be written to; make it, or unset it"):
        service_of(folder, "linear.plackett")


def test_random_bodies_are_ranked_or_refused(folder):
    rng = random.Random(0)
    service = service_of(folder, "linear.plackett", "trees.plackett")

    def value(depth=0):
        leaves = [None, True, rng.random(), 10 ** rng.randrange(400), "x", -0.0, 1e308, "\ud800", -3, "trees"]
        if depth > 3 or rng.random() < 0.7:
            return rng.choice(leaves)
        parts = [value(depth + 1) for _ in range(rng.randrange(4))]
        return parts if rng.random() < 0.5 else dict(zip(rng.sample([*NAMES, "z"], len(parts)), parts, strict=True))

    def document():
        kind = rng.randrange(5)
        row = [rng.random() if kind < 3 else value() for _ in NAMES]
        return value() if kind == 4 else row if kind % 2 else dict(zip(NAMES, row, strict=True))

    results = set()
    for _ in range(3000):
        fields = ("model", "ids", "k", "explain", "query", "user", "more")
        body = {name: value() for name in fields if rng.random() < 0.15}
        documents = [document() for _ in range(rng.randrange(4))]
        body |= {"documents": documents}
        content = bytearray(json.dumps(body).encode())
        if rng.random() < 0.1:
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            answer(rank(bytes(content), service.table, service.settings), "id")
            results.add(200)
        except RequestError as error:
            results.add(error.status)
    assert results == {200, 400, 404, 422}
