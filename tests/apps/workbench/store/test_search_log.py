"""The stored log of lists and clicks, the same in both kinds of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.apps.workbench.store import search_log

ABC = ["a", "b", "c"]
BM25 = {"ranker": "bm25", "base": "bm25"}


@pytest.fixture
def ann(store):
    return store.client_id("Ann")


def show(store, client, hits=ABC, query="red fish", attributes=BM25, collection="pages"):
    return store.log_list(collection, client, query, hits, attributes)


def shown_hits(store):
    return [one.hits for one in store.shown_lists("pages")]


def test_a_client_has_one_random_id_that_does_not_tell_the_name(store, ann):
    assert store.client_id("Ann") == ann != store.client_id("ann")
    assert "ann" not in ann.lower()
    assert len(ann) == 32
    assert store.users() == []


def test_a_list_is_logged_as_it_was_shown(store, ann):
    shown_id = show(store, ann)
    (one,) = store.shown_lists("pages")
    assert one[1:2] + one[3:] == (shown_id, ann, "red fish", ABC, BM25)
    assert list(store.shown_lists("other pages")) == []


@pytest.mark.parametrize(
    ("again", "expected"),
    [
        ({}, [ABC]),  # reloaded
        ({"hits": [*ABC, "d"]}, [[*ABC, "d"]]),  # show more
        ({"hits": ["a"]}, [ABC]),  # as many as at first, after show more
        ({"hits": ["b", "a", "c"]}, [ABC, ["b", "a", "c"]]),  # another order
        ({"attributes": {"ranker": "bm25+linear"}}, [ABC, ABC]),  # refined to the same order
        ({"query": "red Fish"}, [ABC, ABC]),
        ({"collection": "other pages"}, [ABC]),
    ],
)
def test_an_unchanged_list_that_is_shown_again_is_the_same_one(store, ann, again, expected):
    first = show(store, ann)
    second = show(store, ann, **again)
    assert shown_hits(store) == expected
    assert (first == second) == (len(expected) == 1 and "collection" not in again)


def test_lists_of_others_and_of_another_visit_are_new(store, ann, monkeypatch):
    ids = [show(store, ann), show(store, store.client_id("Bob"))]
    monkeypatch.setattr(search_log, "SAME_VISIT", timedelta(0))
    ids.append(show(store, ann))
    assert len(set(ids)) == 3


def test_a_list_that_comes_back_after_another_is_new(store, ann):
    first = show(store, ann)
    assert show(store, ann, ["c", "b", "a"]) != first != show(store, ann)
    assert shown_hits(store) == [ABC, ["c", "b", "a"], ABC]


def test_a_click_has_the_place_of_its_document_and_counts_once(store, ann):
    shown_id = show(store, ann)
    clicks = [store.log_click("pages", ann, shown_id, docid) for docid in ("c", "a", "c")]
    assert [click.ordinal for click in clicks] == [3, 1, 3]
    assert clicks[0] == clicks[2]
    assert list(store.shown_clicks("pages")) == [clicks[1], clicks[0]]


@pytest.mark.parametrize("case", ["document", "list", "client", "collection"])
def test_a_click_on_what_was_not_shown_to_this_client_is_refused(store, ann, case):
    shown_id = show(store, ann)
    wrong = {"collection": "pages", "client_id": ann, "shown_id": shown_id, "docid": "a"}
    wrong |= {
        "document": {"docid": "z"},
        "list": {"shown_id": "nothing"},
        "client": {"client_id": store.client_id("Bob")},
        "collection": {"collection": "other pages"},
    }[case]
    with pytest.raises(LookupError, match="the list has no document 'z'" if case == "document" else "was not shown"):
        store.log_click(**wrong)
    assert store.log_size("pages").n_clicks == 0


def test_a_list_without_documents_is_refused(store, ann):
    with pytest.raises(ValueError, match="a list without documents"):
        show(store, ann, [])


def test_sizes_and_pages(store, ann, monkeypatch):
    monkeypatch.setattr(search_log, "PAGE", 3)
    assert store.log_size("pages") == (0, 0, 0, 0)
    bob = store.client_id("Bob")
    ids = [show(store, (ann, bob)[i % 2], query=f"query {i}") for i in range(8)]
    show(store, ann, collection="other pages")
    for i in (0, 3, 7):
        for docid in ("b", "a"):
            store.log_click("pages", (ann, bob)[i % 2], ids[i], docid)
    lists = list(store.shown_lists("pages"))
    assert [one.shown_id for one in lists] == ids
    assert store.log_size("pages") == (8, 6, 2, lists[-1].id)
    clicks = [(one.shown_id, one.docid) for one in store.shown_clicks("pages")]
    assert clicks == [(ids[i], docid) for i in (0, 3, 7) for docid in ("a", "b")]
    assert [one.shown_id for one in store.shown_lists("pages", lists[3].id)] == ids[:4]
    assert [one.shown_id for one in store.shown_clicks("pages", lists[3].id)] == [ids[0]] * 2 + [ids[3]] * 2


def test_threads_that_click_the_same_document_log_one_click(store, ann):
    shown_id = show(store, ann)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: store.log_click("pages", ann, shown_id, "b"), range(8)))
        assert len(set(pool.map(lambda _: store.client_id("Carl"), range(8)))) == 1
    assert len(found) == store.log_size("pages").n_clicks == 1
