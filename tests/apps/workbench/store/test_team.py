"""Needs, notes, assignments and settled grades, in SQLite and in PostgreSQL."""

import pytest

pytest.importorskip("sqlalchemy")

from plackett.apps.workbench.limits import MAX_NEED


@pytest.fixture
def filled(store):
    ids = store.create_queries("notes", ["river", "bread", "music"], "bm25")
    return store, ids, store.user("Ann").id, store.user("Bob").id


def test_a_need_is_shared_and_a_note_is_not(filled):
    store, ids, ann, bob = filled
    store.save_need(ann, ids["river"], "banks, not money")
    store.save_need(bob, ids["river"], "rivers only")
    store.save_note(ann, ids["river"], "unsure")
    assert tuple(store.query_notes(ids["river"], ann)) == ("rivers only", "unsure")
    assert tuple(store.query_notes(ids["river"], bob)) == ("rivers only", "")
    assert store.needs("notes", ["bread", "river", "other"]) == {"river": "rivers only"}
    assert store.needs("other", ["river"]) == {}
    store.save_need(ann, ids["river"], "")
    store.save_note(ann, ids["river"], "")
    assert tuple(store.query_notes(ids["river"], ann)) == ("", "")
    with pytest.raises(ValueError, match="the store keeps up to 2,000"):
        store.save_need(ann, ids["river"], "x" * (MAX_NEED + 1))


def test_assignments_replace_those_of_the_same_queries(filled):
    store, ids, ann, bob = filled
    store.assign("notes", ids, {"river": [ann, bob], "bread": [bob, bob]})
    assert store.assigned_users("notes", list(ids)) == {"river": ["Ann", "Bob"], "bread": ["Bob"]}
    assert store.assigned_queries("notes", bob) == ["river", "bread"]
    store.assign("notes", ids, {"river": []})
    assert store.assigned_users("notes", list(ids)) == {"bread": ["Bob"]}
    assert store.assigned_queries("other", bob) == []


def test_the_last_settlement_counts_and_none_withdraws_it(filled):
    store, ids, ann, bob = filled
    store.settle(ann, ids["river"], "d1", 1)
    store.settle(bob, ids["river"], "d1", 3)
    store.settle(ann, ids["bread"], "d1", 2)
    store.settle(ann, ids["bread"], "d1", None)
    found = store.settlements("notes")
    assert {key: (one.grade, one.user) for key, one in found.items()} == {("river", "d1"): (3.0, "Bob")}
    assert store.settlements("other") == {}


def test_grades_of_a_user_by_query(filled):
    store, ids, ann, bob = filled
    store.judge(ann, ids["river"], "d1", 2)
    store.judge(ann, ids["river"], "d2", 1)
    store.judge(ann, ids["river"], "d2", None)
    store.judge(bob, ids["river"], "d3", 0)
    assert store.graded("notes", ["river", "nowhere"], ann) == {"river": {"d1": 2.0}, "nowhere": {}}
    assert store.graded("notes", ["river"], None) == {"river": {}}


def test_queries_are_created_once_and_keep_their_base(store):
    first = store.create_queries("notes", ["river"], "bm25")
    assert store.create_queries("notes", ["river", "bread"], "tf-idf")["river"] == first["river"]
    assert store.find_query("notes", "river").base == "bm25"
    assert store.queries("notes") == []  # nothing is judged
