"""Scratch arrays that a thread reuses from one block of queries to the next."""

import threading

import numpy as np

import plackett as pk
from plackett.metrics import judged_lists as judged
from plackett.metrics.judged_lists import Scratch, thread_scratch


def test_an_array_is_reused_unless_it_is_too_small_or_too_large(monkeypatch):
    monkeypatch.setattr(judged, "LARGEST_KEPT", 800)
    scratch = Scratch()
    first = scratch.empty("ranked", 100, np.float64)
    assert np.shares_memory(first, scratch.empty("ranked", 40, np.float64))
    assert not np.shares_memory(first, scratch.empty("labels", 100, np.float64))
    assert scratch.empty("ranked", 101, np.float64).size == 101
    assert np.shares_memory(first, scratch.empty("ranked", 100, np.float64))
    assert scratch.empty("ranked", 40, np.int32).dtype == np.int32


def test_scratch_is_lent_once_per_thread():
    with thread_scratch() as outer, thread_scratch() as inner:
        assert inner is not outer
    others = []
    with thread_scratch() as outer:
        thread = threading.Thread(target=lambda: others.append(thread_scratch().__enter__()))
        thread.start()
        thread.join()
        assert others[0] is not outer


def test_tables_do_not_share_memory_with_later_ones():
    rng = np.random.default_rng(0)
    labels, qid = rng.integers(0, 4, 300), np.repeat(np.arange(30), 10)
    first = pk.evaluate(labels, np.round(rng.random(300), 1), qid=qid, metrics=["ndcg@5", "kendall", "mean-ndcg"])
    kept = first.values.copy()
    pk.evaluate(labels, rng.random(300), qid=qid, metrics=["ndcg@5", "kendall", "mean-ndcg"])
    np.testing.assert_array_equal(first.values, kept)
