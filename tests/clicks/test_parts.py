"""Damaged logs, in any blocks and order of lines: all damage is counted, and the log is the same."""

import io
import json
import random

import numpy as np
import pytest

from plackett.clicks import ClickLog, read_clicks
from plackett.clicks.reading.cleaning import RULES
from plackett.exceptions import DataFormatError

from .literal import clean_rows, clean_ubi

HEADER = "session,query,docid,rank,click,time,client"
LIMITS = {"k": 6, "max_sessions_per_client": 12}
LITERAL = {"k": 6, "max_sessions": 12}


def damaged_rows(n=900, seed=0, first=1):
    """Lines of a table of which three of ten are damaged, in any order, and sessions that are wrong as a whole."""
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        docs = [f"d{doc}" for doc in rng.sample(range(12), rng.randrange(1, 9))]
        client = rng.choice(["", "bot-7", "Googlebot", "busy", *(f"u{j}" for j in range(n))])
        query, time = f"q{rng.randrange(9)}", rng.choice(["", str(1_700_000_000 + i)])
        rows = [
            [f"s{i:04d}", query, doc, str(place + first), str(int(rng.random() < 0.3)), time, client]
            for place, doc in enumerate(docs)
        ]
        lines += [",".join(row) for row in rows]
        if rng.random() < 0.1:  # under another name
            lines += [",".join([f"t{i:04d}", *row[1:]]) for row in rows]
        if rng.random() < 0.05:
            lines += [",".join([row[0], "other", *row[2:]]) for row in rows]
    for place in rng.sample(range(len(lines)), 3 * len(lines) // 10):
        row = lines[place].split(",")
        kind = rng.randrange(15)
        if kind < 7:
            row[kind] = ""
        elif kind < 12:
            positions, clicks = ["0", "two", "-3", "2", "9", "1048575", "1234567890"], ["perhaps", "true", "no", "3"]
            values = {2: ["d0"], 3: positions, 4: clicks, 5: ["noon"], 6: ["bot-3"]}
            column, value = rng.choice([(column, value) for column in values for value in values[column]])
            row[column] = value
        elif kind == 12:
            lines.append(lines[place])
        lines[place] = ",".join(row) if kind < 13 else rng.choice(["1,q", '"1,q,a,1,1,7,x', "%%", ",".join(row) + ",7"])
    rng.shuffle(lines)
    return lines


def damaged_ubi(n=900, seed=0, first=1):
    rng = random.Random(seed)
    queries, events = [], []

    def event(name, action, doc, ordinal):
        attributes = {"object": {"object_id": doc}, "position": {"ordinal": ordinal}}
        events.append({"query_id": name, "action_name": action, "event_attributes": attributes})

    for i in range(n):
        docs = [f"d{doc}" for doc in rng.sample(range(12), rng.randrange(0, 9))]
        client = rng.choice([None, "bot-7", "busy", *(f"u{j}" for j in range(n))])
        time = rng.choice([None, 1_700_000_000_000 + i])
        query = {"query_id": f"s{i:04d}", "user_query": f"q{rng.randrange(9)}", "client_id": client, "timestamp": time}
        has_hits = rng.random() < 0.6
        query["query_response_hit_ids"] = docs if has_hits else None
        queries.append(query)
        for place, doc in enumerate(docs):
            if rng.random() < 0.95:
                event(query["query_id"], "impression", doc, place + first)
            if rng.random() < 0.3:
                event(query["query_id"], "click", doc, place + first)
        if rng.random() < 0.1:  # under another name, or the same
            queries.append({**query, "query_id": f"t{i:04d}"})
        if rng.random() < 0.1:
            queries.append({**query, "query_response_hit_ids": docs[:3] if has_hits else None})
        if rng.random() < 0.05:
            queries.append({**query, "user_query": "other"})
    for record in rng.sample(queries, 3 * len(queries) // 10):
        hits = record["query_response_hit_ids"] or []
        values = {"query_id": [None], "user_query": [None], "client_id": ["bot-3"], "timestamp": [None, "soon"]}
        values["query_response_hit_ids"] = [[*hits[:1], None, *hits[1:]], hits + hits[:1]]
        name, value = rng.choice([(name, value) for name in values for value in values[name]])
        record[name] = value
    for one in rng.sample(events, 3 * len(events) // 10):
        attributes = one["event_attributes"]
        kind = rng.randrange(6)
        if kind == 0:
            one["query_id"] = rng.choice([None, "s0001", "x"])
        elif kind == 1:
            attributes["object"]["object_id"] = rng.choice([None, "x", "d0"])
        elif kind == 2:
            attributes["position"]["ordinal"] = rng.choice([None, "third", 0, 1, 2, 9, 1 << 20])
        elif kind == 3:
            attributes["object"]["object_id"] = attributes["position"]["ordinal"] = None
        else:
            events.append(one)
    lines = []
    for kind in (queries, events):
        texts = [json.dumps(one) for one in kind]
        for place in rng.sample(range(len(texts)), len(texts) // 20):
            texts[place] = rng.choice([texts[place][:-9], "[1]", "7", "%%", texts[place] + "}"])
        rng.shuffle(texts)
        lines.append(texts)
    return lines


def read_rows(lines, **options):
    return read_clicks(io.StringIO("\n".join([HEADER, *lines])), **LIMITS, **options)


def read_ubi(queries, events, **options):
    return read_clicks(io.StringIO("\n".join(queries)), io.StringIO("\n".join(events)), **LIMITS, **options)


def sessions_of(log):
    found = []
    for i in range(len(log)):
        rows = slice(log.indptr[i], log.indptr[i + 1])
        docs = [log.pairs[int(pair)][1] for pair in log.pair[rows]]
        found.append((log.session_ids[i], log.queries[int(log.session_query[i])], docs, log.click[rows].tolist()))
    return found


@pytest.mark.parametrize("first", [0, 1])
def test_every_damage_of_rows_and_ubi_is_counted_as_the_rules_say(first):
    lines, (queries, events) = damaged_rows(first=first), damaged_ubi(first=first)
    all_damage = {"missing position"}
    for log, (wanted, counts) in (
        (read_rows(lines), clean_rows(lines, **LITERAL)),
        (read_ubi(queries, events), clean_ubi(queries, events, **LITERAL)),
    ):
        assert log.cleaning.counts == dict(counts)
        assert sessions_of(log) == [one[:4] for one in wanted]
        assert len(log) > 300
        all_damage |= set(counts)
    assert all_damage == set(RULES) - {"invalid propensity"}


@pytest.mark.parametrize("seed", range(2))
def test_blocks_and_the_order_of_lines_do_not_matter(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    lines = damaged_rows(300, seed), *damaged_ubi(300, seed)
    readers = [lambda rows, _q, _e: read_rows(rows), lambda _r, queries, events: read_ubi(queries, events)]
    for read in readers:
        kept = {}
        for name in ("one block", "blocks", "shuffled"):
            if name == "shuffled":
                lines = [rng.sample(one, len(one)) for one in lines]
            with monkeypatch.context() as context:
                if name != "one block":
                    context.setattr("plackett.clicks.reading.fields.BLOCK", 2000)
                    context.setattr("plackett.clicks.reading.read.BLOCK", 2000)
                log = read(*lines)
            log.save(tmp_path / name)
            assert len(log) > 100
            kept[name] = (tmp_path / name).read_bytes()
        assert len(set(kept.values())) == 1, [name for name in kept if kept[name] != kept["one block"]]


# --- Logs in parts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_file", [False, True])
def test_parts_of_a_log_are_joined_to_the_same_log(tmp_path, is_file):
    log = read_rows(damaged_rows(300))
    log = log._with(cleaning=None)
    log = log.with_features(np.random.default_rng(0).normal(size=(log.n_pairs, 2)), ["a", "b"])
    parts = [log[first:last].compact() for first, last in ((0, 40), (40, 41), (41, len(log)))]
    found = ClickLog.concat(parts, path=tmp_path / "joined" if is_file else None)
    for name, one in (("whole", log), ("parts", found)):
        one.save(tmp_path / name)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert isinstance(found.pair.base, np.memmap) == is_file or found.pair.base is not None


def test_joined_logs_keep_what_all_of_them_have():
    first, second = (read_rows(damaged_rows(200, seed)) for seed in (0, 1))
    both = ClickLog.concat([first, second._with(times=None)])
    assert both.times is None
    assert both.cleaning["bot"] == first.cleaning["bot"] + second.cleaning["bot"]
    assert sessions_of(both) == sessions_of(first) + sessions_of(second)
    with pytest.raises(ValueError, match="at least one log"):
        ClickLog.concat([])
    named = [one.with_features(np.zeros((one.n_pairs, 1)), [name]) for one, name in ((first, "a"), (second, "b"))]
    with pytest.raises(ValueError, match="features with different names"):
        ClickLog.concat(named)


def test_a_copied_session_is_found_behind_others():
    rows = ["1,q,a,1,0,7,x", "2,q,b,1,0,7,x", "3,q,a,1,1,7,x"]
    log = read_clicks(io.StringIO("\n".join([HEADER, *rows])))
    assert (list(log.session_ids), log.cleaning.counts) == (["1", "2"], {"copied session": 1})


def test_names_of_dropped_sessions_are_dropped():
    rows = ["1,q,a,1,0,7,x", "2,other,b,1,0,7,bot-1"]
    log = read_clicks(io.StringIO("\n".join([HEADER, *rows])))
    assert (list(log.queries), list(log.docids), log.session_query.tolist()) == (["q"], ["a"], [0])


# --- Damaged files ----------------------------------------------------------------------------------------------------


def test_loading_checks_all_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("plackett.clicks.log.SESSIONS_AT_ONCE", 7)
    log = read_rows(damaged_rows(200))
    log.save(tmp_path / "log")
    assert sessions_of(ClickLog.load(tmp_path / "log")) == sessions_of(log)
    wrong = log.session_query.copy()
    wrong[-1] = (wrong[-1] + 1) % len(log.queries)
    log._with(session_query=wrong).save(tmp_path / "log")
    with pytest.raises(DataFormatError, match="session_query does not agree"):
        ClickLog.load(tmp_path / "log")
