"""A short run of every fuzzer, and the runner on a reader with every kind of failure."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.runner import FINE, kind_names, run

N_INPUTS = 50  # of each kind; `python -m tests.fuzz` reads more

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and peaks are measured as on Linux")


@pytest.mark.parametrize("kind", [name for name in kind_names() if name != "nothing"])
def test_mutated_files_are_read_or_refused(kind, capsys):
    found = run(kind, N_INPUTS, log=sys.stderr)
    assert set(found) <= set(FINE), capsys.readouterr().err
    assert found.total() == N_INPUTS


def test_the_runner_notices_whatever_goes_wrong(tmp_path):
    found = run("nothing", 10, seed=16, keep=tmp_path)
    assert found == {"read": 3, "refused": 1, "foreign": 2, "memory": 2, "hang": 1, "signal": 1}
    assert len(list(tmp_path.iterdir())) == 6
