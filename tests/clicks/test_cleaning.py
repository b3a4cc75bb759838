"""Damaged logs: every damage is counted, and its rule applied."""

import io
import json

import numpy as np
import pytest

from plackett.clicks import Cleaning, read_clicks
from plackett.clicks.reading.cleaning import RULES

from .logs import as_csv, as_rows, as_ubi, by_id, expected, make_sessions

HEADER = "session,query,docid,rank,click,time,client\n"


def read(*rows):
    return read_clicks(io.StringIO(HEADER + "\n".join(rows) + "\n"))


@pytest.mark.parametrize(
    ("rows", "counts", "kept"),
    [
        (["1,q,a,1,0,,", "1,q,b"], {"damaged line": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", '1,q,"b,2,0,,'], {"damaged line": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", ",q,b,2,1,,"], {"missing session": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,,b,2,1,,"], {"missing query": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,q,,2,1,,"], {"missing document": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,q,b,,1,,"], {"missing position": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,q,b,two,1,,"], {"invalid position": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,q,b,-2,1,,"], {"invalid position": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "2,q,a,1,0,,", "1,q,b,0,1,,"], {"invalid position": 1}, None),
        (["1,q,a,1,0,,", "1,q,b,2,,,"], {"missing click": 1}, {"1": ("q", ["a", "b"], [0, 0])}),
        (["1,q,a,1,0,,", "1,q,b,2,perhaps,,"], {"invalid click": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,TRUE,,", "1,q,b,2,no,,"], {}, {"1": ("q", ["a", "b"], [1, 0])}),
        (["1,q,a,1,3,,"], {"repeated click": 2}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,0,noon,"], {"invalid time": 1}, {"1": ("q", ["a"], [0])}),
        (["1,q,a,1,0,,", "1,q,b,2,0,,", "1,q,a,1,1,,"], {"repeated row": 1}, {"1": ("q", ["a", "b"], [1, 0])}),
        (["1,q,a,1,1,,", "1,q,b,3,1,,"], {"gap in positions": 1, "click below a cut": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,,", "1,q,b,2,0,,", "1,q,c,2,0,,"], {"two documents at a position": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,,", "1,q,a,2,0,,", "1,q,c,3,0,,"], {"document shown twice": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,,", "2,q,a,2,0,,"], {"gap in positions": 1, "empty list": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,,", "1,r,b,1,0,,"], {"several queries in a session": 1}, None),
        (["1,q,a,1,1,,x", "2,q,a,1,0,,GoogleBot"], {"bot": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,7,x", "2,q,a,1,0,7,x"], {"copied session": 1}, {"1": ("q", ["a"], [1])}),
        (["1,q,a,1,1,7,x", "2,q,b,1,0,7,x", "3,q,a,1,0,8,x"], {}, None),
    ],
)
def test_rows(rows, counts, kept):
    log = read(*rows)
    assert log.cleaning.counts == counts
    assert kept is None or by_id(log) == kept
    assert read(*rows[::-1]).cleaning.counts == counts
    assert [*log.click, *log.pair] == [*read(*rows[::-1]).click, *read(*rows[::-1]).pair]


def test_sessions_of_busy_clients_are_those_of_bots():
    text = HEADER + "1,q,a,1,1,,x\n2,q,a,1,0,,x\n3,q,a,1,0,,y\n3,q,b,2,0,,y\n"
    log = read_clicks(io.StringIO(text), max_sessions_per_client=1)
    assert list(log.session_ids) == ["3"]
    assert log.cleaning.counts == {"bot": 2}


@pytest.mark.parametrize(
    ("name", "is_bot"),
    [
        ("AhrefsBot/7.0", 1),
        ("nightly_bot", 1),
        ("bot-3", 1),
        ("googlebot", 1),
        ("robot", 1),
        ("abbot", 0),
        ("Talbot", 0),
    ],
)
def test_bots_are_found_by_their_name(name, is_bot):
    assert read("1,q,a,1,0,,x", f"2,q,a,1,0,,{name}").cleaning["bot"] == is_bot


def query(name, hits, text="q", **more):
    return json.dumps({"query_id": name, "user_query": text, "query_response_hit_ids": hits, **more})


def click(name, doc=None, ordinal=None):
    attributes = {"object": {"object_id": doc}, "position": {"ordinal": ordinal}}
    return json.dumps({"query_id": name, "action_name": "click", "event_attributes": attributes})


SOUND = [query("1", ["a", "b", "c"])]


@pytest.mark.parametrize(
    ("queries", "events", "counts", "kept"),
    [
        (SOUND, [click("1", "b", 2), '{"query_id": "1"', "[1]", "7"], {"damaged line": 3}, [0, 1, 0]),
        (SOUND, [click("2", "a", 1)], {"click in an unknown session": 1}, [0, 0, 0]),
        (SOUND, [click(None, "a", 1)], {"click in an unknown session": 1}, [0, 0, 0]),
        (SOUND, [click("1", "x", 1)], {"click on what was not shown": 1}, [0, 0, 0]),
        (SOUND, [click("1", None, 9)], {"click on what was not shown": 1}, [0, 0, 0]),
        (SOUND, [click("1", None, 3)], {"click without a document": 1}, [0, 0, 1]),
        (SOUND, [click("1")], {"click without document and position": 1}, [0, 0, 0]),
        (SOUND, [click("1", "c")], {}, [0, 0, 1]),
        (SOUND, [click("1", "c", "third")], {"invalid position": 1}, [0, 0, 1]),
        (SOUND, [click("1", "a", 1), click("1", "b", 3)], {"click at another position": 1}, [1, 1, 0]),
        (SOUND, [click("1", "b", 2)] * 3, {"repeated click": 2}, [0, 1, 0]),
        (SOUND * 2, [click("1", "b", 2)], {"repeated session": 1}, [0, 1, 0]),
        ([*SOUND, query("1", ["a"])], [click("1", "b", 2)], {"repeated session": 1}, [0, 1, 0]),
        ([*SOUND, query("2", ["a"]), query("2", ["b"])], [], {"contradictory session": 2}, [0, 0, 0]),
        ([*SOUND, query("2", ["a"]), query("2", ["a"], "r")], [], {"contradictory session": 2}, [0, 0, 0]),
        ([*SOUND, query("2", [])], [], {"empty list": 1}, [0, 0, 0]),
        (
            [*SOUND, query(None, ["a"]), query("3", ["a"], None)],
            [],
            {"missing session": 1, "missing query": 1},
            [0] * 3,
        ),
        ([*SOUND, query("3", ["x"], ""), query("4", ["a"], " ")], [], {"missing query": 2}, [0] * 3),
        ([query("1", ["a", None, "c"])], [click("1", "c", 3)], {"missing document": 1, "click below a cut": 1}, [0]),
        ([*SOUND, query("2", ["a"], client_id="nightly-bot")], [], {"bot": 1}, [0, 0, 0]),
        ([*SOUND, query("2", ["a"], timestamp="soon")], [], {"invalid time": 1}, None),
    ],
)
def test_ubi(queries, events, counts, kept):
    for lines in ((queries, events), (queries[::-1], events[::-1])):
        log = read_clicks(*(io.StringIO("\n".join(one)) for one in lines))
        assert log.cleaning.counts == counts
        assert kept is None or log.click.tolist() == kept


def damaged(lines, rng):
    """Return the lines with three of ten made unreadable, and how many they are."""
    lines = list(lines)
    chosen = rng.permutation(len(lines))[: int(0.3 * len(lines))]
    for i in chosen.tolist():
        line = lines[i]
        kind = rng.integers(4)
        lines[i] = (line[: len(line) // 3], "\x00\xff garbage", line.replace("{", "[", 1), line + "}{")[kind]
        if "{" not in line:
            lines[i] = (line.split()[0], "\x00\xff garbage", "...", "%%%%")[kind]
    return lines, chosen.size


def test_a_log_with_three_of_ten_lines_damaged():
    sessions, rng = make_sessions(400, seed=5), np.random.default_rng(1)
    queries, n_queries = damaged(as_ubi(sessions)[0], rng)
    events, n_events = damaged(as_ubi(sessions)[1], rng)
    log = read_clicks(io.StringIO("\n".join(queries)), io.StringIO("\n".join(events)))
    assert log.cleaning["damaged line"] == n_queries + n_events
    assert len(log) == 400 - n_queries
    truth = expected(sessions)
    for name, (text, docs, clicks) in by_id(log).items():
        assert (text, docs) == truth[name][:2]
        assert all(own <= true for own, true in zip(clicks, truth[name][2], strict=True))
    known = {"damaged line", "click in an unknown session", "repeated click"}
    assert set(log.cleaning.counts) <= known

    rows, n_rows = damaged(as_csv(as_rows(sessions)).splitlines()[1:], rng)
    log = read_clicks(io.StringIO("\n".join([as_csv([]).strip(), *rows])))
    assert log.cleaning["damaged line"] == n_rows
    for name, (text, docs, clicks) in by_id(log).items():
        assert (text, docs, clicks) == (truth[name][0], truth[name][1][: len(docs)], truth[name][2][: len(docs)])


def test_every_damage_has_a_rule():
    with pytest.raises(KeyError, match="not a kind of damage"):
        Cleaning({"rust": 1})
    cleaning = Cleaning({"bot": 2}, n_lines=9)
    assert cleaning.rules == {"bot": RULES["bot"][1]}
    assert Cleaning.from_dict(cleaning.to_dict()).to_dict() == cleaning.to_dict()
    assert repr(cleaning) == "Cleaning(9 lines: 2 bots)"
    assert cleaning["damaged line"] == 0
    with pytest.raises(KeyError, match="The kinds are damaged line"):
        cleaning["rust"]
