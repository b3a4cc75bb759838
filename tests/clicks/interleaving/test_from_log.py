"""Tests from a log alone: counted by a literal loop, in any order of the lines, with damage and several tests."""

import json
import random

import pytest

import plackett as pk
from plackett.exceptions import DataWarning

BASIS = [[0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]]


def list_of(query_id, user, *, test="old and new", basis=BASIS, n_mixed=3):
    about = {"test": test, "method": "team-draft", "k": 3, "n_mixed": n_mixed}
    about |= {"rankers": [{"model": "old"}, {"model": "new"}], "basis": basis, "list": f"list {query_id}"}
    record = {"query_id": query_id, "client_id": user, "query_attributes": {"interleaving": about}}
    return {**record, "query_response_hit_ids": ["a", "b", "c", "d"]}


def click_on(query_id, docid, second):
    time = f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000000Z"
    event = {"action_name": "click", "query_id": query_id, "timestamp": time}
    return {**event, "event_attributes": {"object": {"object_id": docid}}}


def write(folder, queries, events):
    folder.mkdir(exist_ok=True)
    for name, records in (("ubi_queries-0", queries), ("ubi_events-0", events)):
        (folder / f"{name}.ndjson").write_text("".join(json.dumps(one) + "\n" for one in records))


def write_log(folder, n_users):
    """Users of whom three quarters click the document of the second ranker first."""
    queries = [list_of(f"q{number}", f"user {number}") for number in range(n_users)]
    write(
        folder, queries, [click_on(f"q{number}", "a" if number % 4 == 0 else "b", number) for number in range(n_users)]
    )


def test_users_count_by_their_first_click_in_time(tmp_path):
    rng = random.Random(0)
    users = [f"user {number}" for number in range(30)]
    queries = [list_of(f"q{number}", rng.choice(users)) for number in range(60)]
    queries += [
        list_of("agree", "user 1", basis=[]),
        {"query_id": "plain", "query_attributes": {"ranker": "old"}, "query_response_hit_ids": list("abcd")},
    ]
    ids = [one["query_id"] for one in queries]
    events = [click_on(rng.choice(ids), rng.choice("abcd"), second) for second in range(200)]
    events.append({**click_on("q1", "a", 0), "action_name": "impression"})
    user_of = {one["query_id"]: one.get("client_id") for one in queries}
    counted = {}
    for event in events[:200]:  # "d" was shown behind the mixed documents
        docid, query_id = event["event_attributes"]["object"]["object_id"], event["query_id"]
        if query_id not in ("agree", "plain") and docid != "d":
            counted.setdefault(user_of[query_id], {"a": 1, "b": -1, "c": 0}[docid])
    for _ in range(3):
        rng.shuffle(queries)
        rng.shuffle(events)
        write(tmp_path, queries, events)
        (test,) = pk.clicks.read_interleaving(tmp_path).values()
        found = test.preference()
        assert (found.n_units, found.mean) == (len(counted), pytest.approx(sum(counted.values()) / len(counted)))


def test_tests_are_never_mixed_and_users_with_few_lists_count_after_the_end(tmp_path):
    queries = [list_of("q1", "u", test="first"), list_of("q2", "u", test="second")]
    queries.append(list_of("q3", "u", test="third"))
    write(tmp_path, queries, [click_on("q2", "a", 1), click_on("q1", "b", 2), click_on("q2", "b", 3)])
    tests = pk.clicks.read_interleaving(tmp_path)
    assert list(tests) == ["second", "first", "third"]  # by their first clicks
    assert [(test.preference().n_units) for test in tests.values()] == [1, 1, 0]
    tests = pk.clicks.read_interleaving(tmp_path, lists_per_unit=2)
    assert [(test.preference().n_units) for test in tests.values()] == [0, 0, 0]
    tests = pk.clicks.read_interleaving(tmp_path, lists_per_unit=2, idle=0)
    assert (tests["second"].preference().n_units, tests["second"].preference().mean) == (1, 0.0)


def test_damaged_records_are_counted_and_a_torn_line_is_not_one(tmp_path):
    queries = [list_of("q1", "u"), 3, {"query_id": "x", "query_attributes": {"interleaving": {"basis": 1}}}]
    events = [
        click_on("q1", "a", 1),
        {**click_on("q1", "a", 1), "timestamp": "now"},
        click_on("gone", "a", 1),
        click_on("q1", "z", 1),
    ]
    events += [{**click_on("q1", "a", 1), "timestamp": "2026-03-01T10:00:00"}, {}]
    write(tmp_path, queries, events)
    with open(tmp_path / "ubi_events-0.ndjson", "a") as file:
        file.write("{damaged\n" + json.dumps(click_on("q1", "b", 0)))
    with pytest.warns(DataWarning) as warned:
        (test,) = pk.clicks.read_interleaving(tmp_path).values()
    assert [str(one.message) for one in warned] == [
        "ignored in the log: 6 damaged records.",
        "ignored in the log: 1 click on lists that it does not have.",
        "ignored in the log: 1 click on documents that the lists do not have.",
    ]
    assert (test.preference().n_units, test.preference().mean) == (1, 1.0)


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is not a folder with files ubi_queries\* and"):
        pk.clicks.read_interleaving(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"has no file ubi_queries\*"):
        pk.clicks.read_interleaving(tmp_path)
