"""Stored click logs and judgements from clicks, the same in both kinds of database."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from plackett.apps.workbench.records import ClickGrade
from plackett.apps.workbench.store import clicks
from tests.apps.workbench.store.test_store import STRANGE


def grades(n, query="red fish"):
    return [ClickGrade(query, f"d{i}", i % 5, 0.1 + i / 1000, 0.05, 0.9, 10 + i) for i in range(n)]


def test_a_log_is_kept_byte_by_byte_until_it_is_deleted(store):
    data = bytes(range(256)) * 10
    first, second = (store.save_click_log("pages", name, data, {"n": 1}) for name in ("a", STRANGE[5]))
    assert [one[:4] for one in store.click_logs("pages")] == [
        (second, STRANGE[5], 2560, {"n": 1}),
        (first, "a", 2560, {"n": 1}),
    ]
    assert store.click_log("pages", second) == (STRANGE[5], data)
    assert not store.delete_click_log("other pages", second)
    assert store.delete_click_log("pages", second)
    assert not store.delete_click_log("pages", second)
    for collection, log_id in (("pages", second), ("other pages", first)):
        with pytest.raises(LookupError, match=f"there is no click log {log_id}"):
            store.click_log(collection, log_id)
    assert store.save_click_log("pages", "again", data, {}) > second  # ids are not used twice
    assert store.click_logs("other pages") == []


def test_a_log_that_is_too_large_is_refused(store, monkeypatch):
    monkeypatch.setattr(clicks, "MAX_CLICK_LOG", 9)
    with pytest.raises(ValueError, match="the cleaned log has 10 bytes; the store keeps up to 9"):
        store.save_click_log("pages", "large", b"0123456789", {})


def test_judgements_are_found_by_set_and_query(store, monkeypatch):
    monkeypatch.setattr(clicks, "PAGE", 3)
    given = [*grades(7), *(ClickGrade(text, text[:900], 1, 0.5, 0.25, 0.75, 2**40) for text in STRANGE)]
    made = store.save_click_set("pages", "pbm, log a", given, {"model": "pbm"})
    other = store.save_click_set("pages", "ubm, log a", grades(2, "blue fish"), {})
    assert [one[:3] for one in store.click_sets("pages")] == [other[:3], made[:3]]
    assert store.latest_click_set("pages") == other == store.click_set("pages", other.id)
    assert store.latest_click_set("other pages") is None
    assert store.click_grades("pages", made.id, "red fish") == given[:7]
    for one in given[7:]:
        assert store.click_grades("pages", made.id, one.query) == [one]
    assert store.click_grades("pages", other.id, "red fish") == []
    assert list(store.all_click_grades(made.id)) == given
    assert store.click_grades_page(made.id, limit=2, offset=5) == given[5:7]
    assert store.click_grades_page(made.id, limit=2, offset=2**63 - 1) == []
    with pytest.raises(LookupError, match="there is no set of click judgements"):
        store.click_set("other pages", made.id)


def test_a_deleted_set_leaves_nothing_behind(store):
    made, other = (store.save_click_set("pages", name, grades(3), {}) for name in ("a", "b"))
    assert not store.delete_click_set("other pages", made.id)
    assert list(store.all_click_grades(made.id)) == grades(3)
    assert store.delete_click_set("pages", made.id)
    assert list(store.all_click_grades(made.id)) == []
    assert list(store.all_click_grades(other.id)) == grades(3)
    assert not store.delete_click_set("pages", made.id)


def test_too_many_judgements_are_refused_and_nothing_is_written(store, monkeypatch):
    monkeypatch.setattr(clicks, "MAX_CLICK_GRADES", 5)
    monkeypatch.setattr(clicks, "PAGE", 2)
    store.save_click_set("pages", "a", grades(5), {})
    with pytest.raises(ValueError, match="there are more than 5 judgements"):
        store.save_click_set("pages", "b", grades(6), {})
    assert [one.origin for one in store.click_sets("pages")] == ["a"]


def test_judgements_from_clicks_are_none_of_people(store):
    store.save_click_set("pages", "pbm, log a", grades(5), {})
    assert (list(store.judgements("pages")), store.users(), store.n_queries("pages")) == ([], [], 0)
    query = store.query("pages", "red fish", "bm25").id
    assert store.state(store.user("me").id, query).n_judgements == 0
    store.judge(store.user("me").id, query, "d0", 3.0)
    assert [one.grade for one in store.judgements("pages")] == [3.0]
    assert [one.grade for one in store.click_grades("pages", 1, "red fish")] == [0, 1, 2, 3, 4]
