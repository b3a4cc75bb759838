"""``python -m benchmarks.experiments`` runs experiments with the options of ``plackett reproduce``."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("name", "item"), [("losses", "Boosted trees"), ("ultra", "MQ2008, PBM, η = 1, 1% ranker")])
def test_the_items_are_listed(name, item):
    command = [sys.executable, "-m", "benchmarks.experiments", name, "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", env={"PYTHONUTF8": "1"}, check=True)
    assert item in done.stdout
