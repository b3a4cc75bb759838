"""Lists of base rankers: caching and saved rankers."""

import threading

import numpy as np
import pytest

import plackett as pk
from plackett.apps.workbench.collections.text import open_collection
from plackett.data.queries import Queries


def test_lists_are_kept_and_shared_by_threads(texts):
    found = []
    threads = [threading.Thread(target=lambda: found.append(texts.search("boats float"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(hits.docid == found[0].docid for hits in found)
    assert texts.search("boats float") is texts.search("boats float")


def test_as_many_lists_are_kept_as_there_is_room_for(folder, monkeypatch):
    size = open_collection(folder).search("wings").X.size
    monkeypatch.setattr("plackett.apps.workbench.collections.base.MIN_CACHED_SIZE", size // 2)
    monkeypatch.setattr("plackett.apps.workbench.collections.base.MAX_CACHED_VALUES", 3 * size)
    small = open_collection(folder)
    for query in ("wings", "boats", "air", "water", "wings boats"):
        small.search(query)
    assert 0 < sum(hits.X.size for hits in small._lists.values()) <= 3 * size
    assert 0 < len(small._lists) <= 6
    monkeypatch.setattr("plackett.apps.workbench.collections.base.MAX_CACHED_VALUES", 1)
    assert open_collection(folder).search("wings").X.size == size  # too large to cache, and still found


def fitted(collection, column, sign=1.0):
    """A ranker that orders by one column."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, len(collection.feature_names)))
    queries = Queries(X, np.argsort(np.argsort(sign * X[:, column])) // 12, np.repeat(np.arange(3), 20),
                      feature_names=collection.feature_names)  # fmt: skip
    ranker = pk.LinearRanker("squared", l2=1e-6).fit(queries)
    ranker.coef_ = np.zeros_like(ranker.coef_)
    ranker.coef_[column] = sign
    return ranker


def test_a_saved_ranker_orders_the_candidates_of_the_first(folder):
    collection = open_collection(folder)
    column = collection.feature_names.index("length_body")
    collection.add_ranker("shortest first", fitted(collection, column, -1.0))
    assert collection.base_rankers()[-1] == "shortest first"
    hits = collection.search("wings", "shortest first", 10)
    candidates = collection.search("wings", "bm25", 100)
    lengths = candidates.X[:, column]
    assert hits.X[:, column].tolist() == np.sort(lengths)[:10].tolist()
    own = collection.score("wings", hits.docid[::-1], "shortest first")
    np.testing.assert_allclose(own.scores, hits.scores)
    collection.add_ranker("shortest first", fitted(collection, column, 1.0))  # takes its place, kept lists too
    assert collection.search("wings", "shortest first", 10).X[0, column] == lengths.max()
    collection.remove_ranker("shortest first")
    with pytest.raises(ValueError, match="no base ranker"):
        collection.search("wings", "shortest first")
    with pytest.raises(KeyError, match="no saved ranker"):
        collection.remove_ranker("shortest first")


def test_rankers_that_cannot_be_base_rankers_are_refused_in_words(texts):
    rng = np.random.default_rng(0)
    other = pk.LinearRanker().fit(rng.normal(size=(6, 3)), [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match=r"was trained on 3 features; the lists of .* have"):
        texts.add_ranker("other", other)
    with pytest.raises(ValueError, match="name of a built-in base ranker"):
        texts.add_ranker("bm25", other)
    renamed = fitted(texts, 0)
    renamed.feature_names_ = ["x", *renamed.feature_names_[1:]]
    with pytest.raises(ValueError, match="do not have 'x' at that place"):
        texts.add_ranker("other", renamed)
    refiner = pk.RocchioRefiner().fit(rng.normal(size=(3, 2)), [0, 1, np.nan], base_score=0)
    with pytest.raises(ValueError, match="can only rank the queries"):
        texts.add_ranker("other", refiner)
