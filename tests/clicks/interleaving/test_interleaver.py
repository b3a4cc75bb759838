import json
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

from plackett.clicks import Interleaver
from plackett.clicks.interleaving.methods import METHODS
from plackett.exceptions import DataWarning

A, B = list("abcdefghij"), list("cxaydzbwvu")
LISTS = {"old": A, "new": B}
IN_MEMORY, IN_SQL = "memory", "sql"


@pytest.fixture(params=[IN_MEMORY, IN_SQL])
def database(request, tmp_path):
    return None if request.param == IN_MEMORY else tmp_path / "tests.db"


def make(database, **options):
    return Interleaver(**{"k": 5, "random_state": 7, "database": database, **options})


def test_the_same_request_shows_the_same_list_in_any_order_and_process(database, tmp_path):
    keys = [f"request {number}" for number in range(30)]
    test = make(database)
    shown = {key: test.serve(LISTS, key=key, unit=1) for key in keys}
    random.Random(0).shuffle(keys)
    again = make(None)
    assert {key: again.serve(LISTS, key=key, unit=1) for key in keys} == shown
    assert len({tuple(one.documents) for one in shown.values()}) > 3
    code = (
        "from plackett.clicks import Interleaver\n"
        f"shown = Interleaver(k=5, random_state=7).serve({LISTS}, key='request 3', unit=1)\n"
        "print(shown.id, *shown.documents)"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [shown["request 3"].id, *shown["request 3"].documents]


def test_other_seeds_keys_units_and_lists_are_other_requests():
    shown = make(None).serve(LISTS, key="k", unit=1)
    others = [
        make(None, random_state=8).serve(LISTS, key="k", unit=1),
        make(None).serve(LISTS, key="other", unit=1),
        make(None).serve(LISTS, key="k", unit=2),
        make(None).serve({"old": A, "new": B[::-1]}, key="k", unit=1),
        make(None, test="other").serve(LISTS, key="k", unit=1),
    ]
    assert len({shown.id, *(other.id for other in others)}) == 6


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_ranker_whose_documents_are_clicked(method, database):
    test = make(database, method=method)
    for number in range(60):
        shown = test.serve(LISTS, key=number)
        test.credit(shown, [document for document in shown.documents if document in "cxy"])
    found = test.preference()
    assert (found.first, found.second) == ("old", "new")
    assert found.mean < -0.05
    assert found.verdict == ("new" if found.high < 0 else "undecided")
    assert test.preference("new", "old").mean == -found.mean


def test_a_list_is_counted_once(database):
    test = make(database)
    shown = test.serve(LISTS, key=1)
    assert test.credit(shown, shown.documents[:1]).status == "counted"
    before = test.preference()
    assert test.credit(shown.id, shown.documents[:1]).status == "repeated"
    assert test.credit(test.serve(LISTS, key=1), shown.documents[:1]).status == "repeated"
    assert test.credit(shown, shown.documents[1:2]).status == "late"
    assert test.preference() == before
    assert test.counts() == {"lists": 1, "contested": 1, "clicked": 1, "units": 1, "closed": 1}


def test_clicks_are_added_while_the_unit_is_open(database):
    test = make(database, lists_per_unit=None)
    one, other = test.serve(LISTS, key=1, unit="u"), test.serve(LISTS, key=2, unit="u")
    assert [test.credit(one, [document]).status for document in one.documents[:2]] == ["counted", "added"]
    assert test.credit(other, other.documents[:1]).status == "counted"
    assert test.preference().n_units == 0
    assert test.close("nobody") == 0
    assert test.close(idle=3600) == 0
    assert test.close("u") == 1
    assert test.close() == 0
    at_once = make(None, lists_per_unit=None)
    for shown, clicks in ((one, one.documents[:2]), (other, other.documents[:1])):
        at_once.credit(at_once.serve(LISTS, key=1 if shown is one else 2, unit="u"), clicks)
    at_once.close()
    assert test.preference() == at_once.preference()
    assert test.preference().n_units == 1
    assert test.credit(other, other.documents[2:3]).status == "late"


def test_a_user_with_many_sessions_counts_as_one(database):
    test = make(database, lists_per_unit=3)
    for number in range(40):
        shown = test.serve(LISTS, key=number, unit="busy")
        status = test.credit(shown, [document for document in shown.documents if document in "xy"]).status
        assert status in (("counted",) if number < 3 else ("late", "no clicks"))
    assert test.preference().n_units == 1
    for number in range(3):
        shown = test.serve(LISTS, key=number, unit=f"user {number}")
        test.credit(shown, shown.documents[:1])
    assert test.preference().n_units == 1
    assert test.close() == 3
    assert test.preference().n_units == 4


def test_unknown_lists_and_documents_change_nothing(database):
    test = make(database)
    assert test.credit("forged", ["a"]).status == "unknown"  # before any list
    shown = test.serve(LISTS, key=1)
    assert test.credit("forged", ["a"]).status == "unknown"
    assert test.credit(shown, []).status == "no clicks"
    ignored = test.credit(shown, ["never shown", "b c", "never shown"])
    assert (ignored.status, ignored.not_shown) == ("no clicks", ("never shown", "b c"))
    assert test.preference().n_units == 0
    found = test.credit(shown, ["never shown", shown.documents[0]])
    assert (found.status, found.not_shown) == ("counted", ("never shown",))


def test_lists_on_which_the_rankers_agree_say_nothing(database):
    test = make(database)
    shown = test.serve({"old": A, "new": [*A[:5], "z"]}, key=1)
    assert (shown.documents, shown.is_contested) == (A[:5], False)
    assert test.credit(shown, ["a"]).status == "uncontested"
    shown = test.serve({"old": [], "new": B}, key=1)
    assert (shown.documents, shown.is_contested) == (B[:5], False)
    assert test.serve({"old": [], "new": []}, key=1).documents == []
    assert test.preference().n_units == 0
    assert test.counts()["contested"] == 0


def test_forgotten_lists_are_unknown_and_their_preference_is_kept(database):
    test = make(database, lists_per_unit=2)
    closed = [test.serve(LISTS, key=number, unit="closed") for number in range(2)]
    half = test.serve(LISTS, key=1, unit="open")
    for shown in (*closed, half):
        test.credit(shown, shown.documents[:1])
    before = test.preference()
    assert test.forget(3600) == 0
    assert test.forget(-1) == 2
    assert test.credit(closed[0], closed[0].documents[:1]).status == "unknown"
    assert test.credit(half, half.documents[:2]).status == "added"
    assert test.preference() == before


def test_ids_are_returned_as_given_and_compared_as_texts():
    test = make(None)
    shown = test.serve({"old": np.arange(5), "new": np.array([7, 0, 2, 9, 3])}, key=np.int64(1))
    assert all(isinstance(document, np.int64) for document in shown.documents)
    assert test.credit(shown, [str(shown.documents[0])]).status == "counted"
    with pytest.raises(TypeError, match=r"a document of old is \['a'\]; ids must be strings or whole numbers"):
        test.serve({"old": [["a"]], "new": B})
    for odd in (None, 1.5, True, b"a", ("a",)):
        with pytest.raises(TypeError, match="a document of new is"):
            test.serve({"old": A, "new": [odd]})
    with pytest.raises(TypeError, match="a sequence of document ids"):
        test.serve({"old": "abc", "new": B})
    with pytest.raises(TypeError, match="a list of document ids"):
        test.credit(shown, "a")
    with pytest.raises(TypeError, match="a ShownList or its id"):
        test.credit(17, ["a"])


def test_duplicates_warn_and_the_first_place_counts():
    with pytest.warns(DataWarning, match="new returned a document twice"):
        shown = make(None).serve({"old": A, "new": ["c", "c", "x", "c", "a", "y"]}, key=3)
    assert shown.documents == make(None).serve({"old": A, "new": ["c", "x", "a", "y"]}, key=3).documents


def test_short_lists_are_filled_and_surrogates_are_taken():
    shown = make(None).serve({"old": ["a"], "new": ["b", "\udce9"]}, key="\udce9")
    assert sorted(shown.documents) == ["a", "b", "\udce9"]


def test_rankers_and_settings_of_a_test_are_fixed(database):
    test = make(database)
    test.serve(LISTS, key=1)
    with pytest.raises(ValueError, match="this test compares old, new, but the lists are of old, other"):
        test.serve({"old": A, "other": B})
    assert test.serve({"new": B, "old": A}, key=1) == test.serve(LISTS, key=1)
    with pytest.raises(ValueError, match="at least two rankers"):
        make(None).serve({"old": A})
    with pytest.raises(ValueError, match="compares two rankers, not 3"):
        make(None).serve({"a": A, "b": B, "c": A})
    with pytest.raises(ValueError, match="at most 10 documents"):
        Interleaver("optimised", k=11)
    with pytest.raises(ValueError, match="no list was served yet"):
        make(None).preference()
    with pytest.raises(ValueError, match="name two of the rankers"):
        test.preference("old", "other")
    for wrong in (-1, 1.5, True, "a"):
        with pytest.raises(ValueError, match="random_state="):
            Interleaver(random_state=wrong)


def test_pairs_of_many_rankers_share_the_level():
    test = Interleaver("team-draft-multileave", k=4, random_state=0)
    for number in range(200):
        shown = test.serve({"a": A, "b": B, "c": A[::-1]}, key=number)
        test.credit(shown, [document for document in shown.documents if document in "cx"])
    found = test.preferences()
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(one.level == pytest.approx(1 - 0.05 / 3) for one in found)
    assert found[0].verdict == found[2].verdict == "b"
    assert test.preference("a", "b").high < found[0].high


def test_a_small_interval_says_that_there_is_no_difference_that_matters():
    test = Interleaver(k=2, random_state=0)
    for number in range(3000):
        shown = test.serve({"a": ["x", "y"], "b": ["y", "x"]}, key=number)
        test.credit(shown, shown.documents)
    assert test.preference().verdict == "undecided"
    assert test.preference(margin=0.1).verdict == "no difference that matters"
    assert test.preference().n_ties == 3000
    assert "prefer neither" in str(test.preference())
    assert test.preference().to_dict()["units_needed"] is None


def test_the_state_as_json_goes_on_where_it_was():
    test = Interleaver("probabilistic", k=5, lists_per_unit=2)  # a drawn seed is kept
    pending = test.serve(LISTS, key="pending", unit=1)
    for number in range(9):
        shown = test.serve(LISTS, key=number, unit=number // 2)
        test.credit(shown, shown.documents[:2])
    loaded = Interleaver.from_json(test.to_json())
    assert loaded.preference() == test.preference()
    assert loaded.counts() == test.counts()
    assert loaded.serve(LISTS, key="pending", unit=1) == pending
    for one in (test, loaded):
        assert one.credit(pending, pending.documents[:1]).status == "late"
        shown = one.serve(LISTS, key="more", unit=4)
        assert one.credit(shown, shown.documents[-1:]).status == "counted"
    assert loaded.preference() == test.preference()
    assert Interleaver.from_json(Interleaver().to_json()).rankers is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body.update(format="other"),
        lambda body: body.update(version=2),
        lambda body: body.pop("units"),
        lambda body: body["options"].update(method="__import__('os')"),
        lambda body: body["options"].update(k="5"),
        lambda body: body["settings"].update(rankers=["one"]),
        lambda body: body["settings"].update(rankers=None),
        lambda body: body["lists"][0].update(documents="abc"),
        lambda body: body["lists"][0].update(basis=[["x"]]),
        lambda body: body["lists"].append(None),
        lambda body: body["lists"][0].update(clicked=[99]),
        lambda body: body["lists"][0]["basis"].pop(),
        lambda body: next(iter(body["units"].values())).update(n_lists=0),
        lambda body: body["values"][0].update(counts=[[30000, 1]]),
        lambda body: body["units"].update(u=[]),
        lambda body: body["values"][0].update(pair=[0]),
    ],
)
def test_damaged_json_is_refused(damage):
    test = make(None)
    shown = test.serve(LISTS, key=1)
    test.credit(shown, shown.documents[:1])
    body = json.loads(test.to_json())
    damage(body)
    with pytest.raises(ValueError, match="not the state of an interleaved test"):
        Interleaver.from_json(json.dumps(body))
    with pytest.raises(ValueError, match="not the state of an interleaved test"):
        Interleaver.from_json("[]")


def test_threads_of_a_service_lose_no_click(database):
    test = make(database)
    shown = [test.serve(LISTS, key=number) for number in range(40)]
    statuses = []

    def work(part):
        statuses.extend(test.credit(one, one.documents[:1]).status for one in part)

    threads = [threading.Thread(target=work, args=(part,)) for part in (shown[::2], shown[1::2], shown)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == ["counted"] * 40 + ["repeated"] * 40
    assert test.preference().n_units == 40
