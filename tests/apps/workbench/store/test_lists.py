"""Lists of several users, the same in both kinds of database."""

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.apps.workbench import tables
from plackett.apps.workbench.labels import pooled
from tests.apps.workbench.serving import NOW


def labels_in(store):
    lists = store.lists("pages")
    return {(one.user.name, query): one.state.judged.labels for query, of in lists.items() for one in of}


def test_lists_are_read_again_as_they_change(store):
    me, you = store.user("me").id, store.user("you").id
    red, blue = (store.query("pages", text, "bm25").id for text in ("red", "blue"))
    other = store.query("other pages", "red", "bm25").id
    assert store.lists("pages") == {}
    store.judge(me, blue, "d2", 1.0)
    first = store.lists("pages")
    store.judge(you, red, "d1", 1.0)
    store.judge(me, red, "d1", 2.0)
    store.judge(me, other, "d9", 1.0)
    assert labels_in(store) == {("me", "red"): {"d1": 2.0}, ("you", "red"): {"d1": 1.0}, ("me", "blue"): {"d2": 1.0}}
    assert [(query, [one.user.name for one in of]) for query, of in store.lists("pages").items()] == [
        ("red", ["me", "you"]),
        ("blue", ["me"]),
    ]
    assert list(first) == ["blue"]  # is not modified
    assert store.lists("pages")["blue"] is first["blue"]  # is not read again
    store.undo(me, red)
    assert labels_in(store)["me", "red"] == {}


def test_an_event_below_the_last_one_is_found(store):
    """As a slow transaction of PostgreSQL leaves it, or the deletion of an annotator."""
    me, red = store.user("me").id, store.query("pages", "red", "bm25").id
    ubm = store.user("ubm", is_person=False).id
    store.import_judgements(ubm, "pages", [("red", "d1", 1.0)])
    store.judge(me, red, "d2", 1.0)
    assert set(labels_in(store)) == {("me", "red"), ("ubm", "red")}
    store.delete_judgements("pages", ubm)
    assert set(labels_in(store)) == {("me", "red")}
    with store.writing() as connection:
        row = {"id": 1, "user_id": me, "query_id": red, "kind": "judge", "docid": "d3", "grade": 1.0}
        connection.execute(tables.events.insert().values(**row, time=NOW))
    assert labels_in(store)["me", "red"] == {"d3": 1.0, "d2": 1.0}


def test_grades_of_several_users_are_averaged_unless_they_are_settled(store):
    red = store.query("pages", "red", "bm25").id
    for name, grade in (("Ann", 1.0), ("Bob", 2.0), ("Cid", 0.0)):
        user = store.user(name).id
        store.judge(user, red, "d1", grade)
        store.judge(user, red, "d2", grade)
        store.prefer(user, red, "d1", "d3")
    found = pooled(store.lists("pages")["red"], {"d2": 3.0, "d4": 1.0})
    assert found == ({"d1": 1.0, "d2": 3.0}, [("d1", "d3")])


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
