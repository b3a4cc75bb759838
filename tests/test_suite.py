"""The suite itself: where and how it may be started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

TEST = "tests/data/letor/test_text.py::test_control_c_ends_a_read_that_waits_for_a_pipe"


@pytest.mark.skipif(sys.platform == "win32", reason="no jobs of a shell")
def test_control_c_arrives_in_children_of_a_suite_that_was_started_in_the_background():
    """A shell without job control starts background jobs with SIGINT ignored, which children inherit."""
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST]
    ignoring = f"import os, signal; signal.signal({signal.SIGINT:d}, signal.SIG_IGN); os.execv({run[0]!r}, {run!r})"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", ignoring], cwd=root, capture_output=True, text=True, timeout=300)
    assert "1 passed" in done.stdout
