"""Arrays that blocks of queries use one after the other."""

import threading

import numpy as np

import plackett as pk
from plackett.metrics import room as rooms
from plackett.metrics.room import Room, own_room


def test_a_room_keeps_what_is_large_enough_and_not_too_large(monkeypatch):
    monkeypatch.setattr(rooms, "LARGEST_KEPT", 800)
    room = Room()
    first = room.empty("ranked", 100, np.float64)
    assert np.shares_memory(first, room.empty("ranked", 40, np.float64))
    assert not np.shares_memory(first, room.empty("labels", 100, np.float64))
    assert room.empty("ranked", 101, np.float64).size == 101
    assert np.shares_memory(first, room.empty("ranked", 100, np.float64))


def test_a_thread_has_one_room_and_lends_it_once():
    with own_room() as room, own_room() as inner:
        assert inner is not room
    others = []
    with own_room() as room:
        thread = threading.Thread(target=lambda: others.append(own_room().__enter__()))
        thread.start()
        thread.join()
        assert others[0] is not room


def test_tables_do_not_share_memory_with_later_ones():
    rng = np.random.default_rng(0)
    labels, qid = rng.integers(0, 4, 300), np.repeat(np.arange(30), 10)
    first = pk.evaluate(labels, np.round(rng.random(300), 1), qid=qid, metrics=["ndcg@5", "kendall", "mean-ndcg"])
    kept = first.values.copy()
    pk.evaluate(labels, rng.random(300), qid=qid, metrics=["ndcg@5", "kendall", "mean-ndcg"])
    np.testing.assert_array_equal(first.values, kept)
