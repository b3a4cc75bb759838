"""Logs as other tools export them: OpenSearch, its generator of UBI data, and data frames."""

import io
import json

import pytest

from plackett.clicks import read_clicks
from plackett.exceptions import DataFormatError, DataWarning

from .logs import as_rows, as_ubi, by_id, expected, make_sessions

SESSIONS = make_sessions(20)
QUERIES, EVENTS = ([json.loads(line) for line in lines] for lines in as_ubi(SESSIONS, first=0))
WITHOUT_HITS = [{key: value for key, value in one.items() if key != "query_response_hit_ids"} for one in QUERIES]


def ndjson(records):
    return io.StringIO("\n".join(map(json.dumps, records)))


def wrapped(records, index):
    return [{"_index": index, "_id": str(i), "_score": 1.0, "_source": one} for i, one in enumerate(records)]


def bulk(records, index, action="index"):
    return [line for one in records for line in ({action: {"_index": index}}, one)]


def flat(event):
    """An event as OpenSearch's generator writes it to a table."""
    attributes = event["event_attributes"]
    about = {"object_id": attributes["object"]["object_id"], "rank": attributes["position"]["ordinal"]}
    return {**about, "action_name": event["action_name"], "query_id": event["query_id"]}


def with_rank(event):
    """An event as OpenSearch's generator writes it to NDJSON."""
    attributes = event["event_attributes"]
    return {**event, "event_attributes": {"object": attributes["object"], "rank": attributes["position"]["ordinal"]}}


def csv_of(records):
    header = list(records[0])
    return io.StringIO("\n".join([",".join(header), *(",".join(str(one[key]) for key in header) for one in records)]))


@pytest.mark.parametrize(
    ("queries", "events"),
    [
        (wrapped(QUERIES, "ubi_queries"), wrapped(EVENTS, "ubi_events")),
        (bulk(QUERIES, "ubi_queries"), bulk(EVENTS, "ubi_events", "create")),
        (bulk(QUERIES + EVENTS, "ubi"), bulk(QUERIES + EVENTS, "ubi")),
        (WITHOUT_HITS, [with_rank(one) for one in EVENTS]),
        ([{**one, "timestamp": None, "@timestamp": one["timestamp"]} for one in QUERIES], EVENTS),
        ([{**one, "timestamp": int(one["timestamp"]) * 1000} for one in QUERIES], EVENTS),
        ([{**one, "timestamp": int(one["timestamp"]) * 1_000_000} for one in QUERIES], EVENTS),
    ],
    ids=["elasticdump", "bulk", "one file", "generator", "@timestamp", "microseconds", "nanoseconds"],
)
def test_exports_of_opensearch(queries, events):
    log = read_clicks(ndjson(queries), ndjson(events))
    assert by_id(log) == expected(SESSIONS)
    assert log.cleaning.counts == {}
    assert log.times.tolist() == [session[3] for session in SESSIONS.values()]


@pytest.mark.parametrize("zone", ["+02:00", "+0200", "Z", "z", ""])
def test_times_with_zones(zone):
    own = [one for one in EVENTS if one["query_id"] == QUERIES[0]["query_id"]]
    log = read_clicks(ndjson([{**QUERIES[0], "timestamp": f"2024-06-01T10:00:00.250{zone}"}]), ndjson(own))
    assert log.times.tolist() == [1717236000.25 - 7200 * zone.startswith("+")]


def test_one_file_or_several(tmp_path):
    (tmp_path / "all.ndjson").write_text(ndjson(bulk(QUERIES + EVENTS, "ubi")).getvalue())
    assert by_id(read_clicks(tmp_path / "all.ndjson")) == expected(SESSIONS)
    (tmp_path / "queries.ndjson").write_text(ndjson(QUERIES).getvalue())
    with pytest.raises(ValueError, match="Both may also be in one file of JSON lines"):
        read_clicks(tmp_path / "queries.ndjson")
    for i in range(2):
        (tmp_path / f"ubi_queries-{i}.ndjson").write_text(ndjson(QUERIES[i::2]).getvalue())
        (tmp_path / f"ubi_events-{i}.ndjson").write_text(ndjson(EVENTS[i::2]).getvalue())
    assert by_id(read_clicks(tmp_path)) == expected(SESSIONS)


def test_tables_of_the_generator():
    log = read_clicks(csv_of(WITHOUT_HITS), csv_of([flat(one) for one in EVENTS]))
    assert by_id(log) == expected(SESSIONS)


def test_lists_in_a_csv_are_json():
    queries = [{**one, "query_response_hit_ids": one["query_response_hit_ids"]} for one in QUERIES]
    lines = ["query_id;user_query;query_response_hit_ids"]
    lines += [
        '{query_id};{user_query};"{hits}"'.format(**one, hits=_quoted(one["query_response_hit_ids"])) for one in queries
    ]
    lines += ['x;shoe;"[null, 7]"', "y;shoe;7", "z;shoe;"]
    log = read_clicks(io.StringIO("\n".join(lines)), ndjson(EVENTS))
    assert by_id(log) == {**expected(SESSIONS), "y": ("shoe", ["7"], [0])}
    assert log.cleaning.counts == {"missing document": 1, "empty list": 2}
    with pytest.raises(ValueError, match="a list, or the text of a JSON array, is needed"):
        read_clicks(io.StringIO("query_id;user_query;query_response_hit_ids\n1;shoe;['a']"), ndjson(EVENTS))


def _quoted(values):
    return json.dumps(values).replace('"', '""')


def test_ids_may_be_numbers_in_one_file_and_text_in_the_other():
    queries = [{"query_id": i, "user_query": "shoe", "query_response_hit_ids": [1, 2]} for i in range(20)]
    events = [{**EVENTS[0], "action_name": "click", "query_id": str(i)} for i in range(20)]
    for one in events:
        one["event_attributes"] = {"object": {"object_id": "2"}, "position": {"ordinal": 2}}
    assert read_clicks(ndjson(queries), ndjson(events)).n_clicks == 20
    for one in events:
        one["event_attributes"] = {"object": {"object_id": "2.0"}, "position": {"ordinal": 2}}
    with pytest.warns(DataWarning, match=r"most clicks were dropped \(click on what was not shown: 20; kept: 0\)"):
        read_clicks(ndjson(queries), ndjson(events))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (json.dumps(QUERIES), r"this is a JSON array; write one record per line, such as with jq -c '\.\[\]'"),
        (json.dumps(QUERIES, indent=1), "this is a JSON array"),
        (json.dumps({"took": 3, "hits": {"total": {"value": 2}, "hits": wrapped(QUERIES, "x")}}), r"hits\.hits"),
        (json.dumps({"hits": {"hits": wrapped(QUERIES, "x")}}, indent=2), r"one JSON document.*'\.hits\.hits\[\]'"),
        ("hello\n", "expected JSON lines, or a header with query_id"),
    ],
)
def test_documents_that_are_not_lines_are_rejected_with_advice(text, match):
    with pytest.raises(DataFormatError, match=match):
        read_clicks(io.StringIO(text), ndjson(EVENTS))


def test_other_encodings_are_rejected():
    with pytest.raises(DataFormatError, match="UTF-16; save it as UTF-8"):
        read_clicks(io.BytesIO("session,query,docid,rank,click\n".encode("utf-16")))


@pytest.mark.parametrize("block", [150, 177, 1 << 20])
def test_quoted_fields_may_hold_line_ends(block, monkeypatch):
    monkeypatch.setattr("plackett.clicks.reading.fields.BLOCK", block)
    monkeypatch.setattr("plackett.clicks.reading.read.BLOCK", block)
    rows = [f'{i};"red\n\nshoe; ""{i}""";d{place};{place};0' for i in range(20) for place in (1, 2)]
    text = "session;query;docid;rank;click\n" + "\n".join([*rows, '30;"hat;d;1;0', '31;"cap";d;1;1']) + "\n"
    log = read_clicks(io.StringIO(text))
    queries = {name: query for name, (query, _, _) in by_id(log).items()}
    assert queries == {**{str(i): f'red\n\nshoe; "{i}"' for i in range(20)}, "31": "cap"}
    assert log.cleaning.counts == {"damaged line": 1}
    assert log.cleaning.n_lines == 42


# --- Frames -----------------------------------------------------------------------------------------------------------


def test_frames_of_ubi_with_structs_and_json_texts():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    texts = [{**one, "event_attributes": json.dumps(one["event_attributes"])} for one in EVENTS]
    hits = [{**one, "query_response_hit_ids": json.dumps(one["query_response_hit_ids"])} for one in QUERIES]
    for queries, events in (
        (pandas.DataFrame(QUERIES), pandas.DataFrame(EVENTS)),
        (polars.DataFrame(QUERIES), polars.DataFrame(EVENTS)),
        (pandas.json_normalize(QUERIES), pandas.json_normalize(EVENTS)),
        (pandas.DataFrame(hits), pandas.DataFrame(texts)),
        (polars.DataFrame(hits), polars.DataFrame(texts)),
    ):
        assert by_id(read_clicks(queries, events)) == expected(SESSIONS)


def test_types_of_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ("session", "query", "docid", "rank", "click", "time")
    frame = pandas.DataFrame(as_rows(SESSIONS), columns=names)
    times = pandas.to_datetime(frame["time"], unit="s", utc=True)
    for changed in (
        frame.astype({"session": "category", "query": "category", "docid": "category"}),
        frame.astype({"docid": "string", "rank": "Int64", "click": "boolean"}),
        frame.assign(time=times),
        frame.assign(time=times.dt.tz_convert("Europe/Berlin")),
        polars.DataFrame(frame.to_dict("list")).with_columns(polars.col("docid").cast(polars.Categorical)).lazy(),
    ):
        log = read_clicks(changed)
        assert by_id(log) == expected(SESSIONS)
        assert log.times.tolist() == [session[3] for session in SESSIONS.values()]
    mixed = frame.assign(docid=[7 if i % 2 else "x" for i in range(len(frame))])
    with pytest.raises(TypeError, match=r"values of several types \(int, str\)\. Make it one type"):
        read_clicks(mixed)
