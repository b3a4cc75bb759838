"""Files of acknowledged lines: torn lines, failures of the disk, and two writers."""

import os
import time
from threading import Event

import pytest

pytest.importorskip("fastapi")

from plackett.apps.serve.durable import DurableLog


def append(log, line):
    return log.append(lambda place: line)


def test_lines_are_on_disk_when_they_are_acknowledged(tmp_path):
    log = DurableLog(str(tmp_path / "log"))
    for future in [append(log, b"%d\n" % number) for number in range(3000)]:
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
    append(log, b"new\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == kept + b"new\n"


def test_lines_that_fail_leave_no_part_behind(tmp_path, monkeypatch):
    log = DurableLog(str(tmp_path / "log"))
    append(log, b"first\n").result(timeout=10)
    fsync, fails = os.fsync, [OSError(28, "No space left on device")]
    monkeypatch.setattr(os, "fsync", lambda file: fsync(file) if not fails else (_ for _ in ()).throw(fails.pop()))
    with pytest.raises(OSError, match="No space"):
        append(log, b"second\n").result(timeout=10)
    append(log, b"third\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == b"first\nthird\n"


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_a_second_writer_is_refused(tmp_path):
    log = DurableLog(str(tmp_path / "log"))
    with pytest.raises(OSError, match="another process writes to this log"):
        DurableLog(str(tmp_path / "log"))
    log.close()


def test_lines_know_their_place_also_after_a_failure(tmp_path, monkeypatch):
    """Lines that wait behind a failed one were made for other places, so they fail with it."""
    log = DurableLog(str(tmp_path / "log"))
    fsync, fails, entered, leave = os.fsync, [OSError(28, "No space left on device")], Event(), Event()

    def fail_once(file):
        if fails:
            entered.set()
            leave.wait(10)
            raise fails.pop()
        fsync(file)

    monkeypatch.setattr(os, "fsync", fail_once)
    lines = [log.append(lambda place: b"%d\n" % place)]
    assert entered.wait(10)
    lines += [log.append(lambda place: b"%d\n" % place) for _ in range(3)]
    leave.set()
    for line in lines:
        with pytest.raises(OSError, match="No space"):
            line.result(timeout=10)
    for _ in range(3):
        log.append(lambda place: b"%d\n" % place).result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == b"0\n2\n4\n"


def test_a_file_that_cannot_be_cut_takes_no_lines_until_it_can(tmp_path, monkeypatch):
    log = DurableLog(str(tmp_path / "log"))
    append(log, b"first\n").result(timeout=10)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        patch.setattr(os, "ftruncate", lambda file, size: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        for line in (b"second\n", b"third\n"):
            with pytest.raises(OSError, match="Input/output"):
                append(log, line).result(timeout=10)
    append(log, b"fourth\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes() == b"first\nfourth\n"


def test_a_disk_that_hangs_refuses_lines_and_a_cancelled_line_harms_none(tmp_path, monkeypatch):
    log = DurableLog(str(tmp_path / "log"), patience=0.05)
    fsync, leave = os.fsync, Event()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: leave.wait(10) and fsync(file))
        first = append(log, b"first\n")
        cancelled = append(log, b"second\n")
        assert cancelled.cancel() or cancelled.running()
        deadline = time.monotonic() + 10
        while not (refused := append(log, b"third\n")).done():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(OSError, match=r"has not responded for 0\.05 s"):
            refused.result()
        leave.set()
        first.result(timeout=10)
    append(log, b"fourth\n").result(timeout=10)
    log.close()
    assert (tmp_path / "log").read_bytes().startswith(b"first\nsecond\n")
    assert (tmp_path / "log").read_bytes().endswith(b"fourth\n")
