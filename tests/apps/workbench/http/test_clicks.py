"""Click logs and judgements from clicks over HTTP: uploads, jobs, pages, and that people's judgements stay apart."""

from __future__ import annotations

import gzip
import json
import time

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

import plackett as pk
from plackett.apps.workbench.http import middleware
from plackett.clicks import ClickLog, get_click_model, read_clicks
from plackett.data.trec.files import read_qrels
from tests.apps.workbench.http.test_routes import API, error_of, judge
from tests.apps.workbench.serving import client_of, page_of, small_collection
from tests.clicks.logs import as_csv, as_rows, as_ubi

QUERIES = ["wings", "boat", "plane", "lift float"]


@pytest.fixture(scope="module")
def sessions():
    """Searches of the small collection in changing orders, by users who click the more, the larger the id."""
    collection, rng, found = small_collection(), np.random.default_rng(1), {}
    for number in range(400):
        query = QUERIES[number % 4]
        docs = rng.permutation(collection.search(query).docid).tolist()
        chances = [0.15 * int(docid[-1]) / (1 + 0.4 * place) for place, docid in enumerate(docs)]
        clicks = [int(rng.random() < chance) for chance in chances]
        found[f"s{number:03d}"] = (query, docs, clicks, 1_700_000_000 + number)
    return found


@pytest.fixture
def client(collection, kept):
    client = page_of(client_of(collection, kept))
    yield client
    client.app.state.workbench.close()


def finished(client, answer):
    """The job of a response, when it has ended."""
    assert answer.status_code == 202, answer.text
    deadline = time.monotonic() + 30
    while not (job := client.get(f"{API}/jobs/{answer.json()['id']}").json())["is_finished"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    deadline = time.monotonic() + 5
    while client.app.state.workbench.jobs._running:  # the job has said that it is done
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return job


def upload(client, *files, name="a log"):
    """Upload a table, or queries and events."""
    first = files[0].encode()
    params = {"name": name, **({"events_at": len(first)} if len(files) > 1 else {})}
    return client.post(f"{API}/clicks/logs", params=params, content="".join(files).encode())


def judged_clicks(client, sessions, model="pbm", **more):
    """The set of judgements from clicks that a click model draws from the sessions."""
    log_id = finished(client, upload(client, as_csv(as_rows(sessions))))["result"]["log_id"]
    job = finished(client, client.post(f"{API}/clicks/sets", json={"log_id": log_id, "model": model, **more}))
    assert job["state"] == "done", job
    return job["result"]["set_id"]


# logs


def ubi(sessions):
    return ["\n".join(lines) + "\n" for lines in as_ubi(sessions)]


@pytest.mark.parametrize("form", ["csv", "ubi"])
def test_an_uploaded_log_is_described_as_the_command_does(client, sessions, form, tmp_path):
    files = ubi(sessions) if form == "ubi" else [as_csv(as_rows(sessions)) + "damaged\n"]
    job = finished(client, upload(client, *files, name="<b>mine</b>"))
    assert (job["state"], job["kind"]) == ("done", "read log")
    paths = [tmp_path / str(i) for i in range(len(files))]
    for path, text in zip(paths, files, strict=True):
        path.write_text(text)
    log = read_clicks(*paths)
    expected = log.describe()
    (found,) = client.get(f"{API}/clicks/logs").json()["logs"]
    assert found["name"] == "<b>mine</b>"
    assert found["summary"]["sizes"] == [list(row) for row in expected.rows()]
    assert found["summary"]["click_rate_by_rank"] == expected.click_rate_by_rank
    assert found["summary"]["findings"] == expected.findings
    assert found["summary"]["cleaning"] == [list(row) for row in log.cleaning.rows()]
    assert found["summary"]["n_lines"] == log.cleaning.n_lines
    text = client.get("/clicks").text
    assert "<b>mine</b>" not in text
    assert "&lt;b&gt;mine&lt;/b&gt;" in text
    assert text.count("<rect") == len(expected.click_rate_by_rank)
    assert ("skipped: not a JSON object" in text) == (form == "csv")
    for finding in expected.findings:
        assert finding in text
    assert client.delete(f"{API}/clicks/logs", params={"log_id": found["id"]}).json()["logs"] == []
    assert error_of(client.delete(f"{API}/clicks/logs", params={"log_id": found["id"]}), 404)


@pytest.mark.parametrize(
    ("content", "events_at", "message"),
    [
        (gzip.compress(b"session,query,docid,rank,click\n", mtime=0), None, "compressed files are not supported"),
        (b"PAR1....", None, "Parquet and compressed files are not supported"),
        (b"\x28\xb5\x2f\xfd....", None, "compressed files are not supported"),
        (b"{}\n" + gzip.compress(b"{}", mtime=0), 3, "compressed files are not supported"),
        (b"", None, "the file is empty"),
        (b"{}", 2, "the file is empty"),
        (b"{}", 20, "the file is empty"),
    ],
    ids=["gzip", "parquet", "zstd", "gzip events", "nothing", "no events", "too few bytes"],
)
def test_other_files_are_refused_at_once(client, content, events_at, message):
    params = {"name": "x", **({"events_at": events_at} if events_at else {})}
    assert message in error_of(client.post(f"{API}/clicks/logs", params=params, content=content), 422)


@pytest.mark.parametrize(
    ("content", "events_at", "message"),
    [
        (b"one,two\n1,2\n", None, "x has no column for the session; its columns are 'one', 'two'."),
        (b"\x00\xff\xfe\n\x00", None, "x, line 1: expected a header with the names of the columns"),
        (b"not json\n{}\n", 9, "x, line 1: expected JSON lines, or a header with query_id"),
    ],
    ids=["columns", "bytes", "lines"],
)
def test_a_log_that_cannot_be_read_fails_in_words(client, content, events_at, message):
    params = {"name": "x", **({"events_at": events_at} if events_at else {})}
    job = finished(client, client.post(f"{API}/clicks/logs", params=params, content=content))
    assert job["state"] == "failed"
    assert message in job["message"]
    assert "Internal" not in job["message"]
    assert client.get(f"{API}/clicks/logs").json()["logs"] == []


def test_a_log_may_be_larger_than_other_requests_but_not_too_large(collection, kept, sessions, monkeypatch):
    text = as_csv(as_rows(sessions))
    client = page_of(client_of(collection, kept, max_body=1000, max_upload=len(text)))
    assert finished(client, upload(client, text))["state"] == "done"
    assert "more than" in error_of(upload(client, text + "\n"), 413)
    parts = (part for part in (text.encode(), b"more"))  # without a length
    assert "more than" in error_of(client.post(f"{API}/clicks/logs?name=x", content=parts), 413)
    assert "more than 1,000 bytes" in error_of(client.post(f"{API}/refine", content=b"x" * 1001), 413)
    monkeypatch.setattr(middleware, "MAX_UPLOADS", 0)
    assert error_of(upload(client, text), 429) == "other logs are being uploaded."


def test_columns_of_other_names_can_be_named(client, sessions):
    text = as_csv(as_rows(sessions)).replace("session_id,query,doc_id,position,clicked", "a,b,c,d,e")
    columns = {"session": "a", "query": "b", "docid": "c", "rank": "d", "click": "e"}
    answer = client.post(f"{API}/clicks/logs", params={"name": "x", **columns}, content=text.encode())
    assert finished(client, answer)["state"] == "done"
    assert client.get(f"{API}/clicks/logs").json()["logs"][0]["summary"]["n_sessions"] == 400


def test_uploads_need_the_csrf_token(collection, kept):
    assert error_of(upload(client_of(collection, kept), "x"), 403)


def test_the_workbench_takes_its_own_log(client, collection, kept):
    assert "nothing was logged yet" in error_of(client.post(f"{API}/clicks/logs/own"), 422)
    for number in range(3):
        headers = {"X-Plackett-User": f"user {number}"}
        found = client.get(f"{API}/search", params={"q": "Wings", "shown_order": "refined"}, headers=headers).json()
        body = {"shown_id": found["shown_id"], "docid": found["results"][number]["docid"]}
        assert client.post(f"{API}/clicks", json=body, headers=headers).status_code == 200
    job = finished(client, client.post(f"{API}/clicks/logs/own"))
    about = client.get(f"{API}/clicks/logs").json()
    assert (about["n_lists"], about["n_clicks"], about["n_clients"]) == (3, 3, 3)
    sizes = dict(about["logs"][0]["summary"]["sizes"])
    assert (sizes["sessions"], sizes["clicks"], sizes["rankers"]) == ("3", "3 (25.0% of shown documents)", "bm25: 3")
    with client.app.state.workbench.click_logs.loaded(job["result"]["log_id"]) as (name, log):
        assert (name, len(log), list(log.queries)) == ("workbench", 3, ["wings"])
        assert isinstance(log, ClickLog)


# judgements


def test_judgements_are_those_of_the_click_model(client, sessions, tmp_path):
    set_id = judged_clicks(client, sessions, "dbn", grades=3, min_impressions=20)
    (tmp_path / "log.csv").write_text(as_csv(as_rows(sessions)))
    log = read_clicks(tmp_path / "log.csv")
    expected = get_click_model("dbn").fit(log).judgements(log, grades=3, min_impressions=20)
    page = client.get(f"{API}/clicks/judgements", params={"set_id": set_id, "limit": 500}).json()
    assert page["total"] == len(expected) == len(page["grades"]) > 10
    for name in ("query", "docid", "grade", "value", "low", "high", "impressions"):
        assert [one[name] for one in page["grades"]] == getattr(expected, name).tolist()
    assert page["set"]["origin"] == "dbn, log a log"
    assert page["set"]["summary"]["cuts"] == expected.cuts.tolist()
    assert {one["people"] for one in page["grades"]} == {None}


def test_a_log_without_evidence_or_of_other_documents_fails_in_words(client, sessions):
    few = dict(list(sessions.items())[:8])
    log_id = finished(client, upload(client, as_csv(as_rows(few))))["result"]["log_id"]
    job = finished(client, client.post(f"{API}/clicks/sets", json={"log_id": log_id, "model": "pbm"}))
    assert (job["state"], "too few impressions" in job["message"]) == ("failed", True)
    other = {name: (query, [f"x{doc}" for doc in docs], *rest) for name, (query, docs, *rest) in sessions.items()}
    log_id = finished(client, upload(client, as_csv(as_rows(other))))["result"]["log_id"]
    job = finished(client, client.post(f"{API}/clicks/sets", json={"log_id": log_id, "model": "pbm"}))
    assert job["message"].startswith("no document of small can be graded")
    assert error_of(client.post(f"{API}/clicks/sets", json={"log_id": 99}), 404)
    assert client.get(f"{API}/clicks/sets").json() == {"sets": []}


def test_the_list_shows_grades_of_clicks_beside_those_of_people_and_is_refined_by_people_only(client, sessions):
    before = client.get(f"{API}/search", params={"q": "Wings"}).json()
    plain = judge(client, "d3", 1, query="Wings")["list"]
    client.post(f"{API}/undo", json={"query": "Wings"})
    set_id = judged_clicks(client, sessions)
    found = client.get(f"{API}/search", params={"q": "Wings"}).json()
    rows = client.get(f"{API}/clicks/judgements", params={"set_id": set_id}).json()["grades"]
    expected = {one["docid"]: one for one in rows if one["query"] == "wings"}
    assert found["click_set"] == set_id
    assert found["click_origin"].startswith("clicks: pbm, log a log, 20")
    assert len(expected) == 4
    for one in found["results"]:
        assert one["clicks"] == {name: expected[one["docid"]][name] for name in one["clicks"]}
        assert one["grade"] is None
    # the order, the counts and the refinement are as without clicks
    assert [one["docid"] for one in found["results"]] == [one["docid"] for one in before["results"]]
    assert (found["n_judged"], found["is_refined"]) == (0, False)
    after = judge(client, "d3", 1, query="Wings")["list"]
    assert [(one["docid"], one["score"]) for one in after["results"]] == [
        (one["docid"], one["score"]) for one in plain["results"]
    ]
    text = client.get("/?q=Wings").text
    assert 'class="chip clicks" title="A click model&#39;s grade' in text
    assert f"clicks {expected['d3']['grade']} ({expected['d3']['low']:.2f}–{expected['d3']['high']:.2f})" in text
    page = client.get(f"{API}/clicks/judgements", params={"set_id": set_id}).json()["grades"]
    assert {one["docid"]: one["people"] for one in page if one["people"] is not None} == {"d3": 1.0}
    text = client.get("/clicks").text
    assert '<span class="chip clicks">' in text
    assert '<span class="chip v1">1</span>' in text


def measures_of(client, query_id, **params):
    return client.get(f"{API}/lists/{query_id}/measures", params=params).json()


def test_measures_use_people_unless_clicks_are_chosen(client, collection, sessions):
    judge(client, "d1", 1)
    query_id = judge(client, "d3", 0)["query_id"]
    people = measures_of(client, query_id)
    set_id = judged_clicks(client, sessions, grades=2)
    assert measures_of(client, query_id) == people
    found = measures_of(client, query_id, click_set=set_id)
    rows = client.get(f"{API}/clicks/judgements", params={"set_id": set_id}).json()["grades"]
    grades = {one["docid"]: one["grade"] for one in rows if one["query"] == "wings"}
    hits = collection.search("wings", k=50)
    expected = pk.evaluate([grades[docid] for docid in hits.docid], hits.scores, qid=0, metrics=found["metrics"]).mean()
    assert found["base"] == pytest.approx(expected)
    assert (found["n_judged"], found["left_out"]) == (4, {})
    assert "from clicks" in found["note"]
    assert error_of(client.get(f"{API}/lists/{query_id}/measures", params={"click_set": 99}), 404)


def test_training_uses_people_unless_clicks_are_chosen_and_never_both(client, sessions, monkeypatch):
    from plackett.apps.workbench.workbench import training

    set_id = judged_clicks(client, sessions)
    seen, real = [], training.train

    def spy(collection, judgements, preferences=(), **options):
        judgements, preferences = list(judgements), list(preferences)
        seen.append((judgements, preferences))
        return real(collection, judgements, preferences, **options)

    monkeypatch.setattr(training, "train", spy)
    for query in QUERIES:
        first, *_, last = client.get(f"{API}/search", params={"q": query}).json()["results"]
        judge(client, first["docid"], 0, query=query)
        judge(client, last["docid"], 2, query=query)
    client.post(f"{API}/preferences", json={"query": "wings", "docid": "d1", "other": "d3"})
    people, clicks = (finished(client, client.post(f"{API}/train", json=one)) for one in ({}, {"click_set": set_id}))
    assert (people["state"], clicks["state"]) == ("done", "done"), (people, clicks)
    (by_people, pairs), (by_clicks, no_pairs) = seen
    rows = client.get(f"{API}/clicks/judgements", params={"set_id": set_id, "limit": 500}).json()["grades"]
    assert {one.user for one in by_people} == {"me"}
    assert (len(by_people), len(pairs), no_pairs) == (8, 1, [])
    assert {(one.query, one.docid, one.grade) for one in by_clicks} == {
        (one["query"], one["docid"], one["grade"]) for one in rows
    }
    assert {one.user[:11] for one in by_clicks} == {"clicks: pbm"}
    assert people["result"]["source"] == "judgements of people"
    assert clicks["result"]["source"].startswith("clicks: pbm, log a log, 20")
    assert "trained on clicks: pbm, log a log" in client.get("/collection").text
    assert "either mine or click_set" in error_of(
        client.post(f"{API}/train", json={"mine": True, "click_set": set_id}), 422
    )
    assert error_of(client.post(f"{API}/train", json={"click_set": 99}), 404)


def exported(client, status=200, **params):
    answer = client.get(f"{API}/export", params=params)
    assert answer.status_code == status, answer.text
    return answer


def test_exports_keep_people_and_clicks_apart(client, sessions, tmp_path):
    judge(client, "d1", 3)
    before = {one: exported(client, format=one).content for one in ("json", "qrels", "letor", "run")}
    set_id = judged_clicks(client, sessions)
    assert {one: exported(client, format=one).content for one in before} == before
    rows = client.get(f"{API}/clicks/judgements", params={"set_id": set_id, "limit": 500}).json()["grades"]
    answers = {one: exported(client, format=one, click_set=set_id) for one in ("json", "qrels", "letor")}
    for name, ending in (("json", "json"), ("qrels", "qrels"), ("letor", "letor.txt")):
        assert answers[name].headers["content-disposition"].endswith(f'"small-clicks-{set_id}.{ending}"')
    content = answers["json"].json()
    assert (content["format"], content["origin"]) == ("plackett click judgements", "pbm, log a log")
    assert content["click_judgements"] == [
        {name: value for name, value in one.items() if name != "people"} for one in rows
    ]
    (tmp_path / "qrels").write_bytes(answers["qrels"].content)
    assert sorted(read_qrels(tmp_path / "qrels").labels.tolist()) == sorted(one["grade"] for one in rows)
    (tmp_path / "letor").write_bytes(answers["letor"].content)
    assert pk.read_letor(tmp_path / "letor").n_docs == len(rows)
    assert "click_set needs a format of judgements" in error_of(
        client.get(f"{API}/export", params={"format": "run", "click_set": set_id}), 422
    )
    # nor can they come back as judgements of a person
    refused = client.post(f"{API}/import", json={"text": answers["json"].text})
    assert error_of(refused, 422) == "these judgements come from clicks; if imported, they would count as yours."


def test_the_collection_counts_people_only(client, sessions):
    judge(client, "d1", 3)
    before = client.get(f"{API}/collection").json()
    judged_clicks(client, sessions)
    assert client.get(f"{API}/collection").json() == before
    assert [one["query"] for one in client.get(f"{API}/queries").json()["queries"]] == ["wings"]


def test_a_deleted_set_is_no_longer_shown_and_its_log_stays(client, sessions):
    set_id = judged_clicks(client, sessions)
    assert client.delete(f"{API}/clicks/sets", params={"set_id": set_id}).json() == {"sets": []}
    found = client.get(f"{API}/search", params={"q": "wings"}).json()
    assert (found["click_set"], {one["clicks"] for one in found["results"]}) == (None, {None})
    assert len(client.get(f"{API}/clicks/logs").json()["logs"]) == 1
    assert error_of(client.delete(f"{API}/clicks/sets", params={"set_id": set_id}), 404)
    assert client.get(f"/clicks?set_id={set_id}").status_code == 404
    assert json.loads(client.get(f"{API}/clicks/sets").text) == {"sets": []}
