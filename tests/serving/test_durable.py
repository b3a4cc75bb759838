"""Files of acknowledged lines: torn lines, failures of the disk, and two writers."""

import os

import pytest

pytest.importorskip("fastapi")

from plackett.serving.durable import DurableLog
from tests.serving.conftest import client_of, service_of


def test_lines_are_on_disk_when_they_are_acknowledged(tmp_path):
    log = DurableLog(str(tmp_path / "log"))
    for future in [log.append(b"%d\n" % number) for number in range(3000)]:
        future.result(timeout=10)
    assert (tmp_path / "log").read_bytes() == b"".join(b"%d\n" % number for number in range(3000))
    log.close()


@pytest.mark.parametrize(
    ("content", "kept"),
    [(b"", b""), (b"torn", b""), (b"a\nb\n", b"a\nb\n"), (b"a\nb\nto", b"a\nb\n"), (b"a\n" + b"x" * 200_000, b"a\n")],
)
def test_a_torn_line_is_removed(tmp_path, content, kept):
    (tmp_path / "log").write_bytes(content)
    log = DurableLog(str(tmp_path / "log"))
    log.append(b"new\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == kept + b"new\n"


def test_lines_that_fail_leave_no_part_behind(tmp_path, monkeypatch):
    log = DurableLog(str(tmp_path / "log"))
    log.append(b"first\n").result(timeout=10)
    fsync, fails = os.fsync, [OSError(28, "No space left on device")]
    monkeypatch.setattr(os, "fsync", lambda file: fsync(file) if not fails else (_ for _ in ()).throw(fails.pop()))
    with pytest.raises(OSError, match="No space"):
        log.append(b"second\n").result(timeout=10)
    log.append(b"third\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == b"first\nthird\n"


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_a_second_writer_is_refused(tmp_path):
    log = DurableLog(str(tmp_path / "log"))
    with pytest.raises(OSError, match="another process writes to this log"):
        DurableLog(str(tmp_path / "log"))
    log.close()


ROW = [1.0, 2.0, 3.0, 4.0]


def test_lists_are_logged_if_they_have_ids_and_a_query(folder):
    service = service_of(folder, "linear.plackett", log_folder=str(folder / "log"))
    service.open_log()
    with client_of(service) as client:
        assert client.post("/rank", json={"documents": [ROW]}).json()["query_id"] is None
        lists = [{"documents": [ROW], "ids": ["a"], "query": "q"}, {"documents": [ROW], "ids": ["a"]}]
        first, second = client.post("/rank", json={"lists": lists}).json()["lists"]
        assert (len(first["query_id"]), second["query_id"]) == (32, None)
        good = {"query_id": first["query_id"], "id": "a"}
        assert client.post("/click", json=good).json()["query_id"] == first["query_id"]
        for wrong in ({"query_id": "x"}, {"id": 3}, {"id": ""}, {"position": 0}, {"position": "1"}, {"more": 1}):
            assert client.post("/click", json={**good, **wrong}).status_code == 422
        assert [client.post("/click", json=wrong).status_code for wrong in ({}, [], 3)] == [422] * 3
        assert client.post("/click", content=b"{").status_code == 400
    service.close_log()
    assert len((folder / "log" / "ubi_queries-0.ndjson").read_bytes().splitlines()) == 1
    assert len((folder / "log" / "ubi_events-0.ndjson").read_bytes().splitlines()) == 1


def test_a_full_disk_refuses_clicks_and_returns_lists_without_an_id(folder, monkeypatch):
    service = service_of(folder, "linear.plackett", log_folder=str(folder / "log"))
    service.open_log()

    def fail(*_):
        raise OSError(28, "No space left on device")

    with client_of(service) as client:
        monkeypatch.setattr(os, "write", fail)
        answer = client.post("/rank", json={"documents": [ROW], "ids": ["a"], "query": "q"})
        click = client.post("/click", json={"query_id": "0" * 32, "id": "a"})
        monkeypatch.undo()
    service.close_log()
    assert (answer.status_code, answer.json()["query_id"]) == (200, None)
    assert (click.status_code, click.json()["code"]) == (503, "disk")
    assert service.metrics.value("log_failures_total") == 2


def test_clicks_without_a_log_are_refused(client):
    assert client.post("/click", json={"query_id": "0" * 32, "id": "a"}).status_code == 409
