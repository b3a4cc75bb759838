"""``plackett interleave``: a test on simulated users, and the verdict of a log."""

import json

import pytest

import plackett as pk
from plackett.evaluation.betting import Tally
from tests.clicks.interleaving.test_from_log import write_log


@pytest.fixture
def data(tmp_path):
    lists = pk.datasets.make_web_like(20, 12, 4, random_state=0)
    pk.write_letor(lists, tmp_path / "test.txt")
    (tmp_path / "good.txt").write_text("".join(f"{label}\n" for label in lists.y))
    return lists


def test_a_ranking_by_the_labels_wins_and_ab_tests_stand_beside_it(run, data):
    done = run("interleave", "simulate", "test.txt", "-a", "good.txt", "-b", "2", "-n", "600", "-k", "5")
    assert done.returncode == 0, done.stderr
    assert "preference for good over feature 2" in done.stdout
    assert "A/B, sessions with a click" in done.stdout
    options = [
        "--ranker-a",
        "good.txt",
        "--ranker-b",
        "2",
        "--sessions",
        "600",
        "-k",
        "5",
        "--method",
        "optimised",
        "--json",
    ]
    found = json.loads(run("interleave", "simulate", "test.txt", *options).stdout)
    assert found["preference"]["verdict"] == "good"
    assert found["ndcg"]["good"] == 1
    assert found["sessions_needed"] > found["sessions_needed_fixed"]
    assert [test["measure"] for test in found["ab"]] == [
        "clicks",
        "sessions with a click",
        "reciprocal rank of the first click",
    ]
    assert found == json.loads(run("interleave", "simulate", "test.txt", *options).stdout)


def test_equal_rankers_are_said_to_be_so(run, data):
    done = run("interleave", "simulate", "test.txt", "-a", "2", "-b", "2", "-n", "50")
    assert done.returncode == 0, done.stderr
    assert "undecided" in done.stdout
    assert "100.0% of the lists are the same for both rankers" in done.stderr


def test_wrong_words_and_rankers_are_explained(run, data):
    for words, message in (
        (["simulate"], "DATA is missing."),
        (["serve", "test.txt"], "there is no plackett interleave 'serve'. Its commands are simulate and verdict."),
    ):
        done = run("interleave", *words, "-a", "1", "-b", "2")
        assert done.returncode == 2
        assert message in done.stderr
    done = run("interleave", "simulate", "test.txt", "-a", "1", "-b", "9")
    assert done.returncode == 1
    assert "--ranker-b 9: test.txt has feature 1 to 4." in done.stderr
    done = run("interleave", "simulate", "test.txt", "-a", "1", "-b", "2", "-m", "coin")
    assert done.returncode == 2
    assert "team-draft" in done.stderr


def test_the_verdict_is_read_from_a_log(run, tmp_path):
    write_log(tmp_path / "log", n_users=40)
    done = run("interleave", "verdict", "log")
    assert done.returncode == 0, done.stderr
    tally = Tally()
    tally.add([1.0] * 10 + [-1.0] * 30)
    low, high = tally.interval(0.95)
    assert done.stdout.splitlines()[:4] == [
        "old and new",
        "preference for old over new  -0.5000",
        f"interval, 0.95 at all times  [{low:+.4f}, {high:+.4f}]",
        "units                        40",
    ]
    for _ in range(2):
        assert run("interleave", "verdict", "log", "--checkpoint", "kept") == done
    found = json.loads(run("interleave", "verdict", "log", "--json", "--level", "0.5").stdout)
    assert [(one["test"], one["preferences"][0]["verdict"]) for one in found] == [("old and new", "new")]
    for words, message in (
        (["nothing"], "is not a folder with files ubi_queries* and ubi_events*"),
        (["log", "-a", "1"], "there is no option -a."),
        (["log", "--level", "2"], "between 0 and 1"),
    ):
        done = run("interleave", "verdict", *words)
        assert done.returncode == 2
        assert message in " ".join(done.stderr.replace("│", " ").split())
