"""read_clicks: every format gives the same log, in any order of lines."""

import gzip
import io
import json
import random

import numpy as np
import pytest

import plackett as pk
from plackett.clicks import ClickLog, UbiNames, read_clicks
from plackett.clicks.reading.fields import Lines, json_fields
from plackett.exceptions import DataFormatError, DataWarning

from .logs import as_csv, as_rows, as_ubi, by_id, expected, lists_of, make_sessions

SESSIONS = make_sessions()
ROWS = as_rows(SESSIONS)


def shuffled(lines, seed=3):
    lines = list(lines)
    random.Random(seed).shuffle(lines)
    return lines


def assert_same(log, other):
    assert list(log.queries) == list(other.queries)
    assert list(log.docids) == list(other.docids)
    for name in ("indptr", "pair", "click", "session_query"):
        np.testing.assert_array_equal(getattr(log, name), getattr(other, name))


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("first", [0, 1])
def test_a_table_in_any_order(delimiter, first):
    rows = shuffled(as_rows(SESSIONS, first))
    log = read_clicks(io.StringIO(as_csv(rows, delimiter)))
    assert by_id(log) == expected(SESSIONS)
    assert log.cleaning.counts == {}
    assert (log.cleaning.first_position, log.cleaning.n_lines) == (first, len(rows))
    assert log.times.tolist() == [session[3] for session in SESSIONS.values()]
    assert_same(log, read_clicks(io.StringIO(as_csv(as_rows(SESSIONS, first)))))


def test_compressed_files_and_quotes(tmp_path):
    path = tmp_path / "log.csv.gz"
    rows = [(name, f'"{query}, ""red"""', *rest) for name, query, *rest in ROWS]
    path.write_bytes(gzip.compress(as_csv(rows).encode()))
    log = read_clicks(path)
    assert log.queries[0] == 'query 0, "red"'
    assert log.cleaning.counts == {}
    assert len(log) == len(SESSIONS)


def test_rows_as_json_lines():
    names = ("session", "query", "docid", "rank", "click", "time")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in shuffled(ROWS)]
    assert by_id(read_clicks(io.StringIO("\n".join(lines)))) == expected(SESSIONS)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_parquet(library, tmp_path):
    names = ("session", "query", "docid", "rank", "click", "time")
    columns = dict(zip(names, zip(*shuffled(ROWS), strict=True), strict=True))
    module = pytest.importorskip(library)
    if library == "pyarrow":
        import pyarrow.parquet as parquet

        table = module.table({name: list(values) for name, values in columns.items()})
        parquet.write_table(table, tmp_path / "log.parquet", row_group_size=50)
        assert by_id(read_clicks(tmp_path / "log.parquet")) == expected(SESSIONS)
        assert by_id(read_clicks(table)) == expected(SESSIONS)
    else:
        frame = module.DataFrame({name: list(values) for name, values in columns.items()})
        log = read_clicks(frame)
        assert by_id(log) == expected(SESSIONS)


def test_floats_and_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"session": [1.0, 1.0, 2.0], "query": ["a", "a", "a"], "docid": [7, 8, 7], "rank": [1.0, 2.0, 1.0]}
    ).assign(click=[np.nan, 1.0, 1.0])
    log = read_clicks(frame)
    assert by_id(log) == {"1": ("a", ["7", "8"], [0, 1]), "2": ("a", ["7"], [1])}
    assert log.cleaning.counts == {"missing click": 1}


def test_usual_columns_are_found_and_missing_ones_named():
    text = "sid,q,d,p,c\n1,a,x,1,0\n"
    with pytest.raises(ValueError, match=r"no column for the query; its columns are 'sid', 'q'.*with query='COLUMN'"):
        read_clicks(io.StringIO(text))
    log = read_clicks(io.StringIO(text), session="sid", query="q", docid="d", rank="p", click="c")
    assert lists_of(log) == [("a", ["x"], [0])]
    with pytest.raises(ValueError, match=r"no column 'sis' \(session\). Did you mean 'sid'"):
        read_clicks(io.StringIO(text), session="sis")


# --- UBI --------------------------------------------------------------------------------------------------------------


def read_ubi(queries, events, **options):
    return read_clicks(io.StringIO("\n".join(queries)), io.StringIO("\n".join(events)), **options)


@pytest.mark.parametrize("first", [0, 1])
def test_ubi_in_any_order(first):
    queries, events = as_ubi(SESSIONS, first)
    log = read_ubi(shuffled(queries), shuffled(events))
    assert by_id(log) == expected(SESSIONS)
    assert log.cleaning.counts == {}
    assert log.cleaning.first_position == first
    assert log.cleaning.n_lines == len(queries) + len(events)
    assert_same(log, read_ubi(queries, events))


def test_ubi_takes_lists_from_impressions_where_hits_are_missing():
    queries, events = as_ubi(SESSIONS, first=0)
    for i in range(0, len(queries), 3):
        record = json.loads(queries[i])
        del record["query_response_hit_ids"]
        queries[i] = json.dumps(record)
    log = read_ubi(shuffled(queries), shuffled(events))
    assert by_id(log) == expected(SESSIONS)


def test_ubi_as_parquet_and_folder(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    queries, events = as_ubi(SESSIONS)
    for name, lines in (("ubi_queries", queries), ("ubi_events", events)):
        records = pyarrow.Table.from_pylist([json.loads(line) for line in shuffled(lines)])
        parquet.write_table(records, tmp_path / f"{name}.parquet")
    assert by_id(read_clicks(tmp_path)) == expected(SESSIONS)
    with pytest.raises(ValueError, match="holds queries of UBI"):
        read_clicks(tmp_path / "ubi_queries.parquet")


def test_ubi_keys_may_be_flat_or_below_source():
    queries, events = as_ubi(SESSIONS)
    queries = [json.dumps({"_index": "ubi_queries", "_id": "7", "_source": json.loads(line)}) for line in queries]
    flat = []
    for line in events:
        event = json.loads(line)
        attributes = event.pop("event_attributes")
        event["event_attributes.object.object_id"] = attributes["object"]["object_id"]
        event["event_attributes"] = {"position.ordinal": attributes["position"]["ordinal"]}
        flat.append(json.dumps(event))
    assert by_id(read_ubi(queries, flat)) == expected(SESSIONS)


def test_queries_are_normalised_with_their_filters():
    texts = ["Red  SHOE", "red shoe", "RED\\tshoe", "red shoe"]
    filters = [None, {"size": 7, "brand": "x"}, {"brand": "x", "size": 7}, {}]
    queries = [
        f'{{"query_id": "{i}", "user_query": "{text}", "query_response_hit_ids": ["a", 7], '
        f'"query_attributes": {{"filters": {json.dumps(found)}}}}}'
        for i, (text, found) in enumerate(zip(texts, filters, strict=True))
    ]
    log = read_ubi(queries, ['{"query_id": "0", "action_name": "click", "event_attributes": {}}'])
    assert list(log.queries) == ["red shoe", 'red shoe {"brand":"x","size":7}']
    assert list(log.docids) == ["7", "a"]
    assert log.session_query.tolist() == [0, 1, 1, 0]
    assert log.cleaning.counts == {"click without document and position": 1}


def test_an_empty_query_is_missing_unless_it_has_filters():
    about = '"user_query": " ", "query_response_hit_ids": ["a"]'
    queries = [
        f'{{"query_id": "1", {about}}}',
        f'{{"query_id": "2", {about}, "query_attributes": {{"filters": {{"brand": "x"}}}}}}',
        f'{{"query_id": "3", {about}, "query_attributes": {{"filters": {{}}}}}}',
    ]
    log = read_ubi(queries, [])
    assert list(log.queries) == ['{"brand":"x"}']
    assert log.cleaning.counts == {"missing query": 2}
    log = read_ubi(
        [queries[0], '{"query_id": "4", "user_query": "q", "query_response_hit_ids": ["b"]}'],
        [],
        ubi=UbiNames(filters=[]),
    )
    assert (list(log.queries), list(log.docids)) == (["q"], ["b"])


def test_escapes_are_decoded():
    query = json.dumps({"query_id": "1", "user_query": 'café 😀 "x"', "query_response_hit_ids": ["ü/"]})
    assert "\\ud83d\\ude00" in query
    event = {"query_id": "1", "action_name": "click", "event_attributes": {"position": {"ordinal": 1}}}
    log = read_ubi([query], [json.dumps(event)])
    assert lists_of(log) == [('café 😀 "x"', ["ü/"], [1])]
    assert log.cleaning.counts == {"click without a document": 1}


def mutated(line, rng):
    letters = list(line)
    for _ in range(rng.randrange(1, 3)):
        place = rng.randrange(len(letters))
        letters[place : place + rng.randrange(3)] = rng.choice(
            ["", '"', "\\", "{", "}", "]", ",", "0", "\\u12", "\t", "é"]
        )
    return "".join(letters)


def test_lines_are_json_where_python_says_so():
    rng = random.Random(0)
    record = {"query_id": "q1", "user_query": "a\n\u00e9\U0001f600", "query_response_hit_ids": ["x", 7, None, "\t"]}
    line = json.dumps({**record, "a": [1.5e-3, {"b": [True, {}]}, 0], "_source": {"client_id": None}})
    lines = [mutated(line, rng) for _ in range(3000)]
    n_wrong, hits = 0, []
    for one in lines:
        try:
            found = json.loads(one, parse_constant=lambda word: 1 / 0)
            assert isinstance(found, dict)
            hits.append(found.get("query_response_hit_ids"))
        except (ValueError, AssertionError, ZeroDivisionError):
            n_wrong += 1
    content = ("\n".join(lines) + "\n").encode()
    blocks = list(json_fields(Lines(content, io.BytesIO()), ["query_id", "user_query"], "query_response_hit_ids"))
    (block,) = blocks
    assert (block.n_lines, block.n_damaged) == (3000, n_wrong)
    lengths = np.diff(block.item_end, prepend=0).tolist()
    assert 500 < n_wrong < 2900
    wanted = [len(one) if isinstance(one, list) else int(one is not None) for one in hits]
    assert lengths == wanted


def test_unknown_actions_are_named():
    queries, events = as_ubi(SESSIONS)
    events = [line.replace('"click"', '"item_click"') for line in events]
    with pytest.warns(DataWarning, match=r"The events have 'impression' \(\d+\), 'item_click' \(\d+\)"):
        log = read_ubi(queries, events)
    assert log.n_clicks == 0
    assert by_id(read_ubi(queries, events, ubi=UbiNames(clicks=["item_click"]))) == expected(SESSIONS)


# --- Options ----------------------------------------------------------------------------------------------------------


def test_a_saved_log_is_loaded(tmp_path):
    log = read_clicks(io.StringIO(as_csv(ROWS) + "hello\n"))
    log.save(tmp_path / "log.plackett")
    again = read_clicks(tmp_path / "log.plackett")
    assert by_id(again) == expected(SESSIONS)
    assert str(again.cleaning) == str(log.cleaning)
    assert isinstance(again, ClickLog)


def test_long_lists_are_cut():
    log = read_clicks(io.StringIO(as_csv(ROWS)), k=3)
    wanted = [(query, docs[:3], clicks[:3]) for query, docs, clicks, _ in SESSIONS.values()]
    assert lists_of(log) == wanted
    assert log.cleaning["list beyond the cut-off"] == sum(len(session[1]) > 3 for session in SESSIONS.values())


def test_results_do_not_depend_on_threads_and_blocks(monkeypatch):
    text = as_csv(shuffled(ROWS))
    log = read_clicks(io.StringIO(text))
    monkeypatch.setattr("plackett.clicks.reading.fields.BLOCK", 100)
    monkeypatch.setattr("plackett.clicks.reading.read.BLOCK", 100)
    pk.set_n_threads(3)
    try:
        assert_same(read_clicks(io.StringIO(text)), log)
    finally:
        pk.set_n_threads(None)


@pytest.mark.parametrize("text", ["", "\n\n", "hello\n", "\nsession,query,docid,rank,click\n1,a,b,1,0\n"])
def test_files_without_a_table_are_rejected(text):
    with pytest.raises(DataFormatError):
        read_clicks(io.StringIO(text))


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_values_that_are_nested_too_deeply_are_not_read(opening):
    row = '{"session":"7","query":"a","docid":"%s","rank":1,"click":1,"more":%s}\n'
    nested = opening * 3000 + "0" + {"[": "]", '{"a":': "}"}[opening] * 3000
    log = read_clicks(io.StringIO(row % ("b", 0) + row % ("c", nested)))
    assert log.n_clicks + log.cleaning["damaged line"] >= 1


def test_a_repeated_column_is_named():
    with pytest.raises(DataFormatError, match="the column 'query' occurs twice in the header"):
        read_clicks(io.StringIO("session,query,query,docid,rank,click\n1,a,a,b,1,0\n"))


@pytest.mark.parametrize(("row", "what"), [("1,caf\xe9,b,1,0", "query"), ("1,cafe,\xe9b,1,0", "document")])
def test_names_in_another_encoding_are_warned_of(row, what):
    text = f"session,query,docid,rank,click\n0,a,,1,0\n{row}\n9,z,z,1,0\n"
    with pytest.warns(
        DataWarning, match=rf"the name of a {what} is not UTF-8: b'.*xe9.*iconv -f WINDOWS-1252 -t UTF-8"
    ):
        read_clicks(io.BytesIO(text.encode("latin-1")))
    assert len(read_clicks(io.BytesIO(text.encode()))) == 2


def test_a_log_without_sessions_warns():
    with pytest.warns(DataWarning, match="no session that can be used"):
        log = read_clicks(io.StringIO("session,query,docid,rank,click\n1,a,b,7,0\n"))
    assert len(log) == 0


# --- Logs without sessions --------------------------------------------------------------------------------------------


def test_lists_without_a_session_begin_where_the_position_does_not_rise(monkeypatch):
    rows = ["red,a,1,0", "red,b,2,1", "red,c,1,0", "hat,d,1,1", "hat,e,2,0", "hat,e,1,1"]
    for block in (1 << 20, 40, 25):  # lists lie in several blocks
        monkeypatch.setattr("plackett.clicks.reading.fields.BLOCK", block)
        monkeypatch.setattr("plackett.clicks.reading.read.BLOCK", block)
        with pytest.warns(DataWarning, match="no column for the session: a list begins where the query"):
            log = read_clicks(io.StringIO("\n".join(["query,docid,rank,click", *rows])))
        assert log.session_ids is None
        assert lists_of(log) == [
            ("red", ["a", "b"], [0, 1]),
            ("red", ["c"], [0]),
            ("hat", ["d", "e"], [1, 0]),
            ("hat", ["e"], [1]),
        ]


def test_each_row_is_a_list_without_session_and_position():
    text = "slot,item,click,pscore\n1,x,0,0.25\n2,y,1,0.5\n1,x,1,0.125\n2,z,0,0\n1,z,0,none\n"
    with pytest.warns(DataWarning, match="a list begins with each row"):
        log = read_clicks(io.StringIO(text), query="slot", docid="item", propensity="pscore")
    assert lists_of(log) == [("1", ["x"], [0]), ("2", ["y"], [1]), ("1", ["x"], [1])]
    assert log.propensity.tolist() == [0.25, 0.5, 0.125]
    assert log.cleaning.counts == {"invalid propensity": 2}


def test_propensities_follow_their_rows(tmp_path):
    rng = np.random.default_rng(0)
    chances = {(row[0], row[2]): round(float(rng.uniform(0.01, 1)), 6) for row in ROWS}
    rows = shuffled([(*row, chances[row[0], row[2]]) for row in ROWS])
    text = "\n".join(["session,query,docid,rank,click,time,chance", *(",".join(map(str, row)) for row in rows)])
    log = read_clicks(io.StringIO(text), k=4, propensity="chance")
    log.save(tmp_path / "log")
    for one in (log, ClickLog.load(tmp_path / "log"), log[5:50], log[::-1], ClickLog.concat([log[:9], log[9:]])):
        session = np.repeat(np.array(one.session_ids), np.diff(one.indptr))
        names = [one.pairs[int(code)][1] for code in one.pair]
        assert one.propensity.tolist() == [chances[key] for key in zip(session, names, strict=True)]


def test_wrong_options_are_rejected():
    with pytest.raises(TypeError, match="a list is needed"):
        UbiNames(clicks="click")
    with pytest.raises(ValueError, match="Also pass the events"):
        read_clicks(io.StringIO('{"query_id": 1, "action_name": "click"}'))
    with pytest.raises(ValueError, match="k=0"):
        read_clicks(io.StringIO("{}"), k=0)
