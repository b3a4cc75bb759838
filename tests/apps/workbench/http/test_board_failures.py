"""Rankings that fail or change: an outage is no bad ranking, and a live engine's new order is measured."""

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.workbench import rankings as rankings_module
from tests.apps.workbench.browsing import until
from tests.apps.workbench.http.test_scoreboard import board, complete, freeze, judge, make_set, order_of
from tests.apps.workbench.serving import client_of, page_of, small_collection

QUERIES = ["wings lift", "boat float"]


@pytest.fixture
def live(kept):
    """A client and its collection, whose lists can be changed."""
    collection = small_collection()
    client = page_of(client_of(collection, kept))
    yield client, collection
    client.app.state.workbench.close()


def with_judged_set(client):
    for query in QUERIES:
        first, second = order_of(client, query, "bm25")[:2]
        judge(client, query, {first: 1, second: 0})
    return make_set(client, text="\n".join(QUERIES))["id"]


def break_query(collection, broken):
    find = collection._find

    def fails(query, base, k):
        if query == broken:
            raise ValueError("the engine is down.")
        return find(query, base, k)

    collection._find = fails


def test_a_query_that_cannot_be_ranked_has_no_value_and_is_not_in_the_mean(live):
    client, collection = live
    set_id = with_judged_set(client)
    break_query(collection, "boat float")
    found = board(client, set_id, measure="mrr", order="given")
    assert [row["values"] for row in found["rows"]] == [[1.0], [None]]
    assert found["rows"][1]["errors"] == ["the engine is down."]
    assert (found["rankers"][0]["mean"], found["rankers"][0]["n_counted"]) == (1.0, 1)
    assert "bm25 cannot rank 1 query, which the means leave out: the engine is down." in found["notes"]


def test_a_comparison_leaves_out_queries_that_one_side_cannot_rank(live):
    client, collection = live
    set_id = with_judged_set(client)
    assert freeze(client, set_id, ranker=["bm25"])["state"] == "done"
    break_query(collection, "boat float")
    found = complete(client, "/comparison", {"side": ["1/bm25", "now/tf-idf"], "measures": "mrr"})
    assert [row["values"] for row in found["queries"]] == [[1.0, 1.0], [None, None]]
    assert [(pair["wins"], pair["ties"], pair["losses"]) for pair in found["pairs"]] == [(0, 1, 0)]
    assert any(note.startswith("tf-idf cannot rank 1 query") for note in found["notes"])


def test_the_new_order_of_a_live_engine_is_measured_again(live, monkeypatch):
    client, collection = live
    collection.keep_lists_for(60)
    set_id = with_judged_set(client)
    assert board(client, set_id, measure="mrr")["rankers"][0]["mean"] == 1.0
    find = collection._find

    def backwards(query, base, k):
        hits = find(query, base, k)
        return hits._replace(scores=-hits.scores).by_score()

    collection._find = backwards
    monkeypatch.setattr(rankings_module, "LIVE_SECONDS", 0.0)
    assert until(lambda: board(client, set_id, measure="mrr")["rankers"][0]["mean"] < 1.0)
