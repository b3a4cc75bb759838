"""The shared thread pool of the kernels."""

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
    assert _threads.map_blocks(lambda a, b: a + b, [(i, 10 * i) for i in range(50)]) == [11 * i for i in range(50)]


def test_an_error_in_a_block_reaches_the_caller():
    _threads.set_n_threads(2)

    def work(i):
        if i == 3:
            raise ValueError("block 3")
        return i

    with pytest.raises(ValueError, match="block 3"):
        _threads.map_blocks(work, [(i,) for i in range(8)])


def test_work_inside_work_does_not_wait_for_itself():
    _threads.set_n_threads(2)
    inner = [(i,) for i in range(4)]
    answer = _threads.map_blocks(lambda i: sum(_threads.map_blocks(lambda j: i * j, inner)), [(i,) for i in range(6)])
    assert answer == [6 * i for i in range(6)]


def test_one_thread_uses_the_callers_own():
    _threads.set_n_threads(1)
    names = _threads.map_blocks(lambda _: threading.current_thread().name, [(i,) for i in range(4)])
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("asked", ["0", "-1", "two", "1.5"])
def test_a_senseless_number_of_threads_is_named(monkeypatch, asked):
    monkeypatch.setenv("PLACKETT_NUM_THREADS", asked)
    with pytest.raises(ValueError, match=f"PLACKETT_NUM_THREADS is '{asked}'"):
        _threads.n_threads()


def test_the_environment_sets_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("PLACKETT_NUM_THREADS", "7")
    assert _threads.n_threads() == 7
    with pytest.raises(ValueError, match="must be at least 1"):
        _threads.set_n_threads(0)


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_the_pool_works_again_after_a_fork():
    _threads.set_n_threads(2)
    _threads.map_blocks(lambda i: i, [(i,) for i in range(4)])
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_deal_in_child).get(timeout=60) == [0, 1, 2, 3]


def _deal_in_child():
    return _threads.map_blocks(lambda i: i, [(i,) for i in range(4)])


@pytest.mark.parametrize("docs_per_block", [1, 3, 10, 1000])
def test_blocks_hold_whole_queries_and_all_of_them(docs_per_block):
    indptr = np.array([0, 2, 2, 7, 8, 20, 21])
    blocks = _threads.query_blocks(indptr, docs_per_block)
    assert [first for first, _ in blocks] == [0, *(last for _, last in blocks[:-1])]
    assert blocks[-1][1] == 6
    assert all(first < last for first, last in blocks)
    assert _threads.query_blocks(np.array([0]), docs_per_block) == []


def blas_limits():
    every = _threads._blas_controller().info()
    return [library["num_threads"] for library in every if library["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    with _threads._blas_controller().limit(limits=2, user_api="blas"):
        if set(blas_limits()) != {2}:
            pytest.skip("this BLAS takes no limit of 2 threads")
        yield


def hold_blas_limit(is_in, is_let_go):
    with _threads.one_blas_thread():
        is_in.set()
        assert is_let_go.wait(30)


@pytest.mark.parametrize("first_out", [0, 1])
def test_overlapping_blas_limits_leave_what_was_there_before(two_blas_threads, first_out):
    _threads._release_control(_threads._blas_controller())  # the thread of the fixture has no block
    entered, let_go = ([threading.Event() for _ in range(2)] for _ in range(2))
    threads = []
    for place in range(2):
        threads.append(threading.Thread(target=hold_blas_limit, args=(entered[place], let_go[place])))
        threads[-1].start()
        assert entered[place].wait(30)
        assert set(blas_limits()) == {1}
    let_go[first_out].set()
    threads[first_out].join(30)
    assert set(blas_limits()) == {1}, "the other thread is still inside"
    let_go[1 - first_out].set()
    threads[1 - first_out].join(30)
    assert set(blas_limits()) == {2}


def test_the_last_thread_out_restores_the_blas_limit_while_the_first_one_lives_on(two_blas_threads):
    _threads._release_control(_threads._blas_controller())
    is_in, is_let_go = threading.Event(), threading.Event()
    with _threads.one_blas_thread():
        other = threading.Thread(target=hold_blas_limit, args=(is_in, is_let_go))
        other.start()
        assert is_in.wait(30)
    assert set(blas_limits()) == {1}
    is_let_go.set()
    other.join(30)
    assert set(blas_limits()) == {2}


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_during_another_threads_fit_has_all_blas_threads(two_blas_threads):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system cannot fork")
    _threads._release_control(_threads._blas_controller())
    is_in, is_let_go = threading.Event(), threading.Event()
    other = threading.Thread(target=hold_blas_limit, args=(is_in, is_let_go))
    other.start()
    assert is_in.wait(30)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        outside, inside, after = pool.apply_async(_limits_in_child).get(timeout=60)
    is_let_go.set()
    other.join(30)
    assert (set(outside), set(inside), set(after)) == ({2}, {1}, {2})


def _limits_in_child():
    outside = blas_limits()
    with _threads.one_blas_thread():
        inside = blas_limits()
    return outside, inside, blas_limits()
