"""The command fills missing values and encodes text."""

from __future__ import annotations

import json

import pytest

import plackett as pk
from tests.rankers.test_preparation import FRAME, QID, Y

COLUMNS = ("--qid", "query", "--label", "grade")
RULES = ("--missing", "median", "--missing-indicator", "--encoding", "one-hot")


@pytest.fixture
def log(run):
    FRAME.assign(query=QID, grade=Y).to_csv("log.csv", index=False)


def test_train_without_a_rule_names_the_options(run, log):
    done = run("train", "log.csv", *COLUMNS, "-o", "log.plackett")
    assert done.returncode == 1
    assert "--encoding" in done.stderr
    done = run("train", "log.csv", *COLUMNS, "-o", "log.plackett", "--encoding", "target")
    assert "are missing" in done.stderr
    assert "--missing" in done.stderr


def test_train_rank_and_explain_prepare_the_rows(run, log):
    assert run("train", "log.csv", *COLUMNS, *RULES, "-o", "log.plackett", "-q").returncode == 0
    ranker = pk.load("log.plackett")
    assert (ranker.missing, ranker.missing_indicator, ranker.encoding) == ("median", True, "one-hot")
    done = run("explain", "log.plackett", "log.csv", *COLUMNS, "--query", "3")
    assert done.returncode == 0, done.stderr
    assert "brand=" in done.stdout
    done = run("rank", "log.plackett", "log.csv", *COLUMNS)
    assert len(done.stdout.splitlines()) == len(FRAME)


def test_compare_and_tune_pass_the_rules_on(run, log):
    done = run("compare", "log.csv", *COLUMNS, *RULES, "-r", "listmle,rankboost", "--cv", "3", "--json", "-q")
    assert done.returncode == 0, done.stderr
    assert "missing='median'" in json.loads(done.stdout)["settings"]["rankers"]["listmle"]
    done = run(
        "tune", "log.csv", *COLUMNS, *RULES, "-r", "listmle", "-g", "l2=0.1,1", "--cv", "3", "-o", "log.plackett"
    )
    assert done.returncode == 0, done.stderr
    assert pk.load("log.plackett").missing == "median"


def test_an_unknown_rule_is_wrong_usage(run, log):
    done = run("compare", "log.csv", *COLUMNS, "-r", "listmle", "--missing", "fill")
    assert done.returncode == 2
    assert "--missing fill is not known" in " ".join(done.stderr.replace("│", " ").split())
