"""Warnings are recorded by the thread that issues them, and the warning filters of the process are unchanged."""

import threading
import warnings

import pytest

import plackett as pk
from plackett._warnings import recorded, without


def state():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def give(text, category=UserWarning):
    warnings.warn(text, category, stacklevel=1)


def texts(caught):
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("first_out", [0, 1])
def test_overlapping_blocks_record_their_own_warnings_and_leave_what_was_there_before(first_out):
    before, found = state(), {}
    entered, let_go = ([threading.Event() for _ in range(2)] for _ in range(2))

    def work(place):
        with recorded() as caught:
            entered[place].set()
            assert let_go[place].wait(30)
            for _ in range(2):
                give(f"of {place}")
        found[place] = texts(caught)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(2)]
    for place in range(2):
        threads[place].start()
        assert entered[place].wait(30)
    for place in (first_out, 1 - first_out):
        let_go[place].set()
        threads[place].join(30)
    assert found == {0: ["of 0"] * 2, 1: ["of 1"] * 2}
    assert state() == before


def test_other_threads_are_warned_as_before():
    is_in, is_over = threading.Event(), threading.Event()

    def work():
        with recorded():
            is_in.set()
            assert is_over.wait(30)

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="never mind")
        warnings.filterwarnings("error", message="too bad")
        thread = threading.Thread(target=work)
        thread.start()
        assert is_in.wait(30)
        give("seen")
        give("never mind")
        with pytest.raises(UserWarning, match="too bad"):
            give("too bad")
        is_over.set()
        thread.join(30)
    assert texts(shown) == ["seen"]


def test_blocks_may_be_nested_and_others_warnings_come_after_the_block():
    with recorded() as outer:
        with recorded() as inner:
            give("inner")
        with without("X has"):
            give("X has feature names")
            give("Y has none", DeprecationWarning)
    assert (texts(inner), texts(outer)) == (["inner"], ["Y has none"])
    assert outer[0].category is DeprecationWarning
    assert outer[0].filename == __file__


def test_concurrent_comparisons_leave_the_process_its_warnings():
    data = pk.datasets.make_web_like(12, 5, 3, random_state=0)
    pk.cross_validate("regression", data, cv=2, metrics="map")  # imports modules that may add filters
    before, fitted = state(), pk.LinearRanker().fit(data)  # its columns have names, which predict compares
    barrier = threading.Barrier(3)

    def work():
        barrier.wait(30)
        for _ in range(3):
            pk.cross_validate(pk.LinearRanker(max_iter=1), data, cv=2, metrics="map")
            fitted.predict(data)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert state() == before
    with pytest.warns(UserWarning, match="still heard"):
        give("still heard")
