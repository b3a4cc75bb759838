"""Lists of several users, the same in both kinds of database."""

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")


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


def test_grades_of_a_user_by_query(store):
    ids = store.create_queries("notes", ["river", "bread", "music"], "bm25")
    ann, bob = store.user("Ann").id, store.user("Bob").id
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
