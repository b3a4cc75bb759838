"""Rankings are computed once for each version of a ranker, in the background, and errors do not stop the others."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from plackett import LinearRanker
from plackett.apps.workbench import rankings as rankings_module
from plackett.apps.workbench.rankers import TrainedRankers
from plackett.apps.workbench.rankings import BackgroundCache, Rankings
from plackett.data.queries import Queries
from tests.apps.workbench.serving import small_collection


def until(true):
    end = time.monotonic() + 60
    while not (answer := true()):
        assert time.monotonic() < end
        time.sleep(0.005)
    return answer


@pytest.fixture
def cache():
    made = BackgroundCache(100)
    yield made
    made.close()


@pytest.fixture
def counted(kept, cache):
    """Rankings of a small collection, and the searches that they made."""
    collection, asked = small_collection(), []
    find = collection._find
    collection._find = lambda query, base, k: asked.append((query, base)) or find(query, base, k)
    return Rankings(collection, TrainedRankers(collection, kept), cache), collection, asked


def known(rankings, name, queries):
    return until(lambda: len(found := rankings.known(name, queries)) == len(queries) and found)


def fitted(collection, sign):
    """A ranker that prefers documents with large features, or with small ones."""
    X = np.random.default_rng(0).normal(size=(20, len(collection.feature_names)))
    lists = Queries(X, sign * X.sum(axis=1) > 0, np.repeat([1, 2], 10), feature_names=collection.feature_names)
    return LinearRanker().fit(lists)


def test_a_ranking_is_that_of_a_search_and_is_made_once(counted):
    rankings, collection, asked = counted
    found = known(rankings, "bm25", ["wings", "boat"])
    asked.clear()
    assert known(rankings, "bm25", ["wings", "boat"]) == found
    assert rankings.now("bm25", "boat") == found["boat"]
    assert asked == []
    for query in found:
        hits = collection.search(query, "bm25")
        assert found[query].ranking == (hits.docid, hits.scores.tolist())


def test_another_ranker_of_the_same_name_has_other_rankings(counted):
    rankings, collection, _ = counted
    collection.add_ranker("mine", fitted(collection, 1))
    before = known(rankings, "mine", ["wings boat"])["wings boat"].ranking
    collection.add_ranker("mine", fitted(collection, -1))
    after = known(rankings, "mine", ["wings boat"])["wings boat"].ranking
    assert after.docid == collection.search("wings boat", "mine").docid != before.docid


def test_reasons_add_up_to_the_order_of_a_linear_ranker(counted):
    rankings, collection, _ = counted
    ranker = fitted(collection, 1)
    collection.add_ranker("mine", ranker)
    found = rankings.reasons("mine", "wings boat", 3)
    hits = collection.search("wings boat", "mine")
    assert list(found) == hits.docid[:3]
    centred = hits.X - hits.X.mean(axis=0)
    for row, docid in enumerate(hits.docid[:3]):
        for feature, value, amount in found[docid]:
            column = collection.feature_names.index(feature)
            assert value == pytest.approx(hits.X[row, column])
            assert amount == pytest.approx(ranker.coef_[column] * centred[row, column])
    assert rankings.reasons("bm25", "wings boat", 3) == {}


def test_an_error_is_a_result_and_is_tried_again_later(counted, monkeypatch):
    rankings, collection, _ = counted
    find = collection._find

    def broken(query, base, k):
        raise RuntimeError("the engine is down")

    collection._find = broken
    found = known(rankings, "bm25", ["wings"])["wings"]
    assert (found.ranking.docid, found.error) == ([], "internal error; see the server's log.")
    collection._find = find
    assert rankings.known("bm25", ["wings"])["wings"] == found
    monkeypatch.setattr(rankings_module, "RETRY_AFTER", 0.0)
    assert until(lambda: rankings.known("bm25", ["wings"])["wings"].ranking.docid)


def test_rankings_of_a_live_engine_are_asked_for_again(counted, monkeypatch):
    rankings, collection, asked = counted
    collection.keep_lists_for(60)
    known(rankings, "bm25", ["wings"])
    rankings.now("bm25", "wings")
    assert len(asked) == 2  # a snapshot freezes what the engine returns now
    monkeypatch.setattr(rankings_module, "LIVE_SECONDS", 0.0)
    rankings.known("bm25", ["wings"])
    until(lambda: len(asked) == 3)


def test_requests_do_not_wait_for_values_and_ask_for_each_once(cache):
    release, made = threading.Event(), []

    def slow(key):
        release.wait(60)
        made.append(key)
        return key

    for _ in range(3):
        assert [cache.get(key, lambda key=key: slow(key)) for key in "abc"] == [None, None, None]
    release.set()
    until(lambda: [cache.get(key, lambda: None) for key in "abc"] == ["a", "b", "c"])
    assert made == ["a", "b", "c"]
    cache.close()
    assert cache.get("d", lambda: 1 / 0) is None
