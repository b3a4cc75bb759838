"""Training, scoreboard, comparison and snapshot say the same of a ranker, and no ranker is said to win that does not.

The case is that of a new team with qrels of relevant documents only, as most qrels are: CACM.
"""

import json
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

import plackett as pk
from plackett.apps.workbench.comparing import pooled as pooled_documents
from plackett.data.documents.collections import read_smart
from tests.apps.workbench.serving import client_of, page_of

API = "/api/v1"


@pytest.fixture(scope="module")
def cacm(shared_data):
    """The collection, its relevant documents by query, and the first hundred of BM25 by query."""
    from plackett.apps.workbench.collections.text import TextCollection

    files = read_smart("cacm", shared_data / "ir-classic" / "cacm")
    fields = {name: files.fields[name] for name in ("title", "body")}
    collection = TextCollection(pk.text.build_index(fields, docid=files.docid), "cacm", "cacm")
    texts = {qid: " ".join(text.split()) for qid, text in files.queries.items()}
    relevant = {texts[qid]: set(of) for qid, of in files.qrels.to_dict().items()}
    return collection, relevant, {query: collection.find(query, "bm25", 100).docid for query in relevant}


@pytest.fixture(params=["only relevant", "and the first twenty", "only the first ten"])
def judged(request, cacm):
    """Grades by query, as three teams would have them."""
    _, relevant, first = cacm
    if request.param == "only the first ten":
        return {query: {docid: float(docid in of) for docid in first[query][:10]} for query, of in relevant.items()}
    n_first = 20 if request.param == "and the first twenty" else 0
    return {
        query: {docid: float(docid in of) for docid in [*sorted(of), *first[query][:n_first]]}
        for query, of in relevant.items()
    }


@pytest.fixture
def client(cacm, kept):
    client = page_of(client_of(cacm[0], kept))
    yield client
    client.app.state.workbench.close()


def done(client, answer):
    """The result of a job."""
    assert answer.status_code == 202, answer.text
    deadline = time.monotonic() + 120
    while not (job := client.get(f"{API}/jobs/{answer.json()['id']}").json())["is_finished"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert job["state"] == "done", job["message"]
    return job["result"]


def complete(client, path, **values):
    deadline = time.monotonic() + 120
    while not (found := client.get(API + path, params=values).json())["is_complete"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_every_page_says_the_same_and_names_no_winner_that_loses(client, judged):
    rows = [{"query": query, "docid": docid, "grade": one} for query, of in judged.items() for docid, one in of.items()]
    assert client.post(f"{API}/import", json={"text": json.dumps(rows)}).json()["n_imported"] == len(rows)
    trained = done(client, client.post(f"{API}/train", json={"name": "mine"}))
    verdict = trained["metrics"]["ndcg@10"]
    made = client.post(f"{API}/query-sets", json={"name": "all", "source": "judged", "limit": 100}).json()
    assert made["n_queries"] == trained["n_measured"] == 52

    board = complete(client, "/scoreboard", set_id=made["id"], ranker=["bm25", "mine"])
    assert [one["mean"] for one in board["rankers"]] == pytest.approx([verdict["base"], verdict["trained"]])
    assert "each of them is ranked by a model that was trained without it" in board["rankers"][1]["note"]

    compared = complete(client, "/comparison", side=["now/bm25", "now/mine"], set_id=made["id"], measures="ndcg@10")
    (pair,) = compared["pairs"]
    assert (pair["mean_a"], pair["mean_b"]) == pytest.approx((verdict["base"], verdict["trained"]))
    for one, name in (("difference", "difference"), ("low", "low"), ("high", "high"), ("p", "p_value")):
        assert pair[one] == pytest.approx(verdict[name])

    # both pages say it in the words of `plackett compare`, and what they are measured on
    assert board["sentence"] == compared["sentence"]
    assert board["sentence"].startswith(
        f"{max(('bm25', 'mine'), key=lambda one: by_name(board)[one]['mean'])} is the best"
    )
    assert ("is significant" in board["sentence"]) == (pair["p_holm"] <= 0.05)
    assert {one["mark"] for one in board["rankers"]} == ({"best", "worse"} if pair["p_holm"] <= 0.05 else {"best", ""})
    assert "Documents that are not judged count as not relevant." in board["notes"][0] == compared["notes"][0]
    relevant = {query: {docid for docid, one in of.items() if one >= 1} for query, of in judged.items()}
    runs = {query: set(client_hits(client, query)[0]) for query in judged}
    n_outside = sum(len(of - runs[query]) for query, of in relevant.items())
    said = f"bm25 {n_outside} of {sum(map(len, relevant.values()))}"
    assert (
        any(said in note for note in board["notes"])
        == any(said in note for note in compared["notes"])
        == bool(n_outside)
    )

    # and so does the page of a query, which measures the same list
    for row in board["rows"][::10]:
        ranked = client.get(f"{API}/search", params={"q": row["query"], "base": "bm25"}).json()
        shown = client.get(f"{API}/lists/{ranked['query_id']}/measures", params={"base": "bm25", "k": 100}).json()
        assert (shown["visible"] or {"before": {"ndcg@10": 0}})["before"]["ndcg@10"] == pytest.approx(row["values"][0])

    frozen = done(
        client, client.post(f"{API}/snapshots", json={"name": "now", "set_id": made["id"], "ranker": ["mine"]})
    )
    snapshot = client.get(f"{API}/snapshots/{frozen['snapshot_id']}").json()
    assert snapshot["summary"]["means"]["mine"]["mean"] == pytest.approx(verdict["trained"])

    # as measured by hand: BM25 as it is, and nothing is significantly better than it
    run = {query: dict(zip(*client_hits(client, query), strict=True)) for query in judged}
    by_hand = pk.compare_runs(judged, {"bm25": run}, metrics="ndcg@10").mean()["bm25"]["ndcg@10"]
    assert verdict["base"] == pytest.approx(by_hand)
    is_lost = verdict["p_value"] <= 0.05
    assert verdict["difference"] < 0 or not is_lost
    shown = client.get("/train").text
    assert (">lost</span>" in shown, ">did not win</span>" in shown, ">won</span>" in shown) == (
        is_lost,
        not is_lost,
        False,
    )

    # how much of each first ten is judged is said wherever rankers are compared
    assert trained["judged"] == {"base": board["rankers"][0]["judged"], "trained": board["rankers"][1]["judged"]}
    words = board["pool"]["words"].replace("of mine", "of the trained ranker")
    assert (words in trained["notes"]) == bool(words)


def by_name(board):
    return {one["name"]: one for one in board["rankers"]}


def test_the_pages_warn_until_the_pool_of_both_rankers_is_judged(client, cacm):
    _, relevant, first = cacm
    rows = [
        {"query": query, "docid": docid, "grade": float(docid in of)}
        for query, of in relevant.items()
        for docid in first[query][:10]
    ]
    assert client.post(f"{API}/import", json={"text": json.dumps(rows)}).status_code == 200
    made = client.post(f"{API}/query-sets", json={"name": "all", "source": "judged", "limit": 100}).json()
    wish = {"set_id": made["id"], "ranker": ["bm25", "tf-idf"]}
    board = complete(client, "/scoreboard", **wish)
    lists = {
        name: {query: client.app.state.workbench.collection.find(query, name, 100).docid for query in relevant}
        for name in wish["ranker"]
    }
    n_first = sum(len(of[:10]) for of in lists["tf-idf"].values())
    missing = {query: set(of[:10]) - set(first[query][:10]) for query, of in lists["tf-idf"].items()}
    n_missing = sum(map(len, missing.values()))
    assert [one["judged"] for one in board["rankers"]] == [1.0, pytest.approx(1 - n_missing / n_first)]
    share = f"{100 * n_missing / n_first:.0f} % of the first ten of tf-idf"
    assert board["pool"]["is_uneven"] is True
    assert board["pool"]["words"].startswith(f"{share} are not judged. The shares differ")
    assert board["pool"]["n_documents"] == n_missing
    compared = complete(client, "/comparison", side=["now/bm25", "now/tf-idf"], set_id=made["id"], measures="ndcg@10")
    assert (compared["pool"], compared["judged"]) == (board["pool"], [one["judged"] for one in board["rankers"]])
    for path, asked in (("/scoreboard", wish), ("/compare", {"side": compared["sides"], "set_id": made["id"]})):
        page = client.get(path, params=asked).text
        assert share in page

    # the queue has exactly these documents, in an order that is not that of a ranker, and they can all be judged
    queue, seen = board["pool"]["queue"], {}
    pooled = pooled_documents(client.app.state.workbench, "another", queue)
    assert {query: set(of) for query, of in pooled.items()} == {query: of for query, of in missing.items() if of}
    assert all(sorted(of) != of or len(of) < 5 for of in pooled.values())
    for query, of in pooled.items():
        assert of != [docid for docid in lists["tf-idf"][query] if docid in of] or len(of) < 5
        seen[query] = [{"query": query, "docid": docid, "grade": float(docid in relevant[query])} for docid in of]
    rows = [one for of in seen.values() for one in of]
    assert client.post(f"{API}/import", json={"text": json.dumps(rows)}).json()["n_imported"] == n_missing
    board = complete(client, "/scoreboard", **wish)
    assert [one["judged"] for one in board["rankers"]] == [1.0, 1.0]
    assert board["pool"] == {"queue": queue, "n_documents": 0, "is_uneven": False, "words": ""}
    assert 'id="pool"' not in client.get("/scoreboard", params=wish).text


def client_hits(client, query):
    hits = client.app.state.workbench.collection.find(query, "bm25", 100)
    return hits.docid, hits.scores.tolist()
