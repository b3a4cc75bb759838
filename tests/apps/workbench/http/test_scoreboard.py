"""Query sets, the scoreboard, snapshots and comparisons through the API."""

import re
import time

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.workbench.collections.letor import LetorCollection
from plackett.apps.workbench.values import MAX_SET_QUERIES
from plackett.data.queries import Queries
from tests.apps.workbench.browsing import until
from tests.apps.workbench.http.test_routes import API, error_of
from tests.apps.workbench.serving import client_of, page_of

QUERIES = ["wings lift", "boat float", "plane water"]


@pytest.fixture
def client(collection, kept):
    client = page_of(client_of(collection, kept))
    yield client
    client.app.state.workbench.close()


def make_set(client, **values):
    values.setdefault("name", "mine")
    made = client.post(
        f"{API}/query-sets", json=values if "source" in values else {"text": "\n".join(QUERIES), **values}
    )
    assert made.status_code == 200, made.text
    return made.json()


def board(client, set_id, **values):
    """The scoreboard once all lists are ranked."""
    return complete(client, "/scoreboard", {"set_id": set_id, **values})


def complete(client, path, values):
    deadline = time.monotonic() + 60
    while True:
        answer = client.get(API + path, params=values)
        assert answer.status_code == 200, answer.text
        if answer.json()["is_complete"] or time.monotonic() > deadline:
            return answer.json()
        time.sleep(0.01)


def judge(client, query, grades, user="me"):
    for docid, grade in grades.items():
        wish = {"query": query, "docid": docid, "grade": grade, "with_list": False}
        answer = client.post(f"{API}/judgements", json=wish, headers={"X-Plackett-User": user})
        assert answer.status_code == 200, answer.text


def freeze(client, set_id, **values):
    started = client.post(f"{API}/snapshots", json={"set_id": set_id, "name": "monday", **values})
    assert started.status_code == 202, started.text
    deadline = time.monotonic() + 60
    while True:
        job = client.get(f"{API}/jobs/{started.json()['id']}").json()
        if job["is_finished"] or time.monotonic() > deadline:
            return job
        time.sleep(0.01)


def order_of(client, query, base):
    found = client.get(f"{API}/search", params={"q": query, "base": base}, headers={"X-Plackett-User": "nobody"})
    return [one["docid"] for one in found.json()["results"]]


def mrr(order, labels):
    return next((1 / place for place, docid in enumerate(order, 1) if labels.get(docid, 0) >= 1), 0.0)


# query sets


def test_a_pasted_text_has_a_query_per_line_each_once(client):
    made = make_set(client, text="\ufeff wings lift \r\n\r\nboat float\nwings lift\n<b>bold</b>\n")
    found = client.get(f"{API}/query-sets/queries", params={"set_id": made["id"]}).json()
    assert found["queries"] == ["wings lift", "boat float", "<b>bold</b>"]
    assert found["set"] == made == client.get(f"{API}/query-sets").json()["sets"][0]
    assert (made["source"], made["n_queries"]) == ("pasted text", 3)
    page = client.get(f"{API}/query-sets/queries", params={"set_id": made["id"], "limit": 1, "offset": 1}).json()
    assert page["queries"] == ["boat float"]
    assert client.delete(f"{API}/query-sets", params={"set_id": made["id"]}).json() == {"sets": []}
    assert client.delete(f"{API}/query-sets", params={"set_id": made["id"]}).status_code == 404


def test_a_judged_file_and_the_judgements_here_give_their_queries(client):
    for text in ("wings 0 d1 1\nboat 0 d2 0\nwings 0 d3 1\n", "query,docid,rating\nwings,d1,1\nboat,d2,0\n"):
        made = make_set(client, source="judged-file", text=text)
        queries = client.get(f"{API}/query-sets/queries", params={"set_id": made["id"]}).json()["queries"]
        assert queries == ["wings", "boat"]
    judge(client, "plane", {"d1": 1})
    judge(client, "crane", {"d5": 1})
    made = make_set(client, source="judged")
    queries = client.get(f"{API}/query-sets/queries", params={"set_id": made["id"]}).json()["queries"]
    assert queries == ["crane", "plane"]
    assert made["source"] == "judged here"


def test_the_source_of_a_set_says_that_queries_were_left_out(client, kept):
    assert make_set(client, source="judged-file", text="a 0 d1 1\nb 0 d1 1\n", limit=1)["source"] == (
        "first 1 of 2 queries in a judged file"
    )
    for query in ("plane", "crane", "boat"):
        judge(client, query, {"d1": 1})
    assert make_set(client, source="judged", limit=2)["source"] == "latest 2 of 3 queries judged here"
    assert make_set(client, source="judged", limit=3)["source"] == "judged here"
    lists = Queries(np.zeros((1200, 1)), np.zeros(1200), qid=np.arange(1200))
    with client_of(LetorCollection(lists, name="many"), kept) as opened:
        made = make_set(page_of(opened), source="lists", limit=1000)
        assert (made["source"], made["n_queries"]) == ("first 1,000 of 1,200 lists of the collection", 1000)
    few = Queries(np.zeros((2, 1)), np.zeros(2), qid=[7, 8])
    with client_of(LetorCollection(few, name="few"), kept) as opened:
        assert make_set(page_of(opened), source="lists", limit=2)["source"] == "lists of the collection"


WRONG_SETS = [
        ({"text": "  \n "}, "need text"),
        ({"source": "judged"}, "there are no queries"),
        ({"source": "judged", "text": "a"}, "the others must not have it"),
        ({"source": "lists"}, "is a collection of texts, without lists"),
        ({"source": "judged-file", "text": "no qrels at all"}, "qrels"),
        ({"text": "a" * 1001}, "query 1 has 1,001 characters"),
        ({"text": "\n".join(map(str, range(MAX_SET_QUERIES + 1)))}, "the text has 1,001 queries"),
        ({"text": "a\x00b"}, "null character"),
        ({"source": "log"}, "source: Input should be"),
    ]  # fmt: skip


def test_a_set_that_cannot_be_made_says_why(client):
    for wish, message in WRONG_SETS:
        answer = client.post(f"{API}/query-sets", json={"name": "wrong", **wish})
        assert message in error_of(answer, 422)
        assert client.get(f"{API}/query-sets").json() == {"sets": []}


# the scoreboard


def test_a_row_has_the_measure_and_the_judged_documents_of_each_ranker(client):
    made = make_set(client)
    labels = {"wings lift": {"d5": 1, "d1": 0, "../d4": 2}, "boat float": {"d1": 1, "d6": 0}}
    for query, of in labels.items():
        judge(client, query, of)
    found = board(client, made["id"], ranker=["bm25", "boolean"], measure="mrr", order="given")
    assert [row["query"] for row in found["rows"]] == QUERIES
    for row in found["rows"]:
        for place, ranker in enumerate(("bm25", "boolean")):
            order, of = order_of(client, row["query"], ranker), labels.get(row["query"])
            assert row["values"][place] == (None if of is None else pytest.approx(mrr(order, of)))
            assert row["judged"][place] == sum(docid in (of or {}) for docid in order[:10])
            assert row["shown"][place] == len(order[:10])
    counted = [row["values"][0] for row in found["rows"][:2]]
    assert found["rankers"][0]["mean"] == pytest.approx(sum(counted) / 2)
    assert found["rankers"][0]["n_counted"] == found["n_judged_queries"] == 2
    assert "1 query has no judgement and no value" in " ".join(found["notes"])
    assert "count as not relevant" in found["notes"][0]


def test_the_worst_query_comes_first_and_queries_without_judgements_last(client):
    made = make_set(client, text="plane water\nwings lift\nboat float")
    judge(client, "wings lift", {"d1": 1})
    judge(client, "boat float", {order_of(client, "boat float", "bm25")[2]: 1})
    orders = {
        order: [row["query"] for row in board(client, made["id"], measure="mrr", order=order)["rows"]]
        for order in ("worst", "best")
    }
    assert orders["worst"] == ["boat float", "wings lift", "plane water"]
    assert orders["best"] == ["wings lift", "boat float", "plane water"]
    ranks = [row["query"] for row in board(client, made["id"], measure="average-rank")["rows"]]
    assert ranks == orders["worst"]  # a high rank is worse


def test_whose_judgements_count_is_a_choice(client):
    made = make_set(client, text="wings lift")
    first, second = order_of(client, "wings lift", "bm25")[:2]
    judge(client, "wings lift", {first: 2, second: 0}, user="me")
    judge(client, "wings lift", {first: 0, second: 1}, user="you")

    def value(judgements, **options):
        found = board(client, made["id"], measure="dcg@1(gain=linear)", judgements=judgements, **options)
        return found["rows"][0]["values"][0]

    assert value("people") == 1.0  # the mean of 2 and 0
    assert value("mine") == 2.0
    judge(client, "wings lift", {first: 1}, user="me")
    assert (value("people"), value("mine")) == (0.5, 1.0)
    client.post(f"{API}/undo", json={"query": "wings lift"}, headers={"X-Plackett-User": "me"})
    assert value("mine") == 2.0
    wrong = client.get(f"{API}/scoreboard", params={"set_id": made["id"], "judgements": "annotator:9"})
    assert "there are no judgements 'annotator:9'" in error_of(wrong, 422)


def slow_ndcg(labels_in_order, k=10):
    gains = [(2.0**label - 1) / np.log2(place + 1) for place, label in enumerate(labels_in_order, 1)]
    best = [(2.0**label - 1) / np.log2(p + 1) for p, label in enumerate(sorted(labels_in_order, reverse=True), 1)]
    return sum(gains[:k]) / sum(best[:k])


def test_labels_of_a_letor_file_measure_its_lists_without_judgements_of_people(kept):
    rng = np.random.default_rng(3)
    # a list may be longer than what a page shows; the best order is that of all its labels
    X, y, qid = rng.normal(size=(270, 2)), rng.integers(0, 5, 270), np.repeat(["a", "b"], [12, 258])
    lists = LetorCollection(Queries(X, y, qid, feature_names=["age", "length"]), name="two")
    with client_of(lists, kept) as opened:
        client = page_of(opened)
        until(lambda: client.app.state.workbench.is_warm)
        for base, column in (("age", 0), ("length", 1)):
            found = client.get(f"{API}/lists", params={"base": base}).json()
            assert found["base"] == base
            for one in found["lists"]:
                rows = np.flatnonzero(qid == one["query"])
                expected = slow_ndcg(y[rows[np.argsort(-X[rows, column])]].tolist())
                assert one["ndcg"] == pytest.approx(expected)
                ranked = client.get(f"{API}/search", params={"q": one["query"], "base": base, "k": 200}).json()
                assert ranked["on_labels"]["before"]["ndcg@10"] == pytest.approx(expected)
                assert ranked["on_labels"]["after"] == ranked["on_labels"]["before"]
                page = client.get("/", params={"q": one["query"], "base": base}).text
                assert f"NDCG@10 {expected:.2f} on the labels" in page
                assert f"{expected:.4f}" in client.get("/lists", params={"base": base}).text
        judge(client, "a", {"a/1": 1, "a/2": 0})
        ranked = client.get(f"{API}/search", params={"q": "a", "k": 200, "shown": 200}).json()
        places = {one["docid"]: y[int(one["docid"][2:]) - 1] for one in ranked["results"]}
        assert ranked["on_labels"]["after"]["ndcg@10"] == pytest.approx(slow_ndcg(list(places.values())))
        assert ranked["on_labels"]["after"] != ranked["on_labels"]["before"]


def test_labels_of_a_letor_file_count_as_judgements(kept):
    rng = np.random.default_rng(0)
    lists = Queries(rng.normal(size=(24, 2)), rng.integers(0, 3, 24), qid=np.repeat([7, 8, 9], 8))
    with client_of(LetorCollection(lists, name="three"), kept) as opened:
        client = page_of(opened)
        made = make_set(client, source="lists")
        found = board(client, made["id"], ranker=["column 0"], measure="p@3", order="given")
        assert found["judgements"] == "labels"
        for place, row in enumerate(found["rows"]):
            rows = slice(8 * place, 8 * place + 8)
            best = np.argsort(-lists.X[rows, 0])[:3]
            assert row["values"][0] == pytest.approx((lists.y[rows][best] >= 1).mean())
            assert row["judged"] == row["shown"] == [8]


def test_a_query_that_a_ranker_cannot_parse_is_named_and_does_not_stop_the_others(client):
    made = make_set(client, text='wings\nwings and ("boat')
    found = board(client, made["id"], ranker=["boolean", "bm25"], order="given")
    assert found["rows"][0]["errors"] == [None, None]
    assert [bool(error) for error in found["rows"][1]["errors"]] == [True, False]
    job = freeze(client, made["id"], ranker=["boolean"])
    assert job["state"] == "failed"
    assert "cannot be ranked" in job["message"]
    assert client.get(f"{API}/snapshots").json() == {"snapshots": []}


WRONG_BOARDS = [
        ({"set_id": 99}, 404), ({"ranker": ["nobody"]}, 404), ({"measure": "nonsense"}, 422),
        ({"measure": "ndcg@0"}, 422), ({"convention": "mine"}, 422), ({"judgements": "yours"}, 422),
        ({"measure": "mrr,map"}, 422), ({"ranker": [f"r{i}" for i in range(9)]}, 422), ({"measure": "err-ia@5"}, 422),
    ]  # fmt: skip


def test_a_wrong_choice_is_refused_with_a_reason(client):
    made = make_set(client)
    for values, status in WRONG_BOARDS:
        answer = client.get(f"{API}/scoreboard", params={"set_id": made["id"], **values})
        assert error_of(answer, status)
        assert client.get("/scoreboard", params={"set_id": made["id"], **values}).status_code == status


# snapshots and comparisons


def test_a_snapshot_keeps_rankings_and_judgements_and_is_compared_on_the_judgements_of_now(client):
    made = make_set(client)
    judge(client, "wings lift", {"d1": 0, "d5": 1})
    job = freeze(client, made["id"], ranker=["bm25", "boolean"], measure="mrr")
    assert job["state"] == "done", job
    (snapshot,) = client.get(f"{API}/snapshots").json()["snapshots"]
    assert snapshot["id"] == job["result"]["snapshot_id"]
    assert client.get(f"{API}/snapshots/{snapshot['id']}").json() == snapshot
    order = order_of(client, "wings lift", "bm25")
    before = mrr(order, {"d5": 1})
    assert snapshot["summary"]["means"]["bm25"]["mean"] == pytest.approx(before)
    judge(client, "wings lift", {order[0]: 2})
    sides = [f"{snapshot['id']}/bm25", "now/boolean"]

    def compared(judgements):
        wish = {"side": sides, "measures": "mrr,p@10", "judgements": judgements}
        return complete(client, "/comparison", wish)["queries"][0]["values"]

    boolean = order_of(client, "wings lift", "boolean")
    assert compared("people") == pytest.approx([1.0, mrr(boolean, {"d5": 1, order[0]: 2})])
    assert compared("frozen") == pytest.approx([before, mrr(boolean, {"d5": 1})])
    # the trend has the value of its time
    found = board(client, made["id"], measure="mrr")
    row = next(one for one in found["rows"] if one["query"] == "wings lift")
    assert (row["trends"][0], row["values"][0]) == ([pytest.approx(before)], 1.0)
    assert found["history"][0]["means"] == [pytest.approx(before)]
    assert client.delete(f"{API}/snapshots", params={"snapshot_id": snapshot["id"]}).json() == {"snapshots": []}
    assert client.get(f"{API}/comparison", params={"side": sides}).status_code == 404


def test_a_comparison_counts_wins_ties_and_losses_with_a_corrected_p(client):
    from plackett.evaluation.significance import bootstrap_interval, holm, randomisation

    texts = ["wings lift", "boat float", "plane water", "crane boat", "two wings", "water boat"]
    made = make_set(client, text="\n".join(texts))
    orders = {text: {base: order_of(client, text, base) for base in ("bm25", "dirichlet")} for text in texts}
    labels = {}
    for number, text in enumerate(texts):
        last = orders[text]["bm25" if number % 3 else "dirichlet"][-1]
        labels[text] = {last: 2}
        judge(client, text, labels[text])
    wish = {"side": ["now/bm25", "now/dirichlet"], "set_id": made["id"], "measures": "mrr,p@1"}
    found = complete(client, "/comparison", wish)
    first = {base: [mrr(orders[text][base], labels[text]) for text in texts] for base in ("bm25", "dirichlet")}
    gaps = [b - a for a, b in zip(first["bm25"], first["dirichlet"], strict=True)]
    by_mrr, by_p = found["pairs"]
    assert (by_mrr["wins"], by_mrr["ties"], by_mrr["losses"]) == (
        sum(gap > 0 for gap in gaps), sum(gap == 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    )  # fmt: skip
    assert by_mrr["difference"] == pytest.approx(np.mean(gaps))
    assert by_mrr["p"] == pytest.approx(randomisation(first["dirichlet"], first["bm25"]))
    assert (by_mrr["low"], by_mrr["high"]) == pytest.approx(tuple(bootstrap_interval(gaps)))
    assert (by_mrr["p_holm"], by_p["p_holm"]) == pytest.approx((by_mrr["p"], by_p["p"]))  # one pair by each measure
    three = complete(client, "/comparison", {**wish, "side": [*wish["side"], "now/tf-idf"]})["pairs"]
    of_mrr = [pair for pair in three if pair["measure"] == "mrr"]
    assert [pair["p_holm"] for pair in of_mrr] == pytest.approx(holm([pair["p"] for pair in of_mrr]))
    shown = client.get(f"{API}/comparison/lists", params={**wish, "q": "wings lift"}).json()
    for side, base in enumerate(("bm25", "dirichlet")):
        assert [shown["documents"][one[0]]["name"] for one in shown["lists"][side]] == orders["wings lift"][base][:10]
    assert shown["lengths"] == [len(orders["wings lift"][base]) for base in ("bm25", "dirichlet")]
    judged = {one["name"]: one["label"] for one in shown["documents"] if one["label"]}
    assert judged == dict.fromkeys(labels["wings lift"], "2")


def test_the_mark_of_a_difference_follows_its_mean_and_not_the_number_of_wins(kept):
    # of 20 lists with one relevant document, "b" gains nine places in 9 and loses one place in 11
    a, b = np.repeat([10, 9], [9, 11]), np.repeat([1, 10], [9, 11])
    columns = [
        np.concatenate([[-own, *(-place for place in range(1, 11) if place != own)] for own in of]) for of in (a, b)
    ]
    labels, qid = np.tile([1] + [0] * 9, 20), np.repeat(np.arange(20), 10)
    lists = Queries(np.column_stack(columns).astype(float), labels, qid=qid, feature_names=["a", "b"])
    with client_of(LetorCollection(lists, name="twenty"), kept) as opened:
        client = page_of(opened)
        until(lambda: client.app.state.workbench.is_warm)
        wish = {"set_id": make_set(client, source="lists")["id"], "measures": "mrr,average-rank"}
        for sides, mark, sign in ((["now/a", "now/b"], "up", 1), (["now/b", "now/a"], "down", -1)):
            found = complete(client, "/comparison", {**wish, "side": sides})
            assert [pair["wins"] for pair in found["pairs"]] == [9 if sign > 0 else 11] * 2
            gaps = [pair["difference"] for pair in found["pairs"]]
            assert gaps == pytest.approx([sign * np.mean(1 / b - 1 / a), sign * np.mean(b - a)])
            page = client.get("/compare", params={**wish, "side": sides}).text
            assert re.findall(r'<strong class="(\w+)">', page) == [mark, mark]


WRONG_COMPARISONS = [
        ({"side": ["now/bm25"]}, 422), ({"side": ["now/bm25", "now/bm25"]}, 422),
        ({"side": ["now/bm25", "9/bm25"]}, 404),
        ({"side": ["now/bm25", "now/nobody"]}, 404), ({"side": ["now/bm25", "now/tf-idf"]}, 422),
        ({"side": ["now/bm25", "now/tf-idf"], "set_id": 1, "measures": "coverage@10"}, 422),
        ({"side": ["now/bm25", "now/tf-idf"], "set_id": 1, "judgements": "frozen"}, 422),
        ({"side": ["now/bm25", "yesterday"], "set_id": 1}, 422),
    ]  # fmt: skip


def test_a_comparison_that_cannot_be_made_says_why(client):
    make_set(client)
    for values, status in WRONG_COMPARISONS:
        answer = client.get(f"{API}/comparison", params=values)
        assert error_of(answer, status)


def test_hostile_queries_and_documents_are_text_on_the_pages(client):
    made = make_set(client, name='<img src=x onerror="alert(1)">', text="<script>alert(1)</script> wings\n\"'><b>boat")
    judge(client, "<script>alert(1)</script> wings", {"d3": 1})
    board(client, made["id"], ranker=["bm25", "tf-idf"])
    freeze(client, made["id"], ranker=["bm25", "tf-idf"], name="<b>monday</b>")
    sides = {"side": ["1/bm25", "now/tf-idf"]}
    complete(client, "/comparison", sides)
    for page in (
        client.get("/scoreboard", params={"ranker": ["bm25", "tf-idf"]}),
        client.get("/compare", params=sides),
    ):
        assert page.status_code == 200
        for markup in ("<script>alert", "<img src=x", "<b>boat", "<b>monday"):
            assert markup not in page.text
    listed = client.get(f"{API}/comparison/lists", params={**sides, "q": "<script>alert(1)</script> wings"})
    assert "<b>Hostile</b>" in {one["title"] for one in listed.json()["documents"]}


def test_only_the_components_of_the_report_are_served(client):
    assert "mountComparison" in client.get("/static/components/comparison.js").text
    for name in ("payload.py", "__init__.py", "..%2Fhtml.py", "none.js"):
        assert client.get(f"/static/components/{name}").status_code == 404
