import json
import math
import random
import subprocess
import sys

import numpy as np
import pytest

from plackett.clicks import Interleaver
from plackett.clicks.interleaving.methods import METHODS
from plackett.exceptions import DataWarning

A, B = list("abcdefghij"), list("cxaydzbwvu")
LISTS = {"old": A, "new": B}


def make(**options):
    return Interleaver(**{"k": 5, "random_state": 7, **options})


class Service:
    """Draws lists and logs them and their clicks, as a service would."""

    def __init__(self, test):
        self.test, self.lines, self.second = test, [], 0

    def show(self, lists, key, unit=None):
        shown = self.test.draw(lists, key=key, unit=unit)
        self.lines.append(json.dumps(self.test.record(shown, unit=unit)))
        return shown

    def click(self, shown, *documents):
        for document in documents:
            self.second += 1
            time = f"2026-03-01T{self.second // 3600:02}:{self.second // 60 % 60:02}:{self.second % 60:02}Z"
            event = {"action_name": "click", "query_id": shown.id, "timestamp": time}
            self.lines.append(json.dumps({**event, "event_attributes": {"object": {"object_id": str(document)}}}))

    def wait(self, seconds):
        self.second += seconds

    def read(self, **options):
        return Interleaver.from_log(map(json.loads, self.lines), **options)


def test_the_same_request_shows_the_same_list_in_any_order_and_process():
    keys = [f"request {number}" for number in range(30)]
    test = make()
    shown = {key: test.draw(LISTS, key=key, unit=1) for key in keys}
    random.Random(0).shuffle(keys)
    again = make()
    assert {key: again.draw(LISTS, key=key, unit=1) for key in keys} == shown
    assert len({tuple(one.documents) for one in shown.values()}) > 3
    code = (
        "from plackett.clicks import Interleaver\n"
        f"shown = Interleaver(k=5, random_state=7).draw({LISTS}, key='request 3', unit=1)\n"
        "print(shown.id, *shown.documents)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [shown["request 3"].id, *shown["request 3"].documents]


def test_other_seeds_keys_units_and_lists_are_other_requests():
    shown = make().draw(LISTS, key="k", unit=1)
    others = [
        make(random_state=8).draw(LISTS, key="k", unit=1),
        make().draw(LISTS, key="other", unit=1),
        make().draw(LISTS, key="k", unit=2),
        make().draw({"old": A, "new": B[::-1]}, key="k", unit=1),
        make(test="other").draw(LISTS, key="k", unit=1),
    ]
    assert len({shown.id, *(other.id for other in others)}) == 6


def test_duplicates_warn_and_the_first_place_counts():
    with pytest.warns(DataWarning, match="new returned a document twice"):
        shown = make().draw({"old": A, "new": ["c", "c", "x", "c", "a", "y"]}, key=3)
    assert shown.documents == make().draw({"old": A, "new": ["c", "x", "a", "y"]}, key=3).documents


def test_short_lists_are_filled_and_surrogates_are_taken():
    shown = make().draw({"old": ["a"], "new": ["b", "\udce9"]}, key="\udce9")
    assert sorted(shown.documents) == ["a", "b", "\udce9"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_ranker_whose_documents_are_clicked(method):
    service = Service(make(method=method))
    for number in range(60):
        shown = service.show(LISTS, number)
        service.click(shown, *(document for document in shown.documents if document in "cxy"))
    test = service.read(lists_per_unit=None, idle=0)
    found = test.preference()
    assert (found.first, found.second) == ("old", "new")
    assert found.mean < -0.05
    assert found.verdict == ("new" if found.high < 0 else "undecided")
    assert test.preference("new", "old").mean == -found.mean
    assert (test.method, test.k, test.rankers, test.test) == (method, 5, ["old", "new"], "test")


def test_a_list_is_counted_once_by_its_first_click():
    service = Service(make())
    shown = service.show(LISTS, 1)
    service.click(shown, shown.documents[0])
    before = service.read().preference()
    assert before.n_units == 1
    again = service.show(LISTS, 1)
    service.click(shown, *shown.documents[:2])
    service.click(again, *shown.documents[1:])
    service.click(shown, "never shown")
    with pytest.warns(DataWarning, match="1 click on documents that the lists do not have"):
        assert service.read().preference() == before


def test_an_open_unit_counts_by_all_of_its_clicks_when_it_is_idle():
    service = Service(make())
    one, other = service.show(LISTS, 1, "u"), service.show(LISTS, 2, "u")
    service.click(one, *one.documents[:2])
    service.click(other, other.documents[0])
    assert service.read(lists_per_unit=None).preference().n_units == 0
    assert service.read(lists_per_unit=None, idle=3600).preference().n_units == 0
    found = service.read(lists_per_unit=None, idle=0).preference()
    assert found.n_units == 1
    both = []
    for shown, places in ((one, (0, 1)), (other, (0,))):
        credits = service.test._method.credit(shown.basis, places, 2)
        both.append(credits[0] - credits[1])
    assert found.mean == pytest.approx(sum(both) / 2)
    service.wait(4000)
    service.click(service.show(LISTS, 3, "other"), "a")
    assert service.read(lists_per_unit=None, idle=3600).preference().mean == found.mean
    service.click(other, *other.documents)  # late
    assert service.read(lists_per_unit=None, idle=3600).preference().mean == found.mean


def test_a_user_with_many_sessions_counts_as_one():
    service = Service(make())
    for number in range(40):
        shown = service.show(LISTS, number, "busy")
        service.click(shown, *(document for document in shown.documents if document in "xy"))
    assert service.read(lists_per_unit=3).preference().n_units == 1
    for number in range(3):
        shown = service.show(LISTS, number, f"user {number}")
        service.click(shown, shown.documents[0])
    assert service.read(lists_per_unit=3).preference().n_units == 1
    assert service.read(lists_per_unit=3, idle=0).preference().n_units == 4


def test_the_order_of_lines_does_not_matter():
    service = Service(make())
    for number in range(80):
        shown = service.show(LISTS, number, f"user {number % 30}")
        service.click(shown, *random.Random(number).sample(shown.documents, 2))
    found = service.read(lists_per_unit=2).preference()
    random.Random(0).shuffle(service.lines)
    assert service.read(lists_per_unit=2).preference() == found


def test_lists_on_which_the_rankers_agree_say_nothing():
    service = Service(make())
    shown = service.show({"old": A, "new": [*A[:5], "z"]}, 1)
    assert (shown.documents, shown.is_contested) == (A[:5], False)
    service.click(shown, "a")
    shown = service.show({"old": [], "new": B}, 2)
    assert (shown.documents, shown.is_contested) == (B[:5], False)
    assert service.show({"old": [], "new": []}, 3).documents == []
    assert service.read().preference().n_units == 0


def test_ids_are_returned_as_given_and_compared_as_texts():
    service = Service(make())
    shown = service.show({"old": np.arange(5), "new": np.array([7, 0, 2, 9, 3])}, np.int64(1))
    assert all(isinstance(document, np.int64) for document in shown.documents)
    service.click(shown, shown.documents[0])
    assert service.read().preference().n_units == 1
    test = service.test
    with pytest.raises(TypeError, match=r"a document of old is \['a'\]; ids must be strings or whole numbers"):
        test.draw({"old": [["a"]], "new": B})
    for odd in (None, 1.5, True, b"a", ("a",)):
        with pytest.raises(TypeError, match="a document of new is"):
            test.draw({"old": A, "new": [odd]})
    with pytest.raises(TypeError, match="a sequence of document ids"):
        test.draw({"old": "abc", "new": B})


def test_rankers_and_settings_of_a_test_are_fixed():
    test = make()
    shown = test.draw(LISTS, key=1)
    with pytest.raises(ValueError, match="this test compares old, new, but the lists are of old, other"):
        test.draw({"old": A, "other": B})
    assert test.draw({"new": B, "old": A}, key=1) == shown
    with pytest.raises(ValueError, match="at least two rankers"):
        make().draw({"old": A})
    with pytest.raises(ValueError, match="compares two rankers, not 3"):
        make().draw({"a": A, "b": B, "c": A})
    with pytest.raises(ValueError, match="at most 10 documents"):
        Interleaver("optimised", k=11)
    with pytest.raises(ValueError, match="this test has no clicks"):
        test.preference()
    read = Interleaver.from_log([test.record(shown)])
    with pytest.raises(ValueError, match="name two of the rankers"):
        read.preference("old", "other")
    for wrong in (-1, 1.5, True, "a"):
        with pytest.raises(ValueError, match="random_state="):
            Interleaver(random_state=wrong)


def test_a_drawn_seed_is_another_one_each_time():
    assert Interleaver().random_state != Interleaver().random_state


def test_tests_of_a_log_are_named():
    tests = [make(test=name) for name in ("one", "two")]
    records = [test.record(test.draw(LISTS, key=1)) for test in tests]
    assert Interleaver.from_log(records, test="two").test == "two"
    assert Interleaver.from_log(records[:1]).test == "one"
    with pytest.raises(ValueError, match=r"test=None; the records have the tests 'one', 'two'\."):
        Interleaver.from_log(records)
    with pytest.raises(ValueError, match="no interleaved list"):
        Interleaver.from_log([])


def test_credits_of_the_log_are_those_of_its_settings():
    for credit in ("linear", "inverse"):
        service = Service(make(method="optimised", credit=credit))
        for number in range(20):
            shown = service.show(LISTS, number)
            service.click(shown, *shown.documents[:2])
        found = service.read()
        assert found.credit == credit


def test_pairs_of_many_rankers_share_the_level():
    service = Service(Interleaver("team-draft-multileave", k=4, random_state=0))
    for number in range(200):
        shown = service.show({"a": A, "b": B, "c": A[::-1]}, number)
        service.click(shown, *(document for document in shown.documents if document in "cx"))
    test = service.read(lists_per_unit=None, idle=0)
    found = test.preferences()
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(one.level == pytest.approx(1 - 0.05 / 3) for one in found)
    assert found[0].verdict == found[2].verdict == "b"
    assert test.preference("a", "b").high < found[0].high


def test_a_small_interval_says_that_there_is_no_difference_that_matters():
    service = Service(Interleaver(k=2, random_state=0))
    for number in range(3000):
        shown = service.show({"a": ["x", "y"], "b": ["y", "x"]}, number)
        service.click(shown, *shown.documents)
    test = service.read(lists_per_unit=None, idle=0)
    assert test.preference().verdict == "undecided"
    assert test.preference(margin=0.1).verdict == "no difference that matters"
    assert test.preference().n_ties == 3000
    assert "prefer neither" in str(test.preference())
    assert test.preference().to_dict()["units_needed"] is None


@pytest.mark.parametrize("row", [[0.5], [0.5, 0.5, 0.5], [math.nan, 0.0], [math.inf, 0.0]])
def test_a_list_whose_numbers_do_not_fit_its_rankers_is_damaged(row):
    shown = Interleaver(k=2, random_state=0).draw({"a": ["x", "y"], "b": ["y", "x"]}, key=1)
    record = Interleaver(k=2, random_state=0, rankers=["a", "b"]).record(shown)
    other = json.loads(json.dumps(record)) | {"query_id": "other"}
    other["query_attributes"]["interleaving"]["basis"] = [row, row]
    with pytest.warns(DataWarning, match="1 damaged record"):
        test = Interleaver.from_log([record, other, click_on(shown.id, "x")])
    assert test.preference().n_units == 1


def test_lists_with_the_rankers_in_another_order_are_not_mistaken():
    records = []
    for names in (["a", "b"], ["b", "a"]):
        test = Interleaver(k=2, random_state=0, rankers=names)
        shown = test.draw({"a": ["x", "y"], "b": ["y", "x"]}, key=1, unit=" ".join(names))
        records += [test.record(shown, unit=" ".join(names)), click_on(shown.id, shown.documents[0])]
    with pytest.warns(DataWarning, match="1 list with other rankers, or in another order"):
        found = Interleaver.from_log(records)
    assert found.rankers == ["a", "b"]
    assert found.preference().n_units == 1


def click_on(list_id, docid):
    place = {"object": {"object_id": docid}}
    return {"action_name": "click", "query_id": list_id, "timestamp": "2026-03-01T10:00:00Z", "event_attributes": place}
