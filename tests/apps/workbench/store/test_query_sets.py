"""Stored query sets and snapshots, the same in both kinds of database."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.apps.workbench.board_records import FrozenQuery, Ranking
from plackett.apps.workbench.store import query_sets, snapshots
from tests.apps.workbench.store.test_store import STRANGE


def frozen(query="red fish", n_rankers=2):
    return FrozenQuery(query, {"d1": 2.0, STRANGE[5]: 0.5}, [Ranking(["d2", "d1"], [1.5, -1e-7])] * n_rankers)


def test_a_query_set_keeps_its_queries_in_order_until_it_is_deleted(store):
    first = store.save_query_set("pages", "strange", "pasted", STRANGE)
    second = store.save_query_set("pages", STRANGE[5], "log", ["red fish"])
    assert store.query_sets("pages") == [second, first]
    assert store.query_set("pages", first.id) == first
    assert store.set_queries(first.id) == list(STRANGE)
    assert store.set_queries(first.id, limit=2, offset=1) == list(STRANGE[1:3])
    assert not store.delete_query_set("other pages", first.id)
    assert store.delete_query_set("pages", first.id)
    assert not store.delete_query_set("pages", first.id)
    assert store.set_queries(first.id) == []
    with pytest.raises(LookupError, match=f"there is no query set {first.id}"):
        store.query_set("pages", first.id)
    with pytest.raises(LookupError, match="there is no query set"):
        store.query_set("other pages", second.id)
    assert store.query_sets("other pages") == []


def test_a_query_set_that_breaks_a_rule_is_not_saved(store, monkeypatch):
    monkeypatch.setattr(query_sets, "MAX_SET_QUERIES", 3)
    monkeypatch.setattr(query_sets, "MAX_SETS", 1)
    for queries, message in (
        ([], "a query set needs a query"),
        (list("abcd"), "the set has 4 queries; the limit is 3"),
        (list("aba"), "the query 'a' is in the set twice"),
        (["a\x00b"], "contains a null character"),
    ):
        with pytest.raises(ValueError, match=message):
            store.save_query_set("pages", "wrong", "pasted", queries)
    assert store.query_sets("pages") == []
    store.save_query_set("pages", "right", "pasted", ["a"])
    with pytest.raises(ValueError, match="there are 1 query sets, which is the limit"):
        store.save_query_set("pages", "one more", "pasted", ["a"])


def test_a_snapshot_keeps_rankings_scores_and_labels_until_it_is_deleted(store):
    made = store.save_snapshot("pages", "monday", ["bm25", "trained 1"], [frozen(), frozen("blue")], {"set": "all"})
    later = store.save_snapshot("pages", "tuesday", ["bm25"], [frozen(n_rankers=1)], {})
    assert store.snapshots("pages") == [later, made]
    assert store.snapshot("pages", made.id) == made
    assert (made.rankers, made.n_queries, made.summary) == (["bm25", "trained 1"], 2, {"set": "all"})
    assert store.frozen_labels(made.id) == {"red fish": frozen().labels, "blue": frozen().labels}
    for ranker in range(2):
        assert store.frozen_rankings(made.id, ranker) == [Ranking(["d2", "d1"], [1.5, -1e-7])] * 2
    assert store.frozen_rankings(made.id, 2) == []
    assert not store.delete_snapshot("other pages", made.id)
    assert store.delete_snapshot("pages", made.id)
    assert not store.delete_snapshot("pages", made.id)
    assert store.frozen_labels(made.id) == {}
    with pytest.raises(LookupError, match=f"there is no snapshot {made.id}"):
        store.snapshot("pages", made.id)
    assert store.snapshots("pages") == [later]


def test_a_snapshot_that_breaks_a_rule_is_not_saved(store, monkeypatch):
    monkeypatch.setattr(snapshots, "FROZEN_DEPTH", 2)
    monkeypatch.setattr(snapshots, "MAX_FROZEN_LABELS", 2)
    long = Ranking(["a", "b", "c"], [3.0, 2.0, 1.0])
    for rankers, query, message in (
        ([], frozen(n_rankers=0), "a snapshot has 1 to 8 rankers"),
        (["bm25"], frozen(n_rankers=2), "longer|shorter"),
        (["bm25"], frozen()._replace(rankings=[long]), "up to 2 documents"),
        (["bm25"], frozen()._replace(rankings=[Ranking(["a"], [float("nan")])]), "must be finite"),
        (["bm25"], frozen(n_rankers=1)._replace(labels=dict.fromkeys("abc", 1.0)), "a query has 3 labels"),
    ):
        with pytest.raises(ValueError, match=message):
            store.save_snapshot("pages", "wrong", rankers, [query], {})
    assert store.snapshots("pages") == []


def test_lists_since_a_mark_are_those_judged_since(store):
    me, you = store.user("me").id, store.user("you").id
    red, blue = (store.query("pages", text, "bm25").id for text in ("red", "blue"))
    other = store.query("other pages", "red", "bm25").id
    start, lists = store.lists_since("pages")
    assert lists == []
    store.judge(me, red, "d1", 2.0)
    store.judge(you, red, "d1", 1.0)
    store.judge(me, blue, "d2", 1.0)
    store.judge(me, other, "d9", 1.0)
    mark, lists = store.lists_since("pages", start)
    assert {(user, query): state.judged.labels for user, query, state in lists} == {
        ("me", "red"): {"d1": 2.0}, ("you", "red"): {"d1": 1.0}, ("me", "blue"): {"d2": 1.0}
    }  # fmt: skip
    assert store.lists_since("pages", mark) == (mark, [])
    store.undo(me, red)
    mark, lists = store.lists_since("pages", mark)
    assert [(user, query, state.judged.labels) for user, query, state in lists] == [("me", "red", {})]
    # an event below the mark that was not counted, as a slow transaction of PostgreSQL leaves it
    assert store.lists_since("pages", (mark[0], mark[1] - 1)) == ((mark[0], mark[1] - 1), None)
