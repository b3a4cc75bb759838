"""Interleaved models: what is shown, what is logged, the verdict from the log, and swaps."""

import json
import os
import signal
import threading
from collections import defaultdict
from http.client import HTTPException

import numpy as np
import pytest

pytest.importorskip("fastapi")

import plackett as pk
from plackett.apps.serve.settings import InterleaveSettings
from tests.apps.serve.conftest import DATA, Served, client_of, count_of, open_log, service_of
from tests.apps.serve.test_clicks import order_of, records_of
from tests.apps.serve.test_processes import POSIX, Client, Process, children_of, wait_for

IDS = [f"d{number}" for number in range(10)]
MODELS = ("shop@1=linear.plackett", "shop@2=trees.plackett")
TEST = InterleaveSettings(("shop@1", "shop@2"))


def body_of(query, user, **more):
    rows = DATA.X[10 * query : 10 * query + 10].astype(np.float64).tolist()
    return {"documents": rows, "ids": IDS, "query": f"query {query}", "user": user, **more}


def hits_of(answer):
    return [one["id"] for one in answer["ranking"]]


def n_units(log):
    (test,) = pk.clicks.read_interleaving(log).values()
    return test.preference().n_units


def literal_verdict(queries, events):
    """Mean and number of users by a loop over the records: a user counts by the team of the first click."""
    lists = {one["query_id"]: one for one in queries}
    counted = {}
    for event in sorted(events, key=lambda one: one["timestamp"]):
        shown = lists[event["query_id"]]
        teams = shown["query_attributes"]["interleaving"]["teams"]
        place = shown["query_response_hit_ids"].index(event["event_attributes"]["object"]["object_id"])
        if place < len(teams) and shown["client_id"] not in counted:
            counted[shown["client_id"]] = {"shop@1": 1, "shop@2": -1, None: 0}[teams[place]]
    return sum(counted.values()) / len(counted), len(counted)


def test_lists_mix_both_models_and_the_log_gives_the_verdict(folder, rankers):
    log = str(folder / "log")
    service = service_of(folder, *MODELS, log=log, interleave=TEST)
    open_log(service)
    rng = np.random.default_rng(0)
    with client_of(service) as client:
        for number in range(60):
            query = number % 12
            answer = client.post("/rank", json=body_of(query, f"user {number % 45}")).json()
            assert answer["interleaved"] == ["shop@1", "shop@2"]
            assert sorted(hits_of(answer)) == IDS
            scores = rankers["linear"].predict(body_of(query, "")["documents"], qid=[0] * 10)
            assert [one["score"] for one in answer["ranking"]] == [scores[one["index"]] for one in answer["ranking"]]
            again = client.post("/rank", json=body_of(query, f"user {number % 45}")).json()
            assert hits_of(again) == hits_of(answer)  # a page that is loaded again
            for docid in hits_of(answer):
                if rng.random() < 0.25:
                    one = client.post("/click", json={"query_id": answer["query_id"], "id": docid})
                    assert one.status_code == 200
                    if rng.random() < 0.5:  # sent again, also for the second copy of the list
                        client.post("/click", json={"query_id": again["query_id"], "id": docid})
        metrics = client.get("/metrics").text
    service.close_log()
    queries, events = records_of(log, "ubi_queries"), records_of(log, "ubi_events")
    first, second = ({one.spec.key: one.checksum[:12] for one in service.table}[key] for key in TEST.rankers)
    name = f"shop@1 {first}, shop@2 {second}; team-draft, k 10"
    by_query = {f"query {query}": body_of(query, "")["documents"] for query in range(12)}
    for one in queries:
        about = one["query_attributes"].pop("interleaving")
        orders = [[IDS[i] for i in order_of(rankers[key], by_query[one["user_query"]])] for key in ("linear", "trees")]
        check_teams(one["query_response_hit_ids"], about["teams"], orders)
        teams, basis = about.pop("teams"), about.pop("basis")
        expected = {"shop@1": [0.5, -0.5], "shop@2": [-0.5, 0.5], None: [0.0, 0.0]}
        assert basis == [expected[team] for team in teams]
        assert len(about.pop("list")) == 32
        assert about == {
            "test": name,
            "method": "team-draft",
            "k": 10,
            "rankers": [
                {"model": "shop@1", "version": "1", "checksum": first},
                {"model": "shop@2", "version": "2", "checksum": second},
            ],
            "n_mixed": 10,
        }
        assert one["query_attributes"] == {"ranker": "interleaved:shop@1,shop@2"}
    mean, n_users = literal_verdict(records_of(log, "ubi_queries"), events)
    ((read_name, test),) = pk.clicks.read_interleaving(log).items()
    found = test.preference()
    assert (read_name, found.mean, found.n_units) == (name, pytest.approx(mean, abs=1e-12), n_users)
    assert "plackett_interleaved_total 120.0" in metrics


def check_teams(hits, teams, orders):
    """Each round has a pick of both models: the first document of their order that is not shown yet."""
    for place, team in enumerate(teams):
        order = orders[0 if team == "shop@1" else 1]
        assert hits[place] == next(docid for docid in order if docid not in hits[:place])
        if place % 2:
            assert {teams[place - 1], team} == {"shop@1", "shop@2"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"user": None}, "no user"),
        ({"explain": 5}, "explain"),
        ({"ids": None}, "no ids or query"),
        ({"query": None}, "no ids or query"),
        ({"model": "shop@1"}, None),
        ({"model": "shop@2"}, None),
        ({"model": "other"}, None),
    ],
)
def test_requests_that_take_no_part_get_the_list_of_their_model(folder, rankers, changes, reason):
    service = service_of(folder, *MODELS, "other=other.plackett", log=str(folder / "log"), interleave=TEST)
    open_log(service)
    with client_of(service) as client:
        body = {name: value for name, value in {**body_of(3, "u"), **changes}.items() if value is not None}
        answer = client.post("/rank", json=body).json()
    service.close_log()
    name = {"shop@2": "trees", "other": "other"}.get(changes.get("model"), "linear")
    assert [one["index"] for one in answer["ranking"]] == order_of(rankers[name], body["documents"])
    assert "interleaved" not in answer
    skipped = {key: count_of(service, "interleaving_skipped", reason=key) for key in ("no user", reason) if key}
    assert skipped == {key: float(key == reason) for key in skipped}


def test_k_cuts_the_mixed_list_and_more_documents_follow_it_in_the_order_of_the_first_model(folder, rankers):
    service = service_of(folder, *MODELS, log=str(folder / "log"), interleave=TEST._replace(k=4))
    open_log(service)
    with client_of(service) as client:
        for query in range(12):
            body = body_of(query, "u")
            orders = [[IDS[i] for i in order_of(rankers[name], body["documents"])] for name in ("linear", "trees")]
            whole, short = (client.post("/rank", json={**body, **more}).json() for more in ({}, {"k": 3}))
            assert len(short["ranking"]) == 3
            mixed = hits_of(whole)[:4]
            assert set(mixed) <= {*orders[0][:4], *orders[1][:4]}
            assert hits_of(whole)[4:] == [docid for docid in orders[0] if docid not in mixed]
            last = {"query_id": whole["query_id"], "id": hits_of(whole)[-1], "position": 10}
            assert client.post("/click", json=last).status_code == 200  # not mixed: logged, and credited to none
        assert n_units(folder / "log") == 0
        client.post("/click", json={"query_id": short["query_id"], "id": hits_of(short)[0]})
        assert n_units(folder / "log") == 1
    service.close_log()
    lengths = {
        one["query_attributes"]["interleaving"]["n_mixed"] for one in records_of(str(folder / "log"), "ubi_queries")
    }
    assert lengths == {3, 4}


def test_the_shadow_model_is_compared_with_the_order_of_the_first_model(folder, rankers, caplog):
    caplog.set_level("INFO", logger="plackett.apps.serve")
    words = {"log": str(folder / "log"), "interleave": TEST, "shadow": "other"}
    service = service_of(folder, *MODELS, "other.plackett", **words)
    open_log(service)
    with client_of(service) as client:
        client.post("/rank", json=body_of(0, "u"))
    service.close_log()
    (fields,) = [record.fields for record in caplog.records if record.getMessage() == "shadow"]
    assert fields["order"] == order_of(rankers["linear"], body_of(0, "")["documents"])
    assert fields["shadow_order"] == order_of(rankers["other"], body_of(0, "")["documents"])


def test_a_swapped_model_begins_a_new_test_and_old_lists_count_in_theirs(folder):
    service = service_of(folder, *MODELS, log=str(folder / "log"), interleave=TEST)
    open_log(service)
    with Served(service) as served:
        client = Client(served.port)
        before = client.ask("POST", "/rank", body_of(0, "u1"))[1]
        pk.TreeRanker(n_rounds=9).fit(DATA).save(folder / "trees.plackett")
        wait_for(lambda: count_of(service, "swaps", model="shop@2") == 1)
        wait_for(lambda: "interleaved" in client.ask("POST", "/rank", body_of(1, "u2"))[1])
        after = client.ask("POST", "/rank", body_of(1, "u3"))[1]
        for answer in (after, before):
            assert client.ask("POST", "/click", {"query_id": answer["query_id"], "id": hits_of(answer)[0]})[0] == 200
    service.close_log()
    tests = pk.clicks.read_interleaving(folder / "log")
    assert [test.preference().n_units for test in tests.values()] == [1, 1]
    first, second = (name.partition(";")[0].split(", ") for name in tests)
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_clicks_are_credited_also_if_a_later_service_logs_them(folder):
    service = service_of(folder, *MODELS, log=str(folder / "log"), interleave=TEST)
    open_log(service)
    with client_of(service) as client:
        answer = client.post("/rank", json=body_of(0, "u1")).json()
    service.close_log()
    service = service_of(folder, *MODELS, log=str(folder / "log"))
    open_log(service)
    with client_of(service) as client:
        assert client.post("/click", json={"query_id": answer["query_id"], "id": hits_of(answer)[0]}).status_code == 200
        assert "interleaved" not in client.post("/rank", json=body_of(0, "u1")).json()
    service.close_log()
    assert n_units(folder / "log") == 1


@pytest.mark.parametrize(
    ("words", "settings", "message"),
    [
        (MODELS, {"interleave": TEST}, "needs the log"),
        (MODELS, {"interleave": InterleaveSettings(("shop@1", "x")), "log": "l"}, "there is no model 'x'"),
        (MODELS, {"interleave": InterleaveSettings(("shop@1",)), "log": "l"}, "at least two rankers"),
        (MODELS, {"interleave": InterleaveSettings(("shop@1", "shop")), "log": "l"}, "at least two rankers"),
        (MODELS, {"interleave": TEST._replace(method="coin"), "log": "l"}, "coin"),
        (MODELS, {"interleave": TEST._replace(method="optimised", k=11), "log": "l"}, "at most 10 documents"),
        (("shop@1=linear.plackett", "shop@2=wide.plackett"), {"interleave": TEST, "log": "l"}, "different features"),
    ],
)
def test_tests_that_cannot_run_are_refused(folder, words, settings, message):
    pk.LinearRanker().fit(pk.datasets.make_web_like(5, 5, 7, random_state=0)).save(folder / "wide.plackett")
    with pytest.raises(ValueError, match=message):
        service_of(folder, *words, **settings)


@pytest.mark.parametrize("method", ["optimised", "probabilistic", "pairwise-preference"])
def test_all_methods_run_and_are_read_from_the_log(folder, method):
    settings = TEST._replace(method=method, k=3)
    service = service_of(folder, *MODELS, log=str(folder / "log"), interleave=settings)
    open_log(service)
    with client_of(service) as client:
        for number in range(12):
            answer = client.post("/rank", json=body_of(number, f"user {number % 4}")).json()
            client.post("/click", json={"query_id": answer["query_id"], "id": hits_of(answer)[number % 3]})
    service.close_log()
    (read,) = pk.clicks.read_interleaving(folder / "log", lists_per_unit=2).values()
    assert read.method == method
    assert 0 < read.preference().n_units <= 4


@POSIX
def test_workers_agree_and_no_acknowledged_click_is_lost_by_kill(folder):
    """What two workers showed and counted, killed in the middle, is what the log says."""
    acknowledged, shown, lock = defaultdict(set), {}, threading.Lock()

    def load(number, port):
        client, place = Client(port), 0
        try:
            while True:
                place += 1
                user = f"user {number} {place % 7}"
                status, answer = client.ask("POST", "/rank", body_of(place % 12, user))
                assert status == 200
                with lock:  # workers show the same list
                    assert shown.setdefault((user, place % 12), hits_of(answer)) == hits_of(answer)
                docid = hits_of(answer)[place % 5]
                assert client.ask("POST", "/click", {"query_id": answer["query_id"], "id": docid})[0] == 200
                with lock:
                    acknowledged[answer["query_id"]].add((user, docid))
        except (OSError, HTTPException):
            return

    words = [*MODELS, "--interleave", "shop@1,shop@2", "--log", "log", "--workers", "2"]
    with Process(folder, *words) as served:
        threads = [threading.Thread(target=load, args=(number, served.port)) for number in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(users_of(acknowledged)) > 15 and len(acknowledged) > 60)
        for process in [served.process.pid, *children_of(served)]:
            os.kill(process, signal.SIGKILL)
        for thread in threads:
            thread.join()
    (name, read), *others = pk.clicks.read_interleaving(folder / "log").items()
    assert others == []
    assert name.endswith("; team-draft, k 10")
    log = pk.clicks.read_clicks(folder / "log")
    assert log.n_clicks >= sum(len(own) for own in acknowledged.values())
    records = {one["query_id"]: one for one in lines_of(folder / "log", "ubi_queries")}
    clicks = {(one["query_id"], docid_of(one)) for one in lines_of(folder / "log", "ubi_events")}
    for query_id, own in acknowledged.items():
        assert {(records[query_id]["client_id"], docid) for _, docid in own} == own
        assert {(query_id, docid) for _, docid in own} <= clicks
    counted = {
        records[query_id]["client_id"]
        for query_id in acknowledged
        if records[query_id]["query_attributes"]["interleaving"]["basis"]
    }
    # clicks that were not acknowledged may be in the log only
    assert 10 < len(counted) <= read.preference().n_units


def users_of(acknowledged):
    return {user for own in list(acknowledged.values()) for user, _ in own}


def docid_of(event):
    return event["event_attributes"]["object"]["object_id"]


def lines_of(log, name):
    """Records of all processes; a killed process may leave part of a line at the end of a file."""
    for path in log.glob(f"{name}-*"):
        yield from map(json.loads, path.read_text().split("\n")[:-1])
