"""Tests from a log alone: counted by a literal loop, in any order of the lines, with damage and several tests."""

import json
import random
import warnings

import pytest

import plackett as pk
from plackett.clicks.interleaving import from_log
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


def test_lists_by_another_method_are_ignored_with_a_warning(tmp_path):
    queries = [list_of("q1", "u"), list_of("q2", "v"), list_of("q3", "w", test="older")]
    for older in queries[1:]:
        older["query_attributes"]["interleaving"]["method"] = "balanced"
    write(tmp_path, queries, [click_on("q1", "a", 1), click_on("q2", "b", 2), click_on("q3", "b", 3)])
    with pytest.warns(DataWarning) as warned:
        tests = pk.clicks.read_interleaving(tmp_path)
    (about,) = [str(one.message) for one in warned]
    assert about.startswith("ignored in the log: 2 lists by another method than team-draft, probabilistic, ")
    assert list(tests) == ["old and new"]
    assert (tests["old and new"].preference().n_units, tests["old and new"].preference().mean) == (1, 1.0)


def test_other_sources_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is not a folder with files ubi_queries\* and"):
        pk.clicks.read_interleaving(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"has no file ubi_queries\*"):
        pk.clicks.read_interleaving(tmp_path)


# --- Checkpoints ------------------------------------------------------------------------------------------------------


def verdicts(folder, **how):
    """What a verdict says of each test, and the warnings."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        tests = pk.clicks.read_interleaving(folder, **how)
    return [(name, str(test.preferences())) for name, test in tests.items()], [str(one.message) for one in warned]


def lines_of_a_test(rng, n_lists, n_clicks):
    """Lines of two processes: of the lists, and of clicks in nearly the order of time, on lists shown before."""
    queries, events = ([[], []] for _ in range(2))
    for number in range(n_lists):
        user = f"user {rng.randrange(n_lists // 2)}"
        queries[number % 2].append(json.dumps(list_of(f"q{number}", user, test=f"test {number % 3}")) + "\n")
    for second in range(n_clicks):
        shown = rng.randrange(1 + n_lists * second // n_clicks)
        event = click_on(
            f"q{shown}" if rng.random() < 0.97 else "gone", rng.choice("abcd"), second * 7 - rng.randrange(9) % 7
        )
        events[rng.randrange(2)].append(json.dumps(event) + "\n" if rng.random() < 0.97 else "{damaged\n")
    return queries, events


@pytest.mark.parametrize("how", [{}, {"lists_per_unit": 2}, {"lists_per_unit": None, "idle": 300.0}, {"idle": 0}])
@pytest.mark.parametrize("seed", range(4))
def test_a_verdict_continues_from_its_checkpoint_as_if_read_from_the_start(tmp_path, how, seed):
    rng, log = random.Random(seed), tmp_path / "log"
    log.mkdir()
    queries, events = lines_of_a_test(rng, 120, 200)
    files = {log / f"ubi_{what}-{n}.ndjson": "".join(parts[n])
             for what, parts in (("queries", queries), ("events", events)) for n in range(2)}  # fmt: skip
    for share in (0.3, 0.31, 0.6, 0.9, 1.0):
        for path, text in files.items():  # the last line may be torn; lists are there before their clicks
            is_list = "queries" in path.name
            path.write_text(text[: int(len(text) * min(1.0, share + 0.1 * is_list))])
        expected = verdicts(log, **how)
        assert verdicts(log, checkpoint=tmp_path / "kept", **how) == expected
    assert verdicts(log, checkpoint=tmp_path / "kept", lists_per_unit=3) == verdicts(log, lists_per_unit=3)


def test_a_log_that_was_cut_or_replaced_is_read_from_its_start(tmp_path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    write_log(log, 400)
    events = log / "ubi_events-0.ndjson"
    lines = events.read_text().splitlines(keepends=True)
    first, _ = verdicts(log, checkpoint=kept)
    for text in ("".join(lines[:100]), "".join(lines[::-1])):
        events.write_text(text)
        found, warned = verdicts(log, checkpoint=kept)
        assert found == verdicts(log)[0]
        assert any(
            "ubi_events-0.ndjson was truncated, replaced or removed since the checkpoint" in one for one in warned
        )
    events.rename(log / "ubi_events-1.ndjson")
    assert "was truncated, replaced or removed" in verdicts(log, checkpoint=kept)[1][0]
    assert verdicts(log, checkpoint=kept) == (first, [])


def test_a_late_click_and_a_new_file_in_front_are_counted_in_their_order(tmp_path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    write_log(log, 300)
    verdicts(log, checkpoint=kept)
    with open(log / "ubi_events-0.ndjson", "a") as file:
        file.write(json.dumps(click_on("q7", "a", 0)) + "\n")  # before the click on "b" that was folded
    assert verdicts(log, checkpoint=kept) == verdicts(log)
    (log / "ubi_events-").write_text(json.dumps(click_on("q9", "c", 1)) + "\n")
    assert verdicts(log, checkpoint=kept) == verdicts(log)


def test_only_the_lines_that_were_added_are_parsed(tmp_path, monkeypatch):
    log, kept = tmp_path / "log", tmp_path / "kept"
    write_log(log, 2000)
    verdicts(log, checkpoint=kept)
    with open(log / "ubi_events-0.ndjson", "a") as file:
        file.writelines(json.dumps(click_on(f"q{number}", "c", 2000 + number)) + "\n" for number in range(20))
    expected, parsed, parse = verdicts(log), [], from_log._record
    monkeypatch.setattr(from_log, "_record", lambda line: parsed.append(line) or parse(line))
    assert verdicts(log, checkpoint=kept) == expected
    assert len(parsed) == 1 + 20 + 20 + 60  # the checkpoint, clicks, their lists, those of the last minute


def test_another_file_is_not_overwritten_as_a_checkpoint(tmp_path):
    write_log(tmp_path / "log", 10)
    (tmp_path / "thesis").write_text("mine")
    with pytest.raises(ValueError, match="is not a checkpoint of a verdict"):
        pk.clicks.read_interleaving(tmp_path / "log", checkpoint=tmp_path / "thesis")
    assert (tmp_path / "thesis").read_text() == "mine"
