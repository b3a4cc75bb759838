"""The pool that kernels share."""

import multiprocessing
import threading

import numpy as np
import pytest

from plackett import _threads


@pytest.fixture(autouse=True)
def default_threads():
    yield
    _threads.set_n_threads(None)


def test_results_come_in_order_of_the_blocks():
    _threads.set_n_threads(3)
    assert _threads.deal(lambda a, b: a + b, [(i, 10 * i) for i in range(50)]) == [11 * i for i in range(50)]


def test_an_error_in_a_block_reaches_the_caller():
    _threads.set_n_threads(2)

    def work(i):
        if i == 3:
            raise ValueError("block 3")
        return i

    with pytest.raises(ValueError, match="block 3"):
        _threads.deal(work, [(i,) for i in range(8)])


def test_work_inside_work_does_not_wait_for_itself():
    _threads.set_n_threads(2)
    inner = [(i,) for i in range(4)]
    answer = _threads.deal(lambda i: sum(_threads.deal(lambda j: i * j, inner)), [(i,) for i in range(6)])
    assert answer == [6 * i for i in range(6)]


def test_one_thread_uses_the_callers_own():
    _threads.set_n_threads(1)
    names = _threads.deal(lambda _: threading.current_thread().name, [(i,) for i in range(4)])
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_a_senseless_number_of_threads_is_named(monkeypatch, asked):
    monkeypatch.setenv("PLACKETT_NUM_THREADS", asked)
    with pytest.raises(ValueError, match=f"PLACKETT_NUM_THREADS is '{asked}'"):
        _threads.n_threads()


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("PLACKETT_NUM_THREADS", "7")
    assert _threads.n_threads() == 7
    with pytest.raises(ValueError, match="at least 1 is needed"):
        _threads.set_n_threads(0)


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_the_pool_works_again_after_a_fork():
    _threads.set_n_threads(2)
    _threads.deal(lambda i: i, [(i,) for i in range(4)])
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_deal_in_child).get(timeout=60) == [0, 1, 2, 3]


def _deal_in_child():
    return _threads.deal(lambda i: i, [(i,) for i in range(4)])


@pytest.mark.parametrize("docs_per_block", [1, 3, 10, 1000])
def test_blocks_hold_whole_queries_and_all_of_them(docs_per_block):
    indptr = np.array([0, 2, 2, 7, 8, 20, 21])
    blocks = _threads.query_blocks(indptr, docs_per_block)
    assert [first for first, _ in blocks] == [0, *(last for _, last in blocks[:-1])]
    assert blocks[-1][1] == 6
    assert all(first < last for first, last in blocks)
    assert _threads.query_blocks(np.array([0]), docs_per_block) == []
