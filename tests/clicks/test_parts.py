"""Damaged logs, read in one part or in many, in memory or to a file: all damage is counted, and the log is the same."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import tracemalloc

import pytest

from plackett.clicks import ClickLog, read_clicks
from plackett.clicks.reading import fields, merging, partitions, records
from plackett.clicks.reading.cleaning import RULES
from plackett.exceptions import DataFormatError

from .literal import clean_rows, clean_ubi
from .logs import as_csv, as_rows, as_wscd, by_id, expected, make_sessions

HEADER = "session,query,docid,rank,click,time,client"
LIMITS = {"k": 6, "max_sessions_per_client": 12, "max_clicks": 5}
LITERAL = {"k": 6, "max_sessions": 12, "max_clicks": 5}


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


@pytest.fixture
def many_parts(monkeypatch):
    monkeypatch.setattr(partitions, "VALUES_AT_ONCE", 400)
    monkeypatch.setattr(records, "CHUNK", 3000)
    monkeypatch.setattr(merging, "SESSIONS_AT_ONCE", 40)
    monkeypatch.setattr(fields, "BLOCK", 2000)
    monkeypatch.setattr("plackett.clicks.reading.read.BLOCK", 2000)


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
    assert all_damage == set(RULES)


@pytest.mark.parametrize("seed", range(2))
def test_parts_files_and_the_order_of_lines_do_not_matter(seed, tmp_path, many_parts, monkeypatch):
    rng = random.Random(seed)
    wscd = [*as_wscd(make_sessions(300, seed)), "x", "1001\t5\tC\tzz", "9\t1\tC\ta"]
    wscd += rng.sample(wscd, 90)
    lines = damaged_rows(300, seed), *damaged_ubi(300, seed), wscd
    readers = [
        lambda rows, _q, _e, _w, **options: read_rows(rows, **options),
        lambda _r, queries, events, _w, **options: read_ubi(queries, events, **options),
        lambda _r, _q, _e, wscd, **options: read_clicks(io.StringIO("\n".join(wscd)), format="wscd", **options),
    ]
    for read in readers:
        kept = {}
        for name, is_file in (("memory", False), ("file", True), ("shuffled", True), ("one part", False)):
            if name == "shuffled":
                lines = [rng.sample(one, len(one)) for one in lines]
            path = tmp_path / name
            with monkeypatch.context() as context:
                if name == "one part":
                    context.setattr(partitions, "VALUES_AT_ONCE", 1 << 20)
                log = read(*lines, path=path) if is_file else read(*lines)
            if not is_file:
                log.save(path)
            assert len(log) > 100
            kept[name] = path.read_bytes()
        assert len(set(kept.values())) == 1, [name for name in kept if kept[name] != kept["memory"]]
        assert {path.name for path in tmp_path.iterdir()} == set(kept)  # temporary files are gone


def test_options_of_a_log_in_a_file(tmp_path, many_parts):
    lines = damaged_rows(300)
    log = read_rows(lines, path=tmp_path / "log", keep_session_ids=False)
    assert log.session_ids is None
    assert log.pair.base is not None  # mapped
    assert sessions_of(read_rows(lines))[0][1:] == sessions_of(log._with(session_ids=[""] * len(log)))[0][1:]
    again = read_clicks(tmp_path / "log", path=tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "log").read_bytes()
    assert len(again) == len(log)


def test_a_copied_session_is_found_behind_others():
    rows = ["1,q,a,1,0,7,x", "2,q,b,1,0,7,x", "3,q,a,1,1,7,x"]
    log = read_clicks(io.StringIO("\n".join([HEADER, *rows])))
    assert (list(log.session_ids), log.cleaning.counts) == (["1", "2"], {"copied session": 1})


def test_names_of_dropped_sessions_are_dropped():
    rows = ["1,q,a,1,0,7,x", "2,other,b,1,0,7,bot-1"]
    log = read_clicks(io.StringIO("\n".join([HEADER, *rows])))
    assert (list(log.queries), list(log.docids), log.session_query.tolist()) == (["q"], ["a"], [0])


# --- Files that cannot be written -------------------------------------------------------------------------------------


def test_places_that_cannot_be_written_to_are_rejected(tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        read_rows(["1,q,a,1,0,7,x"], path=tmp_path / "missing" / "log")
    with pytest.raises(IsADirectoryError, match="needs the name of a file"):
        read_rows(["1,q,a,1,0,7,x"], path=tmp_path)


def test_after_an_error_nothing_is_left(tmp_path, many_parts, monkeypatch):
    kept = tmp_path / "log"
    kept.write_bytes(b"earlier")

    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(merging, "_slice", fails)
    with pytest.raises(KeyboardInterrupt):
        read_rows(damaged_rows(200), path=kept)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert kept.read_bytes() == b"earlier"


def test_a_killed_reader_leaves_nothing_and_a_full_disk_is_explained(tmp_path):
    text = as_csv(as_rows(make_sessions(4000)))
    (tmp_path / "log.csv").write_text(text)
    folder = tmp_path / "out"
    folder.mkdir()
    code = (
        "import os, resource, signal, sys\n"
        "from plackett.clicks import read_clicks\n"
        "from plackett.clicks.reading import merging\n"
        "if sys.argv[3] == 'full':\n"
        "    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "else:\n"
        "    merging._slice = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "read_clicks(sys.argv[1], path=sys.argv[2])\n"
    )
    for how in ("full", "killed"):
        command = [sys.executable, "-c", code, str(tmp_path / "log.csv"), str(folder / "log"), how]
        done = subprocess.run(command, capture_output=True, text=True)
        if how == "full":
            assert "no space for the temporary file of the click log (File too large)" in done.stderr
            assert list(folder.iterdir()) == []
        else:
            assert done.returncode == -signal.SIGKILL
            assert [path.suffix for path in folder.iterdir()] == [".part"]  # the next writer deletes it
    log = read_clicks(tmp_path / "log.csv", path=folder / "log")
    assert by_id(log) == expected(make_sessions(4000))
    assert os.listdir(folder) == ["log"]


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


def test_memory_does_not_grow_with_the_sessions(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "VALUES_AT_ONCE", 1 << 13)
    monkeypatch.setattr(records, "CHUNK", 1 << 17)
    monkeypatch.setattr(merging, "SESSIONS_AT_ONCE", 1 << 10)
    monkeypatch.setattr(fields, "BLOCK", 1 << 15)
    monkeypatch.setattr("plackett.clicks.reading.read.BLOCK", 1 << 15)
    peaks = []
    for n in (10_000, 60_000):
        text = "session,query,docid,rank,click\n" + "".join(f"{7919 * i % n},q,{i % 1000},1,0\n" for i in range(n))
        (tmp_path / "log.csv").write_text(text)
        tracemalloc.start()
        log = read_clicks(tmp_path / "log.csv", path=tmp_path / "log")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(log) == n
    assert peaks[1] - peaks[0] < 4 * 50_000, peaks  # less than 4 bytes a session
